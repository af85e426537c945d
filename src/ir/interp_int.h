/* What the files of the reference interpreter share: the run's context, elementwise kernels, the region evaluator,
 * strided copies.
 *
 * Invariants
 *  1. An op's function gets verified operands and results already allocated (not zeroed): it writes every
 *     result element.
 *  2. Elementwise kernels may have out == in[k] exactly (same element size), never a partial overlap.
 *  3. Regions of reduce, sort, scatter, ... work on scalars. A region made of elementwise ops is "lifted": the same ops
 *     run over whole rows of elements, so a general region costs little more than a known one. Any other region runs
 *     once per element.
 *  4. Nothing here is shared between runs: a module may be run by several threads at once. */
#ifndef XT_SRC_IR_INTERP_INT_H
#define XT_SRC_IR_INTERP_INT_H

#include "ir/interp.h"

/* Types have no more dims (ir.h), so index arithmetic stays on the stack. */
#define INTERP_MAX_RANK IR_MAX_RANK
/* Rows handed to kernels in one piece by the chunked loops: small enough for the first-level cache with a
 * few operands. */
#define INTERP_CHUNK 512
/* Nested func.call and composite: deeper is an endless recursion. */
#define INTERP_MAX_DEPTH 256

/* The loops below a kernel's name are independent even when out == in[k] (invariant 2). */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is slower, not wrong */
#define INTERP_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INTERP_IVDEP _Pragma("GCC ivdep")
#endif

typedef struct interp_pool interp_pool;
typedef struct interp {
    const ir_module *m;
    const interp_hooks *hooks;
    interp_lookup outer; /* values captured by the op's regions; NULL when there are none */
    void *env;
    int depth; /* of nested calls */
    const interp_loop *loops;
    interp_pool *pool; /* buffers of dead values, for reuse; NULL outside interp_run */
    struct interp_plans *plans;
} interp;
typedef xt_status (*interp_fn)(interp *c, const ir_op *op, const array *in, array *out);

/* --- array.c --- */
/* As array_new, without zeroing. */
xt_status array_new_raw(const ir_type *type, array *out);
xt_status array_copy(const array *src, array *out); /* allocates; tuples deep */

/* --- interp_convert.c: element conversions --- */
/* n elements of `from` into `to`: out-of-range float to int saturates, NaN gives 0, float narrowing rounds to
 * nearest even once. */
void convert_elems(int64_t n, xt_dtype from, const void *src, xt_dtype to, void *dst);
/* Rounds to a float of the given exponent and mantissa width (reduce_precision); NaN stays NaN where there is a
 * mantissa to say so. */
double round_to_precision(double v, int exponent_bits, int mantissa_bits);
bool dtype_is_subbyte(xt_dtype t); /* integers of less than 8 bits: one byte each in memory, sign- or zero-extended */
int8_t wrap_subbyte(xt_dtype t, int v);
/* What arithmetic on t happens in: f32 for the small floats, t itself otherwise. */
xt_dtype dtype_compute(xt_dtype t);

/* --- interp_elementwise*.c: kernels --- */
typedef struct ew ew;
typedef void (*ew_fn)(const ew *e, int64_t n, const void *const *in, void *out);
struct ew {
    ew_fn fn; /* call this one */
    ew_fn inner; /* of kernels that convert on the way */
    ir_opcode code;
    xt_dtype in[3], out;
    int n_in;
    int exponent_bits, mantissa_bits; /* reduce_precision */
};
/* The kernel of an elementwise op with operands of one shape. False when the op is not elementwise or has no meaning
 * for its dtypes. */
bool ew_init(ew *e, const ir_op *op);
/* The kernel of a binary op x,x -> x. */
bool ew_init_binary(ew *e, ir_opcode code, xt_dtype t);
static inline void ew_run(const ew *e, int64_t n, const void *const *in, void *out) {
    e->fn(e, n, in, out);
}
/* Tables by family; NULL when the op has no meaning for the dtype. `cmp` is an ir_cmp_dir, -1 for ops other
 * than compare. */
