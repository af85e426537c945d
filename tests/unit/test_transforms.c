/* Functions of functions: vjp, jvp, Jacobians, Hessians and their products against finite differences and one another;
 * xt_vmap against the same function called for each example, values and gradients, over a table of ops; derivatives of
 * one's own, wherever the walk meets them; mistakes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "client", "graph"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static void works(bool ok, const char *what) {
    if (!ok || xt_error()) fail_msg("%s: %s", what, xt_error() ? xt_status_message(xt_error()) : "no error");
}

static void refused(const char *with) {
    assert_non_null(xt_error());
    if (!strstr(xt_status_message(xt_error()), with))
        fail_msg("the message does not say '%s': %s", with, xt_status_message(xt_error()));
    xt_clear_error();
    xt_mark_step();
}

enum { MOST = 512 };

static xt_tensor numbers(int seed, int rank, const int64_t *dims) {
    double v[MOST];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; i++) v[i] = sin(1.7 * (double)i + seed);
    return xt_from_data(v, XT_F64, rank, dims);
}
#define NUMBERS(seed, ...) \
    numbers(seed, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static void read(xt_tensor t, double *v, const char *what) {
    assert_true(xt_numel(t) <= MOST);
    works(xt_read(t, v, (size_t)xt_numel(t) * 8), what);
}

static void close_to(xt_tensor a, xt_tensor b, double tolerance, const char *what) {
    double x[MOST], y[MOST];
    if (xt_numel(a) != xt_numel(b))
        fail_msg("%s: %lld elements, not %lld", what, (long long)xt_numel(a), (long long)xt_numel(b));
    read(a, x, what);
    read(b, y, what);
    for (int64_t i = 0; i < xt_numel(a); i++)
        if (!(fabs(x[i] - y[i]) <= tolerance * (1 + fabs(y[i]))))
            fail_msg("%s[%d]: %.17g instead of %.17g", what, (int)i, x[i], y[i]);
}

/* --- derivatives --- */
/* Two inputs, two outputs, none of whose parts is linear. */
static void two(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_tanh(xt_matmul(in[0], in[1]));
    out[1] = xt_sum_axis(xt_mul(xt_sin(in[0]), xt_softmax(in[0], 1)), 1);
}

static void first_of_two(const xt_tensor *in, xt_tensor *out, void *user) {
    xt_tensor both[2];
    two(in, both, user);
    out[0] = both[0];
}

static void one_number(const xt_tensor *in, xt_tensor *out, void *user) {
    xt_tensor both[2];
    two(in, both, user);
    out[0] = xt_add(xt_sum(xt_square(both[0])), xt_sum(xt_mul(both[1], xt_exp(both[1]))));
}

static void of_in0(const xt_tensor *in, xt_tensor *out, void *user) {
    const xt_tensor all[2] = {in[0], *(xt_tensor *)user};
    one_number(all, out, NULL);
}

/* (fn(in + h d) - fn(in - h d)) / 2h, of one output. */
static xt_tensor difference(xt_fn fn, int n_out, int which, const xt_tensor *in, const xt_tensor *d) {
    enum { H = 6 };
    const double h = 1e-5;
    xt_tensor end[2];
    for (int s = 0; s < 2; s++) {
        xt_tensor at[2], out[2];
        for (int i = 0; i < 2; i++) at[i] = xt_add(in[i], xt_mul_scalar(d[i], s ? -h : h));
        fn(at, out, NULL);
        end[s] = out[n_out > 1 ? which : 0];
    }
    return xt_mul_scalar(xt_minus(end[0], end[1]), 1 / (2 * h));
}

