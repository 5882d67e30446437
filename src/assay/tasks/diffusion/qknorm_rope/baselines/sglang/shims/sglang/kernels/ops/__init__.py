"""In place of a loop that loads every group of kernels."""
