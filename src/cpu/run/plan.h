/* The compiled form of a program: a list of thunks over slots of memory.
 *
 * Invariants of a finished plan:
 *  1. thunks run in list order; a thunk reads only slots that earlier thunks, the caller or the compiler have filled;
 *  2. a slot's memory is its own from its first to its last thunk: temporaries share one arena by offset, arguments
 *     are read only (unless an output takes a donated one over, after its last reader), outputs and constants last
 *     the whole run;
 *  3. a value is dense and row-major at (slot, byte offset), or a blocked image (layout.h) at a slot's start; reshapes
 *     and bitcasts are other names for the same place, windows are applied once: by their reader, or by the copy that
 *     made the place;
 *  4. a thunk's output may be the memory of one of its inputs only where `in_place` allows it: such kernels read
 * element i before they write it;
 *  5. nothing in a plan changes while it runs, so one executable may run on several devices at once. */
#ifndef XT_SRC_CPU_RUN_PLAN_H
#define XT_SRC_CPU_RUN_PLAN_H

#include "cpu/cpu.h"
#include "cpu/thread/team.h"
#include "cpu/vector/align.h"

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
    const ir_value *value; /* what lies there, whole; NULL for scratch */
    uint8_t feature; /* layout.h: 1 + the feature dim of a blocked image, 0: row-major */
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
struct cpu_access; /* access.h */
typedef struct cpu_kernel {
    const char *name;
    xt_status (*run)(const cpu_call *c);
    void (*free_state)(void *state); /* NULL: the state is nothing or one base_malloc block */
    bool anywhere; /* may run on any thread, without a team, in the time its flops and bytes foretell */
    bool onednn; /* its oneDNN calls start regions: in the pool where these come to us (openmp.h) */
    void (*report)(const void *state, str *out); /* what a profile says of its runs besides their time; NULL: nothing */
    /* The k-th of its strided reads and writes, false: there are no more. Operands that it does not name, or all
     * without it, are read and written whole, in their own order. */
    bool (*access)(const cpu_thunk *t, uint32_t k, struct cpu_access *out);
    size_t (*programs)(const void *state, cpu_exec *const **out); /* those that run inside it; NULL: none */
    /* For runs in places that stay (bound.c): bytes that a bound call has for itself, 0: none; to fill them; to run.
     * NULL: run is called. */
    size_t (*bound_bytes)(const void *state);
    void (*bind)(const cpu_call *c, void *room);
    void (*run_bound)(const cpu_call *c, void *room);
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
    const ir_value **reads; /* per input: the value that is read there; NULL: of no value of the program */
    uint64_t in_blocked; /* bit i: input i is read at its blocked place */
    uint64_t *in_place; /* per output: bit i = may be written over input i (only i < 64) */
    uint32_t scratch; /* slot, or CPU_NONE */
    void *state; /* the kernel's own */
    uint32_t start; /* number, from 1, of the collective that this thunk only starts; 0: none */
    uint32_t waits; /* started collectives that must be done before it runs */
    double flops, bytes, transcendentals;
};

/* Of a kernel that asked for no scratch: not NULL, so that the places of its parts, all of no bytes, may be computed.
 */
static inline void *cpu_no_scratch(void) {
    static const _Alignas(64) char none[64];
    return (void *)(uintptr_t)none;
}

typedef struct cpu_plan {
    cpu_slot *slots;
    size_t n_slots, cap_slots;
    cpu_thunk *thunks;
    size_t n_thunks, cap_thunks;
    uint32_t *out_slots; /* per output of main */
    size_t arena_bytes, const_bytes;
    uint32_t peak_thunk; /* where the most of the arena is alive */
    bool zoned; /* temporaries lie between red zones: zones.h */
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
    struct attn_call *tiles; /* attn.h: chains that are computed tile by tile, in the module's memory */
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
    /* per thunk: nanoseconds of all runs, and of its fastest; NULL unless XT_DEBUG has "exec" */
    _Atomic int64_t *profile;
    _Atomic int64_t runs;
    _Atomic int64_t usual_ns; /* what a run takes that nothing disturbs; 0: none has ended */
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
    /* whose collectives may be started and finished later; programs inside its thunks finish theirs at once */
    const cpu_exec *running;
    struct cpu_pending *pending; /* of the program that runs now, in the order they were started (pending.c) */
    uint32_t n_pending, n_finished, cap_pending;
};

void cpu_phase_begin(cpu_exec *e); /* executable.c: the time from here on belongs to the phase that ends next */
void cpu_phase_end(cpu_exec *e, cpu_phase p);
/* exec.c: a planned program inside a thunk of another. in: its arguments; out: its results (an argument's memory where
 * the plan takes that over); temps: of plan.arena_bytes; at: cpu_sub_places(e) pointers, the caller's scratch. */
size_t cpu_sub_slots(const cpu_exec *e);
xt_status cpu_run_sub(const cpu_exec *e, cpu_device *d, void *const *in, void *const *out, void *temps, void **at);
/* Where each slot is; at: n_slots pointers. */
void cpu_sub_places(const cpu_exec *e, void *const *in, void *const *out, void *temps, void **at);
/* bound.c: the same for places that stay: room: of cpu_bound_bytes, alive as long as the bound program. */
typedef struct cpu_bound {
    const cpu_exec *exec;
    const cpu_call *calls; /* one a thunk */
    void *const *rooms; /* NULL where a kernel has none */
    void *temps;
} cpu_bound;
size_t cpu_bound_bytes(const cpu_exec *e);
void cpu_bind(const cpu_exec *e, cpu_device *d, void *const *in, void *const *out, void *temps, void *room,
              cpu_bound *b);
xt_status cpu_run_bound(const cpu_bound *b);
void cpu_note_time(const cpu_exec *e, size_t thunk, int64_t ns); /* exec.c: of one run, for the profile */
xt_status cpu_name_thunk(const cpu_exec *e, const cpu_thunk *th, xt_status s); /* exec.c: a failure's op */
void cpu_exec_settle(cpu_exec *e); /* exec.c: what running needs to know of a finished plan */
void cpu_thunk_free(cpu_thunk *t); /* what it holds */
void cpu_plan_free(cpu_plan *p);
void cpu_plan_print(const cpu_exec *e, str *out); /* report.c: one line a thunk */
void cpu_report_profile(const cpu_exec *e); /* report.c: where the time went, to the log */
/* "the largest buffers alive at thunk t": lines for an out-of-memory message. */
void cpu_report_live(const cpu_exec *e, uint32_t thunk, str *out);
void cpu_thunk_name(const cpu_thunk *t, char *buf, size_t n); /* "n17 (stablehlo.add)" */

#endif
