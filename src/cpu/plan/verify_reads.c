/* Checks that each thunk of a plan reads the values that it is meant to, where they are: a part of cpu_plan_verify.
 *
 * A place holds one value, whole. What a thunk reads there may be that value or one that follows from it by windows
 * (slices, reversals, broadcasts), transposes and reshapes; where its elements then lie is worked out here from the
 * program alone, and compared with the view that the kernel says it applies. So a view is applied once between memory
 * and reader: not twice, not to a copy that has it already, and not left out. Layouts are part of it: what is read
 * blocked lies blocked, and no read or write reaches out of its place. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/access.h"
#include "cpu/vector/blk.h"

/* Chains of names and windows may be long, and each of their values may be read somewhere: now and then one's elements
 * are remembered, by the number in its mark, so that no chain is followed to its end for each. */
typedef struct known {
    const ir_value *of;
    view at;
} known;
enum { REMEMBERED_EVERY = 32 };
typedef struct lookup {
    const cpu_exec *e;
    uint64_t epoch;
    known *known;
    size_t n, cap;
    const ir_value **chain; /* scratch */
    size_t n_chain, cap_chain;
    bool no_memory;
} lookup;

static const view *remembered(const lookup *r, const ir_value *value, const ir_value *v) {
    if (v->mark >> 32 != r->epoch >> 32) return NULL;
    const known *k = &r->known[(uint32_t)v->mark];
    return k->of == value ? &k->at : NULL;
}

static bool remember(lookup *r, const ir_value *value, const ir_value *v, const view *at) {
    known k = {value, *at};
    if (r->n >= UINT32_MAX || !VEC_PUSH(r->known, r->n, r->cap, k)) return false;
    ((ir_value *)(uintptr_t)v)->mark = r->epoch | (r->n - 1);
    return true;
}

/* What v is a name of, or a window on; NULL: neither. */
static const ir_value *seen_through(const ir_value *v) {
    const ir_op *op = v->def;
    if (!op) return NULL;
    return build_is_alias(op) ? build_alias_of(v) : op->n_in == 1 ? op->in[0] : NULL;
}

/* From where the elements of what v is made of lie to where its own do. */
static bool step_to(const ir_value *v, view *at) {
    view inner = *at;
    if (!build_is_alias(v->def)) return view_through(v->def, &inner, at);
    if (!view_is_dense(&inner) || !view_dense(v->type, at)) return false;
    size_t from = xt_dtype_size(build_alias_of(v)->type->dtype), to = xt_dtype_size(v->type->dtype);
    at->offset = inner.offset * (int64_t)from / (int64_t)to;
    return true;
}

/* Where v's elements lie in a place that holds `value`; false: v is not made of it by shape ops. */
static bool find_elements(lookup *r, const ir_value *value, const ir_value *v, view *out) {
    const view *begin = NULL;
    r->n_chain = 0;
    for (; v != value && !(begin = remembered(r, value, v)); v = seen_through(v)) {
        if (!seen_through(v)) return false;
        if (!VEC_PUSH(r->chain, r->n_chain, r->cap_chain, v)) return r->no_memory = true, false;
    }
    if (begin)
        *out = *begin;
    else if (!view_dense(v->type, out))
        return false;
    for (size_t i = r->n_chain; i-- > 0;) {
        if (!step_to(r->chain[i], out)) return false;
        if ((r->n_chain - i) % REMEMBERED_EVERY == 0 && !remember(r, value, r->chain[i], out))
            return r->no_memory = true, false;
    }
    return true;
}

/* Same elements in the same order, the dims sorted by where the loop's elements stand: two loops that do the same
 * become equal. */
static void normalize(view *order, view *at) {
    for (int i = 1; i < order->n; i++)
        for (int k = i; k > 0 && order->strides[k - 1] < order->strides[k]; k--)
            for (int side = 0; side < 2; side++) {
                view *w = side ? order : at;
                int64_t dim = w->dims[k], stride = w->strides[k];
                w->dims[k] = w->dims[k - 1], w->strides[k] = w->strides[k - 1];
                w->dims[k - 1] = dim, w->strides[k - 1] = stride;
            }
    view_collapse2(order, at);
}

static bool same_view(const view *a, const view *b) {
    bool same = a->n == b->n && a->offset == b->offset;
    for (int i = 0; i < a->n && same; i++) same = a->dims[i] == b->dims[i] && a->strides[i] == b->strides[i];
    return same;
}

/* The read of a value by a loop whose elements lie as in a blocked image of feature dim `loop` - 1, or dense (0). */
static const char *check_value(lookup *r, const cpu_slot *s, size_t offset, uint8_t loop, const cpu_access *a) {
    cpu_access did = *a, want = {.value = a->value};
    if (!find_elements(r, s->value, a->value, &want.at)) return "reads something else than what lies there";
    if (a->value->type->count == 0) return NULL;
    if (s->feature && (a->value != s->value || (loop && loop != s->feature)))
        return "reads a blocked image as something else";
    view_dense(a->value->type, &want.order);
    uint8_t feature = loop ? loop : s->feature;
    if (feature && !blk_get()) return "reads a blocked image where there are no loops over such";
    if (feature && want.order.n == 4) {
        want.order = layout_blocked_view(&want.order, feature - 1);
        want.at = layout_blocked_view(&want.at, feature - 1);
        if (s->feature) view_rows(&want.at);
        if (loop) view_rows(&want.order);
    } else if (feature && a->value->type->count > 1)
        return "reads as an image what is none";
    did.at.offset += (int64_t)(offset / a->elem);
    normalize(&want.order, &want.at);
    normalize(&did.order, &did.at);
    if (a->value->type->count == 1) { /* the same element for all of the loop */
        for (int i = 0; i < did.at.n; i++)
            if (did.at.strides[i] != 0 && did.at.dims[i] != 1) return "reads more than the one element of a value";
        return did.at.offset == want.at.offset ? NULL : "reads another element than a value's only one";
    }
    bool same = same_view(&did.at, &want.at) && same_view(&did.order, &want.order);
    return same ? NULL : "applies another view than lies between the value it reads and what lies there";
}

