/* See labels.h. */
#include "lazy/core/labels.h"

#include "lazy/core/replay_log.h"

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

/* What is wrong with a value, and what would be right. `place`: which one it is, in parentheses; "": not known. */
static xt_status refusal(const lazy_classes *c, int64_t value, const char *place) {
    long long last = (long long)c->count - 1, n = (long long)c->count;
    char ignored[64] = "";
    if (c->places)
        return status_new(XT_OUT_OF_RANGE, src_get(c->src),
                          "%s: index %lld%s is outside %lld..%lld: it indexes an axis of %lld; correct what makes the "
                          "indices, or make the axis longer",
                          c->what, (long long)value, place, (long long)c->first, last, n);
    if (c->lengths)
        return status_new(XT_OUT_OF_RANGE, src_get(c->src),
                          "%s: length %lld%s is outside 0..%lld: there are %lld entries; correct the lengths, or pad "
                          "the sequences to the longest",
                          c->what, (long long)value, place, last, last);
    if (c->ignore != INT64_MIN) snprintf(ignored, sizeof ignored, " or %lld, which is ignored", (long long)c->ignore);
    return status_new(
        XT_OUT_OF_RANGE, src_get(c->src),
        "%s: label %lld%s is outside 0..%lld: the scores have %lld classes, so labels are 0 to %lld%s; %s", c->what,
        (long long)value, place, last, n, last, ignored,
        c->ignore == INT64_MIN
            ? "map the labels, or give the network more outputs"
            : "map the labels, give the network more outputs, or name a label to leave out with .ignore_index");
}

static xt_status refuse(const lazy_classes *c, const lazy_extremes *e, int which) {
    char place[160];
    if (e->set)
        snprintf(place, sizeof place, " (sample %lld of %s)", (long long)e->at[which], intern_text(e->set));
    else
        snprintf(place, sizeof place, " (element %lld)", (long long)e->at[which]);
    return refusal(c, e->value[which], place);
}

xt_status lazy_labels_check(const lazy_classes *c, const lazy_extremes *e) {
    if (!e || e->value[LAZY_LOW] < c->least || e->value[LAZY_HIGH] > c->most) return NULL;
    int low = outermost(e, LAZY_LOW, c->ignore), high = outermost(e, LAZY_HIGH, c->ignore);
    if (e->value[high] != INT64_MIN && e->value[high] >= c->count) return refuse(c, e, high);
    return e->value[low] != INT64_MAX && e->value[low] < c->first ? refuse(c, e, low) : NULL;
}

/* --- XT_DEBUG=bounds: what the device will have seen of them --- */
xt_status lazy_bounds_wrong(const lazy_bounds_site *s, int64_t least, int64_t most) {
    char place[320] = "";
    if (s->path) snprintf(place, sizeof place, " (in %s)", intern_text(s->path));
    if (most >= s->of.count) return refusal(&s->of, most, place);
    return least < s->of.first ? refusal(&s->of, least, place) : NULL;
}

/* The least and the most of v, i64 [2]. One that is ignored counts as one that is inside. */
static ir_value *extremes_of(ir_builder *b, const lazy_classes *k, ir_value *v) {
    int64_t axes[IR_MAX_RANK], one = 1;
    v = v->type->dtype == XT_I64 ? v : ir_convert(b, v, XT_I64);
    if (!v) return NULL;
    if (k->ignore != INT64_MIN)
        v = ir_select(b, ir_compare(b, IR_EQ, v, ir_splat(b, v->type, (double)k->ignore)), ir_splat(b, v->type, 0), v);
    for (uint32_t i = 0; v && i < v->type->rank; i++) axes[i] = i;
    ir_value *ends[2] = {v, v};
    for (int i = 0; v && i < 2; i++) {
        if (v->type->rank) ends[i] = ir_reduce(b, i ? OP_maximum : OP_minimum, v, v->type->rank, axes);
        ends[i] = ends[i] ? ir_reshape(b, ends[i], 1, &one) : NULL;
    }
    return ends[0] && ends[1] ? ir_concatenate(b, 2, ends, 0) : NULL;
}

static void record_bounds(lazy_ctx *c, const lazy_classes *k, ir_value *v) {
    if (!c->bounds || c->in_debug_run || !v || v->type->count == 0) return;
    lazy_bounds_site s = {.of = *k, .path = c->b.path, .extremes = extremes_of(&c->b, k, v)};
    if (s.extremes && !VEC_PUSH(c->bounds_sites, c->n_bounds_sites, c->cap_bounds_sites, s))
        lazy_fail(status_oom(sizeof s, "the bounds of an index"));
}

ir_value **lazy_bounds_in(const ir_block *body, size_t k) {
    lazy_ctx *c = lazy_ctx_get();
    for (size_t i = 0; c && i < c->n_bounds_sites; i++)
        if (c->bounds_sites[i].extremes->block == body && k-- == 0) return &c->bounds_sites[i].extremes;
    return NULL;
}

size_t lazy_bounds_count(const ir_block *body) {
    size_t n = 0;
    while (lazy_bounds_in(body, n)) n++;
    return n;
}

void lazy_bounds_forget(const ir_block *body) {
    lazy_ctx *c = lazy_ctx_get();
    size_t n = 0;
    for (size_t i = 0; c && i < c->n_bounds_sites; i++)
        if (c->bounds_sites[i].extremes->block != body) c->bounds_sites[n++] = c->bounds_sites[i];
    if (c) c->n_bounds_sites = n;
}

void lazy_note_places(xt_tensor t, const ir_type *of) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (s && !s->failed) s->places_of = of;
}

const ir_type *lazy_places_of(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s ? s->places_of : NULL;
}

bool lazy_index_fits(const xt_src *src, const char *what, int64_t count, bool from_end, ir_value *index) {
    return lazy_labels_fit(&(lazy_classes){.what = what,
                                           .src = src_intern(src),
                                           .places = true,
                                           .first = from_end ? -count : 0,
                                           .count = count,
                                           .ignore = INT64_MIN},
                           index);
}

bool lazy_lengths_fit(const xt_src *src, const char *what, int64_t entries, ir_value *lengths) {
    return lazy_labels_fit(
        &(lazy_classes){
            .what = what, .src = src_intern(src), .lengths = true, .count = entries + 1, .ignore = INT64_MIN},
        lengths);
}

bool lazy_labels_fit(const lazy_classes *classes, ir_value *labels) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = NULL;
    lazy_classes known = *classes;
    known.what = intern_text(intern(classes->what)); /* asked again when the call that named itself is long over */
    if (c) record_bounds(c, &known, labels);
    known.least = INT64_MIN, known.most = INT64_MAX;
    for (const ir_value *v = labels; c && v; v = v->def->in[0])
        if ((s = slot_behind(c, v)) || !v->def || !keeps_values(v->def, &known)) break;
    if (!s || !s->extremes) return true;
    if (c->replay_log) lazy_replay_log_labels(c, &known, (xt_tensor){(uint32_t)(s - c->slots), s->generation});
    xt_status wrong = lazy_labels_check(&known, s->extremes);
    if (wrong) lazy_fail(wrong);
    return !wrong;
}
