"""Pure functions: samples in, verdicts out. No I/O, no clock, no randomness that is not seeded."""
