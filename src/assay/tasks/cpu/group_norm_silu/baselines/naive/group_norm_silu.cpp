// Group norm, then silu, as one would first write them: mean, variance, normalise, activate.
#include <cmath>

#include "assay.h"

static void norm_group(const float* in, const float* weight, const float* bias, float* out,
                       int64_t channels, int64_t positions, double eps) {
    const int64_t size = channels * positions;
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += in[i];
    const double mean = sum / size;
    double squares = 0;
    for (int64_t i = 0; i < size; ++i) {
        const double centred = in[i] - mean;
        squares += centred * centred;
    }
    const float scale = static_cast<float>(1 / std::sqrt(squares / size + eps));
    for (int64_t channel = 0; channel < channels; ++channel) {
        for (int64_t i = channel * positions; i < (channel + 1) * positions; ++i) {
            const float centred = static_cast<float>(in[i] - mean);
            out[i] = centred * scale * weight[channel] + bias[channel];
        }
    }
    for (int64_t i = 0; i < size; ++i) out[i] = out[i] / (1 + std::exp(-out[i]));
}

extern "C" int group_norm_silu(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor& x = tensors[0];
    const float* in = static_cast<const float*>(x.data);
    const float* weight = static_cast<const float*>(tensors[1].data);
    const float* bias = static_cast<const float*>(tensors[2].data);
    float* out = static_cast<float*>(tensors[3].data);
    int64_t positions = 1;
    for (int32_t axis = 2; axis < x.ndim; ++axis) positions *= x.shape[axis];
    const int64_t groups = static_cast<int64_t>(options[0]);
    const int64_t channels = x.shape[1] / groups;
    for (int64_t n = 0; n < x.shape[0]; ++n) {
        for (int64_t group = 0; group < groups; ++group) {
            const int64_t start = (n * groups + group) * channels * positions;
            norm_group(in + start, weight + group * channels, bias + group * channels,
                       out + start, channels, positions, options[1]);
        }
    }
    return 0;
}
