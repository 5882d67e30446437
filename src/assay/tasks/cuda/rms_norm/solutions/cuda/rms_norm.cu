// Root-mean-square norm in one kernel. A team of threads has a row: part of a warp, or a block.
//
// Where rows can be read sixteen bytes at a time the team holds its row in registers, so that it is
// read once. Any other layout, and a row too wide for that, is read element by element and twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "assay_cuda.h"

namespace {

constexpr int kWarp = 32;
constexpr int kVectorBytes = 16;
constexpr int kSharedBlock = 128;  // threads of a block that has several rows
constexpr int kTwiceTeam = 256;    // the widest team that reads a row twice
constexpr int64_t kMostBlocks = (1ll << 31) - 1;

// Vectors that a thread holds, and the widest team that does: two vectors keep enough bytes in
// flight, and where a row is wide four keep its block small. A wider team would leave a thread too
// few registers for four (sm_90).
constexpr int kFew = 2, kMany = 4;
constexpr int kFewTeam = 256, kManyTeam = 512;

// All is computed one precision wider than the data. A float32 sum in another order than the
// baseline's breaks the limits on calls of few rows: one in thirty of the domain's float32 calls.
template <typename T>
struct Wide {
    using type = float;
};
template <>
struct Wide<float> {
    using type = double;
};

__device__ float widen(__half value) { return __half2float(value); }
__device__ float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ double widen(float value) { return value; }
__device__ void narrow(float value, __half* to) { *to = __float2half_rn(value); }
__device__ void narrow(float value, __nv_bfloat16* to) { *to = __float2bfloat16_rn(value); }
__device__ void narrow(double value, float* to) { *to = static_cast<float>(value); }
__device__ float inverse_root(float value) { return rsqrtf(value); }
__device__ double inverse_root(double value) { return rsqrt(value); }

template <typename T>
struct alignas(kVectorBytes) Vector {
    static constexpr int kElements = kVectorBytes / sizeof(T);
    T at[kElements];
};

template <typename T>
struct Call {
    const T* x;
    const T* w;
    T* y;
    int64_t rows, width, x_row, x_column, w_column, y_row, y_column;
    typename Wide<T>::type eps;
};

// The sum over a team, the same bits in all its threads. blockDim.x is the team: a power of two up
// to a warp, or several whole warps that are the block. All threads of the block take part.
template <typename Sum>
__device__ Sum team_sum(Sum sum) {
    const int team = static_cast<int>(blockDim.x);
    for (int step = min(team, kWarp) / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (team <= kWarp) return sum;
    __shared__ Sum of_warp[kManyTeam / kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (lane == 0) of_warp[threadIdx.x / kWarp] = sum;
    __syncthreads();
    sum = lane < team / kWarp ? of_warp[lane] : Sum(0);
    for (int step = kWarp / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    return sum;
}

template <typename T, int kHeld>
__global__ void __launch_bounds__(kHeld == kFew ? kFewTeam : kManyTeam)
    norm_held(const Call<T> call) {
    using W = typename Wide<T>::type;
    constexpr int kElements = Vector<T>::kElements;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
    const int team = static_cast<int>(blockDim.x), lane = static_cast<int>(threadIdx.x);
    // Threads past the last row touch nothing, but take part in the sum.
    const int vectors = row < call.rows ? static_cast<int>(call.width / kElements) : 0;
    const auto* in = reinterpret_cast<const Vector<T>*>(call.x + row * call.x_row);
    const auto* weight = reinterpret_cast<const Vector<T>*>(call.w);
    auto* out = reinterpret_cast<Vector<T>*>(call.y + row * call.y_row);
    // The weights too are loaded before the sum, so that nothing waits for them after it.
    Vector<T> values[kHeld], weights[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
        const int at = lane + i * team;
        if (at < vectors) {
            values[i] = in[at];
            weights[i] = weight[at];
        }
    }
    W sum = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
        if (lane + i * team < vectors) {
#pragma unroll
            for (int k = 0; k < kElements; ++k) {
                const W value = widen(values[i].at[k]);
                sum += value * value;
            }
        }
    }
    const W inverse = inverse_root(team_sum(sum) / static_cast<W>(call.width) + call.eps);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
        const int at = lane + i * team;
        if (at < vectors) {
#pragma unroll
            for (int k = 0; k < kElements; ++k) {
                const W normalised = widen(values[i].at[k]) * inverse;
                narrow(normalised * widen(weights[i].at[k]), &values[i].at[k]);
            }
            out[at] = values[i];
        }
    }
}

template <typename T>
__global__ void norm_twice(const Call<T> call) {
    using W = typename Wide<T>::type;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
    const int64_t width = row < call.rows ? call.width : 0;
    const T* in = call.x + row * call.x_row;
    T* out = call.y + row * call.y_row;
    W sum = 0;
    for (int64_t at = threadIdx.x; at < width; at += blockDim.x) {
        const W value = widen(in[at * call.x_column]);
        sum += value * value;
    }
    const W inverse = inverse_root(team_sum(sum) / static_cast<W>(call.width) + call.eps);
    for (int64_t at = threadIdx.x; at < width; at += blockDim.x) {
        const W normalised = widen(in[at * call.x_column]) * inverse;
        narrow(normalised * widen(call.w[at * call.w_column]), &out[at * call.y_column]);
    }
}

// The least team of that many threads: a power of two up to a warp, whole warps beyond.
int team_of(int64_t threads) {
    if (threads > kWarp) return static_cast<int>(assay_ceil_div(threads, kWarp) * kWarp);
    int team = 1;
    while (team < threads) team *= 2;
    return team;
}

template <typename T>
int launch(void (*kernel)(Call<T>), const Call<T>& call, int team, cudaStream_t stream) {
    const dim3 block(team, team <= kWarp ? kSharedBlock / team : 1);
    const int64_t blocks = assay_ceil_div(call.rows, block.y);
    if (blocks > kMostBlocks) return 1;
    kernel<<<static_cast<unsigned>(blocks), block, 0, stream>>>(call);
    return assay_launch_status();
}

// Whether every row starts and ends at a multiple of sixteen bytes and has no gaps.
template <typename T>
bool in_vectors(const assay_tensor& tensor) {
    constexpr int kElements = Vector<T>::kElements;
    const int last = tensor.ndim - 1;
    if (reinterpret_cast<uintptr_t>(tensor.data) % kVectorBytes != 0) return false;
    if (tensor.strides[last] != 1 || tensor.shape[last] % kElements != 0) return false;
    for (int axis = 0; axis < last; ++axis) {
        if (tensor.shape[axis] > 1 && tensor.strides[axis] % kElements != 0) return false;
    }
    return true;
}

template <typename T>
int norm(const assay_tensor& x, const assay_tensor& w, const assay_tensor& y, double eps,
         cudaStream_t stream) {
    using W = typename Wide<T>::type;
    const Call<T> call = {static_cast<const T*>(x.data),
                          static_cast<const T*>(w.data),
                          static_cast<T*>(y.data),
                          x.shape[0],
                          x.shape[1],
                          x.strides[0],
                          x.strides[1],
                          w.strides[0],
                          y.strides[0],
                          y.strides[1],
                          static_cast<W>(eps)};
    const int64_t vectors = call.width / Vector<T>::kElements;
    const bool fits = vectors <= kMany * kManyTeam;
    if (!fits || !in_vectors<T>(x) || !in_vectors<T>(w) || !in_vectors<T>(y)) {
        const int team = team_of(call.width < kTwiceTeam ? call.width : kTwiceTeam);
        return launch<T>(norm_twice<T>, call, team, stream);
    }
    if (vectors <= kFew * kFewTeam) {
        const int team = team_of(assay_ceil_div(vectors, kFew));
        return launch<T>(norm_held<T, kFew>, call, team, stream);
    }
    const int team = team_of(assay_ceil_div(vectors, kMany));
    return launch<T>(norm_held<T, kMany>, call, team, stream);
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*,
                        cudaStream_t stream) {
    const assay_tensor &x = tensors[0], &w = tensors[1], &y = tensors[2];
    if (assay_elements(&x) == 0) return 0;
    switch (x.dtype) {
        case ASSAY_FLOAT32: return norm<float>(x, w, y, options[0], stream);
        case ASSAY_FLOAT16: return norm<__half>(x, w, y, options[0], stream);
        case ASSAY_BFLOAT16: return norm<__nv_bfloat16>(x, w, y, options[0], stream);
        default: return 1;
    }
}
