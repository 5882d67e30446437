"""In place of the server's helpers, all under one name."""
