/* A layer of experts: a router sends each token to the best k of several small networks (Shazeer et al. 2017), in the
 * form that a partitioner can divide (Lepikhin et al. 2020, GShard, algorithm 1; for k = 1 Fedus et al. 2021, Switch
 * Transformer). With G groups (samples) of S tokens, E experts and C places for a group's tokens in each:
 *
 *   dispatch, combine [G,S,E,C]: which place of which expert a token has, and with what weight
 *   in = einsum(gsec,gsm->egcm; dispatch, x), y = einsum(gsec,egcm->gsm; combine, expert(in))
 *
 * Where the mesh divides experts (xt_mesh_expert_parallel), groups lie divided before and behind, and experts between:
 * the compiler makes the two exchanges (all_to_all) of it. Without a mesh the program is the same one.
 *
 * 1. Who is kept is decided in each group by its own tokens, so no layout of the groups changes it.
 * 2. First choices queue before second ones, and each in the order of the tokens. A token that finds no place gets
 *    nothing from that expert: its row of dispatch and combine is zeros. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

enum { END = XT_MAX_RANK + 1 };
typedef struct moe {
    const xt_src *src;
    xt_module *m;
    const char *name;
    xt_dtype d; /* of parameters and routes */
    int64_t groups, tokens, width, hidden, experts, room;
    int k;
    bool relu;
} moe;

static const char *const WHAT = "xt_moe";

static xt_tensor weight(const moe *e, const char *leaf, double bound, int rank, const int64_t *dims) {
    return nn_tensor(e->src, e->m, e->name, leaf, true, NN_UNIFORM, bound, e->d, rank, dims);
}

/* Probabilities of the experts [G,S,E], in full precision under autocast too (Switch's selective precision). */
static xt_tensor routes(const moe *e, xt_tensor x) {
    xt_tensor w = weight(e, "router.weight", 1 / sqrt((double)e->width), 2, (int64_t[]){e->experts, e->width});
    ir_builder *b = lazy_begin(e->src);
    ir_value *vx = lazy_value(x), *vw = lazy_value(w);
    vx = vx ? ir_convert(b, vx, e->d) : NULL;
    ir_value *scores =
        vx && vw ? ir_dot_general(b, vx, vw, 0, NULL, NULL, 1, (int64_t[]){2}, (int64_t[]){1}, IR_PREC_HIGHEST) : NULL;
    return xt_softmax_at(e->src, lazy_wrap(scores, WHAT), -1);
}

/* What round after round of choices knows. */
typedef struct choice {
    xt_tensor left; /* [G,S,E]: probabilities, -1 where a round before chose */
    xt_tensor queued; /* [G,1,E]: tokens that are in line for an expert */
    xt_tensor weights; /* [G,S]: of all chosen, together */
    xt_tensor first; /* [G,S,E]: the first choices */
} choice;

/* The next best expert of each token: its combine [G,S,E,C] with the probability as weight. */
static xt_tensor choose(const moe *e, xt_tensor probs, choice *c) {
    const xt_src *src = e->src;
    xt_tensor mine = xt_one_hot_at(src, xt_argmax_at(src, c->left, -1), e->experts, e->d); /* [G,S,E] */
    xt_tensor taken = xt_gt_at(src, mine, nn_number(src, 0, e->d));
    c->left = xt_where_at(src, taken, nn_number(src, -1, e->d), c->left);
    if (xt_is_none(c->first)) c->first = mine;
    xt_tensor ahead = xt_add_at(src, xt_sub__at(src, xt_cumsum_at(src, mine, 1), mine), c->queued);
    xt_tensor place = xt_sum_axis_at(src, xt_mul_at(src, ahead, mine), -1); /* [G,S]: tokens ahead of it */
    c->queued = xt_add_at(src, c->queued, xt_unsqueeze_at(src, xt_sum_axis_at(src, mine, 1), 1));
    xt_tensor p = xt_sum_axis_at(src, xt_mul_at(src, probs, mine), -1);
    c->weights = xt_is_none(c->weights) ? p : xt_add_at(src, c->weights, p);
    /* of a place behind the last one all comparisons are false */
    xt_tensor all = xt_arange_at(src, e->room, e->d);
    xt_tensor seat = xt_cast_at(src, xt_eq_at(src, xt_unsqueeze_at(src, place, -1), all), e->d); /* [G,S,C] */
    xt_tensor weighted = xt_mul_at(src, mine, xt_unsqueeze_at(src, p, -1));
    return xt_mul_at(src, xt_unsqueeze_at(src, weighted, -1), xt_unsqueeze_at(src, seat, 2));
}

