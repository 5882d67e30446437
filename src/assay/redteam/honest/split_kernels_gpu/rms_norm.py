"""Parts of a row are reduced by programs of their own; the second kernel adds their sums."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import torch
import triton
import triton.language as tl

_PART = 1024


@triton.jit
def _reduce(x, sums, width, parts, PART: tl.constexpr) -> None:  # noqa: N803
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    column = part * PART + tl.arange(0, PART)
    values = tl.load(x + row * width + column, mask=column < width, other=0.0).to(tl.float64)
    tl.store(sums + row * parts + part, tl.sum(values * values, axis=0))


@triton.jit
def _scale(
    x,
    w,
    y,
    sums,
    width,
    parts,
    eps,
    PART: tl.constexpr,  # noqa: N803
    PARTS: tl.constexpr,  # noqa: N803
) -> None:
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    every = tl.arange(0, PARTS)
    total = tl.sum(tl.load(sums + row * parts + every, mask=every < parts, other=0.0), axis=0)
    scale = 1 / tl.sqrt(total / width + eps)
    column = part * PART + tl.arange(0, PART)
    inside = column < width
    values = tl.load(x + row * width + column, mask=inside, other=0.0).to(tl.float64)
    weight = tl.load(w + column, mask=inside, other=0.0).to(tl.float64)
    result = (values * scale * weight).to(tl.float32)
    tl.store(y + row * width + column, result, mask=inside)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    rows, width = x.shape
    parts = triton.cdiv(width, _PART)
    sums = torch.empty((rows, parts), dtype=torch.float64, device=x.device)
    _reduce[(rows, parts)](x, sums, width, parts, PART=_PART)
    every = triton.next_power_of_2(parts)
    _scale[(rows, parts)](x, w, y, sums, width, parts, eps, PART=_PART, PARTS=every)
