/* What the files of the HLO reader share. A function that returns bool or a pointer has set r->status when it fails. */
#ifndef XT_SRC_FORMAT_HLO_INT_H
#define XT_SRC_FORMAT_HLO_INT_H

#include "base/proto.h"
#include "format/hlo.h"

typedef struct hlo_msg { /* a message inside the bytes given; an absent one is empty and reads as all defaults */
    const unsigned char *data;
    size_t n;
} hlo_msg;
typedef struct hlo_shape {
    const ir_type *type;         /* NULL: a tuple */
    size_t n_elems, leaves;      /* leaves: tensors and tokens in it */
    struct hlo_shape *elems;
} hlo_shape;
typedef struct hlo_value { /* what an instruction gives: its shape, and its leaves from left to right */
    hlo_shape shape;
    ir_value **leaf;
} hlo_value;
typedef struct hlo_comp {
    hlo_msg msg;
    int64_t id, root;
    const char *name;
    const ir_func *func; /* for `call`; made by the first of them */
} hlo_comp;
typedef struct hlo_reader {
    const unsigned char *begin;
    const char *file;
    xt_status status;
    ir_module *m;
    arena *scratch;
    hlo_comp *comps;
    size_t n_comps;
    size_t budget;  /* instructions and literal bytes that may still be built: computations are copied to where they are called */
    unsigned depth; /* of called computations */
} hlo_reader;
enum { HLO_MAX_DEPTH = 64 };
typedef struct hlo_scope { /* one computation being built */
    hlo_reader *r;
    size_t comp;
    ir_builder b;
    map *values;       /* instruction id -> hlo_value */
    hlo_value *params; /* in order of their numbers */
    size_t n_params;
} hlo_scope;

/* --- hlo_wire.c -------------------------------------------------------------------------------------------------------------------------- */
bool hlo_fail(hlo_reader *r, const unsigned char *at, const char *fmt, ...) BASE_PRINTF(3, 4); /* always false */
bool hlo_oom(hlo_reader *r, size_t bytes);
bool hlo_find(hlo_reader *r, hlo_msg m, uint32_t field, proto_field *out); /* the last of that number; false when absent or damaged */
bool hlo_check(hlo_reader *r, hlo_msg m); /* every field of it is whole; what is read afterwards need not look again */
int64_t hlo_int(hlo_reader *r, hlo_msg m, uint32_t field, int64_t fallback);
hlo_msg hlo_sub(hlo_reader *r, hlo_msg m, uint32_t field);
const char *hlo_text(hlo_reader *r, hlo_msg m, uint32_t field); /* in the scratch arena, "" when absent */
bool hlo_ints(hlo_reader *r, hlo_msg m, uint32_t field, size_t *n, int64_t **out); /* packed or not; scratch arena */
bool hlo_subs(hlo_reader *r, hlo_msg m, uint32_t field, size_t *n, hlo_msg **out); /* a repeated message */

/* --- hlo_shape.c ------------------------------------------------------------------------------------------------------------------------- */
bool hlo_read_shape(hlo_reader *r, hlo_msg m, bool row_major, hlo_shape *out);
size_t hlo_leaf_types(const hlo_shape *s, const ir_type **out); /* how many */
bool hlo_read_literal(hlo_scope *s, hlo_msg m, const ir_type *t, ir_value **out);

/* --- hlo_read.c: a computation as a block ------------------------------------------------------------------------------------------------- */
bool hlo_find_comp(hlo_scope *s, hlo_msg inst, int64_t id, size_t *out);
/* The computation's body in s->b's block, with its parameters' values given; `out` is its root's. */
bool hlo_build_body(hlo_reader *r, size_t comp, ir_builder *b, size_t n_args, const hlo_value *args, hlo_value *out);
/* A block whose arguments are the parameters' leaves, ended by a return of the root's. */
ir_block *hlo_build_region(hlo_scope *s, hlo_msg inst, int64_t id);
/* The same as a region without arguments that reads `arg` from outside: branches of a conditional. */
ir_block *hlo_build_branch(hlo_scope *s, hlo_msg inst, int64_t id, hlo_value arg);
const ir_func *hlo_build_callee(hlo_scope *s, hlo_msg inst, int64_t id);

/* --- hlo_ops.c ---------------------------------------------------------------------------------------------------------------------------- */
bool hlo_build_inst(hlo_scope *s, hlo_msg inst, hlo_value *out);

#endif