/* combine [G,S,E,C]. Of several experts the weights are divided by their sum; of one it is the probability itself, or
 * the router would learn nothing. *out_balance: experts * sum of (share of first choices * mean probability), the mean
 * over groups: 1 where all are alike (Switch, equations 4 to 6; in groups as GShard's). */
static xt_tensor assign(const moe *e, xt_tensor probs, xt_tensor *out_balance) {
    const xt_src *src = e->src;
    choice c = {.left = probs, .queued = xt_full_at(src, 0, e->d, (int64_t[END]){1, 1, e->experts})};
    xt_tensor combine = choose(e, probs, &c);
    for (int i = 1; i < e->k; i++) combine = xt_add_at(src, combine, choose(e, probs, &c));
    if (e->k > 1) combine = xt_div_at(src, combine, xt_unsqueeze_at(src, xt_unsqueeze_at(src, c.weights, -1), -1));
    xt_tensor load = xt_mul_at(src, xt_mean_axis_at(src, c.first, 1), xt_mean_axis_at(src, probs, 1)); /* [G,E] */
    *out_balance = xt_mul_at(src, xt_mean_at(src, load), nn_number(src, (double)(e->experts * e->experts), e->d));
    return combine;
}

/* Over which axes experts and groups are divided, while tokens are with their samples and while they are with their
 * experts; NULL: as it comes. */
typedef struct places {
    const char *experts, *groups;
} places;

/* x [E,G,C,M] as it is, in these places. */
static xt_tensor divided(const moe *e, xt_tensor x, places at) {
    const lazy_layout *layout = NULL;
    ir_builder *b = lazy_begin(e->src);
    ir_value *v = lazy_value(x);
    if (!v) return lazy_wrap(NULL, WHAT);
    uint32_t open = 1u << 2 | 1u << 3 | (at.experts ? 0 : 1u << 0) | (at.groups ? 0 : 1u << 1);
    xt_status s =
        lazy_layout_make(lazy_mesh_of_run(), v->type, 2, (const char *[]){at.experts, at.groups}, WHAT, &layout);
    if (s) {
        lazy_fail(status_at(s, e->src));
        return lazy_failed_tensor(e->src);
    }
    return layout ? lazy_wrap(ir_annotate_sharding_open(b, v, intern_text(layout->text), open), WHAT) : x;
}

/* The batch's axes without those of the experts. */
static const char *without(const char *batch, const char *experts) {
    str s = STR_INIT;
    for (const char *p = batch; *p;) {
        size_t n = strcspn(p, "+");
        char axis[64];
        snprintf(axis, sizeof axis, "%.*s", (int)n, p);
        if (!lazy_mesh_has_axes(experts, axis)) str_printf(&s, "%s%s", s.len ? "+" : "", axis);
        p += n + (p[n] == '+');
    }
    const char *out = s.failed ? "" : intern_text(intern(str_cstr(&s)));
    str_free(&s);
    return out;
}

/* Where tokens are before their way to the experts is said, too: for few bytes a partitioner may find it cheaper to
 * bring all tokens to all devices. Not where samples do not lie along the experts' axes, or not evenly. */
static void places_of_tokens(const moe *e, const char *axes, places *home, places *away) {
    const char *batch = lazy_mesh_batch_axes();
    bool among = lazy_mesh_has_axes(batch, axes) && e->groups % xt_mesh_size(NULL, batch) == 0;
    *home = (places){among ? "" : NULL, among ? batch : NULL};
    *away = (places){axes, among ? without(batch, axes) : NULL};
}

/* y [E,G,C,M] of all experts, each of its own tokens. */
static xt_tensor experts(const moe *e, xt_tensor x) {
    const xt_src *src = e->src;
    int64_t E = e->experts, M = e->width, H = e->hidden;
    double in = 1 / sqrt((double)M), out = 1 / sqrt((double)H);
    xt_tensor w1 = weight(e, "experts.fc1.weight", in, 3, (int64_t[]){E, M, H}),
              b1 = weight(e, "experts.fc1.bias", in, 2, (int64_t[]){E, H}),
              w2 = weight(e, "experts.fc2.weight", out, 3, (int64_t[]){E, H, M}),
              b2 = weight(e, "experts.fc2.bias", out, 2, (int64_t[]){E, M});
    xt_tensor h = xt_einsum_at(src, "egcm,emh->egch", 2, XT_TENSORS(x, w1));
    h = xt_add_at(src, h, xt_reshape_at(src, b1, (int64_t[END]){E, 1, 1, H}));
    h = e->relu ? xt_relu_at(src, h) : xt_gelu_at(src, h);
    h = xt_einsum_at(src, "egch,ehm->egcm", 2, XT_TENSORS(h, w2));
    return xt_add_at(src, h, xt_reshape_at(src, b2, (int64_t[END]){E, 1, 1, M}));
}

