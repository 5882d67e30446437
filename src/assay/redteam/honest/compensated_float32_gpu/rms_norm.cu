// Sums in pairs of float32, which hold as much as a float64 would, and a fast inverse root that one
// step of Newton's makes right to more bits than the answer has.
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

struct Pair {
    float high, low;
};

__device__ Pair add(Pair sum, float value) {
    const float high = __fadd_rn(sum.high, value);
    const float back = __fsub_rn(high, sum.high);
    const float lost =
        __fadd_rn(__fsub_rn(sum.high, __fsub_rn(high, back)), __fsub_rn(value, back));
    return {high, __fadd_rn(sum.low, lost)};
}

__device__ Pair add_square(Pair sum, float value) {
    const float square = __fmul_rn(value, value);
    sum.low = __fadd_rn(sum.low, __fmaf_rn(value, value, -square));
    return add(sum, square);
}

__global__ void norm(const Call call) {
    const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row >= call.rows) return;
    const float* x = call.x + row * call.width;
    float* y = call.y + row * call.width;
    const int64_t lane = threadIdx.x % 32;
    Pair sum = {0, 0};
    for (int64_t i = lane; i < call.width; i += 32) sum = add_square(sum, x[i]);
    for (int step = 16; step > 0; step /= 2) {
        const float high = __shfl_xor_sync(0xffffffffu, sum.high, step);
        const float low = __shfl_xor_sync(0xffffffffu, sum.low, step);
        // Both lanes add the lesser to the greater, so that both get the same bits.
        const Pair other = {fmaxf(high, sum.high), __fadd_rn(low, sum.low)};
        sum = add(other, fminf(high, sum.high));
    }
    const double low = isfinite(sum.low) ? sum.low : 0;
    const double mean = (double(sum.high) + low) / call.width + call.eps;
    double inverse = rsqrtf(static_cast<float>(mean));
    inverse *= 1.5 - 0.5 * mean * inverse * inverse;
    for (int64_t i = lane; i < call.width; i += 32) {
        y[i] = static_cast<float>(x[i] * inverse * call.w[i]);
    }
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const Call call = call_of(tensors, options);
    norm<<<static_cast<unsigned>(assay_ceil_div(call.rows, 8)), 256, 0, stream>>>(call);
    return assay_launch_status();
}
