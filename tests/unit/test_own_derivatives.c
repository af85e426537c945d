/* Derivatives of one's own whose backward functions take derivatives: drawn nests of functions of a vector and a
 * matrix, some of which are computed again in their backward pass (by vjp, gradients, Jacobians or jvp of what they
 * saved) or solved for (a fixed point, differentiated where it ended), inside one another, loops, branches and every
 * derivative of a function. Each is compared in f64 with the same nest without derivatives of its own: values,
 * gradients by every way there is, and second gradients. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { N = 3, DRAWN = 25, NODES = 64, NESTED = 512 };

/* x [N], W [N,N] -> [N]. Letters in front of others are functions of what follows: one nest, of "qa" and 'c' two. */
typedef struct node {
    char kind;
    struct node *a, *b;
} node;

typedef struct bound { /* a nest with a W that it reads through `user` */
    const node *n;
    xt_tensor w, weight; /* weight: of the sum, for gradients */
} bound;

static bool own; /* derivatives of one's own are in use */
static node nodes[NODES];
static bound bounds[NESTED];
static int n_nodes, n_bounds;

static xt_tensor value(const node *n, xt_tensor x, xt_tensor w);

static bound *bind(const node *n, xt_tensor w) {
    assert_true(n_bounds < NESTED);
    bounds[n_bounds] = (bound){n, w, {0}};
    return &bounds[n_bounds++];
}

static void of_x(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = value(f->n, in[0], f->w);
}
static void of_both(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = value(f->n, in[0], in[1]);
}
static void sum_of_x(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = xt_sum(xt_sin(value(f->n, in[0], f->w)));
}
static void sum_of_both(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = xt_sum(xt_sin(value(f->n, in[0], in[1])));
}
static void weighted(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = xt_sum(xt_mul(value(f->n, in[0], in[1]), f->weight));
}

/* --- computed again --- */
static void forget(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    of_both(in, out, user);
    saved[0] = in[0], saved[1] = in[1];
}
static void by_vjp(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    xt_tensor again;
    xt_vjp(of_both, user, 2, saved, 1, d_out, &again, d_in);
}
static void by_gradient(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    bound f = {((const bound *)user)->n, {0}, d_out[0]};
    xt_grad_fn(weighted, &f, 2, saved, NULL, d_in);
}
static void by_jacobian(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    xt_tensor j[2];
    xt_jacobian(of_both, user, 2, saved, j);
    d_in[0] = xt_matmul(d_out[0], j[0]);
    d_in[1] = xt_reshape(xt_matmul(d_out[0], xt_reshape(j[1], N, N * N)), N, N);
}
static void by_jvp(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    xt_tensor part[N + N * N], eye = xt_cast(xt_eye(N), XT_F64), all = xt_cast(xt_eye(N * N), XT_F64);
    for (int i = 0; i < N + N * N; i++) {
        xt_tensor t[2] = {{0}}, y, d;
        if (i < N)
            t[0] = xt_select(eye, 0, i);
        else
            t[1] = xt_reshape(xt_select(all, 0, i - N), N, N);
        xt_jvp(of_both, user, 2, saved, t, 1, &y, &d);
        part[i] = xt_sum(xt_mul(d, d_out[0]));
    }
    d_in[0] = xt_stack(N, part, 0);
    d_in[1] = xt_reshape(xt_stack(N * N, part + N, 0), N, N);
}
static xt_tensor computed_again(const node *n, xt_custom_backward_fn backward, xt_tensor x, xt_tensor w) {
    if (!own) return value(n->a, x, w);
    xt_tensor in[2] = {x, w}, y = {0};
    xt_custom_grad(forget, backward, 2, in, 1, &y, .saved = 2, .user = bind(n->a, w));
    return y;
}

/* --- what was saved is a result --- */
static void decay(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)user;
    out[0] = saved[0] = xt_exp(xt_neg(in[0]));
}
static void grows(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_mul(in[0], xt_add(in[0], -0.25)); /* of e^-x: 2 e^-x - 0.25 */
}
static void decay_back(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    xt_tensor y, d; /* -e^-x = -(2 e^-x - 0.25 + 0.25) / 2 */
    xt_vjp(grows, user, 1, saved, 1, d_out, &y, &d);
    d_in[0] = xt_mul(xt_add(d, xt_mul(d_out[0], 0.25)), -0.5);
}

