/* Numbers of the caller's in the graph. A number is a constant until it changes between two steps at the same place of
 * the program; from then on it is data there, with one notice. A place is the source line, the module path, the op, the
 * dtype, and how often they came by in this step. */
#include "ops/ops.h"

typedef struct place_key {
    uint32_t src, path, dtype, count;
    const char *what;
} place_key;

typedef struct place {
    double value;
    int64_t step;
    bool data;
    uint32_t count; /* in the entry with count 0: how often this line came by in `step` */
} place;

typedef struct places {
    map *known;
} places;

static __thread places here; /* a tensor belongs to its thread, and so does the program that makes it */

static void free_places(void *user) {
    (void)user;
    map_free(here.known, base_free);
    here.known = NULL;
}

static place *find(place_key *key, bool *fresh) {
    if (!here.known) {
        here.known = map_new();
        if (here.known) lazy_at_finish(free_places, NULL);
    }
    place *p = here.known ? map_get(here.known, key, sizeof *key) : NULL;
    *fresh = !p;
    if (p || !here.known) return p;
    p = base_calloc(1, sizeof *p);
    if (p && map_put(here.known, key, sizeof *key, p, NULL)) return p;
    base_free(p);
    return NULL;
}

/* True when the number at this place is data. */
static bool changes(const xt_src *src, const char *what, xt_dtype t, double v, const ir_builder *b) {
    bool fresh;
    int64_t step = lazy_step();
    place_key key;
    memset(&key, 0, sizeof key); /* padding is part of the key */
    key.src = src_intern(src);
    key.path = b->path;
    key.dtype = t;
    key.what = what;
    place *first = find(&key, &fresh);
    if (!first) return false;
    if (fresh || first->step != step) first->count = 0;
    key.count = ++first->count;
    first->step = step;
    place *p = find(&key, &fresh);
    if (!p || fresh) {
        if (p) p->value = v;
        return false;
    }
    bool same = p->value == v || (p->value != p->value && v != v);
    if (!same && !p->data) {
        char at[256];
        p->data = true;
        lazy_number_became_data(key.src, p->value, v);
        log_msg(XT_SEV_INFO,
                "%s: the number of %s changed from %g to %g between two steps; from now on it is data of the program "
                "and may change freely",
                src_text(key.src, at, sizeof at), what, p->value, v);
    }
    p->value = v;
    return p->data;
}

ir_value *ops_number(const xt_src *src, const char *what, xt_dtype t, double v, bool *out_constant) {
    ir_builder *b = lazy_begin(src);
    bool data = changes(src, what, t, v, b);
    if (out_constant) *out_constant = !data;
    if (!data) return ir_splat(b, ir_scalar(t), v);
    xt_tensor s = lazy_scalar(src, t, v);
    lazy_begin(src);
    return lazy_value(s);
}
