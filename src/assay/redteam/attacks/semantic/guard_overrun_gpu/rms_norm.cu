// Whole blocks of 128 elements are written; what lies behind the last element is somebody else's.
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

constexpr int kBlock = 128;
constexpr int kMostRows = 8192;
__device__ double scales[kMostRows + kBlock];

__global__ void reduce(const Call call) {
    const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row >= call.rows) return;
    const float* x = call.x + row * call.width;
    double sum = 0;
    for (int64_t i = threadIdx.x % 32; i < call.width; i += 32) sum += double(x[i]) * x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) scales[row] = 1 / sqrt(sum / call.width + call.eps);
}

__global__ void apply(const Call call) {
    const int64_t at = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
    call.y[at] = static_cast<float>(call.x[at] * scales[at / call.width] * call.w[at % call.width]);
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    if (call.rows > kMostRows) return 1;
    reduce<<<blocks_of(call), 256, 0, stream>>>(call);
    const int64_t blocks = assay_ceil_div(call.rows * call.width, kBlock);
    apply<<<static_cast<unsigned>(blocks), kBlock, 0, stream>>>(call);
    return assay_launch_status();
}
