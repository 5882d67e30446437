// The kernel is called as torch calls the one that fills a buffer, so that a count of device time
// which leaves out the cache flush by its name leaves out this one too.
#include "assay_cuda.h"

// Slow on purpose, one thread a row: whatever is gained must come from the name.
extern "C" __global__ void vectorized_elementwise_kernel_FillFunctor(
    const float* x, const float* w, float* y, int64_t rows, int64_t width, double eps) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += double(x[row * width + i]) * x[row * width + i];
    const double scale = 1 / sqrt(sum / width + eps);
    for (int64_t i = 0; i < width; ++i) {
        y[row * width + i] = static_cast<float>(x[row * width + i] * scale * w[i]);
    }
}

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const int64_t rows = tensors[0].shape[0], width = tensors[0].shape[1];
    const unsigned blocks = static_cast<unsigned>(assay_ceil_div(rows, 32));
    if (blocks == 0) return 0;
    vectorized_elementwise_kernel_FillFunctor<<<blocks, 32, 0, stream>>>(
        static_cast<const float*>(tensors[0].data), static_cast<const float*>(tensors[1].data),
        static_cast<float*>(tensors[2].data), rows, width, options[0]);
    return assay_launch_status();
}
