/* StableHLO programs from files: load, run on a device or on the reference interpreter. What `xtrain
 * run` is made of. */
#ifndef XTRAIN_PROGRAM_H
#define XTRAIN_PROGRAM_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A StableHLO program that was read, verified and is ready to run. */
typedef struct xt_program xt_program;
typedef struct xt_array { /* dense row-major host array; data is the library's (xt_array_free) */
    xt_dtype dtype; /* of the elements */
    int rank; /* number of dims; 0 = one element */
    int64_t dims[32]; /* the first `rank` of them */
    void *data; /* `bytes` of them; one byte for each element of types below 8 bits */
    size_t bytes; /* product of the dims times the size of an element */
} xt_array;
/* StableHLO text, pretty or generic, or bytecode; parsed, verified, chlo ops taken apart. A file may hold several
 * modules between `// -----` lines. */
XT_API XT_CHECK xt_status xt_program_load(const char *path, xt_program **out);
/* The same of n bytes in memory; `name` stands for the file in messages. */
XT_API XT_CHECK xt_status xt_program_parse(const char *text, size_t n, const char *name, xt_program **out);
XT_API void xt_program_free(xt_program *p); /* NULL is allowed */
/* Whether there is one module with a function `main`: what the next four functions are about. */
XT_API bool xt_program_has_main(const xt_program *p);
XT_API int xt_program_inputs(const xt_program *p); /* arguments of main; 0 without one */
XT_API int xt_program_outputs(const xt_program *p); /* results of main */
XT_API xt_spec xt_program_input(const xt_program *p, int i); /* argument i; XT_DTYPE_NONE where it is no array */
/* device: as XT_DEVICE, or "interpreter". in: xt_program_inputs arrays; out: xt_program_outputs arrays, yours. An
 * input of bf16 may come as u16, an 8-bit float as u8 (its bits), a 4-bit integer as i8 or u8. Assertions of the
 * program (check.expect_eq and the like) are checked on the host: a failed one is an error that names the first
 * element that differs. */
XT_API XT_CHECK xt_status xt_program_run(xt_program *p, const char *device, const xt_array *in, int n_in, xt_array *out,
                                         int n_out);
/* Runs every entry: main of each module, or, where there is none, each public function without arguments. Stops at the
 * first failure, which is the status; out_run counts the entries that ran. */
XT_API XT_CHECK xt_status xt_program_check(xt_program *p, const char *device, int *out_run);
/* The program as text: "pretty" or "generic". xt_text_free. */
XT_API XT_CHECK xt_status xt_program_text(const xt_program *p, const char *form, char **out);
XT_API void xt_text_free(char *text); /* NULL is allowed */
/* The program into a file: as text, without the defaults that it spells out, when the name ends in .mlir, else as a
 * portable StableHLO artefact (MLIR bytecode) of that version, "1.0.0" to "1.20.0", NULL for the library's own choice:
 * what every tool of that version and later reads. One module only; an op or type that the version does not have is
 * INVALID_ARGUMENT. Source lines go along. */
XT_API XT_CHECK xt_status xt_program_write(const xt_program *p, const char *path, const char *version);

/* Arrays written as StableHLO literals: `[dense<1> : tensor<i32>, dense<[1.0, 2.0]> : tensor<2xf32>]`, with or without
 * the outer brackets. */
XT_API XT_CHECK xt_status xt_arrays_parse(const char *text, xt_array *out, int max, int *out_n);
/* NULL when every element of `got` is within atol + rtol * |want| of `want` (NaN equals NaN, integers and booleans
 * exactly); else what differs. */
XT_API XT_CHECK xt_status xt_array_compare(const xt_array *got, const xt_array *want, double rtol, double atol);
XT_API void xt_array_free(xt_array *a); /* its data; *a is empty then. NULL is allowed */
XT_API XT_CHECK xt_status xt_npy_read(const char *path, xt_array *out); /* numpy's .npy; out is yours (xt_array_free) */
XT_API XT_CHECK xt_status xt_npy_write(const char *path, const xt_array *a); /* whole or not at all */

#ifdef __cplusplus
}
#endif
#endif
