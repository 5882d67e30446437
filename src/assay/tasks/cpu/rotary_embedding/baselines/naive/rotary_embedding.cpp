// Rotary embedding as its formula states it: one pair at a time, every address through the strides.
#include "assay.h"

static float at(const assay_tensor& tensor, int64_t i, int64_t j) {
    const float* data = static_cast<const float*>(tensor.data);
    return data[i * tensor.strides[0] + j * tensor.strides[1]];
}

static float* at(const assay_tensor& tensor, int64_t i, int64_t j, int64_t k, int64_t l) {
    float* data = static_cast<float*>(tensor.data);
    return &data[i * tensor.strides[0] + j * tensor.strides[1] + k * tensor.strides[2] +
                 l * tensor.strides[3]];
}

extern "C" int rotary_embedding(const assay_tensor* tensors, const double*, void*) {
    const assay_tensor &x = tensors[0], &cos = tensors[1], &sin = tensors[2], &y = tensors[3];
    for (int64_t token = 0; token < x.shape[0]; ++token) {
        for (int64_t head = 0; head < x.shape[1]; ++head) {
            for (int64_t pair = 0; pair < x.shape[2]; ++pair) {
                const float first = *at(x, token, head, pair, 0);
                const float second = *at(x, token, head, pair, 1);
                const float c = at(cos, token, pair), s = at(sin, token, pair);
                *at(y, token, head, pair, 0) = first * c - second * s;
                *at(y, token, head, pair, 1) = second * c + first * s;
            }
        }
    }
    return 0;
}
