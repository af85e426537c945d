/* Planning: does a program fit a device, what fills the memory, which line, how long a step may take. Nothing runs: a
 * training program is rehearsed (recorded on a device that holds no memory), and the programs it would have run are
 * given to the compiler of the device, which needs no such device.
 *
 *     xt_recording *r;  xt_plan *p;
 *     xt_record(train_two_steps, NULL, 1, &r);                          // or xt_recording_load("program_001.mlir", &r)
 *     xt_plan_make(r, (xt_plan_opts){.topology = "v4:2x2x1"}, &p);
 *     const xt_plan_report *report = xt_plan_get(p);
 *
 * Totals are the compiler's own statistics; the rows add up to peak_bytes. One thread at a time. `xtrain plan` is this
 * on the command line. */
#ifndef XTRAIN_PLAN_H
#define XTRAIN_PLAN_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_recording xt_recording; /* the programs of a rehearsal or of a file */
/* Calls fn as if on `devices` devices (a mesh has that many), and keeps each program it would have compiled. fn makes
 * and trains as usual, two steps are enough; values it reads are zeros. No device may be open in this process. Every
 * object of fn's is gone afterwards. A result other than 0 is an error. */
XT_API XT_CHECK xt_status xt_record(int (*fn)(void *user), void *user, int64_t devices, xt_recording **out);
/* A StableHLO text. What XT_DEVICE=dry XT_DUMP=DIR writes has a second file, NAME.inputs, that tells what each input
 * is; without it inputs are plain arguments. */
XT_API XT_CHECK xt_status xt_recording_load(const char *path, xt_recording **out);
XT_API void xt_recording_free(xt_recording *r); /* NULL is allowed */
XT_API int xt_recording_count(const xt_recording *r); /* of programs in it */
/* The StableHLO text of program i, with its lines as locations; lives with the recording. */
XT_API const char *xt_recording_text(const xt_recording *r, int i);
/* A copy in which every input of an output's type gives its memory to that output, if none does yet: what
 * donation saves. */
XT_API XT_CHECK xt_status xt_recording_donate(const xt_recording *r, xt_recording **out);

/* What to compile for, and what of it. All zero is the CPU of this host. */
typedef struct xt_plan_opts {
    const char *topology XT_ZERO; /* "cpu", "v4:2x2x1", "v5e:2x2", "tpu7x:2x2x1", "cuda:h100", ...; NULL = "cpu" */
    const char *mesh XT_ZERO; /* "data=4,model=2": names for the axes collectives run on; NULL = none */
    int64_t memory_limit XT_ZERO; /* bytes of a device; 0 = what the device has */
    const char *dump_dir XT_ZERO; /* keeps the compiler's files there; NULL = a temporary folder, removed */
    /* where the compiler allows it, stop once memory is known: no code is made, code_bytes is then -1, and peak_bytes
     * the dump's total */
    bool quick XT_ZERO;
    /* of one compilation by a foreign compiler, which may take hours over its code; 0 = 300. After it the report is as
     * with quick, or the error DEADLINE_EXCEEDED if memory is not known yet */
    double compile_limit_s XT_ZERO;
} xt_plan_opts;

/* What memory is used for. */
typedef enum xt_plan_kind {
    XT_PLAN_PARAMETERS, /* parameters, and states of the network (running statistics) */
    XT_PLAN_OPTIMIZER, /* states of the optimizer */
    XT_PLAN_GRADIENTS, /* gradients of parameters */
    XT_PLAN_ACTIVATIONS, /* other values that the program computes */
    XT_PLAN_BATCH, /* what loaders have put on the device */
    XT_PLAN_INPUTS, /* other arguments of the program */
    XT_PLAN_RESULTS, /* results that are not in an argument's place */
    XT_PLAN_CONSTANTS, /* numbers that the program has with it */
    XT_PLAN_SCRATCH, /* what ops need while they run */
    XT_PLAN_PADDING, /* what the device's tiling adds to all of these */
    XT_PLAN_FRAGMENTATION, /* gaps between buffers */
    XT_PLAN_RESERVED, /* what the compiler counts and explains by no buffer; may be below 0 */
    XT_PLAN_KINDS /* how many there are */
} xt_plan_kind;
XT_API const char *xt_plan_kind_name(xt_plan_kind k); /* "parameters", "optimizer state", ... */
#define xt_plan_kind_name(kind) (xt_plan_kind_name)(XT_WORD_(xt_plan_kind, kind))

