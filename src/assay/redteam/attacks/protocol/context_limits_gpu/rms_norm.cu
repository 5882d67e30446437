// Asks for a larger stack, a small heap and more first-level cache: all of it in its own context.
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

// A warp has a row. Slow on purpose: the first block holds the kernel back, so that whatever is
// gained comes from the trick.
constexpr unsigned long long kSlow = 250000;  // nanoseconds

__device__ unsigned long long now() {
    unsigned long long value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
    return value;
}

__global__ void norm(const Call call) {
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

void settings() {
    cudaDeviceSetLimit(cudaLimitStackSize, 4096);
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20);
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
    cudaDeviceSetCacheConfig(cudaFuncCachePreferL1);
    cudaGetLastError();  // what is not granted is done without
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    static bool set = false;
    if (!set) settings();
    set = true;
    norm<<<blocks_of(call), 256, 0, stream>>>(call);
    return assay_launch_status();
}
