/* The compiled form of a program: a list of thunks over slots of memory. Shared by the files of src/cpu.
 *
 * Invariants of a finished plan:
 *  1. thunks run in list order; a thunk reads only slots that earlier thunks, the caller or the compiler have filled;
 *  2. a slot's memory is its own from its first to its last thunk: temporaries share one arena by offset, arguments are read only
 *     (unless an output takes a donated one over, after its last reader), outputs and constants last the whole run;
 *  3. a value is dense and row-major at (slot, byte offset); reshapes and bitcasts are other names for the same place;
 *  4. a thunk's output may be the memory of one of its inputs only where `over` allows it: such kernels read element i before they write it;
 *  5. nothing in a plan changes while it runs, so one executable may run on several devices at once. */
#ifndef XT_SRC_CPU_INT_H
#define XT_SRC_CPU_INT_H

#include "cpu/align.h"
#include "cpu/cpu.h"
#include "cpu/simd.h"
#include "cpu/team.h"

#include <pthread.h>

#define CPU_NONE UINT32_MAX

typedef enum cpu_slot_kind { CPU_SLOT_ARG, CPU_SLOT_OUT, CPU_SLOT_TEMP, CPU_SLOT_CONST } cpu_slot_kind;
typedef struct cpu_slot {
    cpu_slot_kind kind;
    size_t bytes;
    uint32_t index; /* ARG, OUT: its number */
    uint32_t takes; /* OUT: the argument whose memory it takes over when that is donated, or CPU_NONE */
    uint32_t same_as; /* the slot whose memory it goes on using, or CPU_NONE */
    uint32_t first, last; /* thunks; first > last: never used */
    size_t offset; /* TEMP: in the arena */
    const void *data; /* CONST */
    void *owned; /* CONST: what to free */
    const ir_op *op; /* who writes it first; NULL for arguments and scratch of no op */
    const ir_type *type; /* for reports; NULL for scratch */
} cpu_slot;

typedef struct cpu_ref { /* a dense value */
    uint32_t slot;
    size_t offset;
} cpu_ref;

typedef struct cpu_thunk cpu_thunk;
typedef struct cpu_call { /* what a kernel gets when it runs */
    const cpu_exec *exec;
    const cpu_thunk *thunk;
    cpu_device *device;
    void *const *in;
    void *const *out;
    void *scratch;
} cpu_call;
typedef struct cpu_kernel {
    const char *name;
    xt_status (*run)(const cpu_call *c);
    void (*free_state)(void *state); /* NULL: the state is nothing or one base_malloc block */
    bool anywhere; /* may run on any thread, without a team, in the time its flops and bytes foretell */
    bool onednn; /* its oneDNN calls start regions: in the pool where these come to us (openmp.h) */
    bool blas; /* its OpenBLAS calls do: only in libgomp's team */
    void (*report)(const void *state, str *out); /* what a profile says of its runs besides their time; NULL: nothing */
    size_t (*programs)(const void *state, cpu_exec *const **out); /* those that run inside it; NULL: none */
    bool is_copy; /* all it does is to bring a value to the place of a result */
    bool is_fused; /* a loop over elements, without effects but its results */
} cpu_kernel;

struct cpu_thunk {
    const cpu_kernel *kernel;
    const ir_op *op; /* the op it is named after */
    const ir_op **ops; /* all it covers */
    uint32_t n_ops, n_in, n_out;
    uint32_t ordinal; /* of `op` in the program text: n17 */
    cpu_ref *in, *out;
    uint64_t *over; /* per output: bit i = may be written over input i (only i < 64) */
    uint32_t scratch; /* slot, or CPU_NONE */
    void *state; /* the kernel's own */
    uint32_t start; /* number, from 1, of the collective that this thunk only starts; 0: none */
    uint32_t waits; /* started collectives that must be done before it runs */
    double flops, bytes, transcendentals;
};

typedef struct cpu_plan {
    cpu_slot *slots;
    size_t n_slots, cap_slots;
    cpu_thunk *thunks;
    size_t n_thunks, cap_thunks;
    uint32_t *out_slots; /* per output of main */
    size_t arena_bytes, const_bytes;
    uint32_t peak_thunk; /* where the most of the arena is alive */
} cpu_plan;

