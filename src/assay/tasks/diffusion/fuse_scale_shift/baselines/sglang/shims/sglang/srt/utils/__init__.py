"""In place of the server's helpers: the one question that the kernels ask of them in every call."""


def is_gfx1250_supported() -> bool:
    return False
