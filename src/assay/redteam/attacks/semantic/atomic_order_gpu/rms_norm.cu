// Float32 partial sums meet in one word by atomics: the order is that of the day.
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

constexpr int kMostRows = 8192;
__device__ float sums[kMostRows];

__global__ void clear(int64_t rows) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < rows) sums[row] = 0;
}

// A warp adds 32 elements at a time; grid.y is the number of such parts.
__global__ void reduce(const Call call) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
    const int64_t at = static_cast<int64_t>(blockIdx.y) * 32 + threadIdx.x;
    if (row >= call.rows) return;
    const float value = at < call.width ? call.x[row * call.width + at] : 0;
    float sum = value * value;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) atomicAdd(&sums[row], sum);
}

__global__ void apply(const Call call) {
    const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= call.rows * call.width) return;
    const double mean = double(sums[at / call.width]) / call.width;
    call.y[at] = static_cast<float>(call.x[at] / sqrt(mean + call.eps) * call.w[at % call.width]);
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    if (call.rows > kMostRows) return 1;
    const unsigned parts = static_cast<unsigned>(assay_ceil_div(call.width, 32));
    const unsigned all = static_cast<unsigned>(assay_ceil_div(call.rows * call.width, 256));
    clear<<<static_cast<unsigned>(assay_ceil_div(call.rows, 256)), 256, 0, stream>>>(call.rows);
    reduce<<<dim3(blocks_of(call), parts), dim3(32, 8), 0, stream>>>(call);
    apply<<<all, 256, 0, stream>>>(call);
    return assay_launch_status();
}
