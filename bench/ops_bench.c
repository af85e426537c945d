/* Single ops beside PyTorch's.
 *
 *     ops_bench [NAME-PART]
 *
 * Prints the best and the median time of each row, in milliseconds; tests/peers/ops_bench.py prints the same rows
 * measured with PyTorch. A row is one program of one op: recorded, started and waited for, so some ten microseconds of
 * every figure are the step's own. On a loaded machine believe the best. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include <xtrain/sparse.h>
#include <xtrain/xtrain.h>

static double ms[4096];
static xt_tensor x, big, idx_rows, idx_flat, updates, wide, spd, f64a, f64b, f64c, signal_in;
enum { NODES = 50000, EDGES = 500000 }; /* a graph's adjacency, its edges by rows */
static xt_tensor edge_from, edge_to, edge_starts, edge_weights, features;

static int by_value(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static xt_tensor random_floats(size_t rank, const int64_t *dims, uint64_t seed) {
    int64_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= dims[i];
    float *v = malloc((size_t)n * sizeof *v);
    if (!v) exit(1);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(rng_bits(seed, 1, (uint64_t)i) >> 40) / 8388608.0f - 1.0f;
    xt_tensor t = xt_keep(xt_from_data(v, XT_F32, rank, dims));
    free(v);
    return t;
}
static xt_tensor random_indices(size_t rank, const int64_t *dims, uint64_t below, uint64_t seed) {
    int64_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= dims[i];
    int64_t *v = malloc((size_t)n * sizeof *v);
    if (!v) exit(1);
    for (int64_t i = 0; i < n; i++) v[i] = (int64_t)(rng_bits(seed, 1, (uint64_t)i) % below);
    xt_tensor t = xt_keep(xt_from_data(v, XT_I64, rank, dims));
    free(v);
    return t;
}

static xt_tensor scatter_add(void) {
    return xt_scatter_add(x, 0, idx_flat, updates);
}
static xt_tensor index_add(void) {
    return xt_index_add(x, 0, idx_rows, updates, 1.0);
}
static xt_tensor scatter_add_rows(void) {
    return xt_scatter_add(x, 1, idx_flat, updates);
}
static xt_tensor index_add_columns(void) {
    return xt_index_add(x, 1, idx_rows, updates, 1.0);
}
static xt_tensor gather(void) {
    return xt_gather(x, 0, idx_flat);
}
static xt_tensor index_select(void) {
    return xt_index_select(x, 0, idx_rows);
}
static xt_tensor cumsum_rows(void) {
    return xt_cumsum(x, 1);
}
static xt_tensor cumsum_cols(void) {
    return xt_cumsum(x, 0);
}
static xt_tensor cumsum_one(void) {
    return xt_cumsum(big, 0);
}
static xt_tensor cummax(void) {
    xt_tensor v, i;
    xt_cummax(x, 1, &v, &i);
    return xt_add(v, xt_cast(i, XT_F32));
}
static xt_tensor sort_rows(void) {
    xt_tensor v, i;
    xt_sort(x, 1, &v, &i);
    return xt_add(v, xt_cast(i, XT_F32));
}
static xt_tensor sort_one(void) {
    xt_tensor v, i;
    xt_sort(big, 0, &v, &i);
    return xt_add(v, xt_cast(i, XT_F32));
}
static xt_tensor topk(void) {
    xt_tensor v, i;
    xt_topk(wide, 10, 1, &v, &i);
    return xt_add(v, xt_cast(i, XT_F32));
}
static xt_tensor argmax(void) {
    return xt_argmax(wide, 1);
}
static xt_tensor fft_pow2(void) {
    return xt_real(xt_fft(x, -1));
}
static xt_tensor fft_odd(void) {
    return xt_real(xt_fft(signal_in, -1));
}
static xt_tensor rfft_one(void) {
    return xt_real(xt_rfft(big, -1));
}
static xt_tensor matmul_f64(void) {
    return xt_matmul(f64a, f64b);
}
static xt_tensor cholesky(void) {
    return xt_cholesky(spd, false);
}
static xt_tensor sum_f64(void) {
    return xt_sum(f64c);
}

static xt_tensor coo(void) {
    return xt_sparse_mm(xt_sparse_coo(edge_from, edge_to, edge_weights, NODES, NODES), features);
}
static xt_tensor csr(void) {
    return xt_sparse_mm(xt_sparse_csr(edge_starts, edge_to, edge_weights, NODES), features);
}
/* Forward, and gradients of the elements and of the dense matrix, of a loss whose own gradient is a matrix. */
static xt_tensor and_back(xt_tensor (*product)(void)) {
    xt_tensor of[2] = {edge_weights, features}, d[2];
    xt_tensor y = product();
    xt_grad_of(xt_sum(xt_mul(y, y)), 2, of, d);
    return xt_add(xt_sum(d[0]), d[1]);
}
static xt_tensor coo_back(void) {
    return and_back(coo);
}
static xt_tensor csr_back(void) {
    return and_back(csr);
}

static const struct {
    const char *name;
    xt_tensor (*run)(void);
} rows[] = {
    {"scatter_add 1024x1024 along 0", scatter_add},
    {"index_add 1024 rows of 1024", index_add},
    {"scatter_add 1024x1024 along 1", scatter_add_rows},
    {"index_add 1024 columns of 1024", index_add_columns},
    {"gather 1024x1024 along 0", gather},
    {"index_select 1024 rows of 1024", index_select},
    {"cumsum 1024x1024 along 1", cumsum_rows},
    {"cumsum 1024x1024 along 0", cumsum_cols},
    {"cumsum 1048576", cumsum_one},
    {"cummax 1024x1024 along 1", cummax},
    {"sort 1024x1024 along 1", sort_rows},
    {"sort 1048576", sort_one},
    {"topk 10 of 64x50257", topk},
    {"argmax 64x50257", argmax},
    {"fft 1024 of 1024", fft_pow2},
    {"fft 256 of 1009", fft_odd},
    {"rfft 1048576", rfft_one},
    {"matmul f64 512x512x512", matmul_f64},
    {"sum f64 1048576", sum_f64},
    {"cholesky 512", cholesky},
    {"sparse coo 50000 500000 x 64", coo},
    {"sparse csr 50000 500000 x 64", csr},
    {"sparse coo and gradients", coo_back},
    {"sparse csr and gradients", csr_back},
};

static void make_graph(void) {
    const int64_t n[] = {EDGES}, starts_n[] = {NODES + 1}, dense[] = {NODES, 64};
    int64_t *rows_of = malloc(EDGES * sizeof *rows_of), *starts = calloc(NODES + 1, sizeof *starts);
    if (!rows_of || !starts) exit(1);
    for (int64_t i = 0; i < EDGES; i++) starts[rng_bits(11, 1, (uint64_t)i) % NODES + 1]++;
    for (int64_t r = 0, at = 0; r < NODES; r++) {
        for (int64_t k = 0; k < starts[r + 1]; k++) rows_of[at++] = r;
        starts[r + 1] += starts[r];
    }
    edge_from = xt_keep(xt_from_data(rows_of, XT_I64, 1, n));
    edge_starts = xt_keep(xt_from_data(starts, XT_I64, 1, starts_n));
    edge_to = random_indices(1, n, NODES, 12);
    edge_weights = random_floats(1, n, 13);
    features = random_floats(2, dense, 14);
    xt_requires_grad(edge_weights, true);
    xt_requires_grad(features, true);
    free(rows_of), free(starts);
}

int main(int argc, char **argv) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 0);
    setenv("XT_PROGRESS", "off", 0);
    const int64_t square[] = {1024, 1024}, one[] = {1048576}, rows_n[] = {1024}, wide_n[] = {64, 50257},
                  odd[] = {256, 1009}, half[] = {512, 512};
    x = random_floats(2, square, 1);
    updates = random_floats(2, square, 2);
    big = random_floats(1, one, 3);
    wide = random_floats(2, wide_n, 4);
    signal_in = random_floats(2, odd, 5);
    idx_flat = random_indices(2, square, 1024, 6);
    idx_rows = random_indices(1, rows_n, 1024, 7);
    f64a = xt_keep(xt_cast(random_floats(2, half, 8), XT_F64));
    f64b = xt_keep(xt_cast(random_floats(2, half, 9), XT_F64));
    f64c = xt_keep(xt_cast(big, XT_F64));
    make_graph();
    xt_tensor h = random_floats(2, half, 10);
    spd = xt_keep(xt_add(xt_matmul(h, xt_transpose(h, 0, 1)), xt_mul_scalar(xt_eye(512, 512, XT_F32), 600.0)));
    xt_mark_step();
    xt_wait();
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        if (argc > 1 && !strstr(rows[r].name, argv[1])) continue;
        int n = 0;
        int64_t began = clock_ns();
        while (n < 4096 && (n < 6 || clock_ns() - began < 400000000)) {
            int64_t t = clock_ns();
            xt_when_ready(rows[r].run(), NULL, NULL);
            xt_mark_step();
            xt_wait();
            ms[n++] = (double)(clock_ns() - t) / 1e6;
            if (xt_error()) {
                fprintf(stderr, "ops_bench: %s: %s\n", rows[r].name, xt_status_message(xt_error()));
                return 1;
            }
        }
        qsort(ms + 1, (size_t)n - 1, sizeof *ms, by_value); /* the first compiles */
        printf("%-34s %9.3f %9.3f   compile %.1f\n", rows[r].name, ms[1], ms[1 + (n - 1) / 2], ms[0]);
        fflush(stdout);
    }
    return xt_finish();
}
