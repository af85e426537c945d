/* What is frozen, and in which mode modules are, as it was at a moment: what has been said since then is the
 * difference. Parameters and modules that come later are compared with what had been said for them. */
#include "nn/nn.h"

typedef struct said {
    char *pattern;
    bool frozen;
} said;
typedef struct mode_then {
    const xt_module *m;
    nn_mode mode;
} mode_then;
struct nn_mark {
    map *frozen; /* of the parameters that there were: name -> 1, or 2 if it was */
    said *rules; /* in order */
    size_t n, cap;
    mode_then *modes; /* those of a mode of their own, and the root */
    size_t n_modes, cap_modes;
};

void nn_mark_free(nn_mark *k) {
    if (!k) return;
    for (size_t i = 0; i < k->n; i++) base_free(k->rules[i].pattern);
    base_free(k->rules);
    base_free(k->modes);
    map_free(k->frozen, NULL);
    base_free(k);
}

nn_mode nn_own_mode(const xt_module *m) {
    const nn_root *r = m->root;
    for (size_t i = 0; i < r->n_kept_modes; i++)
        if (r->kept_modes[i].m == m) return r->kept_modes[i].mode;
    for (const xt_module *up = m->parent; up && r->n_kept_modes; up = up->parent)
        if (r->kept_modes[0].m == up) return NN_AS_PARENT; /* or it would be among them */
    return m->mode;
}

static bool mark_modes(nn_mark *k, const xt_module *m) {
    nn_mode mode = nn_own_mode(m);
    if (mode != NN_AS_PARENT && !VEC_PUSH(k->modes, k->n_modes, k->cap_modes, ((mode_then){m, mode}))) return false;
    for (const xt_module *c = m->children; c; c = c->next)
        if (!mark_modes(k, c)) return false;
    return true;
}

static bool mark_rules(nn_mark *k, const nn_root *r) {
    for (size_t i = 0; i < r->n_wishes; i++) {
        const nn_wish *w = &r->wishes[i];
        if (w->what != NN_WISH_FREEZE && w->what != NN_WISH_THAW) continue;
        said one = {base_strdup(w->pattern), w->what == NN_WISH_FREEZE};
        if (one.pattern && VEC_PUSH(k->rules, k->n, k->cap, one)) continue;
        base_free(one.pattern);
        return false;
    }
    return true;
}

static bool mark_params(nn_mark *k, const nn_root *r) {
    for (size_t i = 0; i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        uintptr_t v = lazy_trains(e->t) ? 1 : 2;
        if (e->is_param && !map_put(k->frozen, e->name, strlen(e->name), (void *)v, NULL)) return false;
    }
    return true;
}

nn_mark *nn_mark_take(const xt_module *m) {
    nn_mark *k = base_calloc(1, sizeof *k);
    if (k && (k->frozen = map_new()) && mark_params(k, m->root) && mark_rules(k, m->root) &&
        mark_modes(k, m->root->module))
        return k;
    nn_mark_free(k);
    return NULL;
}

bool nn_mark_frozen(const nn_mark *k, const char *name) {
    uintptr_t was = (uintptr_t)map_get(k->frozen, name, strlen(name));
    bool frozen = was == 2;
    for (size_t i = 0; !was && i < k->n; i++)
        if (nn_matches(k->rules[i].pattern, name)) frozen = k->rules[i].frozen;
    return frozen;
}

nn_mode nn_mark_mode(const nn_mark *k, const xt_module *m) {
    for (size_t i = 0; i < k->n_modes; i++)
        if (k->modes[i].m == m) return k->modes[i].mode;
    return NN_AS_PARENT;
}

static bool freezes(const nn_wish *w) {
    return w->what == NN_WISH_FREEZE || w->what == NN_WISH_THAW;
}

/* Wishes that are said again move to the end, so what stands before the first difference is as it was. */
static size_t first_new(const nn_mark *k, const nn_root *r) {
    size_t i = 0;
    for (size_t same = 0; i < r->n_wishes; i++) {
        const nn_wish *w = &r->wishes[i];
        if (!freezes(w)) continue;
        if (same >= k->n || strcmp(k->rules[same].pattern, w->pattern) != 0 ||
            k->rules[same].frozen != (w->what == NN_WISH_FREEZE))
            break;
        same++;
    }
    return i;
}

const nn_wish *nn_mark_next(const nn_mark *k, const nn_root *r, size_t *at) {
    size_t i = *at > first_new(k, r) ? *at : first_new(k, r);
    while (i < r->n_wishes && !freezes(&r->wishes[i])) i++;
    *at = i + 1;
    return i < r->n_wishes ? &r->wishes[i] : NULL;
}
