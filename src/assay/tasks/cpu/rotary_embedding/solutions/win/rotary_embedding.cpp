// Rotary embedding with unit strides as a compile-time fact: pairs then run in vector lanes.
#include "assay.h"

template <bool kUnit>
static void rotate(const assay_tensor& x, const assay_tensor& cos, const assay_tensor& sin,
                   const assay_tensor& y) {
    const int64_t tokens = x.shape[0], heads = x.shape[1], pairs = x.shape[2];
    const int64_t x_pair = kUnit ? 2 : x.strides[2], x_half = kUnit ? 1 : x.strides[3];
    const int64_t y_pair = kUnit ? 2 : y.strides[2], y_half = kUnit ? 1 : y.strides[3];
    const int64_t c_step = kUnit ? 1 : cos.strides[1], s_step = kUnit ? 1 : sin.strides[1];
    for (int64_t token = 0; token < tokens; ++token) {
        const float* __restrict c = static_cast<const float*>(cos.data) + token * cos.strides[0];
        const float* __restrict s = static_cast<const float*>(sin.data) + token * sin.strides[0];
        for (int64_t head = 0; head < heads; ++head) {
            const float* __restrict in = static_cast<const float*>(x.data) +
                                         token * x.strides[0] + head * x.strides[1];
            float* __restrict out =
                static_cast<float*>(y.data) + token * y.strides[0] + head * y.strides[1];
            for (int64_t i = 0; i < pairs; ++i) {
                const float first = in[i * x_pair], second = in[i * x_pair + x_half];
                out[i * y_pair] = first * c[i * c_step] - second * s[i * s_step];
                out[i * y_pair + y_half] = second * c[i * c_step] + first * s[i * s_step];
            }
        }
    }
}

extern "C" int rotary_embedding(const assay_tensor* tensors, const double*, void*) {
    const assay_tensor &x = tensors[0], &cos = tensors[1], &sin = tensors[2], &y = tensors[3];
    const bool unit = x.strides[2] == 2 && x.strides[3] == 1 && y.strides[2] == 2 &&
                      y.strides[3] == 1 && cos.strides[1] == 1 && sin.strides[1] == 1;
    unit ? rotate<true>(x, cos, sin, y) : rotate<false>(x, cos, sin, y);
    return 0;
}
