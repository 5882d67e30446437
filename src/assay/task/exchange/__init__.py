"""Interchange: tasks of other benchmarks as tasks of ours, and ours as theirs."""
