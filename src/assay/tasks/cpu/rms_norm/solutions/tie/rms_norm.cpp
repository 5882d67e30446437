// The baseline's algorithm in other words: overloads by reference, while loops, other names.
#include <cmath>

#include "assay.h"

namespace {

using bfloat16 = uint16_t;

float widen(const float& element) { return element; }
float widen(const bfloat16& element) { return assay_bfloat16_to_float(element); }
void narrow(float& element, float wide) { element = wide; }
void narrow(bfloat16& element, float wide) { element = assay_float_to_bfloat16(wide); }

template <typename Element>
void normalise(const assay_tensor& source, const assay_tensor& gain, const assay_tensor& target,
               double epsilon) {
    const int64_t count = source.shape[0], length = source.shape[1];
    const Element* const gains = static_cast<const Element*>(gain.data);
    for (int64_t line = 0; line < count; ++line) {
        const Element* from = static_cast<const Element*>(source.data) + line * source.strides[0];
        Element* to = static_cast<Element*>(target.data) + line * target.strides[0];
        double total = 0;
        int64_t at = 0;
        while (at < length) {
            const double wide = widen(from[at * source.strides[1]]);
            total = total + wide * wide;
            at += 1;
        }
        const double mean_square = total / length;
        const auto factor = static_cast<float>(1 / std::sqrt(mean_square + epsilon));
        int64_t first = 0;
        while (first < length) {
            narrow(to[first * target.strides[1]], widen(from[first * source.strides[1]]) * factor);
            first += 1;
        }
        int64_t second = 0;
        while (second < length) {
            Element& place = to[second * target.strides[1]];
            narrow(place, widen(place) * widen(gains[second * gain.strides[0]]));
            second += 1;
        }
    }
}

}  // namespace

extern "C" int rms_norm(const assay_tensor* arguments, const double* settings, void*) {
    const int32_t dtype = arguments->dtype;
    if (dtype == ASSAY_FLOAT32) {
        normalise<float>(arguments[0], arguments[1], arguments[2], *settings);
    } else if (dtype == ASSAY_BFLOAT16) {
        normalise<bfloat16>(arguments[0], arguments[1], arguments[2], *settings);
    } else {
        return 1;
    }
    return 0;
}
