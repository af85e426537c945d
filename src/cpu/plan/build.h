/* A plan in the making, as kernels see it: where values lie, and how a thunk is added. And the kernels, as the planner
 * sees them: a table that is handed to it, so that planning names none. */
#ifndef XT_SRC_CPU_PLAN_BUILD_H
#define XT_SRC_CPU_PLAN_BUILD_H

#include "cpu/run/cost.h"
#include "cpu/run/plan.h"
#include "cpu/vector/view.h"

typedef struct cpu_builder cpu_builder;
int cpu_build_threads(const cpu_builder *b);
const ir_module *cpu_build_module(const cpu_builder *b);
const cpu_exec *cpu_build_exec(const cpu_builder *b);
/* The place of v as a dense array, emitting whatever makes it. */
xt_status cpu_build_dense(cpu_builder *b, const ir_value *v, cpu_ref *out);
/* The same, but where v is a window on something dense, that and how v lies there: nothing is copied. */
xt_status cpu_build_seen(cpu_builder *b, const ir_value *v, cpu_ref *out, view *out_view);
/* A splat constant's element, wherever v's value comes from through broadcasts and reshapes; NULL when v is none. */
const void *cpu_build_splat(cpu_builder *b, const ir_value *v);

/* What v is a permutation of, through any number of transposes (v itself when it is none), and how its
 * dims lie there. */
bool cpu_build_permuted(const ir_value *v, const ir_value **out_base, view *out);

typedef struct cpu_thunk_desc {
    const cpu_kernel *kernel;
    const ir_op *op;
    size_t n_in, n_out;
    const ir_value *const *in; /* made dense; NULL: op's operands */
    const cpu_ref *refs; /* where the inputs are read, by whoever knows; NULL: where they lie dense */
    const ir_value *const *out; /* get a slot each; NULL: op's results */
    bool to_results; /* outputs are the program's results, from number `result` on: no places of the values */
    uint32_t result;
    const uint64_t *in_place; /* as in cpu_thunk; NULL: none */
    uint64_t in_blocked, out_blocked; /* bit i: in or out i is read or written at its blocked place (layout.h) */
    size_t n_ops;
    const ir_op *const *ops; /* NULL: just `op` */
    size_t scratch_bytes;
    bool scratch_later; /* it has scratch memory, of a size that is known when its loop is emitted */
    void *state; /* taken over, also on failure */
    double flops, bytes; /* bytes 0: inputs + outputs */
    double transcendentals;
} cpu_thunk_desc;
xt_status cpu_build_thunk(cpu_builder *b, const cpu_thunk_desc *d);
/* A kernel looks at an op and takes it (emits thunks) or leaves it: *out_done. */
typedef xt_status (*cpu_lower_fn)(cpu_builder *b, const ir_op *op, bool *out_done);
enum { CPU_LOWER_WAYS = 7 };
struct norm_fusion;
typedef struct cpu_lowering { /* the kernels, as the planner knows them */
    cpu_lower_fn ways[OP_COUNT][CPU_LOWER_WAYS]; /* asked in order */
    cpu_lower_fn elementwise; /* whatever no fused loop takes */
    cpu_lower_fn interpreter; /* takes everything */
    const cpu_kernel *whole_program; /* runs a program that has no plan */
    struct { /* images that lie blocked (layout.h) */
        /* Which of a convolution's two operands and its result are images (of 2 spatial dims, without groups): 1 + the
         * feature dim, 0: the kernel. */
        bool (*conv_images)(const ir_op *op, int out_feature[3], double *out_winograd_flops);
        bool (*takes_window)(const ir_op *op, int feature); /* of a reduce_window or select_and_scatter */
        xt_status (*window)(cpu_builder *b, const ir_op *op);
        xt_status (*norm)(cpu_builder *b, const struct norm_fusion *f);
    } blocked;
} cpu_lowering;

void cpu_drop_dead(ir_block *b); /* pure ops that nobody reads */
/* inline.c: a region's block as main of a module of its own, whose arguments are the block's, then the captured values.
 * Captured whole numbers are written into the program too, so that it tells how often its loops run. Attributes stay in
 * the memory of the region's module. */
xt_status cpu_region_program(const ir_block *from, size_t n_captured, const ir_value *const *captured, ir_module **out);
/* sub.c: a region's or function's block, whose captured values become arguments behind its own, as a planned
 * program. `carried` arguments may be given away to the results of their number. *out is the caller's to free,
 * also on failure. */
xt_status cpu_sub_make(cpu_builder *b, const ir_block *block, size_t n_captured, const ir_value *const *read,
                       uint32_t carried, bool is_tile, cpu_exec **out);

#endif