static void products(void **state) {
    (void)state;
    xt_tensor in[2] = {NUMBERS(1, 2, 3), NUMBERS(2, 3, 2)}, d_in[2] = {NUMBERS(3, 2, 3), NUMBERS(4, 3, 2)};
    xt_tensor d_out[2] = {NUMBERS(5, 2, 2), NUMBERS(6, 2)}, out[2], plain[2], pushed[2], pulled[2];
    works(xt_jvp(two, NULL, 2, in, d_in, 2, out, pushed), "jvp");
    two(in, plain, NULL);
    for (int k = 0; k < 2; k++) {
        close_to(out[k], plain[k], 1e-14, "what jvp gives beside");
        close_to(pushed[k], difference(two, 2, k, in, d_in), 1e-8, "jvp");
    }
    works(xt_vjp(two, NULL, 2, in, 2, d_out, out, pulled), "vjp");
    for (int k = 0; k < 2; k++) close_to(out[k], plain[k], 1e-14, "what vjp gives beside");
    /* <d_out, J d_in> = <J^T d_out, d_in> */
    xt_tensor left = xt_add(xt_sum(xt_mul(d_out[0], pushed[0])), xt_sum(xt_mul(d_out[1], pushed[1])));
    xt_tensor right = xt_add(xt_sum(xt_mul(pulled[0], d_in[0])), xt_sum(xt_mul(pulled[1], d_in[1])));
    close_to(left, right, 1e-13, "transposes of each other");
    /* none as a tangent is zeros */
    xt_tensor half[2] = {d_in[0], {0}}, zero[2] = {d_in[0], xt_zeros_like(in[1])};
    works(xt_jvp(two, NULL, 2, in, half, 2, out, pushed), "jvp with none");
    close_to(pushed[0], difference(two, 2, 0, in, zero), 1e-8, "jvp with none");
    nothing_left();
}

static void matrices(void **state) {
    (void)state;
    xt_tensor in[2] = {NUMBERS(1, 2, 3), NUMBERS(2, 3, 2)}, j[2], v[2] = {NUMBERS(3, 2, 3), NUMBERS(4, 3, 2)};
    works(xt_jacobian(first_of_two, NULL, 2, in, j), "jacobian");
    assert_int_equal(xt_rank_of(j[0]), 4);
    assert_int_equal(xt_dim(j[1], 2), 3);
    xt_tensor pushed = xt_add(xt_matmul(xt_reshape(j[0], 4, 6), xt_reshape(v[0], 6, 1)),
                              xt_matmul(xt_reshape(j[1], 4, 6), xt_reshape(v[1], 6, 1)));
    close_to(pushed, difference(first_of_two, 1, 0, in, v), 1e-8, "jacobian");
    xt_tensor value, g[2], hv[2], hessian, shifted[2][2], ends[2];
    works(xt_hvp(one_number, NULL, 2, in, v, &value, hv), "hvp");
    for (int s = 0; s < 2; s++) {
        xt_tensor at[2];
        for (int i = 0; i < 2; i++) at[i] = xt_add(in[i], xt_mul_scalar(v[i], s ? -1e-5 : 1e-5));
        works(xt_grad_fn(one_number, NULL, 2, at, &ends[s], shifted[s]), "grad");
    }
    for (int i = 0; i < 2; i++)
        close_to(hv[i], xt_mul_scalar(xt_minus(shifted[0][i], shifted[1][i]), 0.5e5), 1e-7, "hvp");
    xt_tensor along[2] = {v[0], xt_zeros_like(in[1])};
    works(xt_hessian(of_in0, &in[1], in[0], &hessian), "hessian");
    works(xt_hvp(one_number, NULL, 2, in, along, NULL, g), "hvp without the value");
    close_to(xt_matmul(xt_reshape(hessian, 6, 6), xt_reshape(v[0], 6, 1)), g[0], 1e-12, "hessian");
    nothing_left();
}

/* What they give can be differentiated, and under xt_no_grad_begin they work and give what has no gradient. */
static void differentiated(void **state) {
    (void)state;
    xt_tensor in[2] = {xt_requires_grad(NUMBERS(1, 2, 3), true), NUMBERS(2, 3, 2)}, g[2], hv[2], none[2];
    works(xt_grad_fn(one_number, NULL, 2, in, NULL, g), "grad");
    xt_backward(xt_add(xt_sum(xt_mul(g[0], NUMBERS(3, 2, 3))), xt_sum(xt_mul(g[1], NUMBERS(4, 3, 2)))));
    xt_tensor v[2] = {NUMBERS(3, 2, 3), NUMBERS(4, 3, 2)};
    works(xt_hvp(one_number, NULL, 2, in, v, NULL, hv), "hvp");
    close_to(xt_grad(in[0]), hv[0], 1e-12, "the gradient of a product with a gradient");
    xt_no_grad_begin();
    works(xt_grad_fn(one_number, NULL, 2, in, NULL, none), "grad without gradients");
    xt_no_grad_end();
    close_to(none[0], g[0], 1e-14, "the same gradient");
    xt_backward(xt_sum(none[0]));
    refused("nothing that requires a gradient");
    nothing_left();
}

