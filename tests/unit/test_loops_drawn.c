/* Loops against the same loop written out, drawn: bodies with products by matrices from outside (of the carry, of
 * slices of the inputs, of what is made of them), gates, branches, loops and checkpointed blocks inside; xt_scan in its
 * forms and xt_while with a known, an unknown and a bounded number of steps; first, second and third derivatives by
 * everything that goes in, products with the Hessian, pushes of pulls and maps over examples. The derivatives are held
 * against central differences of those before them too. How a gradient is summed over the steps depends on sizes, so
 * these are drawn: few rows and many, few features and many. Everything follows from the seed; XT_TEST_SEED and
 * XT_TEST_COUNT choose others than the usual ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

typedef enum form { SCAN, SCAN_AGAIN, SCAN_DOWN, WHILE_COUNTED, WHILE_DATA, WHILE_MOST, FORMS } form;
static const char *const forms[FORMS] = {"xt_scan",
                                         "xt_scan, recompute",
                                         "xt_scan, reverse",
                                         "xt_while of a constant",
                                         "xt_while of the data's",
                                         "xt_while, max_steps"};
typedef enum derived { THRICE, HVP, JVP_OF_VJP, VMAP, DERIVED } derived;
static const char *const ways[DERIVED] = {"xt_grad_of", "xt_hvp", "xt_jvp of xt_vjp", "xt_vmap"};
enum { MATRIX, OTHER, BIAS, START, INPUTS, MATRICES, LEAVES };
static const char *const leaves[LEAVES] = {"the matrix", "the other matrix", "the bias",
                                           "the carry",  "the inputs",       "the steps' matrices"};
enum { MOST_STEPS = 4, MOST_CARRIES = 2, EXAMPLES = 2, LEVELS = 3, MOST_DIMS = 5, INNER_STEPS = 2 };

typedef struct drawn {
    uint64_t seed, at;
    form form;
    derived way;
    int64_t steps, dims[MOST_DIMS]; /* of the carry */
    int rank, n_carry;
    bool has_inputs, written_out, nests; /* nests: a loop stands in the body by now */
    xt_tensor leaf[LEAVES], limit, own; /* own: the step's matrix */
} drawn;

