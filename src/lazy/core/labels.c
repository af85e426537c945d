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
    if (c->replay_log) lazy_replay_log_labels(c, &known, (xt_tensor){(uint32_t)(s - c->slots), s->generation});
    xt_status wrong = lazy_labels_check(&known, s->extremes);
    if (wrong) lazy_fail(wrong);
    return !wrong;
}
