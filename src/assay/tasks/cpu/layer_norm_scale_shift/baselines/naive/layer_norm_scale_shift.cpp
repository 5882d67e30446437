// Layer norm, scale and shift, as one would first write them: mean, variance, normalise, modulate.
#include <cmath>

#include "assay.h"

static void modulate(const float* in, const float* scale, const float* shift, float* out,
                     int64_t width, int64_t in_step, int64_t scale_step, int64_t shift_step,
                     int64_t out_step, double eps) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += in[i * in_step];
    const double mean = sum / width;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) {
        const double centred = in[i * in_step] - mean;
        squares += centred * centred;
    }
    const float inverse = static_cast<float>(1 / std::sqrt(squares / width + eps));
    for (int64_t i = 0; i < width; ++i) {
        out[i * out_step] = static_cast<float>(in[i * in_step] - mean) * inverse;
    }
    for (int64_t i = 0; i < width; ++i) {
        const float gain = 1 + scale[i * scale_step];
        out[i * out_step] = out[i * out_step] * gain + shift[i * shift_step];
    }
}

extern "C" int layer_norm_scale_shift(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor &x = tensors[0], &scale = tensors[1], &shift = tensors[2], &y = tensors[3];
    for (int64_t token = 0; token < x.shape[0]; ++token) {
        modulate(static_cast<const float*>(x.data) + token * x.strides[0],
                 static_cast<const float*>(scale.data) + token * scale.strides[0],
                 static_cast<const float*>(shift.data) + token * shift.strides[0],
                 static_cast<float*>(y.data) + token * y.strides[0], x.shape[1], x.strides[1],
                 scale.strides[1], shift.strides[1], y.strides[1], options[0]);
    }
    return 0;
}