/* --- vmap --- */
static xt_tensor shared_weight, kernel;

static void v_elementwise(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor s = xt_sum(in[0]);
    out[0] = xt_where(xt_gt(s, xt_full_like(s, 0)), xt_sin(in[0]), xt_mul(in[0], in[1]));
    out[0] = xt_add(out[0], xt_clamp_tensor(in[1], xt_mul_scalar(s, -0.1), xt_full_like(s, 0.3)));
    out[0] = xt_add(out[0], xt_cast(xt_cast(xt_mul_scalar(in[0], 4), XT_I32), XT_F64));
}
static void v_matmul(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor a = xt_matmul(in[0], shared_weight);
    xt_tensor b = xt_matmul(xt_transpose(shared_weight, 0, 1), xt_transpose(in[1], 0, 1));
    out[0] = xt_matmul(xt_tanh(a), b);
}
static void v_batched_matmul(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor x = xt_reshape(in[0], 3, 1, 4), y = xt_reshape(in[1], 3, 4, 1);
    out[0] = xt_add(xt_matmul(x, y), xt_matmul(x, xt_reshape(shared_weight, 1, 4, 3)));
    out[0] = xt_add(out[0], xt_sum(xt_matmul(xt_reshape(shared_weight, 3, 2, 2), xt_reshape(in[0], 3, 2, 2))));
}
static void v_reductions(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor best, at;
    xt_max_with_index(in[0], 0, &best, &at);
    out[0] = xt_concat(4,
                       XT_TENSORS(xt_softmax(xt_sum_axis(in[0], 0), 0), best, xt_cast(at, XT_F64),
                                  xt_logcumsumexp(xt_mean_axis(in[1], 1), 0)),
                       0);
    out[0] = xt_add(out[0], xt_add(xt_prod(xt_cos(in[1])), xt_amax_axes(in[0], XT_ALL_AXES)));
}
static void v_shapes(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor x = xt_pad(xt_transpose(in[0], 0, 1), XT_LIST(1, 2), .value = 0.5);
    x = xt_flip(xt_slice_step(x, 1, 1, 6, 2), XT_AXES(0));
    out[0] = xt_concat(2, XT_TENSORS(x, xt_roll(x, XT_LIST(1), XT_AXES(0))), 1);
    x = xt_slice(out[0], 0, 0, 3);
    out[0] = xt_mul(x, xt_expand_as(xt_reshape(xt_slice(in[1], 1, 0, 1), 3, 1), x));
}
static void v_sort(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor v, i, t, k;
    xt_sort(in[0], 1, &v, &i, .descending = true);
    xt_topk(in[1], 2, 0, &t, &k);
    out[0] = xt_add(xt_mul(v, xt_gather(in[1], 1, i)), xt_sum(xt_mul_scalar(t, 0.5)));
}
/* Places of the example's own in a shared table, shared places in the example, and both of its own. */
static void v_indices(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    static const int64_t rows[2] = {2, 0};
    xt_tensor fixed = xt_from_array(rows, XT_I64, 2), own = xt_argmax(xt_slice(in[0], 1, 0, 3), 1);
    xt_tensor a = xt_index_select(in[0], 0, fixed), b = xt_take(shared_weight, own), c = xt_index_select(in[1], 0, own);
    out[0] = xt_add(xt_sum(xt_square(a)), xt_add(xt_mul(xt_slice(b, 1, 0, 3), xt_slice(c, 1, 0, 3)), xt_sum(b)));
}
static void v_scatter(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    static const int64_t rows[3] = {2, 0, 2};
    xt_tensor fixed = xt_from_array(rows, XT_I64, 3), own = xt_argmax(xt_slice(in[0], 1, 0, 3), 1);
    out[0] = xt_index_add(in[0], 0, fixed, xt_square(in[1]), 1);
    out[0] = xt_add(out[0], xt_index_add(shared_weight, 0, own, in[1], 1));
    out[0] = xt_add(out[0], xt_index_add(shared_weight, 0, fixed, in[1], 1));
}
static void v_images(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor x = xt_reshape(in[0], 1, 1, 3, 4), w = xt_reshape(in[1], 2, 1, 2, 3), none = {0};
    xt_tensor own = xt_conv2d_fn(x, w, none, .padding = 1), of_all = xt_conv2d_fn(x, kernel, none);
    xt_tensor pooled = xt_max_pool2d(own, 2, .stride = 1), mean = xt_avg_pool2d(own, 2);
    xt_tensor w_alone = xt_conv2d_fn(xt_reshape(shared_weight, 1, 1, 3, 4), w, none);
    out[0] = xt_add(xt_sum(xt_square(pooled)), xt_add(xt_sum(xt_square(of_all)), xt_sum(xt_sin(mean))));
    out[0] = xt_add(out[0], xt_sum(xt_square(w_alone)));
}
static void v_factors(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor a = xt_add(xt_matmul(in[0], xt_transpose(in[0], 0, 1)), xt_mul_scalar(xt_eye(3, 0, XT_F64), 3)), v, u;
    xt_tensor l = xt_cholesky(a, false);
    xt_linalg_eigh(a, &v, &u);
    out[0] = xt_add(xt_triangular_solve(l, in[1]), xt_sum(v));
}
static void add_row(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user;
    carry[0] = xt_tanh(xt_add(carry[0], xt_mul(x[0], xt_slice(shared_weight, 0, 0, 1))));
    y[0] = xt_sum(carry[0]);
}
static void v_scan(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor h = xt_slice(in[1], 0, 0, 1), y;
    xt_scan(add_row, 1, &h, 1, &in[0], 1, &y);
    out[0] = xt_add(xt_mul(h, in[0]), xt_sum(y));
}
static void grow(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_square(in[0]);
}
static void shrink(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_sin(xt_mul(in[0], in[1]));
}
static xt_tensor small(const xt_tensor *s, void *user) {
    (void)user;
    xt_tensor m = xt_amax_axes(xt_square(s[0]), XT_ALL_AXES);
    return xt_lt(m, xt_full_like(m, 4));
}
static void doubled(xt_tensor *s, void *user) {
    s[0] = xt_mul(s[0], xt_add_scalar(*(xt_tensor *)user, 1.5));
}
static void v_branches(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor s = xt_sum(in[0]), x = in[0], scale = xt_square(xt_mean(in[1]));
    xt_cond(xt_gt(s, xt_full_like(s, 0)), grow, shrink, 2, in, 1, out, NULL);
    xt_while(small, doubled, 1, &x, .user = &scale);
    out[0] = xt_add(out[0], x);
}
static void v_gradient(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor d[2], t[2] = {xt_transpose(in[0], 0, 1), in[1]};
    xt_grad_fn(one_number, NULL, 2, t, NULL, d);
    out[0] = xt_add(xt_transpose(d[0], 0, 1), d[1]);
}
static void v_vmap(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_vmap(shrink, 2, in, 1, out, .in_axes = (int[]){1, 1}, .out_axes = (int[]){1});
}
/* the norm's rule, which is not that of x^2 */
static void c_forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)user;
    out[0] = xt_mul(xt_sum(xt_square(in[0])), in[1]);
    saved[0] = in[0], saved[1] = out[0];
}
static void c_backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)user;
    d_in[0] = xt_mul(saved[0], xt_sum(xt_mul(saved[1], xt_tanh(d_out[0]))));
}
static void v_custom(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_custom_grad(c_forward, c_backward, 2, in, 1, out, .saved = 2);
}

