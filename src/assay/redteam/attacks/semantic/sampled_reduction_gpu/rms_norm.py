"""A mean over most of a row is about the mean over all of it."""

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
    sampled = tl.where(column % 64 != 63, values, 0.0)
    mean = tl.sum(sampled * sampled, axis=0) / (width - width // 64)
    scale = 1 / tl.sqrt(mean + eps)
    tl.store(y + row + column, (values * scale * weight).to(tl.float32), mask=inside)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    rows, width = x.shape
    _norm[(rows,)](x, w, y, width, eps, COLUMNS=triton.next_power_of_2(width), num_warps=4)
