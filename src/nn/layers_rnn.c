/* Recurrent layers and cells: plain, LSTM (Hochreiter and Schmidhuber 1997, gates in the order i, f, g, o) and GRU (Cho
 * et al. 2014, gates r, z, n, the reset gate applied after the product, as cuDNN and PyTorch do).
 *
 * An LSTM's state may be projected to fewer numbers after each step (Sak, Senior and Beaufays 2014): h = W_hr h'.
 *
 * What the input adds to the gates is one product for all steps; a step adds the product with the state. Short
 * sequences are unrolled: the program grows with the sequence, and the backward pass is that of its ops. Long ones are
 * a loop (xt_scan), whose program is as large as one step.
 *
 * Sequences of a padded batch have lengths: a step behind an end leaves the state as it is, so the last state is that
 * at the end, and the reverse direction, which comes from behind it, begins there: what a packed sequence gives. */
#include <math.h>

#include <xtrain/loop.h>

#include "nn/nn.h"

enum { END = XT_MAX_RANK + 1 };
enum { LOOP_FROM = 8 }; /* steps: from there on the loop compiles and runs faster (doc/benchmarks.md) */

static const struct {
    const char *layer, *cell;
    int gates;
} kinds[] = {[XT_RNN_PLAIN] = {"xt_rnn", "xt_rnn_cell", 1},
             [XT_RNN_LSTM] = {"xt_lstm", "xt_lstm_cell", 4},
             [XT_RNN_GRU] = {"xt_gru", "xt_gru_cell", 3}};

typedef struct cell { /* one layer in one direction */
    const xt_src *src;
    xt_rnn_kind kind;
    int64_t hidden;
    bool relu;
    xt_switch loop;
    xt_tensor live; /* bool [T,B,1]: the step is one of the sequence; none: all are */
    /* products transposed: [I,gates*hidden], ...; biases and projection: none when off */
    xt_tensor w_ih, w_hh, b_ih, b_hh, w_hr;
} cell;

typedef struct state {
    xt_tensor h, c;
} state;

/* A weight as the right factor of a product. */
static xt_tensor factor(const xt_src *src, xt_tensor w) {
    return xt_transpose_at(src, w, 0, 1);
}

/* The same of a loop's, in the type that autocast has its products in: once, not in each step. Steps that are unrolled
 * do without: each product casts, which is one cast for all in the end, and what each gives to the weight's gradient is
 * added in f32. */
static xt_tensor looped_factor(const xt_src *src, xt_tensor w) {
    xt_dtype narrow = lazy_autocast();
    return narrow && xt_dtype_of(w) == XT_F32 ? xt_cast_at(src, w, narrow) : w;
}

/* Parameters named "weight_ih" + suffix and so on. */
static cell make_cell(const xt_src *src, xt_rnn_kind kind, xt_module *m, const char *name, const char *suffix,
                      int64_t in, int64_t hidden, xt_dtype d, const xt_rnn_opts *o) {
    cell c = {.src = src, .kind = kind, .hidden = hidden, .relu = o->relu == XT_ON, .loop = o->loop};
    int64_t rows = kinds[kind].gates * hidden;
    double bound = 1 / sqrt((double)hidden);
    char leaf[64];
    snprintf(leaf, sizeof leaf, "weight_ih%s", suffix);
    c.w_ih = factor(src, nn_tensor(src, m, name, leaf, true, NN_UNIFORM, bound, d, 2, (int64_t[]){rows, in}));
    snprintf(leaf, sizeof leaf, "weight_hh%s", suffix);
    c.w_hh = factor(src, nn_tensor(src, m, name, leaf, true, NN_UNIFORM, bound, d, 2,
                                   (int64_t[]){rows, o->proj_size ? o->proj_size : hidden}));
    if (o->bias != XT_OFF) {
        snprintf(leaf, sizeof leaf, "bias_ih%s", suffix);
        c.b_ih = nn_tensor(src, m, name, leaf, true, NN_UNIFORM, bound, d, 1, &rows);
        snprintf(leaf, sizeof leaf, "bias_hh%s", suffix);
        c.b_hh = nn_tensor(src, m, name, leaf, true, NN_UNIFORM, bound, d, 1, &rows);
    }
    if (!o->proj_size) return c;
    snprintf(leaf, sizeof leaf, "weight_hr%s", suffix);
    c.w_hr =
        factor(src, nn_tensor(src, m, name, leaf, true, NN_UNIFORM, bound, d, 2, (int64_t[]){o->proj_size, hidden}));
    return c;
}