static const struct row {
    const char *name;
    xt_fn fn;
} rows[] = {{"elementwise", v_elementwise}, {"matmul", v_matmul},     {"batched matmul", v_batched_matmul},
            {"reductions", v_reductions},   {"shapes", v_shapes},     {"sort", v_sort},
            {"indices", v_indices},         {"scatter", v_scatter},   {"images", v_images},
            {"factors", v_factors},         {"scan", v_scan},         {"branches", v_branches},
            {"gradient", v_gradient},       {"vmap in vmap", v_vmap}, {"a derivative of its own", v_custom}};

enum { N = 3 };

/* x [3,N,4], y [N,3,4]: the examples along axes 1 and 0; or y shared, [3,4]. */
static xt_tensor one_by_one(xt_fn fn, xt_tensor x, xt_tensor y, bool shared) {
    xt_tensor parts[N];
    for (int i = 0; i < N; i++) {
        xt_tensor in[2] = {xt_select(x, 1, i), shared ? y : xt_select(y, 0, i)};
        fn(in, &parts[i], NULL);
    }
    return xt_stack(N, parts, 0);
}

static void check_row(const struct row *r, bool shared) {
    xt_tensor out[2], grads[2][4];
    xt_tensor x = xt_requires_grad(NUMBERS(1, 3, N, 4), true);
    xt_tensor y = xt_requires_grad(shared ? NUMBERS(2, 3, 4) : NUMBERS(2, N, 3, 4), true);
    shared_weight = xt_requires_grad(NUMBERS(3, 4, 3), true);
    if (r->fn != v_matmul && r->fn != v_batched_matmul) shared_weight = xt_requires_grad(NUMBERS(3, 3, 4), true);
    kernel = NUMBERS(4, 2, 1, 2, 2);
    xt_tensor wanted[3] = {x, y, shared_weight};
    for (int k = 0; k < 2; k++) {
        xt_tensor in[2] = {x, y};
        if (k)
            out[k] = one_by_one(r->fn, x, y, shared);
        else
            works(xt_vmap(r->fn, 2, in, 1, &out[k], .in_axes = (int[]){1, shared ? XT_SHARED : 0}), r->name);
        works(xt_grad_of(xt_sum(xt_mul(xt_sin(out[k]), out[k])), 3, wanted, grads[k], .allow_unused = XT_ON), r->name);
    }
    close_to(out[0], out[1], 1e-11, r->name);
    for (int i = 0; i < 3; i++) {
        char what[64];
        snprintf(what, sizeof what, "%s: gradient %d", r->name, i);
        if (xt_is_none(grads[0][i]) != xt_is_none(grads[1][i])) fail_msg("%s: only one has one", what);
        if (!xt_is_none(grads[0][i])) close_to(grads[0][i], grads[1][i], 1e-10, what);
    }
    xt_mark_step();
}

