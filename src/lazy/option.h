/* Inside option.c and option_tail.c. */
#ifndef XT_SRC_LAZY_OPTION_H
#define XT_SRC_LAZY_OPTION_H

#include "lazy/ctx.h"

/* Something that steps of a family are asked for, as the first of them recorded it. */
typedef struct option_item {
    uint64_t line, id; /* who asks, and for which of his values */
    lazy_option o;     /* values unused */
    const void *owner; /* lazy_options.user; NULL: a request */
    uint64_t marks[2]; /* of its values (lazy_key_tree); 0: none */
    uint64_t pattern;  /* in which combinations it was asked for, as a hash */
    bool foreign;      /* it reads what other steps do not have, or all ranks work on it: not recorded in those */
    ir_module *tail;   /* what makes its values, as far as the base does not; NULL: none */
    ir_value *roots[2];
    ir_value **leaf_values; /* while it is saved: what the tail's arguments were */
    struct option_leaf {
        uint64_t mark, id; /* id: of an argument that is not the base's */
        const ir_type *type;
    } *leaves;
    size_t n_leaves;
} option_item;

/* One of the step that is being ended. */
typedef struct option_now {
    uint64_t line, id;
    lazy_option o;
    const void *owner;
    size_t request, item;
    uint64_t marks[2];
} option_now;

typedef struct option_step {
    ir_value **roots; /* the base's, then the options' */
    const struct lazy_layout **layouts; /* of the base's */
    size_t n_base, n_roots;
    option_now *now;
    size_t n_now, cap_now;
    uint32_t *numbers, in_base; /* of the arguments: see lazy_key_tree */
    uint32_t *places;           /* which argument has a number */
    size_t n_numbers;
    hash128 base;
} option_step;

xt_status option_marks(lazy_ctx *c, option_step *st); /* sets marks of the values and of `now`, and the base's key */
/* Keeps what the steps to come need of items[from..n), which are in `st`; marks are made again. */
xt_status option_save(lazy_ctx *c, option_step *st, option_item *items, size_t from, size_t n);
/* Records what makes the items that are not in `on` (by item) but in `has`: out[2 * i], out[2 * i + 1]. *out_ok: everything they read is there. */
xt_status option_graft(lazy_ctx *c, const option_item *items, size_t n, const bool *has, const bool *on, ir_value **out, bool *out_ok);

ir_value *option_leaf_again(lazy_ctx *c, const struct option_leaf *l); /* NULL: this step has no such tensor */

#endif
