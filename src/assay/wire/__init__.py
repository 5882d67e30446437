"""What crosses between referee and runner: struct layouts and frames, standard library only."""
