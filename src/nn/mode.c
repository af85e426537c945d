/* Modes: which modules train, and which evaluate. A module follows its parent until it is given a mode of its own; the
 * root's mode ends those of children. What sets modes for a while (a validation) gives each module back the mode it
 * had, so a batch norm that the user keeps in evaluation mode stays frozen behind it. */
#include <stdatomic.h>

#include "nn/nn.h"

uint64_t nn_next_numbers(uint64_t n) {
    static _Atomic uint64_t numbers = 1;
    return atomic_fetch_add(&numbers, n);
}

/* Compiled step functions are told: a recording made in one mode is not run in the other. A mode of a child's own is
 * toggled by a number for each of the two. */
static void say_own_mode(const xt_src *src, const xt_module *m) {
    if (m->mode != NN_AS_PARENT) lazy_mode_toggle(src, m->number + (m->mode == NN_TRAINING));
}

static void set_child(const xt_src *src, xt_module *m, nn_mode mode) {
    if (m->mode == mode) return;
    if (!m->number) m->number = nn_next_numbers(2);
    say_own_mode(src, m);
    m->mode = mode;
    say_own_mode(src, m);
}

static void follow(const xt_src *src, xt_module *m) { /* its children have no mode of their own any more */
    for (xt_module *c = m->children; c; c = c->next) {
        set_child(src, c, NN_AS_PARENT);
        follow(src, c);
    }
}

/* Said again, a mode is news too: a network that is trained in evaluation mode evaluates from xt_eval on. */
static void set_root(const xt_src *src, nn_root *r, nn_mode mode) {
    if (r->module->mode != mode)
        lazy_mode_toggle(src, r->number);
    else if (mode == NN_TRAINING)
        return;
    lazy_module_now(r->number, mode == NN_TRAINING ? LAZY_MODULE_TRAINING : LAZY_MODULE_EVALUATING);
    r->module->mode = mode;
}

static nn_mode mode_of(const xt_module *m) {
    while (m->mode == NN_AS_PARENT) m = m->parent;
    return m->mode;
}

static void set_mode(const xt_src *src, xt_module *m, nn_mode mode) {
    follow(src, m);
    m->mode_said = src ? src_intern(src) : 0;
    if (!m->parent)
        set_root(src, m->root, mode);
    else
        set_child(src, m, mode_of(m->parent) == mode ? NN_AS_PARENT : mode);
}

void nn_set_own_mode(xt_module *m, nn_mode mode) {
    if (m->parent)
        set_child(NULL, m, mode);
    else if (mode != NN_AS_PARENT)
        set_root(NULL, m->root, mode);
}

uint64_t nn_network(const xt_module *m) {
    return m->root->number;
}

void xt_train_at(const xt_src *src, xt_module *m) {
    if (m) set_mode(src, m, NN_TRAINING);
}
void xt_eval_at(const xt_src *src, xt_module *m) {
    if (m) set_mode(src, m, NN_EVALUATING);
}
void xt_train(xt_module *m) {
    xt_train_at(NULL, m);
}
void xt_eval(xt_module *m) {
    xt_eval_at(NULL, m);
}
bool xt_is_training(const xt_module *m) {
    return m && mode_of(m) == NN_TRAINING;
}

bool nn_drops(const xt_module *m, double p) {
    if (m && p != 0) m->root->by_mode = true;
    return p != 0 && xt_is_training(m);
}

/* The innermost module that the layer is in: "block.bn" may be the child "block" with a child "bn", or the child
 * "block.bn". */
static const xt_module *innermost(const xt_module *m, const char *layer) {
    for (const xt_module *c = m ? m->children : NULL; c;) {
        size_t n = strlen(c->key);
        bool at = *layer && strncmp(layer, c->key, n) == 0 && (!layer[n] || layer[n] == '.');
        if (!at) {
            c = c->next;
            continue;
        }
        m = c;
        c = c->children;
        layer += n + (layer[n] == '.');
    }
    return m;
}

bool nn_is_training(const xt_module *m, const char *layer) {
    if (m) m->root->by_mode = true;
    return xt_is_training(innermost(m, layer));
}

bool nn_syncs(const xt_module *m, const char *layer) {
    for (m = innermost(m, layer); m; m = m->parent)
        if (m->sync_norms) return true;
    return false;
}

/* To compiled step functions this is a mode as others are, that nothing turns back. */
void xt_sync_batch_norm_at(const xt_src *src, xt_module *m) {
    if (!m || m->sync_norms) return;
    m->sync_norms = true;
    lazy_mode_toggle(src, nn_next_numbers(1));
}

/* --- for a while --- */
static bool keep(nn_root *r, xt_module *m, bool begun) {
    nn_kept_mode k = {m, m->mode, m->mode_said, begun};
    return VEC_PUSH(r->kept_modes, r->n_kept_modes, r->cap_kept_modes, k);
}

static bool keep_below(nn_root *r, const xt_module *m) {
    for (xt_module *c = m->children; c; c = c->next)
        if ((c->mode != NN_AS_PARENT && !keep(r, c, false)) || !keep_below(r, c)) return false;
    return true;
}

void nn_mode_begin(const xt_src *src, xt_module *m, nn_mode mode) {
    nn_root *r = m ? m->root : NULL;
    size_t before = r ? r->n_kept_modes : 0;
    if (!r) return;
    if (!keep(r, m, true) || !keep_below(r, m)) {
        r->n_kept_modes = before;
        lazy_fail(status_at(status_oom(sizeof(nn_kept_mode), "the modes of modules"), src));
        return;
    }
    set_mode(src, m, mode);
}

/* The number of the last module that was begun with, counted from 1; 0: none. */
static size_t last_begun(const nn_root *r) {
    size_t i = r->n_kept_modes;
    while (i && !r->kept_modes[i - 1].begun) i--;
    return i;
}

void nn_mode_end(const xt_src *src, xt_module *m) {
    size_t at = m ? last_begun(m->root) : 0;
    if (!at) return; /* there was no memory to begin, which is the pending error */
    nn_root *r = m->root;
    follow(src, m);
    for (size_t i = at - 1; i < r->n_kept_modes; i++) {
        const nn_kept_mode *k = &r->kept_modes[i];
        if (k->m->parent)
            set_child(src, k->m, k->mode);
        else
            set_root(src, r, k->mode);
        k->m->mode_said = k->said;
    }
    r->n_kept_modes = at - 1;
}

void xt_eval_begin_at(const xt_src *src, xt_module *m) {
    nn_mode_begin(src, m, NN_EVALUATING);
}

static const char *name_of(const xt_module *m) {
    return *m->path ? m->path : "the network";
}

void xt_eval_end_at(const xt_src *src, xt_module *m) {
    size_t at = m ? last_begun(m->root) : 0;
    const xt_module *begun = at ? m->root->kept_modes[at - 1].m : NULL;
    if (!m) return;
    if (begun == m) {
        nn_mode_end(src, m);
        return;
    }
    if (lazy_pending()) return; /* which may be of its begin */
    xt_status s = begun ? status_new(XT_FAILED_PRECONDITION, src,
                                     "xt_eval_end of %s, but the xt_eval_begin before it is of %s: the innermost ends "
                                     "first",
                                     name_of(m), name_of(begun))
                        : status_new(XT_FAILED_PRECONDITION, src,
                                     "xt_eval_end of %s without xt_eval_begin; xt_train ends an xt_eval", name_of(m));
    lazy_fail(s);
}

void nn_modes_free(xt_module *root) {
    set_mode(NULL, root, NN_TRAINING);
    base_free(root->root->kept_modes);
}
