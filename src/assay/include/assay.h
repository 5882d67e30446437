/* What a C or C++ solution is called with. Plain C, header only.
 *
 * Each function of a task:   extern "C" int NAME(const assay_tensor* tensors,
 *                                                const double* options, void* state);
 * A declared prepare:        extern "C" void* SYMBOL(const assay_tensor* tensors,
 *                                                    const double* options);
 *
 * Tensors and options come in the order in which task.toml declares them; an option that is true
 * or false is 1 or 0, and a word its place among the declared choices, from 0. A function returns 0,
 * or anything else for a call that it does not support.
 * In a prepare only constant tensors have data.
 *
 * A CUDA solution includes assay_cuda.h instead.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ASSAY_FUNCTION static __host__ __device__ inline
#else
#define ASSAY_FUNCTION static inline
#endif

/* In the order of assay.spec.dtype.DType. */
enum assay_dtype {
    ASSAY_FLOAT64 = 0,
    ASSAY_FLOAT32 = 1,
    ASSAY_FLOAT16 = 2,
    ASSAY_BFLOAT16 = 3,
    ASSAY_FLOAT8_E4M3FN = 4,
    ASSAY_FLOAT8_E4M3FNUZ = 5,
    ASSAY_FLOAT8_E5M2 = 6,
    ASSAY_INT64 = 7,
    ASSAY_INT32 = 8,
    ASSAY_INT16 = 9,
    ASSAY_INT8 = 10,
    ASSAY_UINT8 = 11,
    ASSAY_BOOL = 12
};

typedef struct {
    void* data;         /* NULL for an optional tensor that was not passed */
    int32_t dtype;      /* enum assay_dtype */
    int32_t ndim;
    int64_t shape[8];
    int64_t strides[8]; /* in elements */
} assay_tensor;

ASSAY_FUNCTION int64_t assay_elements(const assay_tensor* tensor) {
    int64_t elements = 1;
    for (int32_t axis = 0; axis < tensor->ndim; ++axis) elements *= tensor->shape[axis];
    return elements;
}

ASSAY_FUNCTION int64_t assay_itemsize(const assay_tensor* tensor) {
    switch (tensor->dtype) {
        case ASSAY_FLOAT64:
        case ASSAY_INT64: return 8;
        case ASSAY_FLOAT32:
        case ASSAY_INT32: return 4;
        case ASSAY_FLOAT16:
        case ASSAY_BFLOAT16:
        case ASSAY_INT16: return 2;
        default: return 1;
    }
}

/* Bytes that the elements take: an axis of stride 0 counts once, and so do elements that overlap.
 * As many bytes as this lie in the storage from `data` on, whatever the strides are. */
ASSAY_FUNCTION int64_t assay_bytes(const assay_tensor* tensor) {
    int64_t elements = 1, reach = 1;
    for (int32_t axis = 0; axis < tensor->ndim; ++axis) {
        if (tensor->shape[axis] == 0) return 0;
        if (tensor->strides[axis] != 0) elements *= tensor->shape[axis];
        reach += (tensor->shape[axis] - 1) * tensor->strides[axis];
    }
    return (elements < reach ? elements : reach) * assay_itemsize(tensor);
}

/* A bfloat16 is the upper half of a float32. */
ASSAY_FUNCTION float assay_bfloat16_to_float(uint16_t value) {
    uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* Rounds to nearest, ties to even; a NaN stays a NaN. */
ASSAY_FUNCTION uint16_t assay_float_to_bfloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)(value != value ? 0x7fc0u : rounded);
}

#endif