static uint64_t bits(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int draw(drawn *d, int n) {
    return (int)(bits(bits(d->seed) + d->at++) % (uint64_t)n);
}

/* --- the body --- */
typedef struct pair {
    drawn *d;
    xt_tensor a, b;
} pair;

static xt_tensor by_matrix(const drawn *d, xt_tensor x) {
    return xt_matmul(x, d->leaf[MATRIX]);
}

static void gated(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const pair *p = user;
    (void)x, (void)y;
    carry[0] = xt_mul(xt_sigmoid(xt_matmul(p->b, p->d->leaf[OTHER])), xt_tanh(by_matrix(p->d, carry[0])));
}

static xt_tensor loop_inside(drawn *d, xt_tensor a, xt_tensor b) {
    pair p = {d, a, b};
    if (!d->written_out)
        xt_scan(gated, 1, &a, 0, NULL, 0, NULL, .length = INNER_STEPS, .user = &p);
    else
        for (int k = 0; k < INNER_STEPS; k++) gated(&a, NULL, NULL, &p);
    return a;
}

static void on_true(const xt_tensor *in, xt_tensor *out, void *user) {
    out[0] = xt_mul(xt_sigmoid(by_matrix(user, in[0])), in[1]);
}

static void on_false(const xt_tensor *in, xt_tensor *out, void *user) {
    const drawn *d = user;
    out[0] = xt_sin(xt_matmul(in[1], d->leaf[OTHER]));
}

static xt_tensor branch(drawn *d, xt_tensor a, xt_tensor b) {
    xt_tensor which = xt_gt(xt_sum(a), 0.1), in[2] = {a, b}, out, other;
    if (!d->written_out) {
        xt_cond(which, on_true, on_false, 2, in, 1, &out, d);
        return out;
    }
    on_true(in, &out, d);
    on_false(in, &other, d);
    return xt_where(which, out, other);
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    return xt_tanh(by_matrix(user, xt_sin(by_matrix(user, x))));
}

static xt_tensor product(drawn *d, xt_tensor a, xt_tensor b) {
    const xt_tensor w = d->leaf[MATRIX], u = d->leaf[OTHER];
    const int64_t half = d->dims[d->rank - 1] / 2;
    switch (draw(d, 12)) {
    case 0: return xt_matmul(a, xt_mT(w));
    case 1: return xt_matmul(a, u);
    case 2: return xt_matmul(a, xt_matmul(w, u));
    case 3: return xt_matmul(xt_tanh(xt_matmul(a, w)), w);
    case 4: return xt_add(xt_matmul(a, w), xt_matmul(b, u));
    case 5: return xt_einsum("...i,ji->...j", 2, XT_TENSORS(a, u));
    case 6: return xt_matmul(xt_slice(a, -1, 0, half), xt_slice(w, 0, 0, half));
    case 7: return d->rank > 1 ? xt_matmul(xt_mul(a, 0.1), xt_matmul(xt_mT(b), b)) : xt_mul(a, xt_mean(b));
    case 8:
    case 9: return xt_matmul(a, d->has_inputs ? d->own : w);
    default: return xt_matmul(a, w);
    }
}

static xt_tensor one_op(drawn *d, xt_tensor a, xt_tensor b, xt_tensor c) {
    switch (draw(d, 14)) {
    case 0: return xt_tanh(a);
    case 1: return xt_mul(xt_sigmoid(a), b);
    case 2: return xt_mul(a, b);
    case 3: return xt_add(xt_sin(a), b);
    case 4: return xt_minus(a, xt_mul(b, d->leaf[BIAS]));
    case 5: return xt_add(a, d->leaf[BIAS]);
    case 6: return xt_mul(xt_softmax(a, -1), b);
    case 7: {
        xt_tensor z = xt_sigmoid(a);
        return xt_add(xt_mul(z, b), xt_mul(xt_minus(1, z), c));
    }
    case 8: return xt_mul(a, xt_select(d->leaf[MATRIX], 0, 0));
    case 9: return branch(d, a, b);
    case 10:
        if (d->nests) return xt_mul(a, c);
        d->nests = true; /* one: each derivative makes several loops of it in several of what is around */
        return loop_inside(d, a, b);
    case 11: return d->written_out ? block(NULL, a, d) : xt_checkpoint_block(block, NULL, a, d);
    default: return product(d, a, b);
    }
}

static xt_tensor any_of(drawn *d, int n, const xt_tensor *v) {
    return v[draw(d, n)];
}

/* Draws the same each time it is called. */
static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    drawn *d = user;
    xt_tensor v[MOST_CARRIES + 8];
    int n = 0;
    d->at = 1000;
    d->nests = false;
    for (; n < d->n_carry; n++) v[n] = carry[n];
    if (d->has_inputs) v[n++] = x[0], d->own = x[1];
    const int first = draw(d, n), more = 1 + draw(d, 4);
    v[n] = product(d, v[first], any_of(d, n, v));
    n++;
    for (int k = 0; k < more; k++, n++) {
        const xt_tensor a = any_of(d, n, v), b = any_of(d, n, v), c = any_of(d, n, v);
        v[n] = one_op(d, a, b, c);
    }
    switch (draw(d, 3)) {
    case 0: carry[0] = xt_tanh(v[n - 1]); break;
    case 1: carry[0] = xt_mul(xt_sigmoid(v[n - 1]), carry[0]); break;
    default: carry[0] = xt_add(xt_mul(carry[0], 0.5), xt_sin(v[n - 1])); break;
    }
    if (d->n_carry > 1) carry[1] = xt_add(carry[1], xt_mul(xt_sin(any_of(d, n, v)), 0.5));
    y[0] = xt_sin(any_of(d, n, v));
}

/* --- around it --- */
static xt_tensor more(const xt_tensor *state, void *user) {
    const drawn *d = user;
    const xt_tensor i = state[d->n_carry + 1];
    return d->form == WHILE_COUNTED ? xt_lt(i, d->steps) : xt_lt(xt_cast(i, XT_F64), d->limit);
}

/* The states: the carries, the sum of the outputs' squares, the number of the step. */
static void step(xt_tensor *state, void *user) {
    const drawn *d = user;
    xt_tensor *sum = &state[d->n_carry], *i = sum + 1, x[2] = {{0}}, y;
    for (int k = 0; d->has_inputs && k < 2; k++)
        x[k] = xt_squeeze(xt_index_select(d->leaf[INPUTS + k], 0, xt_reshape(*i, 1)), 0);
    body(state, x, &y, user);
    *sum = xt_add(*sum, xt_sum(xt_square(y)));
    *i = xt_add(*i, 1);
}