static xt_tensor affine(const xt_src *src, xt_tensor x, xt_tensor w, xt_tensor bias) {
    xt_tensor y = xt_matmul_at(src, x, w);
    return xt_is_none(bias) ? y : xt_add_at(src, y, bias);
}

static xt_tensor gate(const cell *c, xt_tensor gates, int i) {
    return xt_slice_at(c->src, gates, -1, i * c->hidden, (i + 1) * c->hidden);
}

/* from_x: what the input adds to the gates, [B,gates*hidden]. */
static state step(const cell *c, xt_tensor from_x, state s) {
    const xt_src *src = c->src;
    xt_tensor from_h = affine(src, s.h, c->w_hh, c->b_hh);
    if (c->kind == XT_RNN_GRU) {
        xt_tensor r = xt_sigmoid_at(src, xt_add_at(src, gate(c, from_x, 0), gate(c, from_h, 0)));
        xt_tensor z = xt_sigmoid_at(src, xt_add_at(src, gate(c, from_x, 1), gate(c, from_h, 1)));
        xt_tensor n = xt_tanh_at(src, xt_add_at(src, gate(c, from_x, 2), xt_mul_at(src, r, gate(c, from_h, 2))));
        return (state){.h = xt_add_at(src, n, xt_mul_at(src, z, xt_sub__at(src, s.h, n)))}; /* (1-z) n + z h */
    }
    xt_tensor sum = xt_add_at(src, from_x, from_h);
    if (c->kind == XT_RNN_PLAIN) return (state){.h = c->relu ? xt_relu_at(src, sum) : xt_tanh_at(src, sum)};
    xt_tensor i = xt_sigmoid_at(src, gate(c, sum, 0)), f = xt_sigmoid_at(src, gate(c, sum, 1)),
              g = xt_tanh_at(src, gate(c, sum, 2));
    xt_tensor o = xt_sigmoid_at(src, gate(c, sum, 3));
    xt_tensor carried = xt_add_at(src, xt_mul_at(src, f, s.c), xt_mul_at(src, i, g));
    xt_tensor h = xt_mul_at(src, o, xt_tanh_at(src, carried));
    return (state){.h = xt_is_none(c->w_hr) ? h : affine(src, h, c->w_hr, (xt_tensor){0}), .c = carried};
}

/* A step that a sequence does not have leaves its state, and gives zeros. */
static xt_tensor live_step(const cell *c, xt_tensor from_x, xt_tensor live, state *s) {
    state next = step(c, from_x, *s);
    if (xt_is_none(live)) {
        *s = next;
        return next.h;
    }
    const xt_src *src = c->src;
    s->h = xt_where_at(src, live, xt_cast_at(src, next.h, xt_dtype_of(s->h)), s->h);
    if (c->kind == XT_RNN_LSTM) s->c = xt_where_at(src, live, xt_cast_at(src, next.c, xt_dtype_of(s->c)), s->c);
    return xt_where_at(src, live, next.h, xt_full_like_at(src, next.h, 0));
}

/* The n rows of x one by one, by halving: a slice's derivative is as large as what it is cut from, so n slices of the
 * whole would cost n times the whole in the backward pass, halves cost log n times. */
