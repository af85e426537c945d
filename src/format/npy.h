/* numpy's .npy files, versions 1 to 3: reading and writing dense arrays. Types numpy has no name for travel as raw
 * bytes, as ml_dtypes writes them: bf16 as '<V2', the 8-bit floats as '|V1'; a reader that knows better may call them
 * by their name. */
#ifndef XT_SRC_FORMAT_NPY_H
#define XT_SRC_FORMAT_NPY_H

#include "base/base.h"
#include <xtrain/program.h>

/* `name` is for messages. '<V2' is read as bf16 and '<V1' as f8E4M3FN. Hostile headers give an error, never a
 * large allocation. */
xt_status npy_decode(const char *data, size_t n, const char *name, xt_array *out);
/* Whether the numbers of an array of a caller's fit together: dtype, rank, dims, bytes, data. */
xt_status npy_whole(const xt_array *a, const char *what);
xt_status npy_header(const xt_array *a, str *out); /* everything before the elements */

#endif
