/* Layers: making them, changes of variables, mixtures. */
#include "distributions/layers.h"

const char *layer_name(int kind) {
    static const char *const names[] = {"Independent",      "MixtureSameFamily", "AffineTransform",   "ExpTransform",
                                        "SigmoidTransform", "TanhTransform",     "SoftplusTransform", "PowerTransform"};
    return kind >= 0 && kind < (int)BASE_COUNT(names) ? names[kind] : "a layer";
}
const char *dist_name_of(const xt_dist *d, int n, dist_text *out) {
    const char *base = dist_kinds[d->kind]->name, *whole = dist_kinds[d->kind]->transformed;
    int first = n > 0 && whole;
    size_t at = 0;
    for (int i = n; i-- > first && at < sizeof out->text;)
        at += (size_t)snprintf(out->text + at, sizeof out->text - at, "%s of ", layer_name(d->layer[i].kind));
    if (at < sizeof out->text) snprintf(out->text + at, sizeof out->text - at, "%s", first ? whole : base);
    return out->text;
}
int dist_event_of(const xt_dist *d, int n) {
    int event = dist_kinds[d->kind]->event;
    for (int i = 0; i < n; i++)
        if (d->layer[i].kind == LAYER_INDEPENDENT) event += d->layer[i].n;
    return event;
}

/* --- making --- */
static xt_dist failed(xt_dist d, xt_tensor error) {
    if (d.kind <= DIST_NONE || d.kind >= DIST_COUNT) d.kind = DIST_normal;
    if (d.n_layers < 0 || d.n_layers > XT_DIST_LAYERS) d.n_layers = 0;
    d.p[0] = error;
    return d;
}
/* d with one more layer. */
static xt_dist add_layer(const xt_src *src, const char *what, xt_dist d, xt_dist_layer y) {
    if (d.kind <= DIST_NONE || d.kind >= DIST_COUNT || d.n_layers < 0 || d.n_layers > XT_DIST_LAYERS)
        return failed(d, lazy_error(src, XT_INVALID_ARGUMENT,
                                    "%s: this is no distribution: expected what xt_normal_dist(loc, scale) or one of "
                                    "the others gives",
                                    what));
    if (d.n_layers == XT_DIST_LAYERS)
        return failed(d, lazy_error(src, XT_INVALID_ARGUMENT,
                                    "%s: there are %d layers already, as many as there can be", what, XT_DIST_LAYERS));
    d.layer[d.n_layers++] = y;
    return d;
}

xt_dist xt_independent_dist_at(const xt_src *src, xt_dist d, int n) {
    xt_dist r = add_layer(src, "xt_independent_dist", d, (xt_dist_layer){.kind = LAYER_INDEPENDENT, .n = n});
    const ir_type *t = lazy_type(r.p[0]);
    if (!t) return r;
    int batch = (int)t->rank - dist_kinds[r.kind]->dims[0];
    for (int i = 0; i < d.n_layers; i++)
        batch -= d.layer[i].kind == LAYER_INDEPENDENT ? d.layer[i].n : d.layer[i].kind == LAYER_MIXTURE;
    if (n >= 0 && n <= batch) return r;
    return failed(r, lazy_error(src, XT_INVALID_ARGUMENT,
                                "xt_independent_dist: %d batch dims are to become event dims, but there are %d", n,
                                batch));
}
xt_dist xt_mixture_dist_at(const xt_src *src, xt_tensor logits, xt_dist components) {
    const char *what = "xt_mixture_dist";
    const ir_type *t = lazy_type(logits);
    if (t && t->rank == 0)
        return failed(components, lazy_error(src, XT_INVALID_ARGUMENT,
                                             "%s: the logits have no dims: [...,K] is needed, K components", what));
    return add_layer(src, what, components,
                     (xt_dist_layer){.kind = LAYER_MIXTURE, .a = xt_log_softmax_at(src, logits, -1)});
}
xt_dist xt_affine_dist_at(const xt_src *src, xt_dist d, xt_tensor loc, xt_tensor scale) {
    return add_layer(src, "xt_affine_dist", d, (xt_dist_layer){.kind = LAYER_AFFINE, .a = loc, .b = scale});
}
xt_dist xt_exp_dist_at(const xt_src *src, xt_dist d) {
    return add_layer(src, "xt_exp_dist", d, (xt_dist_layer){.kind = LAYER_EXP});
}
xt_dist xt_sigmoid_dist_at(const xt_src *src, xt_dist d) {
    return add_layer(src, "xt_sigmoid_dist", d, (xt_dist_layer){.kind = LAYER_SIGMOID});
}
xt_dist xt_tanh_dist_at(const xt_src *src, xt_dist d) {
    return add_layer(src, "xt_tanh_dist", d, (xt_dist_layer){.kind = LAYER_TANH});
}

