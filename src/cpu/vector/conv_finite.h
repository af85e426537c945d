/* Whether a convolution by Winograd's algorithm met numbers that only a direct one may treat. Its transforms add
 * neighbouring pixels and subtract them again, so one Inf or NaN makes NaN of all results of its tile, those too that
 * do not read it, and sums of very large numbers overflow on the way. Such a convolution is computed again directly
 * (kernel/conv.c).
 *
 * A number that is not finite spoils, in all features, all results of the tile whose inner pixels it belongs to; at an
 * image's border, where there is no such tile, its first or last row or column. In the kernel it spoils every pixel of
 * its feature. So one result of each tile, in the first few features, tells of all: the transform of results looks at
 * those (wino.inc), this file at gradients of kernels. */
#ifndef XT_SRC_CPU_VECTOR_CONV_FINITE_H
#define XT_SRC_CPU_VECTOR_CONV_FINITE_H

#include "base/base.h"

/* A kernel's gradient, f32 or bf16, sizes and steps of its features and taps: all taps of the first feature
 * of each side. */
bool conv_kernel_is_finite(const void *kernel, bool half, const int64_t dims[4], const int64_t steps[4]);

#endif
