"""What the CUDA twin works out, run thread by thread as C++ on this host."""

from __future__ import annotations

import ctypes

import pytest

from assay.judge.build import compile_library
from assay.judge.toolchain import HOST
from assay.runner.tensors import CTensor
from assay.spec.dtype import DType
from assay.spec.workload import TensorSpec
from tests.judge.twins import ABSENT
from tests.judge.twins import LAYOUTS
from tests.judge.twins import POISON
from tests.judge.twins import Place
from tests.judge.twins import load

PROBE = """
#include "twin.cuh"
using namespace assay_twin;

extern "C" int64_t stored_bytes(const assay_tensor* tensor) { return assay_bytes(tensor); }

// The block to which each tile falls; -1 if none, -2 if several do.
extern "C" void blocks_of_tiles(uint32_t tiles, uint32_t blocks, int64_t* found) {
    Stream<1> stream = {};
    stream.step = step_of(tiles, blocks);
    for (uint32_t tile = 0; tile < tiles; ++tile) found[tile] = -1;
    for (uint32_t block = 0; block < blocks; ++block) {
        uint32_t tile;
        if (tile_of(stream, block, &tile)) found[tile] = found[tile] == -1 ? block : -2;
    }
}

// All threads of the kernel, one after the other; whether a byte that is not 0 was read.
extern "C" uint32_t run_kernel(const assay_tensor* tensors, uint64_t read, uint64_t written,
                               int depth) {
    Plan<4> plan = plan_for<4>(tensors, read, written);
    uint32_t seen = 0;
    plan.never = ~0u;
    plan.nowhere = &seen;
    lay_out(plan, depth);
    for (uint32_t block = 0; block < plan.blocks; ++block)
        for (uint32_t thread = 0; thread < kThreads; ++thread) {
            if (depth == 1) move_share<1>(plan, block, thread);
            if (depth == 2) move_share<2>(plan, block, thread);
            if (depth == 4) move_share<4>(plan, block, thread);
        }
    return seen;
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    flags = ("-O2", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Werror")
    made = compile_library({"probe.cpp": PROBE.encode()}, "probe.cpp", flags, HOST)
    return load(made.library, tmp_path_factory.mktemp("probe"))


@pytest.mark.parametrize(("shape", "strides", "apart"), LAYOUTS)
def test_c_counts_the_same_bytes(
    probe: ctypes.CDLL, shape: tuple[int, ...], strides: tuple[int, ...] | None, apart: int
) -> None:
    steps = strides or TensorSpec(shape=shape, dtype=DType.UINT8).contiguous_strides
    probe.stored_bytes.restype = ctypes.c_int64
    for code, dtype in enumerate(DType):
        described = CTensor(None, code, len(shape), shape, steps)
        assert probe.stored_bytes(ctypes.byref(described)) == apart * dtype.itemsize


@pytest.mark.parametrize(
    ("tiles", "blocks"), [(0, 3), (1, 1), (1, 1000), (7, 7), (3, 10), (999, 1000), (333, 10007)]
)
def test_tiles_are_dealt_evenly_over_the_blocks(
    probe: ctypes.CDLL, tiles: int, blocks: int
) -> None:
    found = (ctypes.c_int64 * max(tiles, 1))()
    probe.blocks_of_tiles(tiles, blocks, found)
    # Each to the last block whose share of the tiles still begins at or below it.
    assert list(found)[:tiles] == [((k + 1) * blocks - 1) // tiles for k in range(tiles)]


SIZES = [
    *(1, 15, 16, 17, 30, 31, 32, 33, 47, 4095, 4096, 4097, 8200, 16384, 16385, 3 * 16384 + 21),
]


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("size", SIZES)
def test_the_kernel_reads_all_and_writes_all_and_nothing_else(
    probe: ctypes.CDLL, size: int, depth: int
) -> None:
    for shift in (0, 1, 2, 8, 14, 15):
        x, y = Place(size, shift, 0), Place(size, 15 - shift, POISON)
        tensors = (CTensor * 4)(x.c, y.c)
        # What lies around holds ones: a byte too many would be seen.
        assert probe.run_kernel(tensors, ctypes.c_uint64(1), ctypes.c_uint64(2), depth) == 0
        assert not (y.bytes == POISON).any()
        assert x.stayed_inside()
        assert y.stayed_inside()
        for at in {*range(min(size, 40)), *range(max(size - 40, 0), size), *range(0, size, 997)}:
            x.bytes[at] = 1
            seen = probe.run_kernel(tensors, ctypes.c_uint64(1), ctypes.c_uint64(2), depth)
            assert seen, f"byte {at} of {size} at {shift} was not read"
            x.bytes[at] = 0


# Inputs x and weight, residual in place, output y: more to read, more to write, and odd ones.
MANY = [(60_000, 40, 9_000, 17), (17, 0, 9_000, 60_000), (5, 0, 70_000, 3), (9, 40_000, 0, 9)]


@pytest.mark.parametrize("sizes", MANY)
def test_the_kernel_moves_many_tensors_of_any_size(
    probe: ctypes.CDLL, sizes: tuple[int, int, int, int]
) -> None:
    read, written = ctypes.c_uint64(0b0111), ctypes.c_uint64(0b1100)
    places = [Place(size, shift, 0) for size, shift in zip(sizes, (1, 0, 9, 2), strict=True)]
    places[3].bytes[:] = POISON
    tensors = (CTensor * 4)(*(place.c for place in places))
    assert probe.run_kernel(tensors, read, written, 1) == 0
    assert not (places[3].bytes == POISON).any()
    assert all(place.stayed_inside() for place in places)
    for place in places[:3]:
        # Also in place: written first, the byte would be gone.
        for at in range(0, len(place.bytes), 97):
            place.bytes[at] = 1
            assert probe.run_kernel(tensors, read, written, 1), f"byte {at} was not read"
            place.bytes[at] = 0


def test_what_is_written_alone_needs_nothing_to_read(probe: ctypes.CDLL) -> None:
    y = Place(5000, 3, POISON)
    tensors = (CTensor * 4)(ABSENT, ABSENT, ABSENT, y.c)
    assert probe.run_kernel(tensors, ctypes.c_uint64(7), ctypes.c_uint64(8), 1) == 0
    assert not (y.bytes == POISON).any()
    assert y.stayed_inside()
