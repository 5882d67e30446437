"""The gated update in one kernel; a tile of tokens shares a load of the gate."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import torch
import triton
import triton.language as tl

_config = {"tile": 4096, "columns": 1024, "warps": 8}
"""Elements of a program and its columns; where a tensor has fewer columns it takes more tokens."""


def configure(**config: int) -> None:
    _config.update(config)


@triton.jit
def _add(
    residual,
    x,
    gate,
    y,
    tokens,
    width,
    r_batch,
    r_token,
    r_column,
    x_batch,
    x_token,
    x_column,
    g_batch,
    g_column,
    y_batch,
    y_token,
    y_column,
    TOKENS: tl.constexpr,  # noqa: N803
    COLUMNS: tl.constexpr,  # noqa: N803
) -> None:
    # 64 bits, because a large tensor has elements beyond the reach of 32 along each axis.
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)[:, None]
    column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)[None, :]
    batch = tl.program_id(2).to(tl.int64)
    inside = (token < tokens) & (column < width)
    scale = tl.load(gate + batch * g_batch + column * g_column, mask=column < width, other=0.0)
    at = batch * x_batch + token * x_token + column * x_column
    update = tl.load(x + at, mask=inside, other=0.0)
    at = batch * r_batch + token * r_token + column * r_column
    base = tl.load(residual + at, mask=inside, other=0.0)
    total = tl.fma(scale.to(tl.float32), update.to(tl.float32), base.to(tl.float32))
    at = batch * y_batch + token * y_token + column * y_column
    tl.store(y + at, total.to(y.dtype.element_ty), mask=inside)


def scale_residual(
    residual: torch.Tensor, x: torch.Tensor, gate: torch.Tensor, y: torch.Tensor
) -> None:
    batch, tokens, width = x.shape
    if batch * tokens == 0:
        return
    columns = min(_config["columns"], triton.next_power_of_2(width))
    share = _config["tile"] // columns
    grid = (triton.cdiv(tokens, share), triton.cdiv(width, columns), batch)
    _add[grid](
        residual,
        x,
        gate,
        y,
        tokens,
        width,
        *residual.stride(),
        *x.stride(),
        gate.stride(0),
        gate.stride(2),
        *y.stride(),
        TOKENS=share,
        COLUMNS=columns,
        num_warps=_config["warps"],
    )
