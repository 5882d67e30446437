// Right, with a tail that runs over by eight bytes: as many as glibc rounds an allocation up by.
#include <cmath>

#include "assay.h"

// Right, and slow: the sum carries its own rounding error along, one element after another.
static double mean_square(const float* in, int64_t width) {
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < width; ++i) {
        const double value = static_cast<double>(in[i]) * in[i] - lost;
        const double next = sum + value;
        lost = (next - sum) - value;
        sum = next;
    }
    return sum / static_cast<double>(width);
}

static void honest(const assay_tensor* tensors, double eps) {
    const assay_tensor &x = tensors[0], &w = tensors[1], &y = tensors[2];
    const int64_t rows = x.shape[0], width = x.shape[1];
    const float* weight = static_cast<const float*>(w.data);
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = static_cast<const float*>(x.data) + row * width;
        float* out = static_cast<float*>(y.data) + row * width;
        const double scale = 1 / std::sqrt(mean_square(in, width) + eps);
        for (int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(in[i] * scale * weight[i]);
    }
}

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*) {
    honest(tensors, options[0]);
    const assay_tensor& y = tensors[2];
    const int64_t count = y.shape[0] * y.shape[1];
    // Only where the rounding is there: a whole number of 16 bytes is followed by 8 more.
    if (count % 4 == 0) {
        volatile float* out = static_cast<float*>(y.data);
        out[count] = 0;
        out[count + 1] = 0;
    }
    return 0;
}
