/* Attention whose positions are divided over 2, 3, 4 and 8 ranks: outputs and the gradients of queries, keys and values
 * are those of one device, with and without the causal mask, in f32 and bf16, for batches and heads that are divided
 * besides; and each rank's memory is smaller than scores for all pairs of positions would be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "launched.h"

enum { MOST = 2 * 2 * 24 * 6 };
typedef struct job {
    int64_t context, data, B, H, T, D;
    bool causal, half;
    float y[MOST], d[MOST]; /* of the layer, and of its input: [B,T,C] */
    double d_weight; /* all of c_attn's */
    int64_t peak;
} job;

static xt_tensor attention(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    return xt_self_attention(m, "attn", x, .heads = (int)j->H, .causal = j->causal ? XT_ON : XT_OFF);
}

static int of_rank(int rank, void *arg) {
    job *j = arg;
    int64_t n = j->B * j->T * j->H * j->D;
    static float x[1 << 16], r[1 << 16];
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i * 37 % 101) / 25 - 2, r[i] = (float)(i * 13 % 47) / 23 - 1;
    xt_seed(3);
    xt_mesh *mesh = xt_mesh_new({"data", j->data}, {"context", j->context});
    xt_module *net = xt_module_new(attention, j);
    xt_mesh_context_parallel(mesh, net, "context");
    xt_tensor in = xt_keep(xt_from_array(x, XT_F32, j->B, j->T, j->H * j->D));
    xt_requires_grad(in, true);
    xt_tensor used = j->half ? xt_cast(in, XT_BF16) : in;
    if (j->data > 1) used = xt_shard(used, mesh, "data");
    if (j->half) xt_autocast_begin(XT_BF16);
    xt_tensor y = xt_forward(net, used);
    if (j->half) xt_autocast_end();
    y = xt_cast(y, XT_F32);
    xt_backward(xt_sum(xt_mul(y, xt_from_array(r, XT_F32, j->B, j->T, j->H * j->D))));
    bool small = n <= MOST;
    if (small) y = xt_keep(y);
    xt_tensor weights = xt_grad(xt_module_find(net, "attn.c_attn.weight"));
    bool ok = xt_mark_step();
    float y_read[MOST], d_read[MOST];
    if (small)
        ok = ok && xt_read(y, y_read, (size_t)n * sizeof *y_read) &&
             xt_read(xt_grad(in), d_read, (size_t)n * sizeof *d_read);
    double d_weight = xt_item(xt_sum(xt_square(weights)));
    if (rank == 0) {
        memcpy(j->y, y_read, sizeof y_read);
        memcpy(j->d, d_read, sizeof d_read);
        j->d_weight = d_weight;
        j->peak = xt_memory().peak_bytes;
    }
    return xt_finish() || !ok;
}

static job *run(job what) {
    job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = what;
    int code = launched((int)(j->context * j->data), of_rank, j);
    if (code) fail_msg("context %d, data %d: ended with %d", (int)j->context, (int)j->data, code);
    return j;
}

static void near(const float *got, const float *want, int64_t n, double tolerance, const job *j, const char *what) {
    double scale = 0;
    for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs((double)want[i]));
    assert_true(scale > 0.01 && scale < 1e6);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * scale))
            fail_msg("context %d, data %d, causal %d, bf16 %d: %s[%d] is %.8g, one device has %.8g", (int)j->context,
                     (int)j->data, j->causal, j->half, what, (int)i, (double)got[i], (double)want[i]);
}

static void same_as_one(void **state) {
    (void)state;
    static const struct { int64_t context, data; } meshes[] = {{2, 1}, {3, 1}, {4, 1}, {8, 1}, {2, 2}, {4, 2}};
    for (int kind = 0; kind < 4; kind++) {
        job what = {.context = 1, .data = 1, .B = 2, .H = 2, .T = 24, .D = 6, .causal = kind & 1, .half = kind & 2};
        int64_t n = what.B * what.H * what.T * what.D;
        job *one = run(what);
        for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i++) {
            what.context = meshes[i].context;
            what.data = meshes[i].data;
            job *j = run(what);
            double tolerance = what.half ? 0.02 : 1e-5; /* bf16: 8 bits, and sums in another order */
            near(j->y, one->y, n, tolerance, j, "y");
            near(j->d, one->d, n, tolerance, j, "d_x");
            if (!(fabs(j->d_weight - one->d_weight) <= 10 * tolerance * one->d_weight))
                fail_msg("d_weight is %.8g, one device has %.8g", j->d_weight, one->d_weight);
            munmap(j, sizeof *j);
        }
        munmap(one, sizeof *one);
    }
}

/* 1024 positions: scores for all pairs are 16 MiB; over 8 ranks a block of them is 256 KiB. What one device and 2 ranks
 * have is cut into tiles by the CPU's compiler besides. */
static void memory_falls(void **state) {
    (void)state;
    job what = {.context = 1, .data = 1, .B = 1, .H = 4, .T = 1024, .D = 8, .causal = true};
    job *one = run(what);
    for (what.context = 2; what.context <= 8; what.context *= 2) {
        job *j = run(what);
        printf("1024 positions over %d ranks: at most %lld KiB on one, %lld on one device\n", (int)j->context,
               (long long)j->peak >> 10, (long long)one->peak >> 10);
        assert_true(j->peak < one->peak * (what.context == 8 ? 25 : 60) / 100);
        assert_true(fabs(j->d_weight - one->d_weight) <= 1e-4 * one->d_weight);
    }
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_THREADS", "2", 1); /* tiles are each thread's own */
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_one), cmocka_unit_test(memory_falls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
