// The fast one with a prepare step: the weight, which is constant, is widened to floats that lie
// side by side. The number of partial sums comes from the declared search space.
#include <cmath>
#include <cstdlib>

#include "assay.h"

static constexpr int kLanes = LANES;

static inline float to_float(float value) { return value; }
static inline float to_float(uint16_t value) { return assay_bfloat16_to_float(value); }
static inline void store(float* to, float value) { *to = value; }
static inline void store(uint16_t* to, float value) { *to = assay_float_to_bfloat16(value); }

template <typename T>
static inline double sum_of_squares(const T* in, int64_t width, int64_t step) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const double value = to_float(in[(i + lane) * step]);
            lanes[lane] += value * value;
        }
    }
    for (int lane = 0; i < width; ++i, ++lane) {
        const double value = to_float(in[i * step]);
        lanes[lane] += value * value;
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

// kUnit: all inner strides are one, as a compile-time fact; without it the loops stay scalar.
template <typename T, bool kUnit>
static void norm(const assay_tensor& x, const float* __restrict weight, const assay_tensor& y,
                 double eps) {
    const int64_t rows = x.shape[0], width = x.shape[1];
    const int64_t x_step = kUnit ? 1 : x.strides[1];
    const int64_t y_step = kUnit ? 1 : y.strides[1];
    for (int64_t row = 0; row < rows; ++row) {
        const T* __restrict in = static_cast<const T*>(x.data) + row * x.strides[0];
        T* __restrict out = static_cast<T*>(y.data) + row * y.strides[0];
        const double sum = sum_of_squares(in, width, x_step);
        const float scale = static_cast<float>(1 / std::sqrt(sum / width + eps));
        for (int64_t i = 0; i < width; ++i) {
            const float value = to_float(in[i * x_step]);
            store(&out[i * y_step], value * scale * weight[i]);
        }
    }
}

template <typename T>
static void norm(const assay_tensor& x, const float* weight, const assay_tensor& y, double eps) {
    const bool unit = x.strides[1] == 1 && y.strides[1] == 1;
    unit ? norm<T, true>(x, weight, y, eps) : norm<T, false>(x, weight, y, eps);
}

template <typename T>
static void widen(const assay_tensor& w, float* weight) {
    const T* narrow = static_cast<const T*>(w.data);
    for (int64_t i = 0; i < w.shape[0]; ++i) weight[i] = to_float(narrow[i * w.strides[0]]);
}

extern "C" void* widen(const assay_tensor* tensors, const double*) {
    const assay_tensor& w = tensors[1];
    float* weight = static_cast<float*>(malloc(w.shape[0] * sizeof(float)));
    if (weight == nullptr) return nullptr;
    w.dtype == ASSAY_FLOAT32 ? widen<float>(w, weight) : widen<uint16_t>(w, weight);
    return weight;
}

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void* state) {
    const assay_tensor &x = tensors[0], &y = tensors[2];
    const float* weight = static_cast<const float*>(state);
    if (weight == nullptr) return 1;
    if (x.dtype == ASSAY_FLOAT32) {
        norm<float>(x, weight, y, options[0]);
    } else if (x.dtype == ASSAY_BFLOAT16) {
        norm<uint16_t>(x, weight, y, options[0]);
    } else {
        return 1;
    }
    return 0;
}
