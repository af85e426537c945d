/* Numbers of the caller's in the graph. A number is a constant until it changes between two steps at the same place of
 * the program; from then on it is data there, with one notice. A place is the source line, the module path, the op
 * (OP.OPTION where steps may ask for one of its numbers without the others), the size that a shape depends on beside
 * it, and how often they came by in this step. The dtype is none of it: a number that is whole in some steps alone
 * gives integers in those, and is one number. */
#include <math.h>
#include <pthread.h>

#include "ops/number.h"

typedef struct place_key {
    uint32_t src, path, count;
    int64_t size;
    const char *what;
} place_key;

typedef struct place {
    double value;
    int64_t step;
    bool data;
    uint32_t count; /* in the entry with count 0: how often this line came by in `step` */
    bool told; /* likewise: of one of its numbers (a loop over parameters has one for each) */
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

/* True when the number at this place is data. A call that refuses a tensor without a value says only some of its
 * numbers, so behind an error nothing is known of their order; its step is dropped. */
static bool changes(const xt_src *src, const char *what, int64_t size, double v, const ir_builder *b) {
    bool fresh;
    if (lazy_pending()) return false;
    int64_t step = lazy_step();
    place_key key;
    memset(&key, 0, sizeof key); /* padding is part of the key */
    key.src = src_intern(src);
    key.path = b->path;
    key.size = size;
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
        const char *called = lazy_made_for(src_get(key.src), what);
        p->data = true;
        lazy_number_became_data(key.src, p->value, v);
        if (!first->told)
            log_msg(XT_SEV_INFO,
                    "%s: %s%sthe number of %s changed from %g to %g between two steps; from now on it is data of the "
                    "program and may change freely",
                    src_text(key.src, at, sizeof at), called ? called : "", called ? ": " : "", what, p->value, v);
        first->told = true;
    }
    p->value = v;
    return p->data;
}

/* --- what a number is in a dtype --- */
/* Beyond 2^53 not every whole number is a double, but each double is one, and exact in i64. */
static bool is_whole(double v) {
    return v == floor(v) && fabs(v) < 0x1p63;
}

xt_dtype ops_beside_number(xt_dtype t, double v) {
    if (t == XT_BOOL) return is_whole(v) ? XT_I64 : XT_F32;
    return ir_dtype_is_int(t) && !is_whole(v) ? XT_F32 : t;
}

ir_value *ops_splat(ir_builder *b, const ir_type *t, double v) {
    if (!t || !ir_dtype_is_int(t->dtype) || !is_whole(v)) return ir_splat(b, t, v);
    int bits = ops_bits(t->dtype);
    if (bits == 64) /* what no double says is all but exact in i64 */
        return v < 0 && !ir_dtype_is_signed(t->dtype)
                   ? ir_convert(b, ir_splat(b, ir_with_dtype(t, XT_I64), v), t->dtype)
                   : ir_splat(b, t, v);
    int64_t count = (int64_t)1 << bits, low = (int64_t)v & (count - 1);
    if (ir_dtype_is_signed(t->dtype) && low >= count / 2) low -= count;
    return ir_splat(b, t, (double)low);
}

bool ops_number_fits(const xt_src *src, const char *what, xt_dtype t, double v, bool wraps, xt_tensor *out) {
    double top = INFINITY, bottom = -INFINITY;
    if (t == XT_F16) top = 65504, bottom = -top;
    if (ir_dtype_is_int(t)) {
        int n = ops_bits(t) - ir_dtype_is_signed(t);
        top = ldexp(1, n), bottom = ir_dtype_is_signed(t) || (wraps && is_whole(v)) ? -top : 0;
        if (!ir_dtype_is_signed(t)) bottom += bottom < 0; /* -255 of u8 */
        if (n < 53) top--;
    }
    bool is_float = ir_dtype_is_float(t);
    if (t == XT_BOOL || ir_dtype_is_complex(t) || (is_float && !isfinite(v)) || (v >= bottom && v <= top)) return true;
    *out = lazy_error(src, XT_OUT_OF_RANGE,
                      "%s: the number %g is none of %s, which holds %g to %g; xt_cast x to a dtype that holds it", what,
                      v, xt_dtype_name(t), is_float || ir_dtype_is_signed(t) ? bottom : 0, top);
    return false;
}

/* --- as a value of the graph --- */
bool ops_number_moves(const xt_src *src, const char *what, double v) {
    return changes(src, what, 0, v, lazy_begin(src));
}

bool ops_sized_number_moves(const xt_src *src, const char *what, int64_t size, double v) {
    return changes(src, what, size, v, lazy_begin(src));
}

/* Whole numbers travel as doubles. */
ir_value *ops_place(const xt_src *src, const char *what, int64_t v, int64_t size, int64_t made) {
    const int64_t most = (int64_t)1 << 53;
    if (v > most || v < -most || made > most || made < -most) return NULL;
    if (!ops_sized_number_moves(src, what, size, (double)v)) return NULL;
    xt_tensor s = lazy_scalar(src, XT_I64, (double)made);
    lazy_begin(src);
    return lazy_value(s);
}

ir_value *ops_made_number(const xt_src *src, const char *what, xt_dtype t, double v, double made, bool *out_constant) {
    ir_builder *b = lazy_begin(src);
    bool data = changes(src, what, 0, v, b);
    if (out_constant) *out_constant = !data;
    if (!data) return ops_splat(b, ir_scalar(t), made);
    xt_tensor s = lazy_scalar(src, t, t == XT_BOOL ? made != 0 : made); /* which cuts fractions to whole numbers */
    lazy_begin(src);
    return lazy_value(s);
}

ir_value *ops_number(const xt_src *src, const char *what, xt_dtype t, double v, bool *out_constant) {
    return ops_made_number(src, what, t, v, v, out_constant);
}
