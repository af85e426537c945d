/* Why a program is new, in parts: what it is compared with (explain_nearest.c), words (explain_words.c), who asks for
 * its values (explain_outputs.c), what its inputs (explain_inputs.c) and ops are (explain_ops.c), what the
 * user's calls did (explain_calls.c); explain.c chooses among them.
 *
 * A part compares the nodes of a trace with one known program. It appends what it found to `out` and gives the kind, or
 * gives LAZY_WHY_KNOWN (false) and appends nothing. *advice stays as it is where the kind's own words will do. */
#ifndef XT_SRC_LAZY_PROGRAM_EXPLAIN_H
#define XT_SRC_LAZY_PROGRAM_EXPLAIN_H

#include "lazy/program/program.h"

static inline bool explain_is_input(const lazy_node *n) {
    return n->code == OP_COUNT;
}
static inline bool explain_is_constant(const lazy_node *n) {
    return n->code == OP_constant;
}
typedef struct explain_list { /* ops of a node list, without its inputs */
    const lazy_node *at;
    size_t n;
} explain_list;
explain_list explain_list_of(const lazy_node *nodes, size_t n);
/* How many nodes are the same in both, with all that they are made of. */
size_t explain_common_prefix(const lazy_node *a, size_t na, const lazy_node *b, size_t nb);
/* Ops as the user sees them: where arguments moved, all hashes differ, and the first op that is another one is the
 * cause. */
size_t explain_first_other(explain_list a, explain_list b);

/* They come and go with numbers that become data, and with shapes that fit. */
bool explain_is_small(ir_opcode code);
typedef struct explain_count { /* of the same op at the same line */
    src_id src;
    ir_opcode code;
    size_t n;
    uint64_t dtypes; /* that they give: a sum of hashes */
    const lazy_node *one;
} explain_count;
typedef struct explain_counts {
    explain_count *at; /* base_free; NULL: no memory */
    size_t n;
} explain_counts;
/* What xt_log leaves for the host, by its path: its ops say which names there are. */
bool explain_is_log(const lazy_node *n);
typedef enum explain_which {
    EXPLAIN_ALL,
    EXPLAIN_OWN, /* of the step: not what is only asked for or assigned */
    EXPLAIN_CALLED /* by the user's lines: not what follows from them, gradients and updates */
} explain_which;
/* Of all such ops but the small ones, a log's own, and those that bring in numbers; sorted by line and code. */
explain_counts explain_count_ops(explain_list l, explain_which which);
/* The ops in front of the first gradient are those of the same lines; of EXPLAIN_OWN, apart from what is only asked for
 * or assigned. Numbers make none, constant or data. */
bool explain_same_forward(explain_list a, explain_list b, explain_which which);
/* Of such: the first that is of another layer; NULL: none is. */
const lazy_node *explain_other_layer(explain_list a, explain_list b, explain_which which, const lazy_node **was);
/* All lines of b but those are among those of a. */
bool explain_has_places(const explain_counts *a, const explain_counts *b, const src_id *but, size_t n_but);
/* With `dtypes`, those of the same line give the same ones. */
bool explain_same_counts(const explain_counts *a, const explain_counts *b, bool dtypes);
bool explain_share_places(const explain_counts *a, const explain_counts *b); /* or one of them has none */

/* --- what it is compared with --- */
const lazy_program *explain_nearest_step(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                                         lazy_program *const *known, size_t n_known);
/* Apart from what is asked for or assigned. */
bool explain_same_own_ops(const lazy_node *nodes, size_t n, const lazy_program *p);
/* Of reads. */
const lazy_program *explain_nearest_read(const lazy_flags *now, const lazy_node *nodes, size_t n,
                                         lazy_program *const *known, size_t n_known);

/* --- words --- */
/* "add fc f32[8,4] at a.c:3", with attributes on request. */
void explain_describe(str *out, const lazy_node *n, bool with_text);
/* "add [8,4] at a.c:3 became [6,4] at a.c:3 (program 1)" for the same op or input, with its attributes where they
 * differ too; both in full otherwise. */
void explain_became(str *out, const lazy_node *now, const lazy_node *was, int64_t program);
/* ", dim 1 from 4 to 6" for each that differs; nothing for other ranks. */
void explain_dims(str *out, const ir_type *now, const ir_type *was);

/* --- who asks --- */
/* Does it ask for what p does not give, or the other way round? */
bool explain_other_requesters(const lazy_roots *r, const lazy_program *p);
lazy_why explain_outputs(str *out, const lazy_roots *r, const lazy_program *p);
/* This step has a program of its own, and there is one for all that steps ask for. */
lazy_why explain_combination(str *out, const lazy_roots *r);
/* Nothing where the steps of `best` ask for the same, and do something else. */
lazy_why explain_superset(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n_nodes, const lazy_roots *r,
                          const lazy_program *best, lazy_program *const *known, size_t n_known, const char **advice);

/* --- inputs and ops --- */
/* flags NULL: without advice that depends on them */
lazy_why explain_inputs(str *out, const lazy_flags *flags, const lazy_node *a, size_t na, const lazy_program *p,
                        const char **advice);
/* The newest step in which a number at one of its lines became data; -1: none did. */
int64_t explain_number_changed(explain_list l);
bool explain_other_inputs(const lazy_node *a, size_t na, const lazy_program *p);
/* Inputs are of the same types, and a line is given another length of one. */
bool explain_other_lengths(const lazy_node *nodes, size_t n, const lazy_program *p);
/* What xt_keep has kept comes in for the first time, or more of it. */
lazy_why explain_kept(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, const char **advice);
/* The same lines, which came another number of times. */
lazy_why explain_repeats(str *out, explain_list a, explain_list b, int64_t program, const char **advice);
/* The first op of a, but what xt_log leaves, at a line that has none in b. */
const lazy_node *explain_only_in(explain_list a, explain_list b);
/* All lines of b are among those of a. */
bool explain_has_lines(explain_list a, explain_list b);
lazy_why explain_ops(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p,
                     const char **advice);

/* --- the user's calls --- */
/* How many of the switches differ that change what is computed forwards. */
static inline int explain_switched(const lazy_flags *now, const lazy_flags *was) {
    return (now->autocast != was->autocast) + (now->mode != was->mode);
}
bool explain_flags(str *out, const lazy_flags *now, const lazy_flags *was, int64_t program);
lazy_why explain_calls(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p,
                       const char **advice);
/* The step does what that of p does, and its optimizer has parted parameters since. */
lazy_why explain_parted(str *out, const lazy_flags *now, explain_list a, const lazy_program *p, const char **advice);
/* Of a value that is read: the switches that it was made under, and the window of the gradients that are in it. */
lazy_why explain_acts_of_value(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n,
                               const lazy_program *p);
int explain_count_acts_of_value(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p);
/* xt_assign gives values to other states. */
bool explain_other_states(const lazy_roots *r, const lazy_program *p);
bool explain_states(str *out, const lazy_roots *r, const lazy_program *p);
/* The step has parameters that were made since that of p. */
bool explain_parameters(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p);
/* Two steps that differentiate have other places in a window of micro-batches. */
bool explain_accumulates(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p);
lazy_why explain_accumulation(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p);
bool explain_other_step(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, src_id end);

#endif
