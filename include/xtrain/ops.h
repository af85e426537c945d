/* The rest of PyTorch's tensor functions, over the core of tensor.h, with PyTorch's meaning: promotion of dtypes,
 * negative axes, NaN, ties, defaults. doc/from-pytorch.md lists every name and what has none.
 *
 *  - Nothing here waits for the device. Whatever the user gets wrong gives an error tensor that names function,
 *    shapes and line.
 *  - Lists of axes and of numbers are XT_AXES(0, -1) and XT_LIST(2, 3); XT_ALL_AXES is an empty list and means all.
 *  - Options stand last and read like named arguments: xt_sum_axes(x, XT_AXES(1), .keepdim = true). Several results
 *    come back through pointers.
 *  - Gradients flow through everything that has a derivative; where a function is not smooth, PyTorch's choice is taken
 *    and said here if it surprises.
 *  - A program is compiled for shapes, so what has a size that depends on values (nonzero, unique, masked_select) is
 *    given the largest one, and says how much of it counts; or it waits for the values.
 *
 *     xt_tensor v, i;
 *     xt_topk(scores, 5, -1, &v, &i);                              // values and i64 indices
 *     xt_tensor d = xt_std_axes(x, XT_AXES(0, 2), .keepdim = true);
 *     xt_tensor y = xt_einsum("bhld,bhsd->bhls", 2, XT_TENSORS(q, k)); */
#ifndef XTRAIN_OPS_H
#define XTRAIN_OPS_H

#include <xtrain/elementwise.h>
#include <xtrain/fourier.h>
#include <xtrain/functional.h>
#include <xtrain/linalg.h>
#include <xtrain/random.h>
#include <xtrain/reductions.h>
#include <xtrain/shapes.h>

#endif
