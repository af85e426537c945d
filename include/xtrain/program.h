/* StableHLO programs from files: load, run on a device or on the reference interpreter. What `xtrain run` is made of. */
#ifndef XTRAIN_PROGRAM_H
#define XTRAIN_PROGRAM_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_program xt_program;
typedef struct xt_array { /* dense row-major host array; data is the library's (xt_array_free) */
    xt_dtype dtype;
    int rank;
    int64_t dims[32];
    void *data;
    size_t bytes;
} xt_array;
XT_API xt_status xt_program_load(const char *path, xt_program **out);  /* StableHLO text; parsed and verified */
XT_API void xt_program_free(xt_program *p);
XT_API int xt_program_inputs(const xt_program *p);
XT_API int xt_program_outputs(const xt_program *p);
XT_API xt_spec xt_program_input(const xt_program *p, int i);
/* device: as XT_DEVICE, or "interpreter". in: xt_program_inputs arrays; out: xt_program_outputs arrays, yours. */
XT_API xt_status xt_program_run(xt_program *p, const char *device, const xt_array *in, int n_in, xt_array *out, int n_out);
XT_API void xt_array_free(xt_array *a);
XT_API xt_status xt_npy_read(const char *path, xt_array *out);
XT_API xt_status xt_npy_write(const char *path, const xt_array *a);

#ifdef __cplusplus
}
#endif
#endif