/* z = x + f(z, w) / 20, to where it stands still. */
enum { ITERATIONS = 24 };
static xt_tensor once_more(const node *n, xt_tensor z, xt_tensor x, xt_tensor w) {
    return xt_add(x, xt_mul(xt_sin(value(n, z, w)), 0.05));
}
static void once(const xt_tensor *in, xt_tensor *out, void *user) {
    out[0] = once_more(((const bound *)user)->n, in[0], in[1], in[2]);
}
static xt_tensor settle(const node *n, xt_tensor x, xt_tensor w) {
    xt_tensor z = x;
    for (int i = 0; i < ITERATIONS; i++) z = once_more(n, z, x, w);
    return z;
}
static void settled(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    out[0] = saved[0] = settle(((const bound *)user)->n, in[0], in[1]);
    saved[1] = in[0], saved[2] = in[1];
}
/* u = d + u J: the pulled back cotangent's own fixed point. */
static void adjoint(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    xt_tensor u = d_out[0], y, d[3] = {{0}};
    for (int i = 0; i < ITERATIONS; i++) {
        xt_vjp(once, user, 3, saved, 1, &u, &y, d);
        u = xt_add(d_out[0], d[0]);
    }
    xt_vjp(once, user, 3, saved, 1, &u, &y, d);
    d_in[0] = d[1], d_in[1] = d[2];
}

/* --- around them --- */
static void cell(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const bound *f = user;
    xt_tensor h = value(f->n, carry[0], f->w);
    carry[0] = xt_add(xt_mul(h, 0.5), xt_mul(x[0], carry[0]));
    y[0] = xt_mul(h, x[0]);
}
static xt_tensor three_times(const xt_tensor *s, void *user) {
    (void)user;
    return xt_lt(s[1], 3);
}
static void again(xt_tensor *s, void *user) {
    const bound *f = user;
    s[0] = value(f->n, s[0], f->w);
    s[1] = xt_add(s[1], 1);
}
static void on_true(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = value(f->n->a, in[0], f->w);
}
static void on_false(const xt_tensor *in, xt_tensor *out, void *user) {
    const bound *f = user;
    out[0] = value(f->n->b, in[0], f->w);
}

static xt_tensor loop(const node *n, xt_tensor x, xt_tensor w) {
    bound *f = bind(n->a, w);
    xt_tensor s[2] = {x, xt_scalar(0, XT_I32)}, y = {0};
    switch (n->kind) {
    case 'S': xt_scan(cell, 1, s, 1, &w, 1, &y, .user = f); return xt_add(s[0], xt_sum_axis(y, 0));
    case 'R':
        xt_scan(cell, 1, s, 1, &w, 1, &y, .user = f, .reverse = XT_ON, .recompute = XT_ON);
        return xt_add(s[0], xt_sum_axis(y, 0));
    case 'W': xt_while(three_times, again, 2, s, .user = f); return s[0];
    default: xt_while(three_times, again, 2, s, .user = f, .max_steps = 4); return s[0];
    }
}

static xt_tensor derivative(const node *n, xt_tensor x, xt_tensor w) {
    bound *f = bind(n->a, w);
    xt_tensor v = xt_select(w, 0, 0), in[2] = {x, w}, t[2] = {xt_cos(x), xt_transpose(w, 0, 1)}, y, d[2] = {{0}};
    switch (n->kind) {
    case 'G': xt_grad_fn(sum_of_x, f, 1, &x, NULL, d); return d[0];
    case 'H': xt_grad_fn(sum_of_both, f, 2, in, NULL, d); return xt_matmul(d[1], x);
    case 'J': xt_jvp(of_x, f, 1, &x, &v, 1, &y, d); return xt_add(d[0], y);
    case 'I': xt_jvp(of_both, f, 2, in, t, 1, &y, d); return d[0];
    case 'Y': xt_vjp(of_x, f, 1, &x, 1, &v, &y, d); return xt_add(d[0], y);
    case 'A': xt_jacobian(of_x, f, 1, &x, d); return xt_matmul(d[0], x);
    default: xt_hvp(sum_of_x, f, 1, &x, &v, NULL, d); return d[0];
    }
}

static const char LEAVES[] = "tgs", OWN[] = "CDKLEF", LOOPS[] = "SRWM", DERIVATIVES[] = "GHJIYAV";

