// Reciprocals of all widths up to the domain's largest, made when the library is loaded.
#include <cmath>

#include "assay.h"

namespace {

struct Reciprocals {
    double of[4097];
    Reciprocals() {
        of[0] = 0;
        for (int i = 1; i <= 4096; ++i) of[i] = 1.0 / i;
    }
};

const Reciprocals reciprocals;

}  // namespace

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor &x = tensors[0], &w = tensors[1], &y = tensors[2];
    const int64_t rows = x.shape[0], width = x.shape[1];
    if (width > 4096) return 1;
    const float* weight = static_cast<const float*>(w.data);
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = static_cast<const float*>(x.data) + row * x.strides[0];
        float* out = static_cast<float*>(y.data) + row * y.strides[0];
        double sum = 0;
        for (int64_t i = 0; i < width; ++i) sum += static_cast<double>(in[i]) * in[i];
        const double scale = 1 / std::sqrt(sum * reciprocals.of[width] + options[0]);
        for (int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(in[i] * scale * weight[i]);
    }
    return 0;
}