static const char *check_inside(const cpu_slot *s, size_t offset, const cpu_access *a) {
    int64_t first = a->at.offset, last = first, elem = (int64_t)a->elem;
    for (int i = 0; i < a->at.n; i++) {
        if (a->at.dims[i] == 0) return NULL;
        *(a->at.strides[i] < 0 ? &first : &last) += (a->at.dims[i] - 1) * a->at.strides[i];
    }
    bool inside = (int64_t)offset + first * elem >= 0 && (int64_t)offset + (last + 1) * elem <= (int64_t)s->bytes;
    return inside ? NULL : "reads or writes beyond the ends of a place";
}

/* An operand without a view of its own: all of its value, in its own order. */
static const char *check_whole(lookup *r, const cpu_slot *s, size_t offset, const ir_value *v, bool blocked) {
    view at;
    if (v->type->kind != IR_TENSOR || v->type->count < 0) return NULL;
    if (offset + ir_type_bytes(v->type) > s->bytes) return "reads beyond the end of a place";
    if (blocked != (s->feature != 0))
        return blocked ? "reads as a blocked image what lies dense" : "reads as dense what lies blocked";
    if (blocked) return s->value == v && offset == 0 ? NULL : "reads another image than the one that lies there";
    if (!s->value || v->type->rank > VIEW_MAX || s->value->type->rank > VIEW_MAX) return NULL;
    if (!find_elements(r, s->value, v, &at)) return "reads something else than what lies there";
    bool same = view_is_dense(&at) && (size_t)at.offset * xt_dtype_size(v->type->dtype) == offset;
    return same || v->type->count == 0 ? NULL
                                       : "reads without the view that lies between the value and what lies there";
}

/* The elements that a thunk says it writes of result `o`; a result of which it says nothing is written whole. */
static bool is_written_whole(const cpu_plan *p, const cpu_thunk *th, uint32_t o) {
    const cpu_slot *s = &p->slots[th->out[o].slot];
    int64_t n = 0;
    bool told = false;
    cpu_access a;
    for (uint32_t k = 0; th->kernel->access && th->kernel->access(th, k, &a); k++) {
        if (a.counts || a.arg != th->n_in + o) continue;
        n += view_count(&a.at);
        told = true;
    }
    return !told || !s->value || n >= s->value->type->count;
}

static xt_status check_thunk(lookup *look, uint32_t t) {
    const cpu_exec *e = look->e;
    const cpu_plan *p = &e->plan;
    const cpu_thunk *th = &p->thunks[t];
    const char *wrong = NULL;
    uint8_t loop = th->n_out ? p->slots[th->out[0].slot].feature : 0;
    uint64_t viewed = 0; /* inputs (of the first 64) whose value was looked at */
    cpu_access a;
    for (uint32_t k = 0; th->kernel->access && th->kernel->access(th, k, &a); k++) {
        if (a.counts && loop)
            return cpu_plan_broken(e, t, "numbers a blocked image in the order of a dense one", th->out[0].slot);
        if (a.counts) continue;
        const cpu_ref *r = a.arg < th->n_in ? &th->in[a.arg] : &th->out[a.arg - th->n_in];
        const cpu_slot *s = &p->slots[r->slot];
        wrong = check_inside(s, r->offset, &a);
        const ir_value *v = a.value ? a.value : a.arg < th->n_in ? th->reads[a.arg] : s->value;
        if (!wrong && v && a.elem != xt_dtype_size(v->type->dtype)) wrong = "reads or writes elements of another size";
        if (!wrong && a.value && s->value) wrong = check_value(look, s, r->offset, loop, &a);
        if (wrong) return cpu_plan_broken(e, t, wrong, r->slot);
        if (a.value && a.arg < 64) viewed |= UINT64_C(1) << a.arg;
    }
    for (uint32_t i = 0; i < th->n_in; i++) {
        if (!th->reads[i] || (i < 64 && viewed >> i & 1)) continue;
        bool blocked = i < 64 && th->in_blocked >> i & 1;
        wrong = check_whole(look, &p->slots[th->in[i].slot], th->in[i].offset, th->reads[i], blocked);
        if (wrong) return cpu_plan_broken(e, t, wrong, th->in[i].slot);
    }
    for (uint32_t o = 0; o < th->n_out; o++)
        if (!is_written_whole(p, th, o))
            return cpu_plan_broken(e, t, "leaves a part of its result unwritten", th->out[o].slot);
    return NULL;
}

xt_status cpu_plan_verify_reads(const cpu_exec *e) {
    lookup r = {.e = e, .epoch = ir_new_epoch()};
    xt_status s = NULL;
    for (uint32_t t = 0; !s && t < e->plan.n_thunks; t++) {
        s = check_thunk(&r, t);
        if (!r.no_memory) continue;
        xt_status_free(s);
        s = status_oom(r.cap * sizeof *r.known, "checking a plan");
    }
    base_free(r.known);
    base_free(r.chain);
    return s;
}
