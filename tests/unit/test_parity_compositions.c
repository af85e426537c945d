/* Random compositions of ops against JAX in f64: the value, its gradients, and the gradients of the gradients' squares
 * (tests/parity/compositions.py makes the instructions and JAX's answers; any seed: COMPOSITIONS=name of a file, from
 * tests/parity). */
#include "parity.h"

enum { R = 3, C = 4, INPUTS = 3, LENGTH = 12, REGISTERS = INPUTS + LENGTH };

static xt_tensor rows(xt_tensor x) {
    return xt_transpose(x, 0, 1);
}
static xt_tensor wide(xt_tensor row) {
    return xt_unsqueeze(row, 0);
}
static xt_tensor tall(xt_tensor column) {
    return xt_unsqueeze(column, 1);
}

static xt_tensor normalised(xt_tensor x) {
    xt_tensor off = xt_minus(x, xt_mean_axes(x, XT_LIST(1), .keepdim = true));
    return xt_mul(off, xt_rsqrt(xt_add_scalar(xt_var_axes(x, XT_LIST(1), .keepdim = true, .population = true), 0.1)));
}

static xt_tensor sorted(xt_tensor x) {
    xt_tensor v, at;
    xt_sort(x, 1, &v, &at);
    return v;
}

static xt_tensor taken(xt_tensor x) {
    static const int64_t at[3] = {2, 0, 2};
    return xt_take(x, xt_from_array(at, XT_I64, 3));
}

/* As CODES of the script. */
static xt_tensor apply(int64_t op, xt_tensor x, xt_tensor y, xt_tensor z) {
    switch (op) {
    case 0: return xt_add(xt_sin(x), y);
    case 1: return xt_cos(xt_mul(x, y));
    case 2: return xt_tanh(xt_minus(x, y));
    case 3: return xt_mul(xt_exp(xt_mul(xt_neg(x), x)), z);
    case 4: return xt_mul(xt_sigmoid(x), y);
    case 5: return xt_sqrt(xt_add_scalar(xt_mul(x, x), 1));
    case 6: return xt_div(x, xt_add_scalar(xt_mul(y, y), 2));
    case 7: return xt_minus(xt_maximum(x, y), xt_minimum(y, z));
    case 8: return xt_mul_scalar(xt_matmul(xt_matmul(x, rows(y)), z), 0.25);
    case 9: return xt_mul(xt_softmax(x, 1), y);
    case 10: return xt_minus(wide(xt_logsumexp_axes(x, XT_LIST(0))), y);
    case 11: return normalised(x);
    case 12: return xt_add(xt_mul_scalar(xt_cumsum(x, 1), 1.0 / 3), xt_roll(y, XT_LIST(-1), XT_LIST(0)));
    case 13: return xt_where(xt_gt(x, y), z, xt_sin(y));
    case 14: return xt_concat(2, XT_TENSORS(xt_slice(x, 1, 2, 4), xt_slice(y, 1, 0, 2)), 1);
    case 15: return xt_add(taken(x), z);
    case 16: return xt_minus(xt_log1p(xt_mul(x, x)), xt_softplus(y));
    case 17: return xt_mul_scalar(xt_matmul(xt_einsum("ij,kj->ki", 2, XT_TENSORS(x, y)), z), 0.2);
    case 18: return xt_mul(sorted(x), z);
    case 19: return xt_div(xt_pow_scalar(xt_abs(x), 1.5), xt_add_scalar(xt_abs(y), 1));
    case 20: return xt_mul_scalar(xt_mul(wide(xt_sum_axis(x, 0)), tall(xt_max_axis(y, 1))), 0.25);
    case 21:
        return xt_minus(xt_reshape(rows(x), R, C),
                        tall(xt_prod_axes(xt_add_scalar(xt_mul_scalar(y, 0.1), 1), XT_LIST(1))));
    case 22: return xt_add(xt_slice(xt_pad(x, XT_LIST(1, 1)), 1, 0, C), xt_flip(y, XT_LIST(1)));
    case 23: return xt_add(xt_atan2(x, xt_add_scalar(xt_mul(y, y), 1.5)), xt_erf(z));
    default: fail_msg("instruction %lld", (long long)op); return x;
    }
}

static xt_tensor loss_of(const parity_tensor *code, const xt_tensor *in) {
    xt_tensor reg[REGISTERS], sum = {0};
    memcpy(reg, in, INPUTS * sizeof *in);
    for (int i = 0; i < LENGTH; i++) {
        const int64_t *row = (const int64_t *)code->data + (size_t)i * 4;
        reg[INPUTS + i] = apply(row[0], reg[row[1]], reg[row[2]], reg[row[3]]);
    }
    for (int i = REGISTERS - 3; i < REGISTERS; i++) {
        xt_tensor part = xt_mean(xt_mul(reg[i], reg[i]));
        sum = sum.slot ? xt_add(sum, part) : part;
    }
    return sum;
}

static xt_tensor squares(const xt_tensor *g) {
    xt_tensor sum = xt_sum(xt_mul(g[0], g[0]));
    for (int i = 1; i < INPUTS; i++) sum = xt_add(sum, xt_sum(xt_mul(g[i], g[i])));
    return sum;
}

static void one(const parity_file *f, int k) {
    char name[3][40];
    const char *const parts[3] = {"value", "grad", "second"};
    const parity_tensor *code = parity_find(f, "%d/code", k), *x = parity_find(f, "%d/x", k);
    for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "%d/%s", k, parts[i]);
    xt_tensor in[INPUTS], first[INPUTS], second[INPUTS];
    const double *v = x->data;
    for (int i = 0; i < INPUTS; i++) in[i] = xt_requires_grad(xt_from_array(v + i * R * C, XT_F64, R, C), true);
    xt_tensor loss = loss_of(code, in);
    assert_true(xt_grad_of(loss, INPUTS, in, first, .create_graph = XT_ON, .allow_unused = XT_ON));
    for (int i = 0; i < INPUTS; i++)
        if (xt_is_none(first[i])) first[i] = xt_mul_scalar(in[i], 0);
    assert_true(xt_grad_of(squares(first), INPUTS, in, second, .allow_unused = XT_ON));
    for (int i = 0; i < INPUTS; i++)
        if (xt_is_none(second[i])) second[i] = xt_mul_scalar(in[i], 0);
    parity_close(f, name[0], loss, 1e-12, 0);
    parity_close(f, name[1], xt_stack(INPUTS, first, 0), 1e-10, 0);
    parity_close(f, name[2], xt_stack(INPUTS, second, 0), 1e-8, 0);
    assert_true(xt_mark_step());
}

static void compositions(void **state) {
    (void)state;
    parity_file *f = parity_open(getenv("COMPOSITIONS") ? getenv("COMPOSITIONS") : "compositions");
    int n = (int)(f->n / 5), only = getenv("ONLY") ? atoi(getenv("ONLY")) : -1;
    for (int k = 0; k < n; k++)
        if (only < 0 || only == k) one(f, k);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(compositions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
