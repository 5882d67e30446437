"""Four planted bugs, each found by the tool that is for it, and an honest twin that is clean."""

from __future__ import annotations

import shutil

import pytest
import torch

from assay.device.runners import Target
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.case import Contender
from assay.judge.sanitizer import find_sanitizer
from assay.judge.sanitizer import sanitize
from assay.judge.sanitizer_job import small_rows
from assay.judge.sanitizer_report import ALL_TOOLS
from assay.judge.sanitizer_report import SanitizerReport
from assay.judge.sanitizer_report import Tool
from assay.spec.errors import UnavailableError
from assay.spec.noun import sha256_hex
from assay.spec.solution import Language
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from tests.device.cpu import making


def lacking() -> str:
    if not torch.cuda.is_available():
        return "an NVIDIA GPU"
    try:
        find_sanitizer()
    except UnavailableError:
        return "compute-sanitizer"
    return "" if shutil.which("nvcc") else "nvcc"


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(lacking()), reason=f"needs {lacking()}"),
]

# y = 2 x + bias by way of shared memory: every block turns its elements round, and round again.
SOURCE = """
#include "assay_cuda.h"

__global__ void planted(const float* x, int64_t dx, float* y, int64_t dy, int64_t n, float bias) {
    __shared__ float tile[128];
    const int64_t i = blockIdx.x * 128ll + threadIdx.x;
    const int mirror = 127 - threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i * dx] : 0.0f;
    __syncthreads();  // the race
    const float turned = tile[mirror];
    __syncthreads();
    tile[threadIdx.x] = turned;
    __syncthreads();
    const float value = 2.0f * tile[mirror] + bias;
    if (i < n) y[i * dy] = value;
}

extern "C" int twice(const assay_tensor* t, const double* options, void*, cudaStream_t stream) {
    const int64_t n = t[0].shape[0];
    planted<<<(unsigned)assay_ceil_div(n, 128), 128, 0, stream>>>(
        (const float*)t[0].data, t[0].strides[0], (float*)t[1].data, t[1].strides[0], n,
        (float)options[0]);
    return assay_launch_status();
}
"""
BUGS = {
    Tool.MEMCHECK: ("if (i < n) y", "if (i <= n) y", "Invalid __global__ write of size 4 bytes"),
    Tool.RACECHECK: ("__syncthreads();  // the race", "", "Race reported between"),
    Tool.INITCHECK: ("] = value;", "] += value;", "Uninitialized __global__ memory read"),
    Tool.SYNCCHECK: (
        "if (i < n) y",
        "if (threadIdx.x % 32 < 16) __syncthreads();\n    if (i < n) y",
        "Barrier error detected",
    ),
}

TRITON = """
import triton
import triton.language as tl

@triton.jit
def doubled(x, dx, y, dy, n, bias, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i * dx, mask=i < n)
    tl.store(y + i * dy, 2 * value + bias, mask=i < n)

def twice(x, y, *, bias):
    n = x.shape[0]
    doubled[triton.cdiv(n, 256),](x, x.stride(0), y, y.stride(0), n, bias, BLOCK=256)
"""

# On an H200 a kernel of cuDNN's with many barriers, in which racecheck sees hazards.
ATTENTION = """
import torch
def twice(x, y, *, bias):
    q = torch.ones(1, 2, 64, 32, device=x.device, dtype=torch.half)
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
    torch.mul(x, 2, out=y)
    y.add_(bias)
"""


def cuda(source: str) -> Contender:
    content = source.encode()
    solution = Solution(
        name="planted", language=Language.CUDA, sources=("kernel.cu",), entry="kernel.cu"
    )
    file = SourceFile(path="kernel.cu", sha256=sha256_hex(content), bytes=len(content))
    sealed = SealedSolution(solution=solution, files=(file,))
    return Contender(sealed, {"kernel.cu": content})


def watched(contender: Contender, *tools: Tool) -> SanitizerReport:
    major, minor = torch.cuda.get_device_capability()
    target = Target("cuda", f"{major}{minor}")
    flags = (*flags_for((contender,), target), "-lineinfo")
    program = build(making.task(), contender, flags, target).program
    return sanitize(contender, program, small_rows(making.task(), making.rows(), 1), tools=tools)


@pytest.mark.parametrize("tool", BUGS)
def test_a_planted_bug_is_found(tool: Tool) -> None:
    right, wrong, kind = BUGS[tool]
    assert SOURCE.count(right) == 1
    report = watched(cuda(SOURCE.replace(right, wrong)), tool)
    assert not report.clean
    found = [finding for _, finding in report.findings if finding.kind.startswith(kind)]
    assert found
    assert (found[0].kernel or "").startswith("planted(")
    assert (found[0].source or "").startswith("kernel.cu:")
    # It is the solution's own kernel, so no baseline could excuse it.
    assert not report.against(report).clean


@pytest.mark.parametrize(
    "honest",
    [cuda(SOURCE), making.contender(TRITON, language="triton"), making.contender(making.PLAIN)],
    ids=["cuda", "triton", "torch"],
)
def test_an_honest_solution_is_clean(honest: Contender) -> None:
    report = watched(honest, *ALL_TOOLS)
    assert [(run.tool, run.verdict) for run in report.runs] == [(t, "clean") for t in ALL_TOOLS]


@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_what_a_library_does_is_excused_where_the_baseline_calls_it_too(tool: Tool) -> None:
    report = watched(making.contender(ATTENTION), tool)
    assert report.against(report).clean