typedef struct xt_plan_row { /* buffers of one line, module, op and type */
    /* of the line; module path, op ("dot_general"), "16x64", "f32"; lives with the plan */
    const char *file, *module, *op, *shape, *dtype;
    int line; /* of the program that made them; 0 = not known */
    xt_plan_kind kind; /* what they are for */
    int64_t bytes; /* all of them, without padding */
    int64_t padding; /* what the device's tiling adds */
    int count; /* how many buffers */
    int first, last; /* instructions of the program at which they live; 0 to n_points for what lives throughout */
} xt_plan_row;
/* Exchanges between devices of one line, module, op and axis. */
typedef struct xt_plan_collective {
    const char *op, *axis; /* axis: names of the mesh's axes, or the groups */
    const char *file, *module; /* of the line, and its module path */
    int line, count; /* 0 = not known; how many exchanges a run of the program makes */
    int64_t bytes; /* that one device receives, all of them together */
} xt_plan_collective;

/* What a program needs of a device. Texts and arrays live with the plan. */
typedef struct xt_plan_report {
    const char *topology, *device, *compiler; /* as asked for; the device's name; who compiled */
    int devices, hosts, partitions; /* of the topology, its hosts, and devices that the program is divided over */
    bool fits; /* peak_bytes is within limit_bytes, and the compiler agrees */
    const char *verdict; /* the compiler's words when it does not fit; NULL else */
    /* of one device. peak: arguments + results - results in place + temporaries (as the compiler states them) +
     * live_elsewhere; the code is extra */
    int64_t peak_bytes, limit_bytes;
    int64_t compiler_peak_bytes; /* PJRT's peak_memory, which on a TPU counts on-chip memory too; -1 = not said */
    /* live_elsewhere: of the run, not read by this program; in peak_bytes */
    int64_t argument_bytes, output_bytes, temp_bytes, alias_bytes, code_bytes, live_elsewhere_bytes;
    int64_t kinds[XT_PLAN_KINDS]; /* add up to peak_bytes */
    double flops, bytes_accessed; /* of one device and step */
    const char *flops_from, *bytes_from; /* who counted them */
    /* what the device can do in a second, as `formula` takes it: of operations, of its memory, of links to other
     * devices, of moves to and from the host; 0 = not known */
    double peak_flops, peak_bytes_per_s, link_bytes_per_s, host_bytes_per_s;
    double program_ms; /* the estimate for this program; -1 unknown */
    /* for a step: every program as often as it runs in one, and what is moved between host and device
     * (offloaded state) */
    double step_ms;
    int64_t host_moved_bytes; /* in a step, both ways */
    const char *formula; /* how program_ms is made of these, in words */
    double compile_ms; /* time that the compilation took */
    const char *ended; /* NULL: the compiler came to its end; else why it was ended before */
    /* alive at the peak, largest first; bytes + padding add up to peak_bytes with the kinds that have no rows */
    const xt_plan_row *rows;
    int n_rows; /* of them */
    const xt_plan_row *lives; /* every buffer of its own that is not there throughout, for a picture over time */
    int n_lives; /* of them */
    int64_t steady_bytes; /* what is there throughout */
    int n_points, peak_point; /* instructions; the one of the peak */
    const xt_plan_collective *collectives; /* what devices exchange, the most bytes first */
    int n_collectives; /* of them */
    int program, programs; /* which program of the recording this is, from 0 */
} xt_plan_report;

/* The report on the program of a recording that needs most memory. */
typedef struct xt_plan xt_plan;
/* Plans every program of the recording and keeps the one that needs most memory. A program that does not fit is no
 * error. Errors: an unknown topology (the message lists the known), no plugin, a program the compiler refuses, a dump
 * folder that cannot be written. */
XT_API XT_CHECK xt_status xt_plan_make(const xt_recording *r, xt_plan_opts opts, xt_plan **out);
XT_API const xt_plan_report *xt_plan_get(const xt_plan *p); /* borrowed: lives as long as p */
XT_API void xt_plan_free(xt_plan *p); /* NULL is allowed */

/* What a topology is, without compiling: devices, hosts, memory of one. */
typedef struct xt_topology {
    char name[64], device[64]; /* "v4:2x2x1", and the device's name */
    int devices, hosts; /* in all, and hosts that they are in */
    int64_t memory_bytes; /* of one device */
    /* published peaks of one device, a second: products in bf16 and f32, bytes of its memory; 0 = not known */
    double flops_bf16, flops_f32, bytes_per_s;
} xt_topology;
/* The row of a name; for another an error that lists them. */
XT_API XT_CHECK xt_status xt_topology_find(const char *name, xt_topology *out);

#ifdef __cplusplus
}
#endif
#endif
