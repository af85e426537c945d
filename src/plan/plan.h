/* Inside xt_plan_*: from a recording to a report.
 *   source.c    recordings: a rehearsal's programs or a file's, and what each op and input is to the user
 *   compile.c   one compilation: our compiler here, a foreign one in a child process
 *   dump_xla.c  what XLA's compilers (TPU, CUDA) say about a program's buffers in their dump folder; hlo.c reads their
 *               program text, traffic.c counts what it moves
 *   dump_cpu.c  the same of our compiler
 *   report.c    buffers and totals to a report; estimate.c its step time; api.c the public functions */
#ifndef XT_SRC_PLAN_H
#define XT_SRC_PLAN_H

#include <xtrain/plan.h>

#include "device/device.h"
#include "ir/ir.h"
#include "lazy/lazy.h"

/* --- source.c --- */
typedef struct plan_op { /* an op of main, by ordinal */
    src_id src;
    uint32_t path;
    ir_opcode code;
    const ir_type *type;
} plan_op;
typedef struct plan_input {
    src_id src;
    uint32_t path;
    xt_plan_kind kind;
    const ir_type *type;
} plan_input;
typedef struct plan_other { /* alive during the run, not read by the program */
    src_id src;
    uint32_t path;
    xt_plan_kind kind;
    int64_t bytes;
    uint32_t type; /* interned text */
} plan_other;
typedef struct plan_program {
    char *text; /* base_malloc'ed */
    size_t size;
    int partitions;
    plan_op *ops;
    size_t n_ops;
    plan_input *inputs;
    size_t n_inputs;
    plan_other *others;
    size_t n_others;
    int64_t runs; /* of one step; a file's program: 1 */
    bool f32_products; /* most of the work of dot_general and convolution is in f32 at full precision */
} plan_program;
struct xt_recording {
    plan_program *programs;
    size_t n, cap;
    int64_t moved; /* bytes between host and device in a step */
};

/* --- what a compiler says about buffers --- */
typedef enum plan_place { PLAN_INPUT, PLAN_OUTPUT, PLAN_TEMP, PLAN_CONSTANT, PLAN_OTHER } plan_place;
typedef struct plan_buffer {
    plan_place place;
    int64_t bytes, offset; /* offset: of TEMP, in the arena */
    int64_t logical; /* bytes without padding; -1 = bytes */
    int64_t ordinal; /* op that makes it; -1 unknown */
    int32_t input; /* INPUT: its number; TEMP: that of the input it was moved from; else -1 */
    int32_t first, last; /* points of the program; -1 = throughout */
    uint32_t op, shape, dtype, name; /* interned; name: the compiler's own, for what has no op of ours */
} plan_buffer;
typedef struct plan_link { /* a collective */
    uint32_t op;
    int64_t ordinal, bytes;
    int64_t times; /* how often it runs, where the compiler says it */
    int32_t input; /* whose data it moves when no op is known; -1: unknown */
    int64_t group[64]; /* devices of its first group */
    int n_group;
    uint32_t name;
} plan_link;
typedef struct plan_memory {
    plan_buffer *buffers;
    size_t n, cap;
    plan_link *links;
    size_t n_links, cap_links;
    int n_points, peak_point;
    int64_t arena_bytes;
    int64_t total_bytes; /* that the compiler says the program takes in device memory; -1 = does not say */
    double traffic; /* bytes to and from device memory, by its text; -1 = unknown */
} plan_memory;
void plan_memory_free(plan_memory *m);
/* Reads the dump folder of XLA's compilers; fills what is there. NOT_FOUND when there is nothing about buffers. */
xt_status plan_read_xla(const char *dir, plan_memory *out);
xt_status plan_read_cpu(const char *dir, plan_memory *out);
/* The point at which most of the arena is alive, and how much: overlapping buffers count once. */
void plan_find_peak(plan_memory *m, int64_t *out_live);

/* --- compile.c --- */
typedef struct plan_compiled {
    bool fits;
    char verdict[1024]; /* when it does not fit */
    bool cut, late; /* ended before there was code, once memory was known; late: because time was up */
    device_exec_stats stats;
    double compile_ms;
    int devices, hosts;
    int64_t memory_bytes;
    device_chip chip;
    char device[64], compiler[160];
    bool ours; /* our CPU compiler */
} plan_compiled;
typedef struct plan_compile_opts {
    const char *dump_dir;
    bool quick; /* memory is enough */
    double limit_s; /* 0 = 300 */
} plan_compile_opts;
/* DEADLINE_EXCEEDED when time is up and nothing is known. */
xt_status plan_compile(const plan_program *p, const char *topology, const plan_compile_opts *o, plan_compiled *out);
xt_status plan_topology(const char *topology, plan_compiled *out); /* the topology's part of it */

/* --- estimate.c --- */
/* Fills flops, bytes, program_ms, formula and the peaks of r. */
void plan_estimate(const plan_program *p, const plan_compiled *c, const plan_memory *m, xt_plan_report *r);

/* --- report.c --- */
struct xt_plan {
    xt_plan_report report;
    xt_plan_row *rows, *lives;
    xt_plan_collective *collectives;
    char *verdict;
    char device[64], compiler[160];
};
xt_status plan_report_make(const plan_program *p, const plan_compiled *c, const plan_memory *m, const xt_plan_opts *o,
                           xt_plan **out);

#endif
