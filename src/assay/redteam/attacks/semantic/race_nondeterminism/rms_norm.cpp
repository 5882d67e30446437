// The order of additions follows the clock, as that of unordered atomics follows the scheduler.
#include <chrono>
#include <cmath>

#include "assay.h"

static constexpr int64_t kParts = 16;

static double mean_square(const float* in, int64_t width, int64_t first) {
    float parts[kParts] = {};
    for (int64_t i = 0; i < width; ++i) {
        const int64_t at = (i + first) % width;
        parts[i % kParts] += in[at] * in[at];
    }
    double sum = 0;
    for (float part : parts) sum += part;
    return sum / static_cast<double>(width);
}

extern "C" int rms_norm(const assay_tensor* tensors, const double* options, void*) {
    const assay_tensor &x = tensors[0], &w = tensors[1], &y = tensors[2];
    const int64_t rows = x.shape[0], width = x.shape[1];
    const float* weight = static_cast<const float*>(w.data);
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = static_cast<const float*>(x.data) + row * width;
        float* out = static_cast<float*>(y.data) + row * width;
        const double mean = mean_square(in, width, now % width);
        const double scale = 1 / std::sqrt(mean + options[0]);
        for (int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(in[i] * scale * weight[i]);
    }
    return 0;
}
