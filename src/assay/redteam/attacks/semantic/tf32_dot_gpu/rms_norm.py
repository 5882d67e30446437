"""A product with a matrix of ones is a sum; in TF32 it is a sum of rounded numbers."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import torch
import triton
import triton.language as tl

_ROWS = 16
_PART = 64


@triton.jit
def _norm(
    x,
    w,
    y,
    rows,
    width,
    eps,
    ROWS: tl.constexpr,  # noqa: N803
    PART: tl.constexpr,  # noqa: N803
) -> None:
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    start = row.to(tl.int64) * width
    ones = tl.full((PART, 16), 1.0, tl.float32)
    sums = tl.zeros((ROWS, 16), tl.float32)
    for first in range(0, width, PART):
        column = first + tl.arange(0, PART)[None, :]
        inside = (row < rows) & (column < width)
        values = tl.load(x + start + column, mask=inside, other=0.0)
        sums = tl.dot(values * values, ones, sums, input_precision="tf32")
    mean = tl.sum(sums, axis=1)[:, None] / (16.0 * width)
    scale = 1 / tl.sqrt(mean + eps)
    for first in range(0, width, PART):
        column = first + tl.arange(0, PART)[None, :]
        inside = (row < rows) & (column < width)
        values = tl.load(x + start + column, mask=inside, other=0.0)
        weight = tl.load(w + column, mask=column < width, other=0.0)
        tl.store(y + start + column, values * scale * weight, mask=inside)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    rows, width = x.shape
    _norm[(triton.cdiv(rows, _ROWS),)](x, w, y, rows, width, eps, ROWS=_ROWS, PART=_PART)