xt_dist xt_softplus_dist_at(const xt_src *src, xt_dist d) {
    return add_layer(src, "xt_softplus_dist", d, (xt_dist_layer){.kind = LAYER_SOFTPLUS});
}
xt_dist xt_power_dist_at(const xt_src *src, xt_dist d, xt_tensor exponent) {
    return add_layer(src, "xt_power_dist", d, (xt_dist_layer){.kind = LAYER_POWER, .a = exponent});
}

/* --- changes of variables --- */
typedef ir_value *(*pair_fn)(ir_builder *b, ir_value *x, ir_value *y);
/* fn of both at their common shape; NULL, with an error, when there is none. */
static ir_value *meet(const xt_src *src, const char *what, ir_builder *b, pair_fn fn, ir_value *x, ir_value *y) {
    xt_tensor error;
    if (!x || !y || !ops_meet(src, what, b, x->type->dtype, &x, &y, &error)) return NULL;
    return fn(b, x, y);
}
ir_value *layer_minus(ir_builder *b, ir_value *x, ir_value *y) {
    return meet(src_get(b->src), "xt_dist_log_prob", b, ir_subtract, x, y);
}
bool layer_same(const xt_dist_layer *f, const xt_dist_layer *g) {
    return f->kind == g->kind && f->kind != LAYER_MIXTURE && f->n == g->n && f->a.slot == g->a.slot &&
           f->a.generation == g->a.generation && f->b.slot == g->b.slot && f->b.generation == g->b.generation;
}
static ir_value *first_of(ir_builder *b, ir_value *x, ir_value *y) {
    (void)b, (void)y;
    return x;
}
ir_value *layer_spread(dist_load *l, const xt_dist_layer *f, ir_value *x) {
    const xt_tensor *has[] = {&f->a, &f->b};
    for (int i = 0; i < 2; i++)
        if (has[i]->slot) x = meet(l->src, l->what, lazy_begin(l->src), first_of, x, dist_value(l, *has[i]));
    return x;
}
/* Values that rounding brought to the ends, moved to the numbers next to them, as in PyTorch. */
static ir_value *between_ends(ir_builder *b, ir_value *y) {
    bool wide = y && y->type->dtype == XT_F64;
    ir_value *low = ex_num(b, y, wide ? 0x1p-1022 : 0x1p-126), *high = ex_num(b, y, wide ? 1 - 0x1p-52 : 1 - 0x1p-23);
    return ir_minimum(b, ir_maximum(b, y, low), high);
}

/* Where y is one of the numbers that f gives, ends included where rounding leads there (1 of a sigmoid or a tanh), or
 * NaN, which stays. NULL: all are. */
static ir_value *reached(ir_builder *b, const xt_dist_layer *f, ir_value *y) {
    if (f->kind == LAYER_AFFINE || !y) return NULL;
    bool positive = f->kind == LAYER_EXP || f->kind == LAYER_SOFTPLUS || f->kind == LAYER_POWER;
    ir_value *in = positive ? ex_is(b, y, IR_GT, 0) : ex_is(b, y, IR_LE, 1);
    if (!positive) in = ir_and(b, in, ex_is(b, y, IR_GE, f->kind == LAYER_SIGMOID ? 0 : -1));
    return ir_or(b, in, ir_compare(b, IR_NE, y, y));
}

