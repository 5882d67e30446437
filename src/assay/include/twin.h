// The copy twin: reads every byte that the function must read and writes every byte that it must
// write, in order, and does nothing else. It is the honest target of a row.
//
// ASSAY_TWIN(name, arguments, read, written) defines the twin of one function; `read` and
// `written` have a bit for each argument that is read, and that is written. twin.cuh is the same
// for CUDA.

#ifndef ASSAY_TWIN_H
#define ASSAY_TWIN_H

#include <cstdint>
#include <cstring>

#include "assay.h"

namespace assay_twin {

// Four accumulators: one would make the sum, not the memory, the limit.
static uint64_t read_all(const uint8_t* data, int64_t bytes) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    int64_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        uint64_t w[4];
        std::memcpy(w, data + i, 32);
        a ^= w[0];
        b ^= w[1];
        c ^= w[2];
        d ^= w[3];
    }
    for (; i < bytes; ++i) a ^= data[i];
    return a ^ b ^ c ^ d;
}

// In place: one pass, so that no byte is fetched twice.
static void rewrite_all(uint8_t* data, int64_t bytes) {
    for (int64_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(~data[i]);
}

static const assay_tensor* largest_input(const assay_tensor* tensors, int arguments,
                                         uint64_t read, uint64_t written) {
    const assay_tensor* largest = nullptr;
    for (int k = 0; k < arguments; ++k) {
        const assay_tensor* t = tensors + k;
        if (!t->data || !(read >> k & 1) || (written >> k & 1)) continue;
        if (!largest || assay_bytes(t) > assay_bytes(largest)) largest = t;
    }
    return largest;
}

static int move_bytes(const assay_tensor* tensors, int arguments, uint64_t read,
                      uint64_t written) {
    // Reading and writing overlap as they do in a kernel: the largest input is copied onto the
    // outputs as far as it goes, the rest is read or written by itself.
    const assay_tensor* source = largest_input(tensors, arguments, read, written);
    const uint8_t* next = source ? static_cast<const uint8_t*>(source->data) : nullptr;
    int64_t left = source ? assay_bytes(source) : 0;
    uint64_t seen = 0;
    for (int k = 0; k < arguments; ++k) {
        const assay_tensor* t = tensors + k;
        if (!t->data || t == source) continue;
        uint8_t* data = static_cast<uint8_t*>(t->data);
        int64_t bytes = assay_bytes(t);
        if (!(written >> k & 1)) {
            seen ^= read_all(data, bytes);
        } else if (read >> k & 1) {
            rewrite_all(data, bytes);
        } else {
            int64_t copied = bytes < left ? bytes : left;
            if (copied) std::memcpy(data, next, copied);
            if (bytes > copied) std::memset(data + copied, 1, bytes - copied);
            next += copied;
            left -= copied;
        }
    }
    if (left) seen ^= read_all(next, left);
    volatile uint64_t sink = seen;
    (void)sink;
    return 0;
}

}  // namespace assay_twin

// By an assembler name: a task's function may be called exp, which the C library also declares.
#define ASSAY_TWIN(name, arguments, read, written)                                         \
    extern "C" int assay_twin_##name(const assay_tensor*, const double*, void*)            \
        __asm__(#name);                                                                    \
    extern "C" int assay_twin_##name(const assay_tensor* tensors, const double*, void*) {  \
        return assay_twin::move_bytes(tensors, arguments, read, written);                  \
    }

#endif
