/* See labels.h. */
#include "lazy/labels.h"

#include "lazy/step.h"

/* --- the outermost values --- */
static void put(lazy_extremes *e, int which, int64_t v, int64_t at) {
    e->value[which] = v;
    e->at[which] = at;
}

/* beyond: further out than all so far, which then are the inner ones. */
static void meet(lazy_extremes *e, int outer, int inner, bool beyond, bool between, int64_t v, int64_t at) {
    if (beyond) {
        put(e, inner, e->value[outer], e->at[outer]);
        put(e, outer, v, at);
    } else if (between)
        put(e, inner, v, at);
}

static void take(lazy_extremes *e, int64_t v, int64_t at) {
    meet(e, LAZY_LOW, LAZY_LOW_2, v<e->value[LAZY_LOW], v> e->value[LAZY_LOW] && v < e->value[LAZY_LOW_2], v, at);
    meet(e, LAZY_HIGH, LAZY_HIGH_2, v > e->value[LAZY_HIGH], v < e->value[LAZY_HIGH] && v > e->value[LAZY_HIGH_2], v,
         at);
}

/* Nearly every element lies between the extremes met so far: two comparisons each, some microseconds for the
 * tokens of a batch. */
#define SCAN(T)                                                                   \
    for (int64_t i = 0; i < n; i++) {                                             \
        int64_t v = (int64_t)((const T *)data)[i];                                \
        if (v < e->value[LAZY_LOW_2] || v > e->value[LAZY_HIGH_2]) take(e, v, i); \
    }                                                                             \
    return true

static bool scan(lazy_extremes *e, xt_dtype dtype, const void *data, int64_t n) {
    switch (dtype) {
    case XT_I8: SCAN(int8_t);
    case XT_U8: SCAN(uint8_t);
    case XT_I16: SCAN(int16_t);
    case XT_U16: SCAN(uint16_t);
    case XT_I32: SCAN(int32_t);
    case XT_U32: SCAN(uint32_t);
    case XT_I64: SCAN(int64_t);
    default: return false; /* u64: no class number is beyond i64, and who has them has other troubles */
    }
}

lazy_extremes *lazy_extremes_of(xt_dtype dtype, const void *data, int64_t count) {
    lazy_extremes *e = data && count > 0 ? base_malloc(sizeof *e) : NULL;
    if (!e) return NULL;
    *e = (lazy_extremes){.value = {INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN}};
    atomic_init(&e->refs, 1);
    if (scan(e, dtype, data, count)) return e;
    base_free(e);
    return NULL;
}

lazy_extremes *lazy_extremes_retain(lazy_extremes *e) {
    if (e) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void lazy_extremes_release(lazy_extremes *e) {
    if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) base_free(e);
}

void lazy_note_extremes(xt_tensor t, lazy_extremes *e) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s || s->failed) {
        lazy_extremes_release(e);
        return;
    }
    lazy_extremes_release(s->extremes);
    s->extremes = e;
    if (e && s->value) c->values_noted = true; /* of this trace, see slot_behind */
}

/* --- from a loss back to where its labels came from --- */
/* Narrows least and most to the numbers that a cast keeps. */
static bool keeps_values(const ir_op *op, lazy_classes *c) {
    if (op->code == OP_reshape || op->code == OP_transpose) return true;
    xt_dtype to = op->out[0].type->dtype;
    if (op->code != OP_convert || !ir_dtype_is_int(to) || xt_dtype_size(to) == 0) return false;
    bool sign = ir_dtype_is_signed(to);
    int bits = 8 * (int)xt_dtype_size(to) - sign;
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1, least = sign ? -most - 1 : 0;
    if (least > c->least) c->least = least;
    if (most < c->most) c->most = most;
    return true;
}

static const lazy_slot *slot_behind(lazy_ctx *c, const ir_value *v) {
    if (!v->def) {
        if (!v->block || v->block->owner || v->index >= c->n_leaves) return NULL; /* of a loop's body */
        const lazy_leaf *l = &c->leaves[v->index];
        return l->pack < 0 ? lazy_slot_of(c, (xt_tensor){l->slot, l->generation}) : NULL;
    }
    for (size_t i = c->values_noted ? c->n_step_slots : 0; i-- > 0;) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && s->extremes && s->value == v) return s;
    }
    return NULL;
}

/* The outermost value at this end that is not the one to ignore. */
static int outermost(const lazy_extremes *e, int first, int64_t ignore) {
    return e->value[first] == ignore ? first + 1 : first;
}

static xt_status refuse(const lazy_classes *c, const lazy_extremes *e, int which) {
    char place[160], ignored[64] = "";
    if (e->set)
        snprintf(place, sizeof place, "sample %lld of %s", (long long)e->at[which], intern_text(e->set));
    else
        snprintf(place, sizeof place, "element %lld", (long long)e->at[which]);
    if (c->ignore != INT64_MIN) snprintf(ignored, sizeof ignored, " or %lld, which is ignored", (long long)c->ignore);
    return status_new(
        XT_OUT_OF_RANGE, src_get(c->src),
        "%s: label %lld (%s) is outside 0..%lld: the scores have %lld classes, so labels are 0 to %lld%s; %s", c->what,
        (long long)e->value[which], place, (long long)c->count - 1, (long long)c->count, (long long)c->count - 1,
        ignored,
        c->ignore == INT64_MIN
            ? "map the labels, or give the network more outputs"
            : "map the labels, give the network more outputs, or name a label to leave out with .ignore_index");
}

xt_status lazy_labels_check(const lazy_classes *c, const lazy_extremes *e) {
    if (!e || e->value[LAZY_LOW] < c->least || e->value[LAZY_HIGH] > c->most) return NULL;
    int low = outermost(e, LAZY_LOW, c->ignore), high = outermost(e, LAZY_HIGH, c->ignore);
    if (e->value[high] != INT64_MIN && e->value[high] >= c->count) return refuse(c, e, high);
    return e->value[low] != INT64_MAX && e->value[low] < 0 ? refuse(c, e, low) : NULL;
}

bool lazy_labels_fit(const lazy_classes *classes, const ir_value *labels) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = NULL;
    lazy_classes known = *classes;
    known.least = INT64_MIN, known.most = INT64_MAX;
    for (const ir_value *v = labels; c && v; v = v->def->in[0])
        if ((s = slot_behind(c, v)) || !v->def || !keeps_values(v->def, &known)) break;
    if (!s || !s->extremes) return true;
    if (c->tape) lazy_tape_labels(c, &known, (xt_tensor){(uint32_t)(s - c->slots), s->generation});
    xt_status wrong = lazy_labels_check(&known, s->extremes);
    if (wrong) lazy_fail(wrong);
    return !wrong;
}
