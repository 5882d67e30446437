// The baseline's algorithm in other words: while loops, and one accessor for tensors of any rank.
#include "assay.h"

namespace {

float element(const assay_tensor& tensor, int64_t a, int64_t b) {
    const float* start = static_cast<const float*>(tensor.data);
    return start[a * tensor.strides[0] + b * tensor.strides[1]];
}

float& element(const assay_tensor& tensor, int64_t a, int64_t b, int64_t c, int64_t d) {
    float* start = static_cast<float*>(tensor.data);
    return start[a * tensor.strides[0] + b * tensor.strides[1] + c * tensor.strides[2] +
                 d * tensor.strides[3]];
}

}  // namespace

extern "C" int rotary_embedding(const assay_tensor* arguments, const double*, void*) {
    const assay_tensor &source = arguments[0], &cosine = arguments[1], &sine = arguments[2],
                       &target = arguments[3];
    int64_t token = 0;
    while (token < source.shape[0]) {
        int64_t head = 0;
        while (head < source.shape[1]) {
            int64_t pair = 0;
            while (pair < source.shape[2]) {
                const float real = element(source, token, head, pair, 0);
                const float imaginary = element(source, token, head, pair, 1);
                const float along = element(cosine, token, pair);
                const float across = element(sine, token, pair);
                element(target, token, head, pair, 0) = real * along - imaginary * across;
                element(target, token, head, pair, 1) = imaginary * along + real * across;
                pair += 1;
            }
            head += 1;
        }
        token += 1;
    }
    return 0;
}
