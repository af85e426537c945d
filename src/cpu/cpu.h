/* The CPU compiler behind the plugin's face: text in, executable out, run on arrays. src/pjrt is its only caller.
 * Pipeline: parse -> verify -> passes -> plan of thunks with buffer lifetimes -> run on the device's executor thread.
 * Ops without a fast kernel run on the reference interpreter's code. */
#ifndef XT_SRC_CPU_H
#define XT_SRC_CPU_H

#include "coll/coll.h"
#include "ir/interp.h"

typedef struct cpu_exec cpu_exec;

/* Threads of one device; oneDNN and our loops run in it. 0 threads = the cores this process may use. */
typedef struct cpu_device cpu_device;
xt_status cpu_device_new(int threads, coll_group *group /* borrowed, may be NULL */, cpu_device **out);
void cpu_device_set_group(cpu_device *d, coll_group *group); /* whom the programs that follow meet; borrowed */
void cpu_device_free(cpu_device *d);

typedef struct cpu_compile_opts {
    int num_replicas, num_partitions;
    /* results of a partitioned program without a sharding may stay divided; their mhlo.sharding then says how */
    bool keep_divided;
    bool as_xla; /* as in pass_ctx: for guests, whose programs were written for XLA's compilers */
    int threads; /* of the devices it will run on; 0 = XT_THREADS or the cores this process may use */
} cpu_compile_opts;
/* `text`: StableHLO text (bytecode later). Takes what it needs; thread-safe. */
xt_status cpu_compile(const char *text, size_t n, const cpu_compile_opts *o, cpu_exec **out);
void cpu_exec_free(cpu_exec *e);
const char *cpu_exec_name(const cpu_exec *e);
size_t cpu_exec_inputs(const cpu_exec *e);
size_t cpu_exec_outputs(const cpu_exec *e);
const ir_type *cpu_exec_input_type(const cpu_exec *e, size_t i);
const ir_type *cpu_exec_output_type(const cpu_exec *e, size_t i);
/* The text of an attribute of an input or output, as "mhlo.memory_kind"; NULL without it. */
const char *cpu_exec_input_text(const cpu_exec *e, size_t i, const char *attr);
const char *cpu_exec_output_text(const cpu_exec *e, size_t i, const char *attr);
/* How an input or output lies in memory: the array's dims from major to minor, as many as its type (which has memory's
 * order) has; NULL: row-major. */
const int64_t *cpu_exec_input_order(const cpu_exec *e, size_t i);
const int64_t *cpu_exec_output_order(const cpu_exec *e, size_t i);
int cpu_exec_alias(const cpu_exec *e, size_t input); /* output that may take over this input's memory, or -1 */
/* A serialised executable that cpu_deserialize reads back on the same machine and build (else a
 * FAILED_PRECONDITION). base_free. `threads` as in cpu_compile_opts: they are of who runs it, not of who kept it. */
xt_status cpu_serialize(const cpu_exec *e, char **out, size_t *n);
xt_status cpu_deserialize(const char *data, size_t n, int threads, cpu_exec **out);
typedef struct cpu_stats {
    int64_t argument_bytes, output_bytes, temp_bytes, alias_bytes, code_bytes, peak_bytes;
    double flops, bytes_accessed, transcendentals;
    double collective_bytes; /* of all collectives' operands, at least one each; 0: the program needs no other device */
} cpu_stats;
const cpu_stats *cpu_exec_stats(const cpu_exec *e);
/* The phases of compiling, in order; what loops of a program need of their own (the body of a while) counts as the
 * phase that met it. */
typedef enum cpu_phase {
    CPU_PHASE_READ,
    CPU_PHASE_VERIFY,
    CPU_PHASE_PASSES,
    CPU_PHASE_INLINE,
    CPU_PHASE_LAYOUT,
    CPU_PHASE_KERNELS,
    CPU_PHASE_ONEDNN,
    CPU_PHASE_SCHEDULE,
    CPU_PHASE_BUFFERS,
    CPU_PHASES
} cpu_phase;
/* "compile seconds NAME" for the cost table (static), and how long it took. */
const char *cpu_exec_phase(const cpu_exec *e, cpu_phase p, double *out_seconds);
/* Writes xtrain_cpu.memory.txt into the folder: every buffer with its life, for xtrain plan (dump.c says how). */
xt_status cpu_dump_memory(const cpu_exec *e, const char *dir);
const char *cpu_exec_text(const cpu_exec *e, size_t *n); /* the program after the passes */

/* Runs on the calling thread (the device's executor thread). in[i].data is read; when donated[i] and
 * cpu_exec_alias(e,i) >= 0 its memory may be overwritten and becomes the output's. out[j] is filled in: type and data
 * (64-byte aligned memory from `alloc`, or a donated input's pointer: then out_from[j] = i, else -1). */
typedef struct cpu_alloc { /* memory with a limit: the error is RESOURCE_EXHAUSTED */
    void *user;
    xt_status (*alloc)(void *user, size_t n, void **out);
    void (*free)(void *user, void *p, size_t n);
} cpu_alloc;
/* So little work that handing it to another thread costs more than doing it: such a program may run on any thread, with
 * a NULL device. */
bool cpu_exec_tiny(const cpu_exec *e);
/* What a run takes that nothing disturbs; 0: none has ended, or it has to run on the device's executor thread, where
 * others may run on any thread that has the device for itself. */
int64_t cpu_exec_usual_ns(const cpu_exec *e);
bool cpu_exec_calls_host(const cpu_exec *e); /* it has host callbacks */
xt_status cpu_run(cpu_exec *e, cpu_device *d, const cpu_alloc *a, const array *in, const bool *donated, array *out,
                  int *out_from);

#endif
