/* Passes over a module and the runner. A pass is one file: `opt_*` improves, `lower_*` removes something; its row in
 * passes.def says when it runs, what it needs and keeps. A pass changes the module in place, sets c->changed when it
 * did, and leaves it valid: the runner verifies after each pass when c->verify is set, and writes the text after
 * each that changed something into the folder of XT_DUMP as NAME.PROGRAM.NN.PASS.mlir. XT_PASSES=-opt_cse,-fuse
 * leaves passes out (-all: every one; +NAME: that one again); XT_DEBUG=passes verifies in every build and logs what
 * each pass did.
 *
 *     pass_ctx c = PASS_CTX_INIT;
 *     XT_TRY(pass_optimize(&c, m));
 *
 * A rewrite is exact when it changes no bit of any result (NaN payloads aside); inexact ones are applied only when
 * c->inexact allows. */
#ifndef XT_SRC_PASS_H
#define XT_SRC_PASS_H

#include "ir/ir.h"

typedef struct pass_spmd_stats { /* what pass_lower_spmd did */
    size_t all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute, slices;
    size_t whole; /* ops without a rule whose operands had to be made whole */
    const char *whole_first; /* the first of them, static */
} pass_spmd_stats;
typedef struct pass_ctx {
    bool changed; /* set by a pass, cleared by the runner before each */
    bool inexact; /* rewrites that round differently are welcome */
    bool as_xla; /* where XLA's compilers part from the specification (Inf * 0 of a mask), part with them */
    bool verify; /* ir_verify after each pass: on in builds with assertions */
    int partitions; /* devices that pass_lower_spmd divides the program over; 0 and 1: it only takes annotations out */
    bool keep_divided; /* results of a partitioned program whose form nobody names stay as they are, else whole */
    /* images that a vector of the device holds where the batch is the innermost dim; 0: it has no loops
     * for that layout */
    int lanes;
    pass_spmd_stats spmd;
    int stage; /* how many passes the runner has run: orders the dumps of one program */
    int program; /* number of the program within the process, for dumps; 0 until the first */
} pass_ctx;
#ifdef NDEBUG
#define PASS_CTX_INIT \
    { 0 }
#else
#define PASS_CTX_INIT \
    { .verify = true }
#endif

typedef struct pass_row pass_row; /* of passes.def */
#define PASS(name, when, condition, needs, keeps) xt_status pass_##name(pass_ctx *c, ir_module *m);
#include "pass/passes.def"

/* Takes every chlo op of static shapes apart into StableHLO ops (the pass lower_chlo); those of dynamic shapes wait
 * until pass_refine has made them static. */
xt_status pass_expand_chlo(ir_module *m);

/* Takes quantized tensors out of a program, whose arguments and results of such types become their integers (the pass
 * lower_quant): devices know nothing of them. */
bool pass_has_quantized(const ir_module *m);
xt_status pass_expand_quant(ir_module *m);

const pass_row *pass_find(const char *name); /* NULL when there is none */
/* The names of everything that can be switched off: the passes, then the CPU compiler's stages. */
extern const char *const pass_switch_names[];
extern const size_t pass_switch_count;
bool pass_is_on(const char *name); /* by XT_PASSES */
xt_status pass_check_switches(void); /* XT_PASSES names something that is no pass: the message lists those there are */
/* Writes `text` as the next stage's dump, for stages that do not work on a module; `extension` is "mlir" or "plan". */
bool pass_dump_wanted(void);
void pass_dump(pass_ctx *c, const char *name, const char *stage, const char *extension, const str *text);
xt_status pass_run(pass_ctx *c, const pass_row *p, ir_module *m);
/* A program with dynamic dims, and the same made static for inputs of these types; inputs' values (`data` may be NULL)
 * tell shapes that are made of them. What still depends on data is an error. Calls are inlined; functions that `entry`
 * does not reach stay as they are. */
struct array;
bool pass_is_dynamic(const ir_module *m);
xt_status pass_refine(ir_module *m, const char *entry, size_t n_in, const struct array *in);
/* The passes that every program goes through: lowers what has a meaning in smaller ops, then improves until
 * nothing changes. */
xt_status pass_optimize(pass_ctx *c, ir_module *m);

#endif
