// The baseline's algorithm in other words: while loops, and pointers that name what they hold.
#include <cmath>

#include "assay.h"

namespace {

void activate_group(const float* from, const float* gains, const float* shifts, float* to,
                    int64_t planes, int64_t plane, double epsilon) {
    const int64_t count = planes * plane;
    double total = 0;
    int64_t at = 0;
    while (at < count) {
        total = total + from[at];
        at += 1;
    }
    const double average = total / count;
    double spread = 0;
    at = 0;
    while (at < count) {
        const double distance = from[at] - average;
        spread = spread + distance * distance;
        at += 1;
    }
    const double variance = spread / count;
    const auto factor = static_cast<float>(1 / std::sqrt(variance + epsilon));
    int64_t index = 0;
    while (index < planes) {
        int64_t place = index * plane;
        while (place < (index + 1) * plane) {
            const auto distance = static_cast<float>(from[place] - average);
            to[place] = distance * factor * gains[index] + shifts[index];
            place += 1;
        }
        index += 1;
    }
    int64_t last = 0;
    while (last < count) {
        const float value = to[last];
        to[last] = value / (1 + std::exp(-value));
        last += 1;
    }
}

}  // namespace

extern "C" int group_norm_silu(const assay_tensor* arguments, const double* settings, void*) {
    const assay_tensor& source = arguments[0];
    const auto* from = static_cast<const float*>(source.data);
    const auto* gains = static_cast<const float*>(arguments[1].data);
    const auto* shifts = static_cast<const float*>(arguments[2].data);
    auto* to = static_cast<float*>(arguments[3].data);
    int64_t plane = 1;
    int32_t axis = 2;
    while (axis < source.ndim) plane *= source.shape[axis++];
    const auto groups = static_cast<int64_t>(settings[0]);
    const int64_t planes = source.shape[1] / groups;
    for (int64_t image = 0; image < source.shape[0]; ++image) {
        for (int64_t group = 0; group < groups; ++group) {
            const int64_t first = (image * groups + group) * planes * plane;
            activate_group(from + first, gains + group * planes, shifts + group * planes,
                           to + first, planes, plane, settings[1]);
        }
    }
    return 0;
}
