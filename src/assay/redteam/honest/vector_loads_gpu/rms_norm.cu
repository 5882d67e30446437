// A block has a row; whole rows of four elements are read and written sixteen bytes at a time.
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

// The sum over a block, the same bits in all its threads.
__device__ double block_sum(double sum) {
    __shared__ double parts[32];
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __syncthreads();  // the parts of an earlier row have been read
    if (lane == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = lane < warps ? parts[lane] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

__device__ double square(float value) { return double(value) * value; }

__global__ void norm_vectors(const Call call) {
    const int64_t row = blockIdx.x, vectors = call.width / 4;
    const auto* x = reinterpret_cast<const float4*>(call.x + row * call.width);
    const auto* w = reinterpret_cast<const float4*>(call.w);
    auto* y = reinterpret_cast<float4*>(call.y + row * call.width);
    double sum = 0;
    for (int64_t i = threadIdx.x; i < vectors; i += blockDim.x) {
        const float4 value = x[i];
        sum += square(value.x) + square(value.y) + square(value.z) + square(value.w);
    }
    const double scale = 1 / sqrt(block_sum(sum) / call.width + call.eps);
    for (int64_t i = threadIdx.x; i < vectors; i += blockDim.x) {
        const float4 value = x[i], weight = w[i];
        y[i] = make_float4(value.x * scale * weight.x, value.y * scale * weight.y,
                           value.z * scale * weight.z, value.w * scale * weight.w);
    }
}

__global__ void norm(const Call call) {
    const float* x = call.x + blockIdx.x * call.width;
    float* y = call.y + blockIdx.x * call.width;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < call.width; i += blockDim.x) sum += square(x[i]);
    const double scale = 1 / sqrt(block_sum(sum) / call.width + call.eps);
    for (int64_t i = threadIdx.x; i < call.width; i += blockDim.x) {
        y[i] = static_cast<float>(x[i] * scale * call.w[i]);
    }
}

bool aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; }

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    const unsigned blocks = static_cast<unsigned>(call.rows);
    if (call.width % 4 == 0 && aligned(call.x) && aligned(call.w) && aligned(call.y)) {
        norm_vectors<<<blocks, 256, 0, stream>>>(call);
    } else {
        norm<<<blocks, 256, 0, stream>>>(call);
    }
    return assay_launch_status();
}
