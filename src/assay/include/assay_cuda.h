/* What a CUDA solution is called with. Header only.
 *
 * Each function of a task:   extern "C" int NAME(const assay_tensor* tensors,
 *                                                const double* options, void* state,
 *                                                cudaStream_t stream);
 * A declared prepare:        extern "C" void* SYMBOL(const assay_tensor* tensors,
 *                                                    const double* options, cudaStream_t stream);
 *
 * Order and meaning of tensors, options and the returned value are those of assay.h. Tensors and
 * options are host memory and stay valid for the life of the process; `data` points to device
 * memory. All work goes to `stream`. A function does not synchronize: it may be captured into a
 * graph. What a prepare allocates is the solution's own, and is passed to every call as `state`.
 */
#ifndef ASSAY_CUDA_H
#define ASSAY_CUDA_H

#include <cuda_runtime.h>

#include "assay.h"

/* What a function returns after its last launch: 0 if the launches were accepted. */
static inline int assay_launch_status(void) { return (int)cudaPeekAtLastError(); }

/* How many parts of a size cover a whole; for grids. */
ASSAY_FUNCTION int64_t assay_ceil_div(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

#endif
