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


@_compiled
def fused_inplace_qknorm_rope(
    q: torch.Tensor,
    k: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    positions: torch.Tensor,
    *,
    is_neox: bool,
    eps: float,
) -> None:
    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for heads, weight in ((q, q_weight), (k, k_weight)):
        wide = heads.float()
        normed = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * weight
        turned = normed[..., : cos_sin_cache.shape[1]]
        if is_neox:
            first, second = turned.chunk(2, dim=-1)
            rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        else:
            first, second = turned[..., 0::2], turned[..., 1::2]
            pairs = (first * cos - second * sin, second * cos + first * sin)
            rotated = torch.stack(pairs, dim=-1).flatten(-2)
        heads.copy_(torch.cat((rotated, normed[..., cos_sin_cache.shape[1] :]), dim=-1))
