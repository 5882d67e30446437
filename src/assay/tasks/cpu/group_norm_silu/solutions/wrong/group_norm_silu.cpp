// The fast one with the unbiased variance: off by one part in twice the group's size.
#include <algorithm>
#include <cmath>

#include "assay.h"

static constexpr int kLanes = 16;

template <typename To, typename From>
static inline To cast_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "the same bits");
    memcpy(&to, &from, sizeof to);
    return to;
}

// e^v = 2^n e^r with |r| <= ln(2) / 2: Taylor's series to r^9 is then good to 7e-12, so that the
// result rounds to the float that the library gives. Branch-free, so that it runs in vector lanes.
static inline float exponential(float v) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers
    // Bounded by its bits: a comparison of floats here keeps the loop around it scalar (gcc 12).
    const uint32_t bits = cast_bits<uint32_t>(v), sign = bits & 0x80000000u;
    const uint32_t size = std::min(bits ^ sign, cast_bits<uint32_t>(110.0f));
    const double bounded = cast_bits<float>(size | sign);
    const double shifted = bounded * 1.4426950408889634 + kShift;
    const double r = bounded - (shifted - kShift) * 0.6931471805599453;
    double sum = 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    // The whole number stands in the last bits of `shifted`; moved up, it is added to the exponent.
    const uint64_t exponent = cast_bits<uint64_t>(shifted) << 52;
    return static_cast<float>(cast_bits<double>(cast_bits<uint64_t>(sum) + exponent));
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
    const double variance = sum_of_squares(in, size, mean) / (size - 1);
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