static xt_tensor written_out(drawn *d, xt_tensor *carry) {
    xt_tensor sum = xt_full(0, XT_F64), y;
    for (int64_t k = 0; k < d->steps; k++) {
        const int64_t at = d->form == SCAN_DOWN ? d->steps - 1 - k : k;
        const xt_tensor x[2] = {xt_select(d->leaf[INPUTS], 0, at), xt_select(d->leaf[MATRICES], 0, at)};
        body(carry, x, &y, d);
        sum = xt_add(sum, xt_sum(xt_square(y)));
    }
    return sum;
}

static xt_tensor looped(drawn *d, xt_tensor *carry) {
    if (d->form <= SCAN_DOWN) {
        xt_tensor ys;
        xt_scan(body, d->n_carry, carry, d->has_inputs ? 2 : 0, &d->leaf[INPUTS], 1, &ys, .length = d->steps, .user = d,
                .reverse = d->form == SCAN_DOWN ? XT_ON : XT_OFF, .recompute = d->form == SCAN_AGAIN ? XT_ON : XT_OFF);
        return xt_sum(xt_square(ys));
    }
    xt_tensor state[MOST_CARRIES + 2];
    memcpy(state, carry, (size_t)d->n_carry * sizeof *state);
    state[d->n_carry] = xt_full(0, XT_F64);
    state[d->n_carry + 1] = xt_full(0, XT_I64);
    xt_while(more, step, d->n_carry + 2, state, .user = d, .max_steps = d->form == WHILE_MOST ? d->steps + 1 : -1);
    memcpy(carry, state, (size_t)d->n_carry * sizeof *state);
    return state[d->n_carry];
}

static void loss(const xt_tensor *in, xt_tensor *out, void *user) {
    drawn *d = user;
    xt_tensor carry[MOST_CARRIES] = {in[START], xt_mul(xt_cos(in[START]), 0.5)};
    memcpy(d->leaf, in, sizeof d->leaf);
    const xt_tensor sum = d->written_out ? written_out(d, carry) : looped(d, carry);
    out[0] = xt_add(sum, xt_sum(xt_sin(carry[0])));
    if (d->n_carry > 1) out[0] = xt_add(out[0], xt_sum(xt_square(carry[1])));
}

/* --- derivatives --- */
typedef struct results {
    xt_tensor of[LEVELS][LEAVES], slope[LEVELS]; /* slope: their sum times the direction */
    int n;
} results;

static void add_results(results *r, const xt_tensor *in, const xt_tensor *g, const xt_tensor *way) {
    xt_tensor sum = xt_full(0, XT_F64);
    for (int i = 0; i < LEAVES; i++) {
        r->of[r->n][i] = xt_dtype_of(g[i]) == XT_DTYPE_NONE ? xt_zeros_like(in[i]) : g[i];
        sum = xt_add(sum, xt_sum(xt_mul(r->of[r->n][i], way[i])));
    }
    r->slope[r->n++] = sum;
}

static void differentiate(results *r, xt_tensor root, const xt_tensor *in, const xt_tensor *way, int times) {
    for (int k = 0; k < times; k++) {
        xt_tensor g[LEAVES];
        xt_grad_of(root, LEAVES, in, g, .create_graph = XT_ON, .allow_unused = XT_ON);
        if (xt_error()) return;
        add_results(r, in, g, way);
        root = r->slope[r->n - 1];
    }
}

static void pulled(const xt_tensor *in, xt_tensor *out, void *user) {
    xt_tensor value, one = xt_full(1, XT_F64);
    xt_vjp(loss, user, LEAVES, in, 1, &one, &value, out);
}

/* What the seed's way gives: derivatives from the first or, of products with the Hessian, from the second. */
static results ways_give(drawn *d, const xt_tensor *in, const xt_tensor *way) {
    static const int axes[LEAVES] = {XT_SHARED, XT_SHARED, XT_SHARED, 0, 0, XT_SHARED};
    results r = {.n = 0};
    xt_tensor value, first[LEAVES], g[LEAVES];
    switch (d->way) {
    case HVP:
        if (!xt_hvp(loss, d, LEAVES, in, way, NULL, g)) return r;
        add_results(&r, in, g, way);
        differentiate(&r, r.slope[0], in, way, 1);
        return r;
    case JVP_OF_VJP: /* a push is two pulls: this has the program of a third derivative */
        if (xt_jvp(pulled, d, LEAVES, in, way, LEAVES, first, g)) add_results(&r, in, g, way);
        return r;
    case VMAP:
        xt_vmap(loss, LEAVES, in, 1, &value, .in_axes = axes, .user = d);
        differentiate(&r, xt_sum(xt_sin(value)), in, way, 2);
        return r;
    default:
        loss(in, &value, d);
        differentiate(&r, value, in, way, LEVELS);
        return r;
    }
}

