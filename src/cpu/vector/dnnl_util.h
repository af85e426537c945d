/* oneDNN behind four functions: descriptors by strides, primitives with the caller's scratchpad, execution on
 * plain pointers.
 *
 * A primitive is made when a program is compiled, for the thread count of the compile, and holds no pointers: memory
 * objects are made per call, so several devices may run one executable at once. */
#ifndef XT_SRC_CPU_VECTOR_DNNL_UTIL_H
#define XT_SRC_CPU_VECTOR_DNNL_UTIL_H

#include <oneapi/dnnl/dnnl.h>

#include "cpu/thread/team.h"

/* Small where there is none: a kernel has room for the primitives of all its kinds of blocks, of which most products
 * need one, and a program has thousands of kernels. */
#define DNNL_PRIM_ARGS 3
typedef struct dnnl_prim {
    dnnl_primitive_t primitive; /* NULL: none */
    size_t n;
    int arg[DNNL_PRIM_ARGS]; /* DNNL_ARG_SRC, ... */
    dnnl_memory_desc_t *md; /* of the arguments, and behind them that of the scratchpad; with the primitive */
    size_t scratch_bytes;
} dnnl_prim;

bool dnnl_type_of(xt_dtype t, dnnl_data_type_t *out);
/* Of a product's operands and its result. Signed bytes are oneDNN's where it has tiles for them: its other kernels are
 * slower than panel_gemm.h's, or their sums of pairs saturate. */
bool dnnl_product_types(xt_dtype in, xt_dtype sum, dnnl_data_type_t out[2]);
dnnl_engine_t dnnl_util_engine(void); /* NULL: oneDNN cannot be used */
/* oneDNN multiplies bf16 by AMX's tiles: eight times as fast as by vectors, over images with their channels last. */
bool dnnl_util_has_tiles(void);
/* Its f32 Winograd is for AVX-512, where ONEDNN_MAX_CPU_ISA leaves it. */
bool dnnl_util_has_winograd(void);
/* Makes the primitive of an operation descriptor. `hint` may be NULL. *out_ok is false when oneDNN has none but a
 * reference loop (no error). `out_pd` (may be NULL) gets the descriptor, the caller's to destroy. */
xt_status dnnl_prim_make(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint, int threads, dnnl_prim *out,
                         dnnl_primitive_desc_t *out_pd, bool *out_ok);
int64_t dnnl_util_spent(void); /* nanoseconds that this thread has spent making primitives */
void dnnl_prim_add(dnnl_prim *p, int arg, const dnnl_memory_desc_t *md);
/* data[i] for arg[i]; a stream for each device */
xt_status dnnl_prim_run(const dnnl_prim *p, void **stream, void *const *data, void *scratch);
void dnnl_prim_free(dnnl_prim *p);
/* A copy between two layouts of the same dims; args: DNNL_ARG_FROM, DNNL_ARG_TO. */
xt_status dnnl_reorder_make(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, int threads, dnnl_prim *out,
                            bool *out_ok);
/* The implementation oneDNN chose is a plain reference loop. */
bool dnnl_desc_is_slow(const_dnnl_primitive_desc_t pd);
xt_status dnnl_status_of(dnnl_status_t s, const char *what);
/* where it is NULL; dnnl_prim_run does it too, but not from several threads at once */
xt_status dnnl_stream_open(void **stream);
void dnnl_stream_close(void **stream);

/* For team_for_alone: primitives made for one thread are run there by many. */
extern const team_library dnnl_library;

#endif
