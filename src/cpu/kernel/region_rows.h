/* The scalar region of a reduce_window, scatter, sort, map, ... over rows of elements, whatever its element types are:
 * a vector program where those know them (region_vprog.h), else one typed row loop an op (complex numbers, 8-bit
 * floats, captured scalars). Never a call per element.
 *
 * A region_rows is part of a plan and shared by all threads; each thread of a run has an evaluator of its own. */
#ifndef XT_SRC_CPU_KERNEL_REGION_ROWS_H
#define XT_SRC_CPU_KERNEL_REGION_ROWS_H

#include "cpu/kernel/kernel.h"
#include "cpu/plan/captured.h"
#include "cpu/vector/region_vprog.h"
#include "ir/interp_int.h"

enum { ROWS_MOST = INTERP_CHUNK, ROWS_ELEM = 16 }; /* longest row; bytes of the largest element */

typedef struct region_rows {
    const ir_module *module;
    const ir_block *block; /* NULL: the binary op below */
    vprog *t;
    vprog_fn one; /* a region of one op on its two arguments that is one loop: no need to run t for it */
    ir_opcode code;
    xt_dtype type;
    captured outside; /* what the region reads from outside: inputs of the thunk from `first_outside` on */
    uint32_t first_outside;
    size_t n_args, n_results;
} region_rows;
/* *out_ok is false when the region is not made of elementwise ops on scalars; deinit it all the same.
 * `outside` is copied. */
xt_status region_rows_make(const ir_module *m, const ir_block *block, const captured *outside, uint32_t first_outside,
                           region_rows *out, bool *out_ok);
/* The same of one op x,x -> x. */
xt_status region_rows_binary(ir_opcode code, xt_dtype t, region_rows *out);
void region_rows_deinit(region_rows *r);
void region_state_free(void *state); /* of a kernel whose state begins with its region; NULL is fine */

typedef struct rows_eval {
    const region_rows *of;
    const cpu_call *call;
    interp context;
    array *values; /* captured */
    region_eval *eval;
    void *scratch;
} rows_eval;
/* `call` may be NULL where nothing is captured. Deinit it on failure too. */
xt_status rows_eval_init(rows_eval *e, const region_rows *of, const cpu_call *call);
void rows_eval_deinit(rows_eval *e);
/* results[j][i] = region(args[0][i], args[1][i], ...) for i < n <= ROWS_MOST; results may lie over rows of arguments of
 * their size, exactly. */
void rows_eval_run(rows_eval *e, int64_t n, void *const *args, void *const *results);

/* One evaluator for each thread of the call's team. */
xt_status rows_evals_new(const region_rows *of, const cpu_call *call, rows_eval **out);
void rows_evals_free(rows_eval *evals, const cpu_call *call);
/* cpu_build_thunk with the op's operands (d->n_in is set here) and what the region captured behind them. */
xt_status region_rows_thunk(cpu_builder *b, const region_rows *r, cpu_thunk_desc *d);

/* dst[j][at] = region(dst[0][at], ..., src[0], ...) for one update after the other, as if they came one by one: places
 * that differ wait and run as one row, a place that is waiting already makes the row run first. */
enum { FOLD_MOST = 8, FOLD_SLOTS = 2048 };
typedef struct rows_fold {
    rows_eval eval;
    size_t n, elem[FOLD_MOST]; /* operands */
    char *dst[FOLD_MOST];
    int64_t waiting, at[ROWS_MOST];
    char *rows; /* of the operands' elements, then of the updates' */
    uint32_t stamp, stamps[FOLD_SLOTS];
    int64_t slots[FOLD_SLOTS];
} rows_fold;
xt_status rows_fold_new(const region_rows *of, const cpu_call *call, size_t n, const size_t *elem, char *const *dst,
                        rows_fold **out);
void rows_fold_put(rows_fold *f, int64_t at, const char *const *src);
void rows_fold_free(rows_fold *f); /* what waits must have run */
void rows_fold_flush(rows_fold *f);

#endif
