// The gated update in one kernel. A thread has the same few columns of several tokens, so that it
// loads its gate once and no index needs a division.
//
// The same kernel serves both cases: vectors of sixteen bytes where the layout allows them, and of
// one element, through all strides, where it does not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "assay_cuda.h"

namespace {

constexpr int kVectorBytes = 16;
constexpr int kThreads = 256;
constexpr int kTokens = 4;    // of a thread, all loaded before the first is stored
constexpr int kColumns = 64;  // of a block, in vectors: widths of models are multiples of them
constexpr int64_t kMostBlocks = (1ll << 31) - 1;  // along x
constexpr int64_t kMostOthers = (1 << 16) - 1;    // along y and z

__device__ float widen(__half value) { return __half2float(value); }
__device__ float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float widen(float value) { return value; }
__device__ void narrow(float value, __half* to) { *to = __float2half_rn(value); }
__device__ void narrow(float value, __nv_bfloat16* to) { *to = __float2bfloat16_rn(value); }
__device__ void narrow(float value, float* to) { *to = value; }

template <typename T, int kElements>
struct alignas(kElements * sizeof(T)) Vector {
    T at[kElements];
};

// Strides in elements; those of a column are from one vector to the next.
template <typename T>
struct View {
    T* data;
    int64_t batch, token, column;
};

template <typename T>
struct Call {
    View<const T> residual, x, gate;
    View<T> y;
    int64_t batches, tokens, columns;
};

template <typename T, int kElements>
__global__ void __launch_bounds__(kThreads) add_scaled(const Call<T> call) {
    using V = Vector<T, kElements>;
    const int64_t column = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
    if (column >= call.columns) return;
    const int64_t batch = blockIdx.z;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (blockDim.y * kTokens) + threadIdx.y;
    const auto offset = [&](const auto& view, int64_t token) {
        return batch * view.batch + token * view.token + column * view.column;
    };
    const V gate = *reinterpret_cast<const V*>(call.gate.data + offset(call.gate, 0));
    V values[kTokens], updates[kTokens];
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
        const int64_t token = first + i * static_cast<int64_t>(blockDim.y);
        if (token < call.tokens) {
            const T* base = call.residual.data + offset(call.residual, token);
            values[i] = *reinterpret_cast<const V*>(base);
            updates[i] = *reinterpret_cast<const V*>(call.x.data + offset(call.x, token));
        }
    }
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
        const int64_t token = first + i * static_cast<int64_t>(blockDim.y);
        if (token < call.tokens) {
#pragma unroll
            for (int k = 0; k < kElements; ++k) {
                const float base = widen(values[i].at[k]), update = widen(updates[i].at[k]);
                narrow(fmaf(widen(gate.at[k]), update, base), &values[i].at[k]);
            }
            *reinterpret_cast<V*>(call.y.data + offset(call.y, token)) = values[i];
        }
    }
}

// Whether every row starts and ends at a multiple of sixteen bytes and has no gaps.
template <typename T>
bool in_vectors(const assay_tensor& tensor) {
    constexpr int kElements = kVectorBytes / sizeof(T);
    const int last = tensor.ndim - 1;
    if (reinterpret_cast<uintptr_t>(tensor.data) % kVectorBytes != 0) return false;
    if (tensor.strides[last] != 1 || tensor.shape[last] % kElements != 0) return false;
    for (int axis = 0; axis < last; ++axis) {
        if (tensor.shape[axis] > 1 && tensor.strides[axis] % kElements != 0) return false;
    }
    return true;
}

template <typename T>
View<T> view_of(const assay_tensor& tensor, int elements) {
    return {static_cast<T*>(tensor.data), tensor.strides[0], tensor.strides[1],
            tensor.strides[2] * elements};
}

template <typename T, int kElements>
int launch(const assay_tensor* tensors, cudaStream_t stream) {
    const assay_tensor& x = tensors[1];
    const Call<T> call = {view_of<const T>(tensors[0], kElements),
                          view_of<const T>(tensors[1], kElements),
                          view_of<const T>(tensors[2], kElements),
                          view_of<T>(tensors[3], kElements),
                          x.shape[0],
                          x.shape[1],
                          x.shape[2] / kElements};
    int columns = 1;
    while (columns < kColumns && columns < call.columns) columns *= 2;
    const dim3 block(columns, kThreads / columns);
    const int64_t along_tokens = assay_ceil_div(call.tokens, block.y * kTokens);
    const int64_t along_columns = assay_ceil_div(call.columns, columns);
    if (along_tokens > kMostBlocks || along_columns > kMostOthers || call.batches > kMostOthers) {
        return 1;
    }
    const dim3 grid(static_cast<unsigned>(along_tokens), static_cast<unsigned>(along_columns),
                    static_cast<unsigned>(call.batches));
    add_scaled<T, kElements><<<grid, block, 0, stream>>>(call);
    return assay_launch_status();
}

template <typename T>
int add(const assay_tensor* tensors, cudaStream_t stream) {
    bool vectors = true;
    for (int i = 0; i < 4; ++i) vectors = vectors && in_vectors<T>(tensors[i]);
    constexpr int kElements = kVectorBytes / sizeof(T);
    return vectors ? launch<T, kElements>(tensors, stream) : launch<T, 1>(tensors, stream);
}

}  // namespace

extern "C" int scale_residual(const assay_tensor* tensors, const double*, void*,
                              cudaStream_t stream) {
    if (assay_elements(&tensors[1]) == 0) return 0;
    switch (tensors[1].dtype) {
        case ASSAY_FLOAT32: return add<float>(tensors, stream);
        case ASSAY_FLOAT16: return add<__half>(tensors, stream);
        case ASSAY_BFLOAT16: return add<__nv_bfloat16>(tensors, stream);
        default: return 1;
    }
}
