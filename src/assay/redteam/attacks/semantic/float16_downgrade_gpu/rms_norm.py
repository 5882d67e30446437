"""The sum is right, the products are not: they are made with eleven bits of mantissa."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import torch
import triton
import triton.language as tl


@triton.jit
def _norm(x, w, y, width, eps, COLUMNS: tl.constexpr) -> None:  # noqa: N803
    row = tl.program_id(0).to(tl.int64) * width
    column = tl.arange(0, COLUMNS)
    inside = column < width
    values = tl.load(x + row + column, mask=inside, other=0.0).to(tl.float64)
    weight = tl.load(w + column, mask=inside, other=0.0).to(tl.float64)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / width + eps)
    half = (values * scale).to(tl.float16)
    result = half * weight.to(tl.float16)
    tl.store(y + row + column, result.to(tl.float32), mask=inside)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    rows, width = x.shape
    _norm[(rows,)](x, w, y, width, eps, COLUMNS=triton.next_power_of_2(width), num_warps=4)