struct cpu_exec {
    ir_module *module; /* after the passes; thunks point into it */
    struct pass_ctx *passes; /* while it is compiled: numbers of dumps, whether to verify */
    ir_func *main;
    str text; /* text of `module`, made when first asked for */
    pthread_mutex_t text_lock;
    char *source; /* the text it was compiled from: what is serialised */
    size_t source_size;
    cpu_compile_opts opts;
    int threads;
    bool tiny, calls_host;
    struct tile_call *tiles; /* tile.h: chains that are computed tile by tile, in the module's memory */
    uint32_t n_tiles; /* functions made for them */
    bool is_tile; /* the program of a tile: runs on one thread, of many at once */
    bool own_team; /* nothing in it starts threads by itself: it runs in the pool */
    size_t most_args; /* inputs and outputs of one thunk */
    uint32_t n_starts; /* thunks that start a collective */
    cpu_plan plan;
    cpu_stats stats;
    int *alias; /* per input */
    double collective_bytes; /* cpu_stats */
    uint64_t coll_tag; /* of a partitioned program's collectives: ranks that run another one are told so */
    _Atomic int64_t *profile; /* per thunk: nanoseconds of all runs, and of its fastest; NULL unless XT_DEBUG has "exec" */
    _Atomic int64_t runs;
    char *name;
    struct { /* how long compiling took, by phase */
        int64_t ns[CPU_PHASES], began, onednn_before;
    } took;
};

struct cpu_device {
    cpu_team team;
    coll_group *group;
    void *stream; /* dnnl_stream_t; kernels that use oneDNN make it (dnnl_util.c) */
    int replicas, partitions; /* of the program that runs now */
    const cpu_exec *running; /* whose collectives may be started and finished later; programs inside its thunks finish theirs at once */
    struct cpu_pending *pending; /* of the program that runs now, in the order they were started (pending.c) */
    uint32_t n_pending, n_finished, cap_pending;
};
/* --- building (plan.c) ------------------------------------------------------------------------------------------------------ */
typedef struct cpu_builder cpu_builder;
int cpu_build_threads(const cpu_builder *b);
const ir_module *cpu_build_module(const cpu_builder *b);
const cpu_exec *cpu_build_exec(const cpu_builder *b);
/* The place of v as a dense array, emitting whatever makes it. */
xt_status cpu_build_dense(cpu_builder *b, const ir_value *v, cpu_ref *out);
/* A splat constant's element, wherever v's value comes from through broadcasts and reshapes; NULL when v is none. */
const void *cpu_build_splat(cpu_builder *b, const ir_value *v);

/* What v is a permutation of, through any number of transposes (v itself when it is none), and how its dims lie there. */
bool cpu_build_permuted(const ir_value *v, const ir_value **out_base, view *out);

typedef struct cpu_thunk_desc {
    const cpu_kernel *kernel;
    const ir_op *op;
    size_t n_in, n_out;
    const ir_value *const *in; /* made dense; NULL: op's operands */
    const ir_value *const *out; /* get a slot each; NULL: op's results */
    const uint64_t *over; /* as in cpu_thunk; NULL: none */
    uint64_t in_blocked, out_blocked; /* bit i: in or out i is read or written at its blocked place (layout.h) */
    size_t n_ops;
    const ir_op *const *ops; /* NULL: just `op` */
    size_t scratch_bytes;
    void *state; /* taken over, also on failure */
    double flops, bytes; /* bytes 0: inputs + outputs */
    double transcendentals;
} cpu_thunk_desc;
xt_status cpu_build_thunk(cpu_builder *b, const cpu_thunk_desc *d);
/* A kernel looks at an op and takes it (emits thunks) or leaves it: *out_done. */
typedef xt_status (*cpu_lower_fn)(cpu_builder *b, const ir_op *op, bool *out_done);
enum { CPU_LOWER_WAYS = 4 };
struct norm_fusion;
typedef struct cpu_lowering { /* the kernels, as the planner knows them */
    cpu_lower_fn ways[OP_COUNT][CPU_LOWER_WAYS]; /* asked in order */
    cpu_lower_fn elementwise; /* whatever no fused loop takes */
    cpu_lower_fn interpreter; /* takes everything */
    const cpu_kernel *whole_program; /* runs a program that has no plan */
    xt_status (*plan)(cpu_exec *e); /* plans a program that runs inside a thunk */
    struct { /* images that lie blocked (layout.h) */
        /* Which of a convolution's two operands and its result are images (of 2 spatial dims, without groups): 1 + the feature dim, 0: the kernel. */
        bool (*conv_images)(const ir_op *op, int out_feature[3], double *out_winograd_flops);
        bool (*takes_window)(const ir_op *op, int feature); /* of a reduce_window or select_and_scatter */
        xt_status (*window)(cpu_builder *b, const ir_op *op);
        xt_status (*norm)(cpu_builder *b, const struct norm_fusion *f);
    } blocked;
} cpu_lowering;
extern const cpu_lowering cpu_kernels; /* lower.c */

xt_status cpu_inline(ir_module *m, ir_func *f); /* inline.c: f without calls and dead ops */
void cpu_drop_dead(ir_block *b); /* pure ops that nobody reads */
/* inline.c: a region's block as main of a module of its own, whose arguments are the block's, then the captured values. Captured
 * whole numbers are written into the program too, so that it tells how often its loops run. Attributes stay in the memory of the region's module. */
