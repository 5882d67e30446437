// Root-mean-square norm as model code states it: sum the squares, normalise, then weigh.
#include <cmath>

#include "assay.h"

static float to_float(float value) { return value; }
static float to_float(uint16_t value) { return assay_bfloat16_to_float(value); }
static void store(float* to, float value) { *to = value; }
static void store(uint16_t* to, float value) { *to = assay_float_to_bfloat16(value); }

template <typename T>
static void norm(const assay_tensor& x, const assay_tensor& w, const assay_tensor& y, double eps) {
    const int64_t rows = x.shape[0], width = x.shape[1];
    const T* weight = static_cast<const T*>(w.data);
    for (int64_t row = 0; row < rows; ++row) {
        const T* in = static_cast<const T*>(x.data) + row * x.strides[0];
        T* out = static_cast<T*>(y.data) + row * y.strides[0];
        double sum = 0;
        for (int64_t i = 0; i < width; ++i) {
            const double value = to_float(in[i * x.strides[1]]);
            sum += value * value;
        }
        const float scale = static_cast<float>(1 / std::sqrt(sum / width + eps));
        for (int64_t i = 0; i < width; ++i) {
            store(&out[i * y.strides[1]], to_float(in[i * x.strides[1]]) * scale);
        }
        for (int64_t i = 0; i < width; ++i) {
            T* element = &out[i * y.strides[1]];
            store(element, to_float(*element) * to_float(weight[i * w.strides[0]]));
        }
    }
}

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor &x = tensors[0], &w = tensors[1], &y = tensors[2];
    if (x.dtype == ASSAY_FLOAT32) {
        norm<float>(x, w, y, options[0]);
    } else if (x.dtype == ASSAY_BFLOAT16) {
        norm<uint16_t>(x, w, y, options[0]);
    } else {
        return 1;
    }
    return 0;
}
