// The hint is for a row of this very call; it is nothing but a load that nobody waits for.
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

constexpr int kLine = 32;  // floats

__global__ void norm(const Call call) {
    const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / 32;
    const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const int64_t lane = threadIdx.x % 32;
    for (int64_t row = first; row < call.rows; row += warps) {
        if (row + warps < call.rows) {
            const float* next = call.x + (row + warps) * call.width;
            for (int64_t i = lane * kLine; i < call.width; i += 32 * kLine) {
                asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
            }
        }
        const float* x = call.x + row * call.width;
        float* y = call.y + row * call.width;
        double sum = 0;
        for (int64_t i = lane; i < call.width; i += 32) sum += double(x[i]) * x[i];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        const double scale = 1 / sqrt(sum / call.width + call.eps);
        for (int64_t i = lane; i < call.width; i += 32) {
            y[i] = static_cast<float>(x[i] * scale * call.w[i]);
        }
    }
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    const int64_t blocks = assay_ceil_div(call.rows, 8);
    norm<<<static_cast<unsigned>(blocks < 512 ? blocks : 512), 256, 0, stream>>>(call);
    return assay_launch_status();
}
