/* Shared by the reader and the writer: the dtype names of the format. */
#ifndef XT_SRC_FORMAT_SAFETENSORS_INT_H
#define XT_SRC_FORMAT_SAFETENSORS_INT_H

#include "base/base.h"

const char *st_dtype_name(xt_dtype t); /* NULL when the format has none */
xt_dtype st_dtype_from(const char *name); /* XT_DTYPE_NONE when unknown; NULL is unknown */

#endif