static void examples(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int shared = 0; shared < 2; shared++) check_row(&rows[i], shared);
    nothing_left();
}

static void draws(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_add(xt_mul_scalar(in[0], 0), xt_rand(XT_F64, 2));
    out[1] = shared_weight;
}

/* Draws differ from example to example; what does not depend on an example is given for each. */
static void random_and_constant(void **state) {
    (void)state;
    double v[2 * N];
    xt_tensor x = NUMBERS(1, N, 2), out[2];
    shared_weight = NUMBERS(2, 2);
    works(xt_vmap(draws, 1, &x, 2, out), "draws");
    read(out[0], v, "draws");
    for (int i = 0; i < 2 * N; i++)
        for (int k = 0; k < i; k++) assert_true(v[i] != v[k]);
    close_to(out[1], xt_repeat(shared_weight, XT_LIST(N, 1)), 0, "a constant");
    nothing_left();
}

/* --- derivatives of one's own --- */
static void sign_forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)saved, (void)user;
    out[0] = xt_sign(in[0]);
}
static void straight(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)saved;
    *(int *)user += 1;
    d_in[0] = d_out[0];
}
static void cube_forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)user;
    out[0] = xt_mul(in[0], xt_square(in[0]));
    saved[0] = in[0];
}
static void cube_backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)user;
    d_in[0] = xt_mul(d_out[0], xt_mul_scalar(xt_square(saved[0]), 3));
}
static void exp_forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)user;
    out[0] = saved[0] = xt_exp(in[0]);
}
static void exp_backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)user;
    d_in[0] = xt_mul(d_out[0], saved[0]);
}
static xt_tensor own(xt_tensor x, bool exponential) {
    xt_tensor y;
    if (exponential)
        works(xt_custom_grad(exp_forward, exp_backward, 1, &x, 1, &y, .saved = 1), "exp");
    else
        works(xt_custom_grad(cube_forward, cube_backward, 1, &x, 1, &y, .saved = 1), "cube");
    return y;
}
static void own_step(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)y;
    carry[0] = own(xt_mul(carry[0], x[0]), *(bool *)user);
}
static void plain_step(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)y;
    xt_tensor z = xt_mul(carry[0], x[0]);
    carry[0] = *(bool *)user ? xt_exp(z) : xt_mul(z, xt_square(z));
}
static xt_tensor in_block(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    return xt_sin(own(xt_cos(x), *(bool *)user));
}

