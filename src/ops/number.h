/* What a number of the caller's is beside a tensor: its dtype, and its value in that dtype. PyTorch's rules; a number
 * is a float where it is a fraction, as C knows no difference between 2 and 2.0. */
#ifndef XT_SRC_OPS_NUMBER_H
#define XT_SRC_OPS_NUMBER_H

#include "ops/ops.h"

/* The size of an element, which of some integers is less than a byte. */
int ops_bits(xt_dtype t);
/* A number as C converts it: whole numbers beside integers wrap, so -1 is 255 of u8, as in PyTorch; ir_splat gives the
 * nearest number of the type. */
ir_value *ops_splat(ir_builder *b, const ir_type *t, double v);
/* Whether PyTorch lets v become an element of t; false after an error, which is *out. wraps: whole numbers may be
 * negative beside unsigned ones. */
bool ops_number_fits(const xt_src *src, const char *what, xt_dtype t, double v, bool wraps, xt_tensor *out);
/* The dtype of a computation with a number: bool becomes i64 beside a whole number, and integers f32 beside another. */
xt_dtype ops_beside_number(xt_dtype t, double v);

#endif
