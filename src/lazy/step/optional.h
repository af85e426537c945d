/* Inside optional*.c, superset.c: what optional.c says first. */
#ifndef XT_SRC_LAZY_OPTIONAL_H
#define XT_SRC_LAZY_OPTIONAL_H

#include "lazy/step/step.h"

typedef struct lazy_superset { /* a program that has some optional outputs, each of which a step may switch off */
    lazy_known_as known; /* first: what a program is looked up by is the superset */
    uint64_t *inputs; /* what each is to the base; of the program `key` */
    uint32_t *places; /* room for a step's */
    bool *has; /* by item of its program_group */
    size_t n_has;
} lazy_superset;
/* Something that steps of a group are asked for, as the first of them recorded it. */
typedef struct optional_item {
    uint64_t line, id; /* who asks, and for which of his values */
    lazy_optional o; /* values unused */
    const void *owner; /* lazy_optional_owner.user; NULL: a request */
    uint64_t marks[2]; /* of its values (lazy_key_tree); 0: none */
    uint64_t pattern; /* in which combinations it was asked for, as a hash */
    bool foreign; /* it reads what other steps do not have, or all ranks work on it: not recorded in those */
    ir_module *subgraph; /* what makes its values, as far as the base does not; NULL: none */
    ir_value *roots[2];
    ir_value **leaf_values; /* while it is saved: what the subgraph's arguments were */
    struct optional_leaf {
        uint64_t mark, id; /* id: of an argument that is not the base's */
        const ir_type *type;
    } * leaves;
    size_t n_leaves;
} optional_item;

/* One of the step that is being ended. */
typedef struct optional_now {
    uint64_t line, id;
    lazy_optional o;
    const void *owner;
    size_t request, item;
    uint64_t marks[2];
} optional_now;

typedef struct optional_step {
    ir_value **roots; /* the base's, then the optional outputs' */
    const struct lazy_layout **layouts; /* of the base's */
    int32_t *aliases; /* of the base's: argument whose buffer it may take over, if that is the base's, too; or -1 */
    size_t n_base, n_roots;
    optional_now *now;
    size_t n_now, cap_now;
    uint32_t *numbers, in_base; /* of the arguments: see lazy_key_tree */
    uint32_t *places; /* which argument has a number */
    size_t n_numbers;
    hash128 base;
} optional_step;

/* --- optional.c --- */
typedef struct combination { /* of optional outputs: what its steps run */
    uint64_t set, states; /* states: types of those that the owners had */
    struct program_group *of;
    lazy_superset *superset; /* NULL: a program of its own */
} combination;

typedef struct program_group {
    hash128 base;
    optional_item *items;
    size_t n_items, cap_items;
    combination **combos;
    size_t n_combos, cap_combos;
    lazy_superset **supersets;
    size_t n_supersets, cap_supersets;
    size_t n_own;
    uint64_t always, never; /* patterns of items asked for in every combination, and in none */
} program_group;

typedef struct optional_owner {
    lazy_optional_owner o;
    bool active, used; /* in this step: it has optional outputs, its state has a new value */
} optional_owner;

typedef struct lazy_optional_registry { /* of a thread */
    optional_owner *owners; /* a log engine has one a stage, and a trainer has an engine */
    size_t n_owners, cap_owners;
    bool begun, apart; /* apart: see lazy_optional_apart */
    bool serves; /* the step runs a superset */
    program_group **groups;
    size_t n_groups, cap_groups;
    map *combos; /* by natural key */
    size_t n_combos;
    size_t *order;
    size_t n_order, cap_order;
    optional_step step; /* the present one, where it was looked at */
    uint32_t *tensors; /* slots of its tensors that have buffers, in the order in which they were made */
    size_t n_tensors, cap_tensors;
} optional_registry;

static inline uint64_t optional_mix(uint64_t a, uint64_t b) {
    return hash_mix((hash128){a, 0x6f70}, (hash128){b, 0x74}).lo;
}
void optional_forget_groups(optional_registry *k);

/* --- optional_step.c --- */
/* An argument by what it is: kind << KIND_SHIFT | number. */
enum { OF_BASE = 1, OF_PACK, OF_LOG, OF_STATE, OF_STEP, KIND_SHIFT = 60 };
optional_registry *optional_registry_of(lazy_ctx *c); /* made at first use; NULL only without memory */
void optional_step_free(optional_step *st);
bool optional_list_tensors(lazy_ctx *c, optional_registry *k);
/* What the step with these roots is asked for; the first part of `st` is its base. */
xt_status optional_read_step(lazy_ctx *c, optional_registry *k, const lazy_roots *r, const uint32_t *slots,
                             const size_t *requests, optional_step *st);
/* What argument `place` stands for, in any step: a state, or which tensor of the step that has a buffer; 0: neither. */
uint64_t optional_leaf_id(const lazy_ctx *c, uint32_t place);
size_t optional_owner_of_slot(const optional_registry *k, uint32_t slot); /* n_owners: none */
uint32_t optional_slot_of(const lazy_ctx *c, uint64_t id); /* the slot that an id stands for in this step; 0: none */
ir_value *optional_leaf_again(lazy_ctx *c, const struct optional_leaf *l); /* NULL: this step has no such tensor */

/* --- superset.c --- */
/* Records the superset's optional outputs in this trace; *out_ok: false where something that one of them reads is not
 * there. */
xt_status optional_record_superset(lazy_ctx *c, optional_registry *k, const program_group *f, lazy_superset *superset,
                                   const optional_step *st, bool *out_ok);
xt_status optional_bind_superset(lazy_ctx *c, lazy_known_as *k, const lazy_program *p, bool made);
void optional_key_superset(lazy_ctx *c, const optional_registry *k, lazy_superset *superset);

/* --- optional_subgraph.c --- */
xt_status optional_marks(lazy_ctx *c,
                         optional_step *st); /* sets marks of the values and of `now`, and the base's key */
/* Keeps what the steps to come need of items[from..n), which are in `st`; marks are made again. */
xt_status optional_save(lazy_ctx *c, optional_step *st, optional_item *items, size_t from, size_t n);
/* Records what makes the items that are not in `on` (by item) but in `has`: out[2 * i], out[2 * i + 1]. *out_ok:
 * everything they read is there. */
xt_status optional_graft(lazy_ctx *c, const optional_item *items, size_t n, const bool *has, const bool *on,
                         ir_value **out, bool *out_ok);

#endif
