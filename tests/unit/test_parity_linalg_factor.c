/* svd, eigh and qr against PyTorch, with gradients and gradients of gradients. Signs of vectors are free: what is
 * compared does not depend on them. */
#include "parity.h"

static xt_tensor scaled_columns(xt_tensor v, xt_tensor w) {
    return xt_mul(v, xt_unsqueeze(w, -2));
}

static void svd(xt_tensor x, bool full, xt_tensor *y) {
    xt_tensor u, s, vh;
    xt_linalg_svd(x, &u, &s, &vh, .full_matrices = full ? XT_ON : XT_OFF);
    int64_t k = xt_dim(s, -1);
    xt_tensor uk = xt_slice(u, -1, 0, k), vk = xt_slice(vh, -2, 0, k);
    y[0] = xt_abs(uk);
    y[1] = s;
    y[2] = xt_abs(vk);
    y[3] = xt_matmul(uk, vk);
}

static void eigh(xt_tensor x, bool upper, xt_tensor *y) {
    xt_tensor w, v;
    xt_linalg_eigh(x, &w, &v, .upper = upper);
    y[0] = w;
    y[1] = xt_abs(v);
    y[2] = xt_matmul(scaled_columns(v, xt_tanh(w)), xt_transpose(v, -1, -2));
}

static xt_tensor symmetric(xt_tensor x) {
    return xt_add(x, xt_transpose(x, -1, -2));
}

static void square_of_gradient(xt_tensor loss, xt_tensor x, xt_tensor *y) {
    xt_grad_of(loss, 1, &x, &y[0], .create_graph = XT_ON);
    y[1] = xt_sum(xt_mul(y[0], y[0]));
}

static xt_tensor cubes(xt_tensor x) {
    return xt_sum(xt_mul(x, xt_mul(x, x)));
}

static void lu(xt_tensor x, xt_tensor *y) {
    xt_linalg_lu(x, &y[0], &y[1], &y[2]);
}
static xt_tensor lu_solved(xt_tensor a, xt_tensor y) {
    xt_tensor f, rows;
    xt_linalg_lu_factor(a, &f, &rows);
    return xt_linalg_lu_solve(f, rows, y);
}
/* In PyTorch's order: theirs is LAPACK's too, but pairs are only as good as sorting. */
static void eig(xt_tensor x, xt_tensor *y) {
    xt_tensor w, v;
    xt_linalg_eig(x, &w, &v);
    xt_tensor order = xt_argsort(xt_add(xt_real(w), xt_mul_scalar(xt_imag(w), 0.1)), -1);
    y[0] = xt_take_along_axis(xt_real(w), order, -1);
    y[1] = xt_take_along_axis(xt_imag(w), order, -1);
    y[2] = xt_take_along_axis(xt_abs(v), xt_broadcast_to(xt_unsqueeze(order, -2), 2, 5, 5), -1);
}
/* A well-conditioned matrix of 70 rows, more than are eliminated step by step. */
static xt_tensor large(void) {
    parity_file *f = parity_open("linalg_factor");
    xt_tensor x = parity_input(f, "large_solve/m");
    parity_close_file(f);
    return x;
}

#define CASES "linalg_factor.def"
#define PARITY "linalg_factor"
#define PARITY_TOLERANCE (parity_find(table_file, "%s/x0", r->name)->type->dtype == XT_F64 ? 1e-10 : 2e-6)
#define PARITY_ABSOLUTE 0
#include "parity_table.h"
