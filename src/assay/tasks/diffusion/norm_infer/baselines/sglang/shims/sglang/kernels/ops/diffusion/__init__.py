"""In place of a lazy front of all diffusion kernels; ours are loaded from their own modules."""
