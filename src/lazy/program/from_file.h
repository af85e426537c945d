/* Shared by from_file.c and from_file_arrays.c. */
#ifndef XT_SRC_LAZY_FROM_FILE_H
#define XT_SRC_LAZY_FROM_FILE_H

#include <xtrain/program.h>

#include "ir/interp.h"

/* Whether an array of `have` may stand for one of `want`: the same type, or its bits as a file format without that
 * type holds them. */
bool program_bits_fit(xt_dtype have, xt_dtype want);
/* Makes the elements of an integer type of less than a byte what they are in memory: a byte each, the sign extended.
 * Nothing for other types. */
/* from_file_nan.c: under XT_DEBUG=nan, when a result has NaN or Inf, the op that made the first one, as an error. `m`
 * has f under its own name. */
xt_status program_look_for_nan(const ir_module *m, const ir_func *f, size_t n_in, const array *in, const array *results,
                               size_t n_results);

#endif
