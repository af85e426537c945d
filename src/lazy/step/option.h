/* Inside option*.c: what option.c says first. */
#ifndef XT_SRC_LAZY_OPTION_H
#define XT_SRC_LAZY_OPTION_H

#include "lazy/step/step.h"

typedef struct lazy_form { /* a program that has some options, each of which a step may switch off */
    lazy_known_as known; /* first: what a program is looked up by is the form */
    uint64_t *inputs; /* what each is to the base; of the program `key` */
    uint32_t *places; /* room for a step's */
    bool *has; /* by item of its family */
    size_t n_has;
} lazy_form;
/* Something that steps of a family are asked for, as the first of them recorded it. */
typedef struct option_item {
    uint64_t line, id; /* who asks, and for which of his values */
    lazy_option o; /* values unused */
    const void *owner; /* lazy_options.user; NULL: a request */
    uint64_t marks[2]; /* of its values (lazy_key_tree); 0: none */
    uint64_t pattern; /* in which combinations it was asked for, as a hash */
    bool foreign; /* it reads what other steps do not have, or all ranks work on it: not recorded in those */
    ir_module *tail; /* what makes its values, as far as the base does not; NULL: none */
    ir_value *roots[2];
    ir_value **leaf_values; /* while it is saved: what the tail's arguments were */
    struct option_leaf {
        uint64_t mark, id; /* id: of an argument that is not the base's */
        const ir_type *type;
    } * leaves;
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
    uint32_t *places; /* which argument has a number */
    size_t n_numbers;
    hash128 base;
} option_step;

/* --- option.c --- */
typedef struct combination { /* of options: what its steps run */
    uint64_t set, states; /* states: types of those that the owners had */
    struct family *of;
    lazy_form *form; /* NULL: a program of its own */
} combination;

typedef struct family {
    hash128 base;
    option_item *items;
    size_t n_items, cap_items;
    combination **combos;
    size_t n_combos, cap_combos;
    lazy_form **forms;
    size_t n_forms, cap_forms;
    size_t n_own;
    uint64_t always, never; /* patterns of items asked for in every combination, and in none */
} family;

enum { OPTION_OWNERS = 4 };
typedef struct lazy_book { /* of a thread */
    struct {
        lazy_options o;
        bool active, used; /* in this step: it has options, its state has a new value */
    } owners[OPTION_OWNERS];
    size_t n_owners;
    bool begun;
    family **families;
    size_t n_families, cap_families;
    map *combos; /* by natural key */
    size_t n_combos;
    size_t *order;
    size_t n_order, cap_order;
    option_step step; /* the present one, where it was looked at */
    uint32_t *tensors; /* slots of its tensors that have buffers, in the order in which they were made */
    size_t n_tensors, cap_tensors;
} book;

static inline uint64_t option_mix(uint64_t a, uint64_t b) {
    return hash_mix((hash128){a, 0x6f70}, (hash128){b, 0x74}).lo;
}
void option_forget_families(book *k);

/* --- option_step.c --- */
/* An argument by what it is: kind << KIND_SHIFT | number. */
enum { OF_BASE = 1, OF_PACK, OF_LOG, OF_STATE, OF_STEP, KIND_SHIFT = 60 };
book *option_book_of(lazy_ctx *c); /* made at first use; NULL only without memory */
void option_step_free(option_step *st);
bool option_list_tensors(lazy_ctx *c, book *k);
/* What the step with these roots is asked for; the first part of `st` is its base. */
xt_status option_read_step(lazy_ctx *c, book *k, const lazy_roots *r, const uint32_t *slots, const size_t *requests,
                           option_step *st);
/* What argument `place` stands for, in any step: a state, or which tensor of the step that has a buffer; 0: neither. */
uint64_t option_leaf_id(const lazy_ctx *c, uint32_t place);
size_t option_owner_of_slot(const book *k, uint32_t slot); /* n_owners: none */
uint32_t option_slot_of(const lazy_ctx *c, uint64_t id); /* the slot that an id stands for in this step; 0: none */
ir_value *option_leaf_again(lazy_ctx *c, const struct option_leaf *l); /* NULL: this step has no such tensor */

/* --- option_form.c --- */
/* Records the form's options in this trace; *out_ok: false where something that one of them reads is not there. */
xt_status option_record_form(lazy_ctx *c, book *k, const family *f, lazy_form *form, const option_step *st,
                             bool *out_ok);
xt_status option_bind_form(lazy_ctx *c, lazy_known_as *k, const lazy_program *p, bool made);
void option_key_form(lazy_ctx *c, const book *k, lazy_form *form);

/* --- option_tail.c --- */
xt_status option_marks(lazy_ctx *c, option_step *st); /* sets marks of the values and of `now`, and the base's key */
/* Keeps what the steps to come need of items[from..n), which are in `st`; marks are made again. */
xt_status option_save(lazy_ctx *c, option_step *st, option_item *items, size_t from, size_t n);
/* Records what makes the items that are not in `on` (by item) but in `has`: out[2 * i], out[2 * i + 1]. *out_ok:
 * everything they read is there. */
xt_status option_graft(lazy_ctx *c, const option_item *items, size_t n, const bool *has, const bool *on, ir_value **out,
                       bool *out_ok);

#endif