/* The same by xt_grad_of alone, an example at a time. */
static results derivatives(drawn *d, const xt_tensor *in, const xt_tensor *way) {
    results r = {.n = 0};
    xt_tensor value, all = xt_full(0, XT_F64), one[LEAVES];
    for (int e = 0; d->way == VMAP && e < EXAMPLES; e++) {
        memcpy(one, in, sizeof one);
        one[START] = xt_select(in[START], 0, e);
        one[INPUTS] = xt_select(in[INPUTS], 0, e);
        loss(one, &value, d);
        all = xt_add(all, xt_sin(value));
    }
    if (d->way != VMAP) loss(in, &all, d);
    differentiate(&r, all, in, way, d->way == JVP_OF_VJP || d->way == VMAP ? 2 : LEVELS);
    return r;
}

/* --- a seed --- */
static xt_tensor numbers(drawn *d, double scale, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    double *v = malloc((size_t)n * sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) v[i] = scale * ((double)draw(d, 20001) / 10000 - 1);
    xt_tensor t = xt_from_data(v, XT_F64, rank, dims);
    free(v);
    return t;
}

/* Matrices are scaled as a layer's are; so is the direction, along which derivatives then grow less. */
static void draw_leaves(drawn *d, xt_tensor *out) {
    const int64_t width = d->dims[d->rank - 1], square[2] = {width, width}, squares[3] = {d->steps, width, width};
    const double scale = 1.5 / sqrt((double)width);
    int64_t dims[MOST_DIMS + 2];
    int rank = 0;
    for (int i = MATRIX; i <= OTHER; i++) out[i] = numbers(d, scale, 2, square);
    out[BIAS] = numbers(d, 1, 1, &width);
    if (d->way == VMAP) dims[rank++] = EXAMPLES;
    memcpy(dims + rank, d->dims, (size_t)d->rank * sizeof *dims);
    out[START] = numbers(d, 1, rank + d->rank, dims);
    dims[rank++] = d->steps;
    memcpy(dims + rank, d->dims, (size_t)d->rank * sizeof *dims);
    out[INPUTS] = numbers(d, 1, rank + d->rank, dims);
    out[MATRICES] = numbers(d, scale, 3, squares);
}

static drawn draw_loop(uint64_t seed) {
    static const int widths[] = {2, 3, 4, 8, 16, 32, 64};
    drawn d = {.seed = seed};
    d.form = draw(&d, 2) ? SCAN : (form)draw(&d, FORMS);
    d.way = draw(&d, 2) ? THRICE : (derived)draw(&d, DERIVED);
    d.steps = 2 + draw(&d, MOST_STEPS - 1);
    if (d.form == WHILE_COUNTED) d.steps = 3; /* a number that changes would become the data's */
    d.n_carry = 1 + draw(&d, MOST_CARRIES);
    d.has_inputs = draw(&d, 4) > 0;
    const int shape = draw(&d, 6), rows = shape == 1 ? 1 : 1 + draw(&d, 16);
    if (shape == 2) d.dims[d.rank++] = 2;
    if (shape > 0) d.dims[d.rank++] = rows;
    d.dims[d.rank++] = widths[draw(&d, (int)(sizeof widths / sizeof *widths))];
    return d;
}

static void told(const drawn *d) {
    fprintf(stderr, "seed %llu (%s, %s, %d steps, %d carries of [", (unsigned long long)d->seed, forms[d->form],
            ways[d->way], (int)d->steps, d->n_carry);
    for (int i = 0; i < d->rank; i++) fprintf(stderr, "%s%d", i ? "," : "", (int)d->dims[i]);
    fprintf(stderr, "]%s): ", d->has_inputs ? ", inputs" : "");
}

static bool no_error(const drawn *d, const char *what) {
    if (!xt_error()) return true;
    told(d);
    fprintf(stderr, "%s: %s\n", what, xt_status_message(xt_error()));
    xt_clear_error();
    xt_mark_step();
    return false;
}

/* Held against the last of the reference's, as many as there are: the largest difference of elements and the largest
 * element of what is expected. */
