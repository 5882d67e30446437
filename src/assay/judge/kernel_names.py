"""Kernel names: whose kernel a demangled name is, by what the sources define and libraries use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping

_LIBRARY = re.compile(
    r"""
    # namespaces of torch and of vendors' libraries, of AMD's too
    (at|c10|torch|caffe2|at_cuda_detail|pytorch_flash|cub|thrust|cutlass\w*|cute|hipcub|rocprim
      |cu(blas|dnn|sparse|solver|fft|rand|tensor)\w*|nccl\w*|cask\w*|ck|rocblas\w*|miopen\w*)::
    # kernels that libraries name without a namespace
    |(ampere|volta|turing|hopper|blackwell|maxwell|sm\d{2,3}|nvjet|xmma|cutlass|cublas|cudnn|nccl
      |fmha|rocblas|miopen|Cijk)_\w*
    |(gemm|gemv|gemmk1|gemvNSP|gemv2T|gemv2N|splitKreduce|dot_kernel|reduce_1Block|cijk)\w*
    # what torch.compile generates
    |triton_(poi|red|per|tem|for|mm)_\w*
    """,
    re.VERBOSE,
)
_GLOBAL = re.compile(
    r"__global__\s+(?:[\w:<>,&*\s]|__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*){0,9}\)){0,400}?"
    r"\b(?!__launch_bounds__\b)([A-Za-z_]\w*)\s*\("
)
_DEF = re.compile(r"^[ \t]*def\s+([A-Za-z_]\w*)", re.MULTILINE)
_ANONYMOUS = "(anonymous namespace)::"


def bare(name: str) -> str:
    """A demangled name without its result, template arguments and parameters.

    >>> bare("void (anonymous namespace)::norm<float, 2>((anonymous namespace)::Call<float>)")
    'norm'
    >>> bare("void at::native::fill_kernel<at::native::Fill<float> >(int, char*)")
    'at::native::fill_kernel'
    """
    kept: list[str] = []
    depth = 0
    for character in name.replace(_ANONYMOUS, ""):
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            kept.append(character)
    words = "".join(kept).split()
    return words[-1] if words else name


def defined_kernels(sources: Mapping[str, bytes]) -> frozenset[str]:
    """Names that could be kernels of these sources: CUDA's `__global__`, and Python's functions,
    since a Triton kernel is one."""
    found: set[str] = set()
    for path, content in sources.items():
        pattern = _DEF if path.endswith(".py") else _GLOBAL
        found.update(pattern.findall(content.decode(errors="replace")))
    return frozenset(found)


def is_own(name: str, defined: Iterable[str]) -> bool:
    """Whether the sources define it, or no library that is known here does."""
    short = bare(name)
    return short.rpartition("::")[2] in defined or _LIBRARY.match(short) is None
