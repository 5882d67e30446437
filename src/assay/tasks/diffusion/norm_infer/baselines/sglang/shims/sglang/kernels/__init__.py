"""In place of the registry of all kernels, which loads every group of them."""