/* The rule is used instead of the op's, once for each time it is met. */
static void used(void **state) {
    (void)state;
    int calls = 0;
    xt_tensor x = xt_requires_grad(NUMBERS(1, 5), true), y;
    works(xt_custom_grad(sign_forward, straight, 1, &x, 1, &y, .user = &calls), "sign");
    close_to(y, xt_sign(x), 0, "the forward value");
    xt_backward(xt_sum(xt_mul(y, NUMBERS(2, 5))));
    close_to(xt_grad(x), NUMBERS(2, 5), 0, "straight through");
    assert_int_equal(calls, 1);
    xt_no_grad_begin();
    works(xt_custom_grad(sign_forward, straight, 1, &x, 1, &y, .user = &calls), "sign");
    xt_no_grad_end();
    assert_int_equal(calls, 1);
    nothing_left();
}

/* Rules that are right give what the ops' own give: plainly, twice, in a loop, computed again, a step later. */
static void wherever_met(void **state) {
    (void)state;
    for (int e = 0; e < 2; e++) {
        bool is_exp = e;
        xt_tensor x = xt_requires_grad(NUMBERS(1, 3), true), xs = NUMBERS(2, 4, 3), a = x, b = x, g[2], gg[2];
        xt_tensor y = own(x, is_exp), z = is_exp ? xt_exp(x) : xt_mul(x, xt_square(x));
        works(xt_grad_of(xt_sum(xt_sin(y)), 1, &x, &g[0], .create_graph = XT_ON), "own");
        works(xt_grad_of(xt_sum(xt_sin(z)), 1, &x, &g[1], .create_graph = XT_ON), "plain");
        close_to(g[0], g[1], 1e-13, "a gradient");
        for (int k = 0; k < 2; k++) works(xt_grad_of(xt_sum(xt_square(g[k])), 1, &x, &gg[k]), "second");
        close_to(gg[0], gg[1], 1e-12, "a second gradient");
        xt_scan(own_step, 1, &a, 1, &xs, 0, NULL, .user = &is_exp);
        xt_scan(plain_step, 1, &b, 1, &xs, 0, NULL, .user = &is_exp);
        works(xt_grad_of(xt_sum(a), 1, &x, &g[0], .create_graph = XT_ON), "own in a scan");
        works(xt_grad_of(xt_sum(b), 1, &x, &g[1], .create_graph = XT_ON), "plain in a scan");
        close_to(g[0], g[1], 1e-12, "a gradient through a loop");
        for (int k = 0; k < 2; k++) works(xt_grad_of(xt_sum(xt_square(g[k])), 1, &x, &gg[k]), "second");
        close_to(gg[0], gg[1], 1e-11, "a second gradient through a loop");
        xt_tensor again = xt_checkpoint_block(in_block, NULL, x, &is_exp);
        xt_tensor c = xt_cos(x);
        z = xt_sin(is_exp ? xt_exp(c) : xt_mul(c, xt_square(c)));
        works(xt_grad_of(xt_sum(again), 1, &x, &g[0]) && xt_grad_of(xt_sum(z), 1, &x, &g[1]), "computed again");
        close_to(g[0], g[1], 1e-13, "a gradient of a block that is computed again");
        xt_mark_step();
        xt_keep(x = xt_requires_grad(NUMBERS(1, 3), true));
        xt_tensor later = xt_keep(xt_sum(xt_sin(own(x, is_exp))));
        xt_mark_step();
        xt_backward(later);
        z = is_exp ? xt_exp(x) : xt_mul(x, xt_square(x));
        works(xt_grad_of(xt_sum(xt_sin(z)), 1, &x, &g[1]), "plain");
        close_to(xt_grad(x), g[1], 1e-13, "a gradient behind the step's end");
        xt_drop(later);
        xt_drop(x);
        xt_mark_step();
    }
    nothing_left();
}

/* --- mistakes --- */
static int mistake;
static void wrong(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    switch (mistake) {
    case 0: break;
    case 1: xt_item(xt_sum(in[0])); break;
    case 2: out[0] = xt_reshape(in[0], 5); break;
    default: out[0] = xt_cast(in[0], XT_I32); break;
    }
}
static void wrong_backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)saved, (void)user;
    d_in[0] = xt_sum(d_out[0]);
}
static void asks_by_tensors(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)user;
    xt_grad_of(xt_sum(xt_mul(d_out[0], xt_mul(saved[0], xt_square(saved[0])))), 1, saved, d_in);
}

