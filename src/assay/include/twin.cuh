// The copy twin on CUDA: one kernel that reads every byte that the function must read and writes
// every byte that it must write, and does nothing else. It is the honest target of a row.
//
// ASSAY_TWIN(name, arguments, read, written) defines the twin of one function; `read` and
// `written` have a bit for each argument that is read, and that is written.
//
// Loads and stores are plain: no cache hints, which a solution may win by.
//
// What a thread does is also plain C++, so that a test can run it without a GPU.

#ifndef ASSAY_TWIN_CUH
#define ASSAY_TWIN_CUH

#ifdef __CUDACC__
#include "assay_cuda.h"
#endif
#include "twin_plan.h"

namespace assay_twin {

// Vectors that a thread loads before its first store, where more is to be done than fits on the
// device at once. Where all fits, fewer a thread mean more threads and as many bytes in flight.
constexpr int kDeepest = 4;
// 2048 threads, all that a multiprocessor holds (sm_80, sm_90, sm_100).
constexpr int kBlocksPerMultiprocessor = 8;
// Threads below this one move what comes before the first vector, those from it on what comes
// after the last: 15 bytes at most, each.
constexpr int kHeadThreads = 16;

// A tile as one thread sees it: vectors at 0, kThreads, 2 kThreads and so on, while below `left`.
struct Share {
    Vector* vectors;
    int left;
};

template <int Depth>
ASSAY_FUNCTION Share share_of(const Region& region, uint32_t tile, uint32_t thread) {
    int64_t begin = static_cast<int64_t>(tile - region.first_tile) * (kThreads * Depth);
    int64_t left = region.count - begin;
    int whole = left < kThreads * Depth ? static_cast<int>(left) : kThreads * Depth;
    return {region.vectors + begin + thread, whole - static_cast<int>(thread)};
}

// The one byte before or after the vectors that a thread moves, or null.
ASSAY_FUNCTION uint8_t* edge_of(const Region& region, uint32_t tile, uint32_t thread) {
    if (tile != region.first_tile) return nullptr;
    if (thread < region.head_bytes) return region.head + thread;
    if (thread - kHeadThreads < region.tail_bytes) return region.tail + (thread - kHeadThreads);
    return nullptr;
}

template <int Depth>
ASSAY_FUNCTION uint32_t load_share(const Region& region, uint32_t tile, uint32_t thread,
                                   Vector* held) {
    Share from = share_of<Depth>(region, tile, thread);
    for (int k = 0; k < Depth; ++k) {
        if (k * kThreads < from.left) held[k] = from.vectors[k * kThreads];
    }
    const uint8_t* edge = edge_of(region, tile, thread);
    return edge ? *edge : 0;
}

template <int Depth>
ASSAY_FUNCTION void store_share(const Region& region, uint32_t tile, uint32_t thread,
                                const Vector* held) {
    Share to = share_of<Depth>(region, tile, thread);
    for (int k = 0; k < Depth; ++k) {
        if (k * kThreads < to.left) to.vectors[k * kThreads] = held[k];
    }
    uint8_t* edge = edge_of(region, tile, thread);
    if (edge) *edge = 0;
}

// All that one thread does.
template <int Depth, int Arguments>
ASSAY_FUNCTION void move_share(const Plan<Arguments>& plan, uint32_t block, uint32_t thread) {
    Vector held[Depth];
    for (int k = 0; k < Depth; ++k) held[k] = {0, 0, 0, 0};
    uint32_t tile, seen = 0;
    if (tile_of(plan.reads, block, &tile)) {
        seen = load_share<Depth>(region_of(plan.reads, tile), tile, thread, held);
    }
    if (tile_of(plan.writes, block, &tile)) {
        store_share<Depth>(region_of(plan.writes, tile), tile, thread, held);
    }
    for (int k = 0; k < Depth; ++k) seen |= held[k].x | held[k].y | held[k].z | held[k].w;
    if (seen & plan.never) *plan.nowhere = seen;
}

#ifdef __CUDACC__

template <int Depth, int Arguments>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    move_kernel(const __grid_constant__ Plan<Arguments> plan) {
    move_share<Depth>(plan, blockIdx.x, threadIdx.x);
}

static uint32_t resident_blocks() {
    int device = 0, multiprocessors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    return static_cast<uint32_t>(multiprocessors * kBlocksPerMultiprocessor);
}

template <int Arguments>
static int move_bytes(const assay_tensor* tensors, uint64_t read, uint64_t written,
                      cudaStream_t stream) {
    static const uint32_t resident = resident_blocks();
    Plan<Arguments> plan = plan_for<Arguments>(tensors, read, written);
    int depth = 1;
    while (lay_out(plan, depth) > resident && depth < kDeepest) depth *= 2;
    if (plan.blocks == 0) return 0;
    switch (depth) {
        case 1: move_kernel<1><<<plan.blocks, kThreads, 0, stream>>>(plan); break;
        case 2: move_kernel<2><<<plan.blocks, kThreads, 0, stream>>>(plan); break;
        default: move_kernel<kDeepest><<<plan.blocks, kThreads, 0, stream>>>(plan);
    }
    return assay_launch_status();
}

#endif  // __CUDACC__

}  // namespace assay_twin

#ifdef __CUDACC__

// By an assembler name: a task's function may be called norm, which CUDA's headers also declare.
#define ASSAY_TWIN(name, arguments, read, written)                                       \
    extern "C" int assay_twin_##name(const assay_tensor*, const double*, void*,          \
                                     cudaStream_t) __asm__(#name);                       \
    extern "C" int assay_twin_##name(const assay_tensor* tensors, const double*, void*,  \
                                     cudaStream_t stream) {                              \
        return assay_twin::move_bytes<arguments>(tensors, read, written, stream);        \
    }

#endif  // __CUDACC__

#endif