ew_fn ew_float(ir_opcode code, xt_dtype t, int cmp, bool total_order);
ew_fn ew_int(ir_opcode code, xt_dtype t, int cmp);
ew_fn ew_complex(ir_opcode code, xt_dtype t, int cmp);

/* --- interp_region.c --- */
typedef struct region_eval region_eval;
/* Prepares `block` (all arguments scalars) for rows of up to INTERP_CHUNK elements. `results` NULL: the block's own
 * returned values. */
xt_status region_eval_new(interp *c, const ir_block *block, size_t n_results, ir_value *const *results,
                          region_eval **out);
/* The same for one binary op x,x -> x. */
xt_status region_eval_new_binary(interp *c, ir_opcode code, xt_dtype t, region_eval **out);
void region_eval_free(region_eval *r);
bool region_eval_is_lifted(const region_eval *r);
/* results[j][i] = block(args[0][i], args[1][i], ...) for i < n <= INTERP_CHUNK; a result may be the same row as
 * an argument. */
xt_status region_eval_run(region_eval *r, int64_t n, const void *const *args, void *const *results);
/* A region of two arguments that is one binary op on them, in either order. */
bool region_is_binary(const ir_region *r, ir_opcode *out_code);
/* A region that returns compare(arg0, arg1) by one direction; FLOAT or integer compare, not TOTALORDER. */
bool region_is_compare(const ir_region *r, ir_cmp_dir *out_dir);

/* --- interp_table.c --- */
xt_status interp_dispatch(interp *c, const ir_op *op, const array *in, array *out);
xt_status interp_temp(size_t count, size_t size, void *out_ptr); /* aligned, not zeroed, overflow-checked; base_free */
xt_status interp_unsupported(const ir_op *op, const char *what);

/* --- interp.c --- */
/* A block as a plan of steps over numbered values, run with arguments that are copied or moved in. See interp.c. */
typedef struct block_plan block_plan;
xt_status interp_block_plan(interp *c, const ir_block *b, block_plan **out);
void interp_block_plan_free(block_plan *p);
/* Arguments are borrowed; results are new arrays. */
xt_status interp_block_run(interp *c, block_plan *p, size_t n_in, const array *in, size_t n_out, array *out);
xt_status interp_func(interp *c, const ir_func *f, size_t n_in, const array *in, size_t n_out, array *out);

/* --- interp_copy.c: strided copies --- */
/* dst[sum i_k*dst_stride[k]] = src[sum i_k*src_stride[k]] over the index space `dims`; strides in elements, any sign,
 * src may be 0. */
void copy_strided(size_t rank, const int64_t *dims, void *dst, const int64_t *dst_stride, const void *src,
                  const int64_t *src_stride, size_t size);
void fill_elems(void *dst, int64_t n, const void *value, size_t size);
void strides_of(size_t rank, const int64_t *dims, int64_t *out); /* row-major, in elements */
/* Steps `index` through dims in row-major order; false after the last. */
static inline bool index_next(size_t rank, const int64_t *dims, int64_t *index) {
    for (size_t d = rank; d-- > 0;) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

/* --- interp_quant.c: an op on quantized tensors that computes (quant_computes) --- */
xt_status interp_quantized(interp *c, const ir_op *op, const array *in, array *out);

/* --- the families' op functions: the column `meaning` of ops.def --- */
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, ...) \
    xt_status interp_##meaning(interp *c, const ir_op *op, const array *in, array *out);
#include "ir/ops.def"
#undef OP

/* interp_lapack.c: custom calls of JAX's linear algebra. */
bool interp_lapack_knows(const char *target);
/* The routine a custom call means ("getrf", "Eigh", ...), without prefix and type letter, when its operands and results
 * have the shapes of one; else NULL. */
const char *interp_lapack_routine(const ir_op *op, int64_t *out_batch);
int interp_lapack_option(const ir_op *op, const char *name, int fallback); /* of its backend_config */
xt_status interp_lapack(interp *c, const ir_op *op, const array *in, array *out);

#endif