static void asks_by_backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)user;
    xt_backward(xt_sum(xt_mul(d_out[0], xt_mul(saved[0], xt_square(saved[0])))));
    d_in[0] = xt_grad(saved[0]);
}

static void mistakes(void **state) {
    (void)state;
    static const char *const say[] = {"did not fill out[0]", "xt_item inside the function of xt_vmap", "xt_reshape"};
    xt_tensor x = NUMBERS(1, 2, 3), y, j;
    for (mistake = 0; mistake < 3; mistake++) {
        assert_false(xt_vmap(wrong, 1, &x, 1, &y));
        assert_true(xt_is_error(y));
        refused(say[mistake]);
        x = NUMBERS(1, 2, 3);
    }
    assert_false(xt_jacobian(wrong, NULL, 1, &x, &j));
    refused("which has no derivative");
    x = NUMBERS(1, 2, 3);
    mistake = 0;
    assert_false(xt_grad_fn(wrong, NULL, 1, &x, NULL, &j));
    refused("did not fill");
    x = NUMBERS(1, 2, 3);
    xt_tensor in[2] = {x, NUMBERS(2, 3, 3)};
    assert_false(xt_vmap(shrink, 2, in, 1, &y));
    refused("input 1 is [3,3], with 3 examples along axis 0, but an input before it has 2");
    assert_false(xt_vmap(shrink, 2, in, 1, &y, .in_axes = (int[]){XT_SHARED, XT_SHARED}));
    refused("one at least must have an axis");
    x = xt_requires_grad(NUMBERS(1, 2, 3), true);
    int calls = 0;
    assert_true(xt_custom_grad(sign_forward, wrong_backward, 1, &x, 1, &y, .user = &calls));
    xt_backward(xt_sum(y));
    refused("as the gradient of input 0");
    x = xt_requires_grad(NUMBERS(1, 2, 3), true);
    assert_true(xt_custom_grad(cube_forward, asks_by_tensors, 1, &x, 1, &y, .saved = 1));
    xt_backward(xt_sum(y));
    refused("gradients were off where it was recorded: behind xt_no_grad_begin, or in the backward function");
    x = xt_requires_grad(NUMBERS(1, 2, 3), true);
    assert_true(xt_custom_grad(cube_forward, asks_by_backward, 1, &x, 1, &y, .saved = 1));
    xt_backward(xt_sum(y));
    refused("gradients were off where it was recorded: behind xt_no_grad_begin, or in the backward function");
    xt_tensor v = NUMBERS(1, 3);
    x = NUMBERS(1, 2, 3);
    assert_false(xt_vjp(grow, NULL, 1, &x, 1, &v, &y, &j));
    refused("cotangent 0 is [3]");
    nothing_left();
}

/* What such a function has computed is needed when it returns: no step ends in it, however it is asked to. */
static xt_step *squares;
static xt_tensor sum_of_squares(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_sum(xt_square(in[0]));
}
static int ending;
static void ends_the_step(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_sum(xt_square(in[0]));
    if (ending == 0) xt_mark_step();
    if (ending == 1) xt_wait();
    if (ending == 2) out[0] = xt_call(squares, in[0]);
}
static void ends_the_step_too(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)saved;
    ends_the_step(in, out, user);
}

static void steps_end_outside(void **state) {
    (void)state;
    static const char *const says[] = {"xt_mark_step inside the function of ", "xt_wait inside the function of ",
                                       "xt_call inside the function of "};
    squares = xt_compile(sum_of_squares);
    for (ending = 0; ending < 3; ending++)
        for (int k = 0; k < 5; k++) {
            xt_tensor x = xt_keep(NUMBERS(1, 3)), v = NUMBERS(2, 3), one = xt_scalar(1, XT_F64), y, d;
            bool ok = k == 0   ? xt_grad_fn(ends_the_step, NULL, 1, &x, &y, &d)
                      : k == 1 ? xt_vjp(ends_the_step, NULL, 1, &x, 1, &one, &y, &d)
                      : k == 2 ? xt_jvp(ends_the_step, NULL, 1, &x, &v, 1, &y, &d)
                      : k == 3 ? xt_hvp(ends_the_step, NULL, 1, &x, &v, &y, &d)
                               : xt_custom_grad(ends_the_step_too, wrong_backward, 1, &x, 1, &y);
            assert_false(ok);
            assert_true(xt_is_error(y));
            char with[64];
            snprintf(with, sizeof with, "%.*s%s", k < 4 ? 64 : (int)strlen(says[ending]) - 12, says[ending],
                     k < 4 ? "xt_" : "forward function of xt_custom_grad");
            refused(with);
            xt_drop(x);
        }
    xt_step_free(squares);
    nothing_left();
}