static xt_tensor mixed(const moe *e, xt_tensor x) {
    const xt_src *src = e->src;
    const ir_type *whole = lazy_type(x);
    xt_dtype dtype = whole->dtype;
    xt_tensor balance, y;
    xt_tensor groups = xt_reshape_at(src, x, (int64_t[END]){e->groups, e->tokens, e->width});
    xt_tensor combine = assign(e, routes(e, groups), &balance);
    xt_tensor dispatch = xt_cast_at(src, xt_gt_at(src, combine, nn_number(src, 0, e->d)), dtype);
    const char *axes = nn_expert_axes(e->m);
    places home = {0}, away = {0};
    if (axes) places_of_tokens(e, axes, &home, &away);
    y = xt_einsum_at(src, "gsec,gsm->egcm", 2, XT_TENSORS(dispatch, groups));
    if (axes) y = divided(e, divided(e, y, home), away);
    y = experts(e, y);
    if (axes) y = divided(e, divided(e, y, away), home);
    y = xt_einsum_at(src, "gsec,egcm->gsm", 2, XT_TENSORS(combine, y));
    nn_note_balance(src, e->m, balance);
    return xt_cast_at(src, y, dtype);
}

static xt_tensor refused(const moe *e, const xt_moe_opts *o) {
    return lazy_error(e->src, XT_INVALID_ARGUMENT,
                      "%s %s: .experts is %d, .top_k %d, .hidden %lld and .capacity_factor %g; 1 expert or more, a "
                      "top_k from 1 to their number, a hidden size from 1 (it defaults to 4 times the width) and a "
                      "finite factor from 0 (a place for every token) are needed",
                      WHAT, e->name, o->experts, o->top_k, (long long)o->hidden, o->capacity_factor);
}

/* A token picks an expert once at most, so there are never more than S places; ceil(k S / E * factor), as GShard's and
 * Switch's. */
static int64_t room_of(const moe *e, double factor) {
    double even = (double)e->k * (double)e->tokens / (double)e->experts, n = ceil(even * factor);
    return factor == 0 || n >= (double)e->tokens ? e->tokens : n < 1 ? 1 : (int64_t)n;
}

xt_tensor xt_moe_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_moe_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 2 || !ir_dtype_is_float(t->dtype) || t->count == 0)
        return nn_bad_input(src, WHAT, name, x, "floats [B,...,C] are needed, with at least one token");
    moe e = {.src = src,
             .m = m,
             .name = name,
             .d = nn_param_dtype(t),
             .experts = o.experts,
             .k = o.top_k,
             .relu = o.relu == XT_ON};
    if (o.experts < 1 || o.top_k < 1 || o.top_k > o.experts || o.hidden == 0 || o.hidden < -1 ||
        !(o.capacity_factor >= 0) || isinf(o.capacity_factor))
        return refused(&e, &o);
    const char *axes = nn_expert_axes(m);
    if (axes && o.experts < xt_mesh_size(NULL, axes))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s %s: %d experts for the %lld devices along \"%s\": some would have none; take more "
                          "experts, or divide them over fewer devices (xt_mesh_expert_parallel)",
                          WHAT, name, o.experts, (long long)xt_mesh_size(NULL, axes), axes);
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, WHAT, name, (xt_tensor){0}, "");
    int64_t dims[END] = {0};
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    e.width = dims[t->rank - 1];
    e.groups = t->rank > 2 ? dims[0] : 1;
    e.tokens = t->count / e.width / e.groups;
    e.hidden = o.hidden < 0 ? 4 * e.width : o.hidden;
    e.room = room_of(&e, o.capacity_factor);
    xt_tensor y = xt_reshape_at(src, mixed(&e, x), dims);
    nn_layer_end();
    return y;
}

/* --- the second loss --- */
void nn_note_balance(const xt_src *src, xt_module *m, xt_tensor balance) {
    nn_root *r = m->root;
    if (r->stack) return; /* a value of a loop's body */
    if (r->balance_step != lazy_step()) r->balance = (xt_tensor){0}; /* of a step that is over */
    r->balance_step = lazy_step();
    r->balance = xt_is_none(r->balance) ? balance : xt_add_at(src, r->balance, balance);
}

xt_tensor xt_moe_balance_at(const xt_src *src, xt_module *m) {
    if (!m) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_moe_balance: the module is NULL");
    const nn_root *r = m->root;
    if (xt_is_none(r->balance) || r->balance_step != lazy_step())
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_moe_balance: no xt_moe of this network was called in this step, blocks of an xt_pipeline "
                          "left out; it is the loss of the last forward pass, and belongs between it and xt_backward");
    return r->balance;
}
