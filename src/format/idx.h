/* IDX, the format of the MNIST files: magic 00 00 type rank, one big-endian u32 a dim, then the elements.
 * Plain or gzip. */
#ifndef XT_SRC_FORMAT_IDX_H
#define XT_SRC_FORMAT_IDX_H

#include "base/base.h"

typedef struct idx_array {
    int rank;
    int64_t dims[4];
    uint8_t *data;
} idx_array;
/* Reads unsigned bytes of `rank` dims. Errors name the file and the offset where it stops making sense. */
xt_status idx_read(const char *path, int rank, idx_array *out);
void idx_free(idx_array *a);

#endif