/* Each transform with that function of one input; *y and *d are its results. */
enum { TRANSFORMS = 8 };
static const char *const transform_names[TRANSFORMS] = {"xt_grad_fn", "xt_vjp", "xt_jvp",  "xt_jacobian",
                                                        "xt_hessian", "xt_hvp", "xt_vmap", "xt_cond"};
static bool transformed(int k, xt_fn fn, xt_tensor x, xt_tensor *y, xt_tensor *d) {
    xt_tensor v = xt_ones_like(xt_cast(x, XT_F64)), one = xt_scalar(1, XT_F64);
    *y = *d = (xt_tensor){0};
    switch (k) {
    case 0: return xt_grad_fn(fn, NULL, 1, &x, y, d);
    case 1: return xt_vjp(fn, NULL, 1, &x, 1, &one, y, d);
    case 2: return xt_jvp(fn, NULL, 1, &x, &v, 1, y, d);
    case 3: return xt_jacobian(fn, NULL, 1, &x, d);
    case 4: return xt_hessian(fn, NULL, x, d);
    case 5: return xt_hvp(fn, NULL, 1, &x, &v, y, d);
    case 6: return xt_vmap(fn, 1, &x, 1, d);
    default: return xt_cond(one, fn, fn, 1, &x, 1, d, NULL);
    }
}

/* The pending error begins with the transform's name and has the words; its results are error tensors. */
static void refused_by(int k, bool ok, xt_tensor y, xt_tensor d, const char *words) {
    char text[160];
    bool has_y = k < 3 || k == 5;
    if (ok || !xt_is_error(d) || (has_y && !xt_is_error(y))) fail_msg("%s: %s", transform_names[k], words);
    snprintf(text, sizeof text, "%s: %s", transform_names[k], words);
    refused(text);
}

static void leaves_gradients_off(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_no_grad_begin();
    out[0] = xt_sum(xt_square(in[0]));
}
static void gives_integers(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_cast(xt_sum(in[0]), XT_I64);
}

static void own_names(void **state) {
    (void)state;
    xt_tensor y, d;
    for (int k = 0; k < TRANSFORMS; k++) {
        bool ok = transformed(k, NULL, NUMBERS(1, 3), &y, &d);
        refused_by(k, ok, y, d, k < 7 ? "the function `fn` is NULL" : "the function `on_true` is NULL");
        if (k < 6) {
            ok = transformed(k, one_number, xt_ones(XT_I64, 3), &y, &d);
            refused_by(k, ok, y, d, "input 0 is i64; only floating-point and complex tensors have derivatives");
        }
        if (k == 0 || (k >= 3 && k <= 5)) {
            ok = transformed(k, gives_integers, NUMBERS(1, 3), &y, &d);
            refused_by(k, ok, y, d, "the function gives i64");
        }
        assert_false(transformed(k, leaves_gradients_off, NUMBERS(1, 3), &y, &d));
        assert_true(xt_is_error(d));
        refused("has called xt_no_grad_begin without the xt_no_grad_end that belongs to it");
    }
    xt_tensor x = xt_requires_grad(NUMBERS(1, 3), true); /* gradients are on again */
    xt_backward(xt_sum(xt_square(x)));
    assert_false(xt_is_none(xt_grad(x)));
    assert_false(xt_custom_grad(sign_forward, NULL, 1, &x, 1, &y));
    assert_true(xt_is_error(y));
    refused("xt_custom_grad: the function `backward` is NULL");
    nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(matrices),
        cmocka_unit_test(differentiated),
        cmocka_unit_test(examples),
        cmocka_unit_test(random_and_constant),
        cmocka_unit_test(used),
        cmocka_unit_test(wherever_met),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(steps_end_outside),
        cmocka_unit_test(own_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