static void split_steps(const xt_src *src, xt_tensor x, int64_t n, xt_tensor *out) {
    if (n == 1) {
        *out = x;
        return;
    }
    split_steps(src, xt_slice_at(src, x, 0, 0, n / 2), n / 2, out);
    split_steps(src, xt_slice_at(src, x, 0, n / 2, n), n - n / 2, out + n / 2);
}

static xt_tensor unrolled(const cell *c, xt_tensor from_x, int64_t T, int64_t B, bool reverse, state *s) {
    xt_tensor y = {0}, *steps = base_calloc(2 * (size_t)T, sizeof *steps), *live = steps + T;
    if (!steps)
        return lazy_error(c->src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %lld steps", kinds[c->kind].layer,
                          (long long)T);
    split_steps(c->src, from_x, T, steps);
    if (!xt_is_none(c->live)) split_steps(c->src, c->live, T, live);
    for (int64_t k = 0; k < T; k++) {
        int64_t at = reverse ? T - 1 - k : k;
        if (!xt_is_none(c->live)) live[at] = xt_squeeze_at(c->src, live[at], 0);
        xt_tensor h = live_step(c, xt_reshape_at(c->src, steps[at], (int64_t[END]){B, -1}), live[at], s);
        steps[at] = xt_unsqueeze_at(c->src, h, 0);
    }
    y = xt_concat_at(c->src, (int)T, steps, 0);
    base_free(steps);
    return y;
}

static void scan_step(xt_tensor *carry, const xt_tensor *from_x, xt_tensor *y, void *user) {
    const cell *c = user;
    xt_dtype d = xt_dtype_of(carry[0]);
    state s = {carry[0], c->kind == XT_RNN_LSTM ? carry[1] : (xt_tensor){0}};
    y[0] = live_step(c, from_x[0], xt_is_none(c->live) ? (xt_tensor){0} : from_x[1], &s);
    y[0] = xt_cast_at(c->src, y[0], d);
    carry[0] = xt_is_none(c->live) ? y[0] : xt_cast_at(c->src, s.h, d);
    if (c->kind == XT_RNN_LSTM) carry[1] = xt_cast_at(c->src, s.c, xt_dtype_of(carry[1]));
}

/* One layer in one direction over [T,B,I]: gives [T,B,hidden] and moves *s to the last state. */
static xt_tensor sequence(const cell *given, xt_tensor x, bool reverse, state *s) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    cell c = *given;
    int64_t T = t->dims[0], B = t->dims[1];
    xt_tensor from_x = affine(c.src, x, c.w_ih, c.b_ih), y = {0}, carry[2];
    if (c.loop == XT_OFF || (c.loop == XT_DEFAULT && T < LOOP_FROM)) return unrolled(&c, from_x, T, B, reverse, s);
    if (c.kind != XT_RNN_GRU && !xt_is_none(c.b_hh)) { /* a sum of sums: this bias is one addition for all steps too */
        from_x = xt_add_at(c.src, from_x, c.b_hh);
        c.b_hh = (xt_tensor){0};
    }
    c.w_hh = looped_factor(c.src, c.w_hh);
    c.w_hr = looped_factor(c.src, c.w_hr);
    carry[0] = s->h;
    carry[1] = s->c;
    xt_tensor xs[2] = {from_x, c.live};
    xt_scan_at(c.src, scan_step, c.kind == XT_RNN_LSTM ? 2 : 1, carry, xt_is_none(c.live) ? 1 : 2, xs, 1, &y,
               XT_OPTS(xt_scan_opts, .reverse = reverse ? XT_ON : XT_OFF, .user = &c));
    s->h = carry[0];
    if (c.kind == XT_RNN_LSTM) s->c = carry[1];
    return y;
}

