// The baseline's algorithm in other words: while loops, and results named before they are used.
#include <cmath>

#include "assay.h"

namespace {

void transform(const float* source, const float* gains, const float* offsets, float* target,
               int64_t length, int64_t source_step, int64_t gain_step, int64_t offset_step,
               int64_t target_step, double epsilon) {
    double total = 0;
    int64_t at = 0;
    while (at < length) {
        total = total + source[at * source_step];
        at += 1;
    }
    const double average = total / length;
    double spread = 0;
    at = 0;
    while (at < length) {
        const double distance = source[at * source_step] - average;
        spread = spread + distance * distance;
        at += 1;
    }
    const double variance = spread / length;
    const auto factor = static_cast<float>(1 / std::sqrt(variance + epsilon));
    int64_t first = 0;
    while (first < length) {
        const auto distance = static_cast<float>(source[first * source_step] - average);
        target[first * target_step] = distance * factor;
        first += 1;
    }
    int64_t second = 0;
    while (second < length) {
        const float gain = 1 + gains[second * gain_step];
        float& place = target[second * target_step];
        place = place * gain + offsets[second * offset_step];
        second += 1;
    }
}

}  // namespace

extern "C" int layer_norm_scale_shift(const assay_tensor* arguments, const double* settings,
                                      void*) {
    const assay_tensor &source = arguments[0], &gains = arguments[1], &offsets = arguments[2],
                       &target = arguments[3];
    int64_t token = 0;
    while (token < source.shape[0]) {
        transform(static_cast<const float*>(source.data) + token * source.strides[0],
                  static_cast<const float*>(gains.data) + token * gains.strides[0],
                  static_cast<const float*>(offsets.data) + token * offsets.strides[0],
                  static_cast<float*>(target.data) + token * target.strides[0], source.shape[1],
                  source.strides[1], gains.strides[1], offsets.strides[1], target.strides[1],
                  *settings);
        token += 1;
    }
    return 0;
}
