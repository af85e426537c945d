/* What the files of the HLO reader share. A function that returns bool or a pointer has set r->status when it fails. */
#ifndef XT_SRC_FORMAT_HLO_INT_H
#define XT_SRC_FORMAT_HLO_INT_H

#include "base/proto.h"
#include "format/hlo.h"

typedef struct hlomod_msg { /* a message inside the bytes given; an absent one is empty and reads as all defaults */
    const unsigned char *data;
    size_t n;
} hlomod_msg;
typedef struct hlomod_shape {
    const ir_type *type; /* NULL: a tuple */
    size_t n_elems, leaves; /* leaves: tensors and tokens in it */
    struct hlomod_shape *elems;
} hlomod_shape;
typedef struct hlomod_value { /* what an instruction gives: its shape, and its leaves from left to right */
    hlomod_shape shape;
    ir_value **leaf;
} hlomod_value;
typedef struct hlomod_comp {
    hlomod_msg msg;
    int64_t id, root;
    const char *name;
    const ir_func *func; /* for `call`; made by the first of them */
} hlomod_comp;
typedef struct hlomod_reader {
    const unsigned char *begin;
    const char *file;
    xt_status status;
    ir_module *m;
    arena *scratch;
    hlomod_comp *comps;
    size_t n_comps;
    /* instructions and literal bytes that may still be built: computations are copied to where they are called */
    size_t budget;
    unsigned depth; /* of called computations */
} hlomod_reader;
enum { HLO_MAX_DEPTH = 64 };
typedef struct hlomod_scope { /* one computation being built */
    hlomod_reader *r;
    size_t comp;
    ir_builder b;
    map *values; /* instruction id -> hlomod_value */
    hlomod_value *params; /* in order of their numbers */
    size_t n_params;
} hlomod_scope;

/* --- hlo_wire.c --- */
bool hlomod_fail(hlomod_reader *r, const unsigned char *at, const char *fmt, ...) BASE_PRINTF(3, 4); /* always false */
bool hlomod_oom(hlomod_reader *r, size_t bytes);
/* the last of that number; false when absent or damaged */
bool hlomod_find(hlomod_reader *r, hlomod_msg m, uint32_t field, proto_field *out);
/* every field of it is whole; what is read afterwards need not look again */
bool hlomod_check(hlomod_reader *r, hlomod_msg m);
int64_t hlomod_int(hlomod_reader *r, hlomod_msg m, uint32_t field, int64_t fallback);
hlomod_msg hlomod_sub(hlomod_reader *r, hlomod_msg m, uint32_t field);
const char *hlomod_text(hlomod_reader *r, hlomod_msg m, uint32_t field); /* in the scratch arena, "" when absent */
/* packed or not; scratch arena */
bool hlomod_ints(hlomod_reader *r, hlomod_msg m, uint32_t field, size_t *n, int64_t **out);
bool hlomod_subs(hlomod_reader *r, hlomod_msg m, uint32_t field, size_t *n, hlomod_msg **out); /* a repeated message */

/* --- hlo_shape.c --- */
bool hlomod_read_shape(hlomod_reader *r, hlomod_msg m, hlomod_shape *out);
size_t hlomod_leaf_types(const hlomod_shape *s, const ir_type **out); /* how many */
bool hlomod_read_literal(hlomod_scope *s, hlomod_msg m, const ir_type *t, ir_value **out);

/* --- hlo_sharding.c --- */
bool hlomod_has_sharding(hlomod_reader *r, hlomod_msg m, uint32_t field, hlomod_msg *out);
/* Annotates v as the instruction's sharding says; what has none stays. */
bool hlomod_annotate(hlomod_scope *s, hlomod_msg inst, hlomod_value *v);
const char *hlomod_sharding_text(hlomod_reader *r, hlomod_msg m); /* of one value; NULL: none, or r->status */
/* `leaves` arguments or results from `first` on lie as m says. */
bool hlomod_func_shardings(hlomod_reader *r, hlomod_msg m, ir_func *f, bool result, size_t first, size_t leaves);

/* --- hlo_read.c: a computation as a block --- */
bool hlomod_find_comp(hlomod_scope *s, hlomod_msg inst, int64_t id, size_t *out);
/* The computation's body in s->b's block, with its parameters' values given; `out` is its root's. */
bool hlomod_build_body(hlomod_reader *r, size_t comp, ir_builder *b, size_t n_args, const hlomod_value *args,
                       hlomod_value *out);
/* A block whose arguments are the parameters' leaves, ended by a return of the root's. */
ir_block *hlomod_build_region(hlomod_scope *s, hlomod_msg inst, int64_t id);
/* The same as a region without arguments that reads `arg` from outside: branches of a conditional. */
ir_block *hlomod_build_branch(hlomod_scope *s, hlomod_msg inst, int64_t id, hlomod_value arg);
const ir_func *hlomod_build_callee(hlomod_scope *s, hlomod_msg inst, int64_t id);

/* --- hlo_ops.c --- */
bool hlomod_build_inst(hlomod_scope *s, hlomod_msg inst, hlomod_value *out);

#endif