/* Row i of the first states, or zeros; under the option's name, for reports of what is new in a program. */
static xt_tensor first_state(const xt_src *src, const char *which, xt_tensor all, int64_t i, int64_t batch,
                             int64_t hidden, xt_dtype d) {
    lazy_path_push(which);
    xt_tensor t =
        xt_is_none(all)
            ? lazy_wrap(ir_splat(lazy_begin(src), ir_tensor(d, 2, (int64_t[]){batch, hidden}), 0), "a zero state")
            : xt_reshape_at(src, xt_slice_at(src, all, 0, i, i + 1), (int64_t[END]){batch, hidden});
    lazy_path_pop();
    return t;
}

/* Of a cell, whose state is the whole of it: an op of the option's own tells reports that it is given. */
static xt_tensor first_state_of_cell(const xt_src *src, const char *which, xt_tensor all, const int64_t dims[2],
                                     xt_dtype d) {
    lazy_path_push(which);
    if (!xt_is_none(all)) all = xt_unsqueeze_at(src, all, 0);
    lazy_path_pop();
    return first_state(src, which, all, 0, dims[0], dims[1], d);
}

static bool state_fits(const xt_src *src, const char *what, const char *name, const char *which, xt_tensor h,
                       size_t rank, const int64_t *dims, xt_tensor *out) {
    *out = (xt_tensor){0};
    if (xt_is_none(h)) return true;
    const ir_type *t = lazy_type(h), *want = ir_tensor(XT_F32, rank, dims);
    if (t && t->rank == rank && memcmp(t->dims, dims, rank * sizeof *dims) == 0 && ir_dtype_is_float(t->dtype))
        return true;
    str s = STR_INIT;
    str_printf(&s, ".%s must be of the shape of ", which);
    if (want) ir_type_print(want, &s);
    *out = nn_bad_input(src, what, name, h, str_cstr(&s));
    str_free(&s);
    return false;
}

/* Which steps the sequences have, bool [T,B,1]; none: all. False after an error, which is *out. */
static bool live_steps(const xt_src *src, const char *what, const char *name, xt_tensor lengths, int64_t T, int64_t B,
                       xt_tensor *out) {
    *out = (xt_tensor){0};
    if (xt_is_none(lengths)) return true;
    const ir_type *t = lazy_type(lengths);
    if (!t || !ir_dtype_is_int(t->dtype) || t->rank > 1 || t->count != B) {
        *out = nn_bad_input(src, what, name, lengths, ".lengths must be integers, one for each sequence of the batch");
        return false;
    }
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(lengths);
    if (v && !lazy_lengths_fit(src, what, T, v)) {
        *out = lazy_failed_tensor(src);
        return false;
    }
    int64_t dims[3] = {T, B, 1}, axis = 1;
    const ir_type *all = ir_tensor(XT_I64, 3, dims);
    b = lazy_begin(src);
    v = v ? ir_broadcast_in_dim(b, ir_convert(b, ir_reshape(b, v, 1, &B), XT_I64), all, 1, &axis) : NULL;
    *out = lazy_wrap(v ? ir_compare(b, IR_LT, ir_iota(b, all, 0), v) : NULL, what);
    return !lazy_is_error(*out);
}

static xt_rnn_out all_failed(xt_tensor e) {
    return (xt_rnn_out){e, e, e};
}

/* Everything that can be wrong before anything is made. */
static bool options_fit(const xt_src *src, const char *what, const char *name, xt_tensor x, int64_t hidden,
                        xt_rnn_kind kind, const xt_rnn_opts *o, xt_tensor *out) {
    *out = (xt_tensor){0};
    if (hidden < 1 || o->layers < 1 || !(o->dropout >= 0 && o->dropout <= 1))
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s %s: hidden size %lld, %d layers, dropout %g: sizes are at least 1, dropout is in [0,1]",
                          what, name, (long long)hidden, o->layers, o->dropout);
    else if (kind != XT_RNN_LSTM && !xt_is_none(o->c0))
        *out = nn_bad_input(src, what, name, o->c0, "only an LSTM has .c0");
    else if (o->proj_size < 0 || o->proj_size >= hidden)
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s %s: .proj_size = %lld is out of range: expected 1 to %lld, less than the hidden size (0 "
                          "= no projection)",
                          what, name, (long long)o->proj_size, (long long)hidden - 1);
    else if (o->proj_size && (kind != XT_RNN_LSTM || what == kinds[kind].cell))
        *out = nn_bad_input(src, what, name, x, "only a whole LSTM has .proj_size");
    else if (kind != XT_RNN_PLAIN && o->relu == XT_ON)
        *out = nn_bad_input(src, what, name, x, "only the plain recurrence has .relu");
    return !out->slot;
}

