// Group norm and silu in three passes: sums in sixteen independent lanes, then all the rest at once.
#include <algorithm>
#include <cmath>

#include "assay.h"

static constexpr int kLanes = 16;

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// e^v = 2^n e^r with |r| <= ln(2) / 2: Taylor's series to r^7 is then good to 5e-9. Branch-free, so
// that it runs in vector lanes. 2^n is applied in two halves: v above 88.7 gives infinity, as expf.
static inline float exponential(float v) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    // Bounded by its bits: a comparison of floats here keeps the loop around it scalar (gcc 12).
    const uint32_t sign = bits_of(v) & 0x80000000u;
    v = float_of(std::min(bits_of(v) ^ sign, bits_of(110.0f)) | sign);
    const float shifted = v * 1.44269504f + kShift;
    const float n = shifted - kShift;
    // ln(2) in two parts, the first with few bits, so that n times it is exact.
    const float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
    float sum = 1.0f / 5040;
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    const int32_t whole = static_cast<int32_t>(bits_of(shifted) - bits_of(kShift));
    const int32_t half = whole >> 1;
    const float low = float_of(static_cast<uint32_t>(half + 127) << 23);
    const float high = float_of(static_cast<uint32_t>(whole - half + 127) << 23);
    return sum * low * high;
}

static inline double fold(double* lanes) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

static double sum_of(const float* in, int64_t size) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += in[i + lane];
    }
    for (int lane = 0; i < size; ++i, ++lane) lanes[lane] += in[i];
    return fold(lanes);
}

static double sum_of_squares(const float* in, int64_t size, double mean) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const double centred = in[i + lane] - mean;
            lanes[lane] += centred * centred;
        }
    }
    for (int lane = 0; i < size; ++i, ++lane) {
        const double centred = in[i] - mean;
        lanes[lane] += centred * centred;
    }
    return fold(lanes);
}

static void norm_group(const float* __restrict in, const float* weight, const float* bias,
                       float* __restrict out, int64_t channels, int64_t positions, double eps) {
    const int64_t size = channels * positions;
    const double mean = sum_of(in, size) / size;
    const double variance = sum_of_squares(in, size, mean) / size;
    const float scale = static_cast<float>(1 / std::sqrt(variance + eps));
    for (int64_t channel = 0; channel < channels; ++channel) {
        const float gain = weight[channel], shift = bias[channel];
        const float* __restrict from = in + channel * positions;
        float* __restrict to = out + channel * positions;
        for (int64_t i = 0; i < positions; ++i) {
            const float centred = static_cast<float>(from[i] - mean);
            const float value = centred * scale * gain + shift;
            to[i] = value / (1 + exponential(-value));
        }
    }
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