static xt_tensor value(const node *n, xt_tensor x, xt_tensor w) {
    xt_tensor y = {0};
    if (strchr(LOOPS, n->kind)) return loop(n, x, w);
    if (strchr(DERIVATIVES, n->kind)) return derivative(n, x, w);
    switch (n->kind) {
    case 't': return xt_tanh(xt_matmul(w, x));
    case 'g': return xt_mul(x, xt_sigmoid(xt_matmul(w, x)));
    case 's': return xt_add(xt_sin(x), xt_mul(xt_mul(x, x), 0.1));
    case 'q': return value(n->b, value(n->a, x, w), w);
    case 'a': return xt_add(value(n->a, x, w), xt_mul(x, value(n->b, x, w)));
    case 'c': xt_cond(xt_gt(xt_sum(x), 0.2), on_true, on_false, 1, &x, 1, &y, bind(n, w)); return y;
    case 'C': return computed_again(n, by_vjp, x, w);
    case 'D': return computed_again(n, by_gradient, x, w);
    case 'K': return computed_again(n, by_jacobian, x, w);
    case 'L': return computed_again(n, by_jvp, x, w);
    case 'E':
        x = xt_tanh(value(n->a, x, w));
        if (own) xt_custom_grad(decay, decay_back, 1, &x, 1, &y, .saved = 1);
        return own ? y : xt_exp(xt_neg(x));
    default: {
        xt_tensor in[2] = {x, w};
        if (own) xt_custom_grad(settled, adjoint, 2, in, 1, &y, .saved = 3, .user = bind(n->a, w));
        return own ? y : settle(n->a, x, w);
    }
    }
}

