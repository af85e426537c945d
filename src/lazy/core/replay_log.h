/* While a compiled step function is recorded (ctx.replay_log is set), the replay log notes in order what the host does
 * besides recording ops: numbers that enter the step's packs, actions that subsystems registered, what it looked at.
 * What is made of it at the end is the business of replay_plan.c. */
#ifndef XT_SRC_LAZY_REPLAY_LOG_H
#define XT_SRC_LAZY_REPLAY_LOG_H

#include "lazy/core/ctx.h"
#include "lazy/core/labels.h"

typedef enum lazy_replay_kind {
    LAZY_REPLAY_ACTION,
    LAZY_REPLAY_SCALAR,
    LAZY_REPLAY_RNG,
    LAZY_REPLAY_DONE
} lazy_replay_kind;
typedef struct lazy_replay_item { /* one thing the host does again at a replay, in the order of the recording */
    lazy_replay_kind kind;
    lazy_replay action;
    int pack, at; /* SCALAR, RNG: where the words go */
    double (*value)(void *user);
    lazy_draw draw; /* RNG */
    lazy_done_fn done;
    void *user; /* of value and done */
} lazy_replay_item;

typedef struct lazy_label_check { /* a loss over classes whose labels are an input */
    lazy_classes classes;
    size_t input;
} lazy_label_check;

typedef struct lazy_signature { /* of a call: what is compared first */
    size_t n;
    struct {
        const ir_type *type;
        const struct lazy_layout *layout;
        uint32_t slot, generation; /* of inputs that are taken as themselves (states, tensors with gradients); else 0 */
    } * in;
    bool no_grad;
    xt_dtype autocast;
    uint64_t mode;
    int64_t batch_size;
} lazy_signature;

struct lazy_replay_log {
    struct xt_step *step;
    /* may a program of this key be one of the function's? An error where it has too many */
    xt_status (*admit)(lazy_replay_log *t, hash128 key, const lazy_event *ev);
    const xt_src *src;
    const char *frame; /* of the call that records */
    void (*left)(lazy_ctx *c, lazy_replay_log *t); /* that call will never go on: frees t */
    bool in_fn; /* fn runs; else its boundary does */
    lazy_signature sig;
    xt_tensor *in; /* the handles fn gets */
    struct lazy_entry { /* every slot as it was when the call began */
        uint32_t generation;
        bool live, requires_grad, grad_leaf;
        xt_tensor grad;
    } * entry;
    size_t n_entry;
    lazy_replay_item *items;
    size_t n_items, cap_items;
    uint32_t *asked; /* slots whose gradient was looked at */
    size_t n_asked, cap_asked;
    lazy_label_check *labels;
    size_t n_labels, cap_labels;
    const char *volatile_what;
    src_id volatile_src;
    bool failed; /* without memory: no plan */
    struct lazy_program *program; /* the boundary's; retained */
    xt_tensor result;
    struct lazy_plan *plan; /* made by the boundary */
};

void lazy_replay_log_add(lazy_ctx *c, lazy_replay_item item);
void lazy_replay_log_volatile(lazy_ctx *c, src_id src, const char *what); /* `what` is kept */
void lazy_replay_log_asked(lazy_ctx *c, uint32_t slot);
/* of an input: looked at again at each call */
void lazy_replay_log_labels(lazy_ctx *c, const lazy_classes *classes, xt_tensor labels);

#endif
