/* An array as text, as PyTorch prints a tensor. */
#ifndef LAZY_ARRAY_TEXT_H
#define LAZY_ARRAY_TEXT_H

#include "base/base.h"

/* Appends the elements of a dense row-major array: one element as %g (of whole numbers %d) would print it, more of them
 * in brackets, a row a line, in columns of one width; of more than 1,000 the first and last three along each dim. Lines
 * behind the first begin with spaces that stand under the first line's bracket when that one is at the line's begin. */
void array_text(str *out, const void *data, xt_dtype dtype, const int64_t *dims, int rank);

#endif
