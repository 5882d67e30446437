"""A folder that runs on a host without network, under that host's own python and torch."""
