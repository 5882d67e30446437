"""In place of the diffusion server's own start."""
