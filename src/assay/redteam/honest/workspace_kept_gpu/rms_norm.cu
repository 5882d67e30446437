// The scales of a call lie in memory that is allocated once; every call writes them anew.
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

__global__ void reduce(const Call call, double* scales) {
    const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row >= call.rows) return;
    const float* x = call.x + row * call.width;
    double sum = 0;
    for (int64_t i = threadIdx.x % 32; i < call.width; i += 32) sum += double(x[i]) * x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) scales[row] = 1 / sqrt(sum / call.width + call.eps);
}

__global__ void apply(const Call call, const double* scales) {
    const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= call.rows * call.width) return;
    call.y[at] = static_cast<float>(call.x[at] * scales[at / call.width] * call.w[at % call.width]);
}

double* workspace(int64_t rows) {
    static double* kept = nullptr;
    static int64_t room = 0;
    if (rows > room) {
        if (kept != nullptr) cudaFree(kept);
        room = rows < 8192 ? 8192 : rows;
        if (cudaMalloc(reinterpret_cast<void**>(&kept), room * sizeof(double))) kept = nullptr;
    }
    return kept;
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    double* const scales = workspace(call.rows);
    if (scales == nullptr) return 1;
    const int64_t all = assay_ceil_div(call.rows * call.width, 256);
    reduce<<<static_cast<unsigned>(assay_ceil_div(call.rows, 8)), 256, 0, stream>>>(call, scales);
    apply<<<static_cast<unsigned>(all), 256, 0, stream>>>(call, scales);
    return assay_launch_status();
}