static bool results_agree(const drawn *d, const results *is, const results *expected) {
    xt_tensor parts[2 * LEVELS * LEAVES];
    double v[2 * LEVELS * LEAVES];
    const int from = expected->n - is->n;
    int n = 0;
    for (int k = 0; k < is->n; k++)
        for (int i = 0; i < LEAVES; i++) {
            const xt_tensor want = expected->of[from + k][i];
            parts[n++] = xt_max(xt_abs(xt_minus(is->of[k][i], want)));
            parts[n++] = xt_max(xt_abs(want));
        }
    if (!xt_read(xt_stack(n, parts, 0), v, (size_t)n * sizeof *v)) return no_error(d, "reading");
    bool same = n > 0;
    for (int k = 0; k < n / 2; k++) {
        /* f64: the order of sums, through up to four steps and three derivatives. */
        if (v[2 * k] <= 1e-9 * (1e-3 + v[2 * k + 1])) continue;
        told(d);
        fprintf(stderr, "derivative %d by %s: %g off, the largest element is %g\n", 1 + from + k / LEAVES,
                leaves[k % LEAVES], v[2 * k], v[2 * k + 1]);
        same = false;
    }
    return same;
}

static bool same_as_written_out(uint64_t seed) {
    drawn d = draw_loop(seed);
    xt_tensor in[LEAVES], way[LEAVES];
    draw_leaves(&d, in);
    draw_leaves(&d, way);
    const double limit = (double)d.steps - 0.5;
    d.limit = xt_from_data(&limit, XT_F64, 0, NULL);
    const results loop = ways_give(&d, in, way);
    if (!no_error(&d, "the loop")) return false;
    d.written_out = true;
    const results expected = derivatives(&d, in, way);
    if (!no_error(&d, "written out")) return false;
    const bool same = results_agree(&d, &loop, &expected);
    xt_mark_step();
    return same;
}

/* Each derivative along the direction is the slope of the one before it, by differences of five points. */
static bool same_as_differences(uint64_t seed) {
    enum { N = LEVELS + 1, POINTS = 5, MIDDLE = 2 };
    const double h = 1e-4;
    double at[POINTS][N];
    drawn d = draw_loop(seed);
    d.way = THRICE;
    const uint64_t from = d.at;
    for (int side = 0; side < POINTS; side++) {
        xt_tensor in[LEAVES], way[LEAVES], values[N];
        d.at = from;
        draw_leaves(&d, in);
        draw_leaves(&d, way);
        const double limit = (double)d.steps - 0.5, move = h * (side - MIDDLE);
        d.limit = xt_from_data(&limit, XT_F64, 0, NULL);
        const xt_tensor by = xt_from_data(&move, XT_F64, 0, NULL);
        for (int i = 0; i < LEAVES; i++) in[i] = xt_add(in[i], xt_mul(way[i], by));
        loss(in, &values[0], &d);
        results r = {.n = 0};
        differentiate(&r, values[0], in, way, LEVELS);
        if (!no_error(&d, "the loop")) return false;
        memcpy(values + 1, r.slope, LEVELS * sizeof *values);
        if (!xt_read(xt_stack(N, values, 0), at[side], sizeof at[side])) return no_error(&d, "reading");
        xt_mark_step();
    }
    bool same = true;
    for (int k = 1; k < N; k++) {
        const double near = at[3][k - 1] - at[1][k - 1], far = at[4][k - 1] - at[0][k - 1];
        const double slope = (8 * near - far) / (12 * h), is = at[MIDDLE][k];
        /* The differences' own error: h^4 / 30 times the fifth derivative of the one before. */
        if (fabs(slope - is) <= 1e-5 * (fabs(is) + fabs(at[MIDDLE][k - 1]))) continue;
        told(&d);
        fprintf(stderr, "derivative %d along the direction is %.12g, differences say %.12g\n", k, is, slope);
        same = false;
    }
    return same;
}

static long number_from(const char *name, long fallback) {
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 10) : fallback;
}

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "client", "graph"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static void seeds(bool (*agrees)(uint64_t), long usual) {
    const long first = number_from("XT_TEST_SEED", 1), count = number_from("XT_TEST_COUNT", usual);
    long failed = 0;
    for (long k = 0; k < count; k++) failed += !agrees((uint64_t)(first + k));
    nothing_left();
    if (failed) fail_msg("%ld of %ld loops", failed, count);
}

static void loops_are_what_is_written_out(void **state) {
    (void)state;
    seeds(same_as_written_out, 24);
}

static void derivatives_are_slopes(void **state) {
    (void)state;
    seeds(same_as_differences, 8);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_what_is_written_out),
        cmocka_unit_test(derivatives_are_slopes),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
