// Layer norm, scale and shift of a token in one kernel: sums in sixteen independent lanes, which are
// double so that the centred variance holds for any mean, then all the rest in a single pass.
#include <cmath>

#include "assay.h"

static constexpr int kLanes = 16;

static inline double fold(double* lanes) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

static inline double sum_of(const float* in, int64_t width, int64_t step) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += in[(i + lane) * step];
    }
    for (int lane = 0; i < width; ++i, ++lane) lanes[lane] += in[i * step];
    return fold(lanes);
}

static inline double sum_of_squares(const float* in, int64_t width, int64_t step, double mean) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const double centred = in[(i + lane) * step] - mean;
            lanes[lane] += centred * centred;
        }
    }
    for (int lane = 0; i < width; ++i, ++lane) {
        const double centred = in[i * step] - mean;
        lanes[lane] += centred * centred;
    }
    return fold(lanes);
}

// kUnit: all inner strides are one, as a compile-time fact; without it the loops stay scalar.
template <bool kUnit>
static void modulate(const assay_tensor& x, const assay_tensor& scale, const assay_tensor& shift,
                     const assay_tensor& y, double eps) {
    const int64_t tokens = x.shape[0], width = x.shape[1];
    const int64_t x_step = kUnit ? 1 : x.strides[1], y_step = kUnit ? 1 : y.strides[1];
    const int64_t scale_step = kUnit ? 1 : scale.strides[1];
    const int64_t shift_step = kUnit ? 1 : shift.strides[1];
    for (int64_t token = 0; token < tokens; ++token) {
        const float* __restrict in = static_cast<const float*>(x.data) + token * x.strides[0];
        const float* __restrict gain =
            static_cast<const float*>(scale.data) + token * scale.strides[0];
        const float* __restrict offset =
            static_cast<const float*>(shift.data) + token * shift.strides[0];
        float* __restrict out = static_cast<float*>(y.data) + token * y.strides[0];
        const double mean = sum_of(in, width, x_step) / width;
        const double variance = sum_of_squares(in, width, x_step, mean) / width;
        const float inverse = static_cast<float>(1 / std::sqrt(variance + eps));
        for (int64_t i = 0; i < width; ++i) {
            const float normalised = static_cast<float>(in[i * x_step] - mean) * inverse;
            out[i * y_step] = normalised * (1 + gain[i * scale_step]) + offset[i * shift_step];
        }
    }
}

extern "C" int layer_norm_scale_shift(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor &x = tensors[0], &scale = tensors[1], &shift = tensors[2], &y = tensors[3];
    const bool unit = x.strides[1] == 1 && scale.strides[1] == 1 && shift.strides[1] == 1 &&
                      y.strides[1] == 1;
    unit ? modulate<true>(x, scale, shift, y, options[0])
         : modulate<false>(x, scale, shift, y, options[0]);
    return 0;
}