ir_value *layer_beyond(ir_builder *b, const xt_dist_layer *f, ir_value *y, ir_value *p) {
    ir_value *in = reached(b, f, y);
    if (!in || !p) return p;
    ir_value *end = ir_convert(b, ex_is(b, y, IR_GT, 0), p->type->dtype);
    return ex_pick(b, ops_broadcast(b, in, p->type->rank, p->type->dims), p,
                   ops_broadcast(b, end, p->type->rank, p->type->dims));
}

static ir_value *inverse(dist_load *l, const xt_dist_layer *f, ir_value *y, ir_value **out_log_slope) {
    ir_value *loc = f->kind == LAYER_AFFINE || f->kind == LAYER_POWER ? dist_value(l, f->a) : NULL;
    ir_value *scale = f->kind == LAYER_AFFINE ? dist_value(l, f->b) : NULL, *x, *e;
    ir_builder *b = lazy_begin(l->src);
    switch (f->kind) {
    case LAYER_SOFTPLUS: /* log(e^y - 1); its slope is 1 - e^-y */
        e = ir_negate(b, ir_exponential_minus_one(b, ir_negate(b, y)));
        *out_log_slope = ir_log(b, e);
        return ir_add(b, y, *out_log_slope);
    case LAYER_POWER: /* y^(1/a); log |a y / x| */
        x = meet(l->src, l->what, b, ir_divide, ir_log(b, y), loc);
        e = x ? ir_log(b, ir_abs(b, ops_broadcast(b, loc, x->type->rank, x->type->dims))) : NULL;
        *out_log_slope = ir_subtract(b, ir_add(b, e, ir_log(b, y)), x);
        return ir_exponential(b, x);
    case LAYER_AFFINE:
        x = meet(l->src, l->what, b, ir_divide, meet(l->src, l->what, b, ir_subtract, y, loc), scale);
        *out_log_slope =
            x && scale ? ir_log(b, ir_abs(b, ops_broadcast(b, scale, x->type->rank, x->type->dims))) : NULL;
        return x;
    case LAYER_EXP: return *out_log_slope = ir_log(b, y);
    case LAYER_SIGMOID:
        e = between_ends(b, y);
        x = ir_subtract(b, ir_log(b, e), ir_log_plus_one(b, ir_negate(b, e)));
        *out_log_slope = ir_negate(b, ir_add(b, dist_softplus(b, x), dist_softplus(b, ir_negate(b, x))));
        return x;
    default: /* tanh: 2 (log 2 - x - log(1 + e^-2x)) */
        x = ir_chlo_atanh(b, y);
        e = ir_add(b, x, dist_softplus(b, ex_times(b, x, -2)));
        *out_log_slope = ex_times(b, ex_plus(b, ir_negate(b, e), M_LN2), 2);
        return x;
    }
}

/* A value of fewer dims than f's numbers stands for all that it is broadcast to. */
ir_value *layer_inverse(dist_load *l, const xt_dist_layer *f, ir_value *y, ir_value **out_log_slope) {
    y = layer_spread(l, f, y);
    ir_value *in = reached(lazy_begin(l->src), f, y);
    if (!in) return inverse(l, f, y, out_log_slope);
    ir_value *x = inverse(l, f, ex_keep(lazy_begin(l->src), in, y, 0.5), out_log_slope); /* 0.5: of all of them */
    *out_log_slope = ex_keep(lazy_begin(l->src), in, *out_log_slope, INFINITY);
    return x;
}

ir_value *layer_forward(dist_load *l, const xt_dist_layer *f, ir_value *x) {
    ir_value *loc = f->kind == LAYER_AFFINE || f->kind == LAYER_POWER ? dist_value(l, f->a) : NULL;
    ir_value *scale = f->kind == LAYER_AFFINE ? dist_value(l, f->b) : NULL;
    ir_builder *b = lazy_begin(l->src);
    switch (f->kind) {
    case LAYER_SOFTPLUS: return dist_softplus(b, x);
    case LAYER_POWER: return meet(l->src, l->what, b, ir_power, x, loc);
    case LAYER_AFFINE: return meet(l->src, l->what, b, ir_add, meet(l->src, l->what, b, ir_multiply, x, scale), loc);
    case LAYER_EXP: return ir_exponential(b, x);
    case LAYER_SIGMOID: return between_ends(b, ir_logistic(b, x));
    default: return ir_tanh(b, x);
    }
}