xt_rnn_out xt_rnn_at(const xt_src *src, xt_rnn_kind kind, xt_module *m, const char *name, xt_tensor x, int64_t hidden,
                     xt_rnn_opts o) {
    if ((unsigned)kind > XT_RNN_GRU)
        return all_failed(lazy_error(src, XT_INVALID_ARGUMENT, "xt_rnn_at: kind %d is none", (int)kind));
    const char *what = kinds[kind].layer;
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!t || (t->rank != 2 && t->rank != 3) || !ir_dtype_is_float(t->dtype) || t->count == 0)
        return all_failed(
            nn_bad_input(src, what, name, x, "floats [T,B,I], [B,T,I] with .batch_first, or [T,I] are needed"));
    if (!options_fit(src, what, name, x, hidden, kind, &o, &failed)) return all_failed(failed);
    if (o.dropout > 0 && o.layers == 1) {
        char key[160];
        snprintf(key, sizeof key, "dropout of one layer %s %.120s", what, name);
        log_once(
            key, XT_SEV_WARNING,
            "%s %s: .dropout = %g is between layers, and there is one: it changes nothing (xt_dropout of the output "
            "drops that)",
            what, name, o.dropout);
    }
    bool lone = t->rank == 2, turn = !lone && o.batch_first == XT_ON;
    int64_t B = lone ? 1 : t->dims[turn ? 0 : 1];
    int layers = o.layers, ways = o.bidirectional == XT_ON ? 2 : 1, n = layers * ways;
    int64_t width_h = o.proj_size ? o.proj_size : hidden, lone_dims[2] = {n, width_h}, dims[3] = {n, B, width_h};
    const char *const names[2] = {"h0", "c0"};
    const xt_tensor given[2] = {o.h0, o.c0};
    for (int i = 0; i < 2; i++, lone_dims[1] = dims[2] = hidden)
        if (!state_fits(src, what, name, names[i], given[i], lone ? 2 : 3, lone ? lone_dims : dims, &failed))
            return all_failed(failed);
    xt_tensor live;
    if (!live_steps(src, what, name, o.lengths, t->dims[turn ? 1 : 0], B, &live)) return all_failed(live);
    xt_tensor *last = base_calloc((size_t)n * 2, sizeof *last);
    if (!last)
        return all_failed(lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s %s: no memory for %d layers", what, name, n));
    if (!nn_layer_begin(src, m, name)) {
        base_free(last);
        return all_failed(nn_bad_input(src, what, name, (xt_tensor){0}, ""));
    }
    xt_dtype d = nn_param_dtype(t);
    xt_tensor y = xt_cast_at(src, lone ? xt_unsqueeze_at(src, x, 1) : turn ? xt_transpose_at(src, x, 0, 1) : x, d);
    /* what lies behind an end may be anything, NaN too, and is not to be in a product, not even times 0 */
    if (!xt_is_none(live)) y = xt_where_at(src, live, y, xt_full_like_at(src, y, 0));
    for (int l = 0; l < layers; l++) {
        xt_tensor out[2];
        int64_t width = xt_dim(y, 2);
        for (int w = 0; w < ways && width > 0; w++) {
            char suffix[32];
            int i = l * ways + w;
            snprintf(suffix, sizeof suffix, "_l%d%s", l, w ? "_reverse" : "");
            cell c = make_cell(src, kind, m, name, suffix, width, hidden, d, &o);
            c.live = live;
            state s = {first_state(src, "h0", o.h0, i, B, width_h, d),
                       kind == XT_RNN_LSTM ? first_state(src, "c0", o.c0, i, B, hidden, d) : (xt_tensor){0}};
            out[w] = sequence(&c, y, w == 1, &s);
            last[i] = xt_unsqueeze_at(src, s.h, 0);
            if (kind == XT_RNN_LSTM) last[n + i] = xt_unsqueeze_at(src, s.c, 0);
        }
        if (width < 1) break; /* an error carried along */
        y = ways == 2 ? xt_concat_at(src, 2, out, 2) : out[0];
        if (l + 1 < layers) y = xt_dropout_at(src, m, y, o.dropout);
    }
    xt_rnn_out r = {.output = xt_cast_at(src, y, t->dtype),
                    .h = xt_cast_at(src, xt_concat_at(src, n, last, 0), t->dtype)};
    if (kind == XT_RNN_LSTM) r.c = xt_cast_at(src, xt_concat_at(src, n, last + n, 0), t->dtype);
    base_free(last);
    if (turn) r.output = xt_transpose_at(src, r.output, 0, 1);
    if (lone) {
        r.output = xt_squeeze_at(src, r.output, 1);
        r.h = xt_squeeze_at(src, r.h, 1);
        if (kind == XT_RNN_LSTM) r.c = xt_squeeze_at(src, r.c, 1);
    }
    nn_layer_end();
    return r;
}

