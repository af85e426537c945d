/* Shared by the reader and the writer: the dtype names of the format. */
#ifndef XT_SRC_FORMAT_SAFETENSORS_INT_H
#define XT_SRC_FORMAT_SAFETENSORS_INT_H

#include "format/safetensors.h"

/* Sums in the metadata: two hashes as text, behind these characters of the header (nobody puts a space there). */
#define ST_SUMMED "checksums" /* metadata: there are some, also where a bit of their name has turned */
#define ST_SUMS_BEGIN "\"" ST_SUMS "\":\""
enum { ST_SUMS_TEXT = 64 };

const char *st_dtype_name(xt_dtype t); /* NULL when the format has none */
xt_dtype st_dtype_from(const char *name); /* XT_DTYPE_NONE when unknown; NULL is unknown */

#endif
