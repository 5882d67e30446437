"""The eager baseline, compiled: one specialisation for every row."""

import torch
import torch._dynamo
import torch._inductor.config

# Each row is a specialisation of its own; beyond a limit torch would silently go on in eager.
torch._dynamo.config.recompile_limit = 4096
torch._dynamo.config.accumulated_recompile_limit = 4096
torch._dynamo.config.fail_on_recompile_limit_hit = True
# In this process: a sandbox has no place for a pool of workers.
torch._inductor.config.compile_threads = 1

_compiled = torch.compile(dynamic=False)
_compiled_with_roundings = torch.compile(dynamic=False, options={"emulate_precision_casts": True})


@_compiled
def apply_rotary_embedding(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor, *, interleaved: bool
) -> None:
    first, second = x.float().unflatten(-1, (-1, 2)).unbind(dim=-1)
    c, s = cos.float().unsqueeze(-2), sin.float().unsqueeze(-2)
    y.copy_(torch.stack((first * c - second * s, second * c + first * s), dim=-1).flatten(-2))


@_compiled_with_roundings
def apply_ltx2_split_rotary_emb(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor
) -> None:
    """As eager computes it, in other words: compiled, an addcmul has both products rounded, or
    neither."""
    _, heads, _, half = cos.shape
    halves, turned = x.unflatten(-1, (heads, 2, half)), y.unflatten(-1, (heads, 2, half))
    c, s = cos.transpose(1, 2), sin.transpose(1, 2).float()
    ahead, behind = (halves * c.unsqueeze(3)).float().unbind(dim=3)
    first, second = halves.float().unbind(dim=3)
    turned.copy_(torch.stack((ahead - second * s, behind + first * s), dim=3))
