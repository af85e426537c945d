/* Numbers of the caller's in the graph. A number is a constant until it changes between two steps at the same place of
 * the program; from then on it is data there, with one notice. A place is the source line, the module path, the op
 * (OP.OPTION where steps may ask for one of its numbers without the others), the dtype, and how often they came by in
 * this step. */
#include <pthread.h>

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

/* A tensor belongs to its thread, and so do the program that makes it and the places in it: they go with the thread, or
 * when it finishes. */
static __thread map *known;
static pthread_key_t ends;
static pthread_once_t ends_once = PTHREAD_ONCE_INIT;

static void free_places(void *of) {
    map_free(of, base_free);
    known = NULL;
}
static void finish(void *user) {
    (void)user;
    if (!known) return;
    pthread_setspecific(ends, NULL);
    free_places(known);
}
static void make_key(void) {
    pthread_key_create(&ends, free_places);
}

static bool open_places(void) {
    pthread_once(&ends_once, make_key);
    known = map_new();
    if (!known) return false;
    pthread_setspecific(ends, known);
    lazy_at_finish(finish, NULL);
    return true;
}

static place *find(place_key *key, bool *fresh) {
    *fresh = true;
    if (!known && !open_places()) return NULL;
    place *p = map_get(known, key, sizeof *key);
    *fresh = !p;
    if (p) return p;
    p = base_calloc(1, sizeof *p);
    if (p && map_put(known, key, sizeof *key, p, NULL)) return p;
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