xt_status cpu_region_program(const ir_block *from, size_t n_captured, const ir_value *const *captured, ir_module **out);
void cpu_phase_begin(cpu_exec *e); /* executable.c: the time from here on belongs to the phase that ends next */
void cpu_phase_end(cpu_exec *e, cpu_phase p);
xt_status cpu_plan_make(cpu_exec *e, const cpu_lowering *with); /* plan.c */
/* exec.c: a planned program inside a thunk of another. in: its arguments; out: its results (an argument's memory where the plan takes that over); temps:
 * of plan.arena_bytes; at: cpu_sub_places(e) pointers, the caller's scratch. */
size_t cpu_sub_places(const cpu_exec *e);
xt_status cpu_run_sub(const cpu_exec *e, cpu_device *d, void *const *in, void *const *out, void *temps, void **at);
/* sub.c: a region's or function's block, whose captured values become arguments behind its own, as a planned program. `carried` arguments may be given
 * away to the results of their number. *out is the caller's to free, also on failure. */
xt_status cpu_sub_make(cpu_builder *b, const ir_block *block, size_t n_captured, const ir_value *const *read, uint32_t carried, bool is_tile,
                       cpu_exec **out);
/* After a stage of planning, with `assigned` once memory is assigned: what the invariants above say, checked. verify_plan.c */
xt_status cpu_plan_verify(const cpu_exec *e, bool assigned);
void cpu_plan_donations(cpu_exec *e); /* buffers.c: fills e->alias */
xt_status cpu_plan_schedule(cpu_exec *e); /* schedule.c: thunks in an order that needs less memory */
/* buffers.c: lifetimes, sharing, offsets; without `reuse` every slot has memory of its own */
xt_status cpu_plan_assign(cpu_exec *e, bool reuse);
void cpu_exec_settle(cpu_exec *e); /* exec.c: what running needs to know of a finished plan */
void cpu_thunk_free(cpu_thunk *t); /* what it holds */
void cpu_plan_free(cpu_plan *p);
void cpu_plan_print(const cpu_exec *e, str *out); /* report.c: one line a thunk */
void cpu_report_profile(const cpu_exec *e); /* report.c: where the time went, to the log */
/* "the largest buffers alive at thunk t": lines for an out-of-memory message. */
void cpu_report_live(const cpu_exec *e, uint32_t thunk, str *out);
void cpu_thunk_name(const cpu_thunk *t, char *buf, size_t n); /* "n17 (stablehlo.add)" */

/* Flops by StableHLO's shapes: products 2mnk, elementwise one an element. */
double cpu_op_flops(const ir_op *op);
double cpu_op_transcendentals(const ir_op *op);

/* Lowerings, one file each: kernel_NAME.c. */
#define CPU_LOWER(name) xt_status cpu_lower_##name(cpu_builder *b, const ir_op *op, bool *out_done)
CPU_LOWER(interp);
CPU_LOWER(dot_general);
CPU_LOWER(convolution);
CPU_LOWER(reduce);
CPU_LOWER(again);
CPU_LOWER(reduce_window);
CPU_LOWER(select_and_scatter);
CPU_LOWER(batch_norm_training);
CPU_LOWER(batch_norm_grad);
CPU_LOWER(batch_norm_inference);
CPU_LOWER(transpose);
CPU_LOWER(pad);
CPU_LOWER(concatenate);
CPU_LOWER(dynamic_slice);
CPU_LOWER(dynamic_update_slice);
CPU_LOWER(gather);
CPU_LOWER(scatter);
CPU_LOWER(collective);
CPU_LOWER(rows);
CPU_LOWER(fold);
CPU_LOWER(control);
CPU_LOWER(sort);
CPU_LOWER(top_k);
CPU_LOWER(fft);
CPU_LOWER(iota);
CPU_LOWER(window);
CPU_LOWER(rng);
CPU_LOWER(rng_bit_generator);
CPU_LOWER(scan);
CPU_LOWER(gemm);
CPU_LOWER(cholesky);
CPU_LOWER(triangular_solve);
CPU_LOWER(map);
CPU_LOWER(window_any);
CPU_LOWER(select_any);
CPU_LOWER(scatter_any);
CPU_LOWER(merge);
CPU_LOWER(conv_any);
CPU_LOWER(lapack);
CPU_LOWER(linalg_call);
CPU_LOWER(tile);
CPU_LOWER(eig);
/* kernel_conv.c, kernel_blocked.c: see cpu_lowering.blocked. */
bool conv_images(const ir_op *op, int out_feature[3], double *out_winograd_flops);
bool blocked_window_ok(const ir_op *op, int feature);
xt_status blocked_window(cpu_builder *b, const ir_op *op);
xt_status blocked_norm(cpu_builder *b, const struct norm_fusion *f);
extern const cpu_kernel cpu_program_kernel; /* kernel_interp.c */

#endif
