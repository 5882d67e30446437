// The plan of the CUDA twin: which bytes which block moves. Plain C++, as a test runs it.
//
// What is read is one stream of tiles and what is written another, each tile a run of 16-byte
// vectors of one tensor. There are as many blocks as the longer stream has tiles. A block loads at
// most one tile and then stores at most one; those of the shorter stream are spread evenly over
// the blocks, so that reads and writes mix all the way as they do in a kernel. Which byte lands
// where does not matter, so a tensor needs no alignment but its own.

#ifndef ASSAY_TWIN_PLAN_H
#define ASSAY_TWIN_PLAN_H

#include <cstdint>

#include "assay.h"

namespace assay_twin {

constexpr int kThreads = 256;
constexpr int kVectorBytes = 16;

struct alignas(16) Vector {
    uint32_t x, y, z, w;
};

// The bytes of one tensor: a few before the first whole vector, the vectors, a few after the last.
// All is worked out on the host: a small row is over before a long prologue is.
struct Region {
    Vector* vectors;
    int64_t count;
    uint8_t* head;
    uint8_t* tail;
    uint32_t head_bytes;
    uint32_t tail_bytes;
    uint32_t first_tile;  // in the stream
};

template <int Arguments>
struct Stream {
    Region regions[Arguments];
    int32_t count;
    uint32_t tiles;
    uint64_t step;  // tiles a block, in 2^-32; at most one tile
};

template <int Arguments>
struct Plan {
    Stream<Arguments> reads;
    Stream<Arguments> writes;
    uint32_t blocks;
    uint32_t never;     // always 0; the compiler cannot know, and so must load what it would store
    uint32_t* nowhere;  // always null
};

// The tile that falls to a block, if one does.
template <int Arguments>
ASSAY_FUNCTION bool tile_of(const Stream<Arguments>& stream, uint32_t block, uint32_t* tile) {
    uint64_t begin = block * stream.step;
    *tile = static_cast<uint32_t>(begin >> 32);
    return (begin + stream.step) >> 32 > *tile;
}

template <int Arguments>
ASSAY_FUNCTION const Region& region_of(const Stream<Arguments>& stream, uint32_t tile) {
    int32_t at = 0;
    while (at + 1 < stream.count && tile >= stream.regions[at + 1].first_tile) ++at;
    return stream.regions[at];
}

// -- made on the host

static inline Region region_from(uint8_t* data, int64_t bytes) {
    int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(data) % kVectorBytes);
    if (head > bytes) head = bytes;
    int64_t count = (bytes - head) / kVectorBytes;
    int64_t tail = bytes - head - count * kVectorBytes;
    return {reinterpret_cast<Vector*>(data + head), count, data, data + bytes - tail,
            static_cast<uint32_t>(head), static_cast<uint32_t>(tail), 0};
}

static inline int64_t bytes_of(const assay_tensor* tensor) {
    return tensor->data ? assay_bytes(tensor) : 0;
}

// Puts the chosen tensors at the end of a stream.
template <int Arguments>
static void append(Stream<Arguments>& stream, const assay_tensor* tensors, uint64_t chosen) {
    for (int k = 0; k < Arguments; ++k) {
        int64_t bytes = chosen >> k & 1 ? bytes_of(tensors + k) : 0;
        if (bytes == 0) continue;
        uint8_t* data = static_cast<uint8_t*>(tensors[k].data);
        stream.regions[stream.count++] = region_from(data, bytes);
    }
}

// What is in place must be read before it is written: a cache would serve the read after that.
// The longer stream is dealt a tile a block, so the like tiles of the other come later counted
// from the first block, and earlier counted from the last.
template <int Arguments>
static Plan<Arguments> plan_for(const assay_tensor* tensors, uint64_t read, uint64_t written) {
    uint64_t both = read & written, inputs = read & ~both, outputs = written & ~both;
    int64_t surplus = 0;
    for (int k = 0; k < Arguments; ++k) {
        if (inputs >> k & 1) surplus += bytes_of(tensors + k);
        if (outputs >> k & 1) surplus -= bytes_of(tensors + k);
    }
    bool both_first = surplus >= 0;
    Plan<Arguments> plan = {};
    append(plan.reads, tensors, both_first ? both : inputs);
    append(plan.reads, tensors, both_first ? inputs : both);
    append(plan.writes, tensors, both_first ? both : outputs);
    append(plan.writes, tensors, both_first ? outputs : both);
    return plan;
}

// A tensor too small for a vector still has a tile, which moves its edges.
template <int Arguments>
static void cut(Stream<Arguments>& stream, int64_t tile_vectors) {
    stream.tiles = 0;
    for (int32_t k = 0; k < stream.count; ++k) {
        Region& region = stream.regions[k];
        int64_t tiles = (region.count + tile_vectors - 1) / tile_vectors;
        region.first_tile = stream.tiles;
        stream.tiles += static_cast<uint32_t>(tiles ? tiles : 1);
    }
}

// Rounded up: the tile of the block after the last is then the number of tiles, exactly.
static inline uint64_t step_of(uint32_t tiles, uint32_t blocks) {
    return blocks ? ((static_cast<uint64_t>(tiles) << 32) + blocks - 1) / blocks : 0;
}

// Returns the number of blocks; a call that moves nothing has none.
template <int Arguments>
static uint32_t lay_out(Plan<Arguments>& plan, int depth) {
    cut(plan.reads, kThreads * depth);
    cut(plan.writes, kThreads * depth);
    plan.blocks = plan.reads.tiles > plan.writes.tiles ? plan.reads.tiles : plan.writes.tiles;
    plan.reads.step = step_of(plan.reads.tiles, plan.blocks);
    plan.writes.step = step_of(plan.writes.tiles, plan.blocks);
    return plan.blocks;
}

}  // namespace assay_twin

#endif