/* --- drawn --- */
static uint64_t state;
static int draw(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* cost: how often a nest is computed, as its functions multiply that; a dear one has leaves only. */
static node *nest(int depth, int cost, char *text, size_t *at) {
    static const struct {
        const char *kinds;
        int cost, parts, odds;
    } rows[] = {{"C", 3, 1, 5}, {"D", 3, 1, 3},  {"K", 3, 1, 2},        {"L", 24, 1, 1},
                {"E", 1, 1, 2}, {"F", 48, 1, 1}, {LOOPS, 3, 1, 3},      {"c", 2, 1, 1},
                {"q", 1, 2, 5}, {"a", 1, 2, 4},  {DERIVATIVES, 3, 1, 5}};
    node *n = &nodes[n_nodes++];
    int total = 0, row = 0, dear = 200;
    assert_true(n_nodes <= NODES && *at < 2 * NODES);
    *n = (node){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) total += rows[i].odds;
    for (int k = draw(total); k >= rows[row].odds; row++) k -= rows[row].odds;
    if (depth == 0 || cost * rows[row].cost > dear || n_nodes > NODES / 2) {
        n->kind = LEAVES[draw(3)];
        text[(*at)++] = n->kind;
        return n;
    }
    n->kind = rows[row].kinds[draw((int)strlen(rows[row].kinds))];
    text[(*at)++] = n->kind;
    n->a = nest(depth - 1, cost * rows[row].cost, text, at);
    if (rows[row].parts == 2 || n->kind == 'c') n->b = nest(depth - 1, cost * rows[row].cost, text, at);
    return n;
}

static node *parsed(const char **s) {
    node *n = &nodes[n_nodes++];
    assert_true(n_nodes <= NODES);
    *n = (node){.kind = *(*s)++};
    if (strchr(LEAVES, n->kind)) return n;
    n->a = parsed(s);
    if (strchr("qac", n->kind)) n->b = parsed(s);
    return n;
}

/* --- compared --- */
static xt_tensor numbers(int seed, int rank, double most) {
    double v[N * N];
    const int64_t dims[2] = {N, N};
    for (int i = 0; i < (rank == 1 ? N : N * N); i++) v[i] = most * sin(1.7 * i + 2.3 * seed + 0.4);
    return xt_from_data(v, XT_F64, rank, dims);
}

static xt_tensor loss(const node *n, xt_tensor x, xt_tensor w) {
    return xt_sum(xt_mul(xt_sin(value(n, x, w)), numbers(3, 1, 1)));
}
static void loss_of_both(const xt_tensor *in, xt_tensor *out, void *user) {
    out[0] = loss(user, in[0], in[1]);
}

enum {
    RESULT = N + N * N,
    BACKWARD = 1,
    ASKED = BACKWARD + RESULT,
    FUNCTION = ASKED + RESULT,
    SECOND = FUNCTION + RESULT,
    RESULTS = SECOND + RESULT
};

static void look(const char *text, const char *what, xt_tensor t, double *v) {
    int64_t n = xt_numel(t);
    if (xt_error() || !xt_read(xt_flatten(t, 0), v, (size_t)n * sizeof *v))
        fail_msg("%s, %s: %s", text, what, xt_error() ? xt_status_message(xt_error()) : "no error");
}

static void gradients(const char *text, const char *what, const xt_tensor *d, double *v) {
    look(text, what, xt_is_none(d[0]) ? xt_zeros(XT_F64, N) : d[0], v);
    look(text, what, xt_is_none(d[1]) ? xt_zeros(XT_F64, N, N) : d[1], v + N);
}

/* The gradients by each way are those of a step of their own: what one leaves behind could hide what another lacks. */
static void measure(const char *text, const node *n, double *v) {
    xt_tensor in[2], d[2], dd[2];
    for (int way = 0; way < 3; way++) {
        n_bounds = 0;
        in[0] = xt_requires_grad(numbers(1, 1, 0.9), way != 2), in[1] = xt_requires_grad(numbers(2, 2, 0.7), way != 2);
        if (way == 0) {
            xt_tensor y = loss(n, in[0], in[1]);
            xt_backward(y);
            look(text, "the value", y, v);
            d[0] = xt_grad(in[0]), d[1] = xt_grad(in[1]);
            gradients(text, "xt_backward", d, v + BACKWARD);
        } else if (way == 1) {
            xt_grad_of(loss(n, in[0], in[1]), 2, in, d, .create_graph = XT_ON, .allow_unused = XT_ON);
            gradients(text, "xt_grad_of", d, v + ASKED);
            xt_tensor s = xt_is_none(d[0]) ? xt_sum(d[1]) : xt_sum(xt_mul(d[0], numbers(4, 1, 1)));
            if (!xt_is_none(d[0]) && !xt_is_none(d[1])) s = xt_add(s, xt_sum(xt_mul(d[1], numbers(5, 2, 1))));
            xt_grad_of(s, 2, in, dd, .allow_unused = XT_ON);
            gradients(text, "a second gradient", dd, v + SECOND);
        } else {
            xt_grad_fn(loss_of_both, (void *)(uintptr_t)n, 2, in, NULL, d);
            gradients(text, "xt_grad_fn", d, v + FUNCTION);
        }
        xt_mark_step();
    }
}

static void compare(const char *text, const node *n) {
    double v[2][RESULTS];
    for (int k = 0; k < 2; k++) {
        own = k;
        measure(text, n, v[k]);
    }
    for (int i = 0; i < RESULTS; i++) {
        static const char *const whats[] = {"xt_backward", "xt_grad_of", "xt_grad_fn", "a second gradient"};
        if (fabs(v[1][i] - v[0][i]) <= 1e-9 * (1 + fabs(v[0][i]))) continue;
        fail_msg("%s, %s [%d]: %.17g with derivatives of its own, %.17g without", text,
                 i ? whats[(i - 1) / RESULT] : "the value", i ? (i - 1) % RESULT : 0, v[1][i], v[0][i]);
    }
}

static void written(void **state_) {
    (void)state_;
    static const char *const texts[] = {"CCt",       "CqtCtt",  "qsCt",    "aCts",   "qtCCqtCt", "GCCt",  "GaqtCts",
                                        "JqtCt",     "YqtDt",   "AqtKs",   "VqsCt",  "SqtCt",    "WqtCt", "MqtCt",
                                        "cqtCtqtCg", "SCqtCt",  "CSqtCt",  "CWqtDs", "Et",       "qtEs",  "CEt",
                                        "qtLt",      "qtFt",    "FqtCt",   "CFt",    "DDDs",     "KKs",   "CGqtCt",
                                        "RqtCCt",    "CcqtCtt", "qtHqtCt", "IqtDt"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *s = texts[i];
        n_nodes = 0;
        compare(texts[i], parsed(&s));
    }
    assert_int_equal(xt_finish(), 0);
}

static void drawn(void **state_) {
    (void)state_;
    for (int i = 0; i < DRAWN; i++) {
        char text[2 * NODES + 1] = "";
        size_t at = 0;
        n_nodes = 0;
        state = (uint64_t)i * 2654435761u + 17;
        const node *n = nest(5, 1, text, &at);
        if (!strpbrk(text, OWN)) continue;
        compare(text, n);
    }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(written), cmocka_unit_test(drawn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