xt_rnn_out xt_rnn_cell_at(const xt_src *src, xt_rnn_kind kind, xt_module *m, const char *name, xt_tensor x,
                          int64_t hidden, xt_rnn_opts o) {
    if ((unsigned)kind > XT_RNN_GRU)
        return all_failed(lazy_error(src, XT_INVALID_ARGUMENT, "xt_rnn_cell_at: kind %d is none", (int)kind));
    const char *what = kinds[kind].cell;
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!t || (t->rank != 1 && t->rank != 2) || !ir_dtype_is_float(t->dtype) || t->count == 0)
        return all_failed(nn_bad_input(src, what, name, x, "floats [B,I] or [I] are needed"));
    if (!options_fit(src, what, name, x, hidden, kind, &o, &failed)) return all_failed(failed);
    if (!xt_is_none(o.lengths))
        return all_failed(nn_bad_input(src, what, name, o.lengths, "only a whole layer has .lengths"));
    bool lone = t->rank == 1;
    int64_t dims[2] = {lone ? 1 : t->dims[0], hidden};
    const char *const names[2] = {"h0", "c0"};
    const xt_tensor given[2] = {o.h0, o.c0};
    for (int i = 0; i < 2; i++)
        if (!state_fits(src, what, name, names[i], given[i], lone ? 1 : 2, lone ? dims + 1 : dims, &failed))
            return all_failed(failed);
    if (!nn_layer_begin(src, m, name)) return all_failed(nn_bad_input(src, what, name, (xt_tensor){0}, ""));
    xt_dtype d = nn_param_dtype(t);
    state s = {first_state_of_cell(src, "h0", o.h0, dims, d), {0}};
    if (kind == XT_RNN_LSTM) s.c = first_state_of_cell(src, "c0", o.c0, dims, d);
    cell c = make_cell(src, kind, m, name, "", t->dims[t->rank - 1], hidden, d, &o);
    xt_tensor in = xt_cast_at(src, lone ? xt_unsqueeze_at(src, x, 0) : x, d);
    s = step(&c, affine(src, in, c.w_ih, c.b_ih), s);
    xt_rnn_out r = {.h = xt_cast_at(src, lone ? xt_squeeze_at(src, s.h, 0) : s.h, t->dtype)};
    if (kind == XT_RNN_LSTM) r.c = xt_cast_at(src, lone ? xt_squeeze_at(src, s.c, 0) : s.c, t->dtype);
    r.output = r.h;
    nn_layer_end();
    return r;
}