static ir_value *turn(ir_builder *b, ir_value *p, ir_value *scale) {
    return ex_pick(b, ex_is(b, scale, IR_LT, 0), ir_subtract(b, ex_num(b, p, 1), p), p);
}
ir_value *layer_turned(dist_load *l, const xt_dist_layer *f, ir_value *p) {
    if (f->kind != LAYER_AFFINE && f->kind != LAYER_POWER) return p;
    ir_value *scale = dist_value(l, f->kind == LAYER_POWER ? f->a : f->b);
    return meet(l->src, l->what, lazy_begin(l->src), turn, p, scale);
}

/* --- mixtures --- */
ir_value *layer_log_mixed(dist_load *l, const xt_dist_layer *m, ir_value *p) {
    ir_value *w = dist_value(l, m->a);
    ir_builder *b = lazy_begin(l->src);
    ir_value *sum = meet(l->src, l->what, b, ir_add, p, w);
    if (!sum) return NULL;
    xt_tensor t = xt_logsumexp_axes_at(l->src, lazy_wrap(sum, l->what), XT_LIST(-1),
                                       (xt_reduce_opts){.struct_size = sizeof(xt_reduce_opts)});
    lazy_begin(l->src);
    return lazy_value(t);
}
/* The weights [...,K] with 1s for the event's dims. */
static ir_value *weights_at(dist_load *l, const xt_dist_layer *m, int event) {
    ir_value *w = dist_value(l, m->a);
    ir_builder *b = lazy_begin(l->src);
    for (int i = 0; i < event && w; i++) w = ops_unsqueeze(b, w, (int64_t)w->type->rank);
    return w ? ir_exponential(b, w) : NULL;
}
static ir_value *sum_before(ir_builder *b, ir_value *x, int event) {
    int64_t axis = x ? (int64_t)x->type->rank - 1 - event : 0;
    return x ? ir_reduce(b, OP_add, x, 1, &axis) : NULL;
}
ir_value *layer_mixed(dist_load *l, const xt_dist_layer *m, ir_value *x, int event) {
    ir_value *w = weights_at(l, m, event);
    ir_builder *b = lazy_begin(l->src);
    return sum_before(b, meet(l->src, l->what, b, ir_multiply, x, w), event);
}
/* The place of the largest of log weight + Gumbel noise, made of uniform numbers; what the others drew is left out. */
ir_value *layer_choose(dist_load *l, const xt_dist_layer *m, ir_value *x, int event) {
    ir_value *w = dist_value(l, m->a);
    if (!x || !w) return NULL;
    const ir_type *t = ir_tensor(x->type->dtype, x->type->rank - (size_t)event, x->type->dims);
    dist_args a = {.src = l->src, .what = l->what, .b = lazy_begin(l->src), .t = ir_with_dtype(t, l->dtype)};
    ir_value *u = dist_uniforms(&a);
    ir_builder *b = a.b;
    ir_value *noise = ir_negate(b, u ? ir_log(b, ir_negate(b, ir_log(b, u))) : NULL);
    ir_value *key = meet(l->src, l->what, b, ir_add, noise, w);
    if (!key) return NULL;
    int64_t last = (int64_t)key->type->rank - 1, axes[XT_MAX_RANK];
    ir_value *best = ops_spread(b, ops_arg_extreme(b, key, last, false), key->type, last);
    ir_value *hit = best ? ir_compare(b, IR_EQ, ops_positions(b, key->type, last), best) : NULL;
    for (int64_t i = 0; i <= last; i++) axes[i] = i;
    hit = hit && ops_same_dims(key->type, t)
              ? ir_broadcast_in_dim(b, hit, ir_with_dtype(x->type, XT_BOOL), (size_t)last + 1, axes)
              : NULL;
    ir_value *drawn = hit ? sum_before(b, ex_pick(b, hit, x, ex_num(b, x, 0)), event) : NULL;
    return drawn ? dist_known(b, drawn, key, 1) : NULL;
}
