/* Mixtures of experts. On one device: y is what a loop over tokens in C gives, for drawn numbers of experts, choices
 * and places, with tokens that find no place. On 2, 4 and 8 ranks with the experts divided: losses, the gradient of the
 * input and all weights after some steps are those of one device, each rank holds its experts alone, and tokens go
 * there by all_to_all. Mistakes name what was found. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "bytes_of_role.h"
#include "launched.h"

enum { STEPS = 3, MOST = 8 * 12 * 8, WEIGHTS = 8192 };
typedef struct job {
    const char *name;
    int ranks;
    int64_t data, expert;
    const char *over, *batch; /* axes of the experts, and of the batch; batch NULL: as the mesh says */
    bool fsdp, half, compiled;
    int experts, k;
    double factor;
    int64_t B, T, C, hidden;
    /* seen */
    double loss[STEPS], balance[STEPS];
    float y[MOST], d_x[MOST], weights[WEIGHTS];
    int n_weights;
    int64_t bytes;
    int exchanges; /* all_to_all of the step's program */
} job;

static xt_tensor layer(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    return xt_moe(m, "moe", x, .experts = j->experts, .top_k = j->k, .capacity_factor = j->factor, .hidden = j->hidden);
}
static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    return xt_add(x, layer(m, xt_layer_norm(m, "ln", x), user));
}

static void fill(float *x, int64_t n, uint32_t seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}

static const char *const leaves[] = {"moe.router.weight", "moe.experts.fc1.weight", "moe.experts.fc1.bias",
                                     "moe.experts.fc2.weight", "moe.experts.fc2.bias"};
enum { LEAVES = sizeof leaves / sizeof leaves[0] };

static int64_t count(xt_tensor t) {
    int64_t n = 1;
    for (int d = 0; d < xt_rank_of(t); d++) n *= xt_dim(t, d);
    return n;
}

/* --- one device, beside a loop --- */
/* One token through one expert, times its weight, added to y. */
static void expert(const job *j, const float *const w[LEAVES], int e, const float *x, double share, double *y) {
    double h[64];
    for (int64_t o = 0; o < j->hidden; o++) {
        double s = (double)w[2][e * j->hidden + o];
        for (int64_t i = 0; i < j->C; i++) s += (double)x[i] * (double)w[1][(e * j->C + i) * j->hidden + o];
        h[o] = 0.5 * s * (1 + tanh(0.7978845608028654 * (s + 0.044715 * s * s * s)));
    }
    for (int64_t o = 0; o < j->C; o++) {
        double s = (double)w[4][e * j->C + o];
        for (int64_t i = 0; i < j->hidden; i++) s += h[i] * (double)w[3][(e * j->hidden + i) * j->C + o];
        y[o] += share * s;
    }
}

/* y of one sample, and its share of the balance; how many choices found no place. */
static int sample(const job *j, const float *const w[LEAVES], const float *x, double *y, double *balance) {
    enum { E = 8, S = 12 };
    double p[S][E], mean[E] = {0}, total[S];
    int chosen[S][E], queue[E] = {0}, first[E] = {0}, dropped = 0;
    double even = (double)j->k * (double)j->T / j->experts;
    int64_t places = j->factor == 0 ? j->T : (int64_t)fmin(fmax(ceil(even * j->factor), 1), (double)j->T);
    for (int64_t t = 0; t < j->T; t++) {
        double sum = 0;
        for (int e = 0; e < j->experts; e++) {
            double s = 0;
            for (int64_t i = 0; i < j->C; i++) s += (double)x[t * j->C + i] * (double)w[0][e * j->C + i];
            sum += p[t][e] = exp(s);
        }
        for (int e = 0; e < j->experts; e++) mean[e] += (p[t][e] /= sum) / (double)j->T;
        bool used[E] = {0};
        total[t] = 0;
        for (int k = 0; k < j->k; k++) {
            int best = -1;
            for (int e = 0; e < j->experts; e++)
                if (!used[e] && (best < 0 || p[t][e] > p[t][best])) best = e;
            used[chosen[t][k] = best] = true;
            total[t] += p[t][best];
        }
        first[chosen[t][0]]++;
    }
    for (int k = 0; k < j->k; k++)
        for (int64_t t = 0; t < j->T; t++) {
            int e = chosen[t][k];
            if (queue[e]++ < places)
                expert(j, w, e, x + t * j->C, j->k > 1 ? p[t][e] / total[t] : p[t][e], y + t * j->C);
            else
                dropped++;
        }
    for (int e = 0; e < j->experts; e++) *balance += j->experts * mean[e] * first[e] / (double)j->T / (double)j->B;
    return dropped;
}

static void as_a_loop_says(void **state) {
    (void)state;
    int dropped = 0, kept_all = 0;
    for (int i = 0; i < 40; i++) {
        srand((unsigned)i + 1);
        job j = {.experts = 1 + rand() % 8, .B = 1 + rand() % 3, .T = 1 + rand() % 12, .C = 1 + rand() % 8};
        j.hidden = 1 + rand() % 9;
        j.k = 1 + rand() % (j.experts < 3 ? j.experts : 3);
        j.factor = (double[]){0, 0.25, 0.5, 1, 1.25, 2}[rand() % 6];
        bool flat = rand() % 4 == 0; /* [B T,C]: one group */
        float x[MOST], got[MOST], *w[LEAVES];
        double want[MOST] = {0}, balance = 0;
        xt_module *net = xt_module_new(layer, &j);
        int64_t n = j.B * j.T * j.C;
        if (flat) j.T = j.B * j.T > 12 ? 12 : j.B * j.T, j.B = 1, n = j.T * j.C;
        fill(x, n, (uint32_t)i);
        xt_tensor y =
            xt_forward(net, flat ? xt_from_array(x, XT_F32, j.T, j.C) : xt_from_array(x, XT_F32, j.B, j.T, j.C));
        double told = xt_item(xt_moe_balance(net));
        assert_int_equal(xt_rank_of(y), flat ? 2 : 3);
        assert_true(xt_read(y, got, (size_t)n * sizeof *got));
        for (int k = 0; k < LEAVES; k++) {
            xt_tensor t = xt_module_find(net, leaves[k]);
            w[k] = malloc((size_t)count(t) * sizeof **w);
            assert_true(xt_read(t, w[k], (size_t)count(t) * sizeof **w));
        }
        int lost = 0;
        for (int64_t g = 0; g < j.B; g++)
            lost += sample(&j, (const float *const *)w, x + g * j.T * j.C, want + g * j.T * j.C, &balance);
        dropped += lost > 0;
        kept_all += lost == 0;
        if (j.factor == 0) assert_int_equal(lost, 0);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs((double)got[k] - want[k]) < 1e-5 * (1 + fabs(want[k]))))
                fail_msg("case %d: y[%d] is %.8g, the loop has %.8g", i, (int)k, (double)got[k], want[k]);
        if (!(fabs(told - balance) < 1e-5 * balance)) fail_msg("case %d: balance %.8g for %.8g", i, told, balance);
        for (int k = 0; k < LEAVES; k++) free(w[k]);
        xt_module_free(net);
    }
    assert_true(dropped > 5 && kept_all > 5);
}

/* --- many ranks --- */
static xt_loader *samples(const job *j, int64_t batch) {
    static float x[MOST], y[MOST];
    int64_t n = j->B * j->T * j->C;
    fill(x, n, 1), fill(y, n, 2);
    xt_spec one = {XT_F32, {j->T, j->C}};
    return xt_loader_new(xt_array_dataset(x, one, y, one, j->B), .batch = batch);
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    void **of = user;
    const job *j = of[0];
    (void)n;
    if (j->half) xt_autocast_begin(XT_BF16);
    xt_tensor y = xt_forward(of[1], in[0]);
    if (j->half) xt_autocast_end();
    xt_tensor loss = xt_mean(xt_square(xt_minus(xt_cast(y, XT_F32), in[1])));
    xt_backward(xt_add(loss, xt_mul_scalar(xt_moe_balance(of[1]), 0.01)));
    xt_optimizer_step(of[2]);
    return xt_stack(2, XT_TENSORS(loss, xt_moe_balance(of[1])), 0);
}

/* What the compiler says of a step's collectives, to stderr: "partitioned over 4 devices: 1 all_reduce, ..." */
static int heard(void) {
    int fd = memfd_create("stderr", 0);
    return fd < 0 || dup2(fd, 2) < 0 ? -1 : fd;
}
static int exchanges(int fd) {
    static char text[1 << 17];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const char *program = strstr(text, "partitioned over "), *word = program ? strstr(program, " all_to_all") : NULL;
    while (word && word > text && word[-1] >= '0' && word[-1] <= '9') word--;
    return word ? atoi(word) : -1;
}

static int train(int rank, void *arg) {
    job *j = arg;
    xt_seed(5);
    int listens = rank == 0 && j->ranks > 1 ? heard() : -1;
    xt_mesh *mesh = xt_mesh_new({"data", j->data}, {"expert", j->expert});
    xt_module *net = xt_module_new(block, j);
    if (j->fsdp) xt_mesh_fsdp(mesh, net, "data");
    if (j->batch) xt_mesh_batch(mesh, j->batch);
    xt_mesh_expert_parallel(mesh, net, j->over);
    xt_optimizer *opt = xt_adamw(net, .lr = 0.01);
    void *of[] = {j, net, opt};
    xt_step *compiled = j->compiled ? xt_compile(step, .user = of) : NULL;
    const char *batch = j->batch ? j->batch : "data+expert";
    float told[2];
    int i = 0;
    for (; i < STEPS; i++) {
        xt_loader *l = samples(j, j->B / xt_mesh_size(mesh, batch));
        xt_batch b;
        if (!xt_next(l, &b)) return 1;
        xt_tensor both = compiled ? xt_call(compiled, b.x, b.y) : step((xt_tensor[]){b.x, b.y}, 2, of);
        both = xt_keep(both);
        xt_mark_step();
        if (!xt_read(both, told, sizeof told)) return 1;
        if (rank == 0) j->loss[i] = (double)told[0], j->balance[i] = (double)told[1];
        xt_drop(both);
        xt_loader_free(l);
    }
    int64_t bytes = bytes_of("parameter");
    static float w[WEIGHTS];
    int at = 0;
    for (int k = 0; k < LEAVES; k++) {
        xt_tensor t = xt_module_find(net, leaves[k]);
        int64_t n = count(t);
        if (at + n > WEIGHTS || !xt_read(t, w + at, (size_t)n * sizeof *w)) return 1;
        at += (int)n;
    }
    if (rank == 0) {
        if (listens >= 0) j->exchanges = exchanges(listens);
        memcpy(j->weights, w, sizeof w);
        j->n_weights = at;
        j->bytes = bytes;
    }
    return xt_finish();
}

static job *run(job what) {
    job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = what;
    setenv("XT_DEBUG", "compile", 1); /* says which collectives there are */
    int code = launched(what.ranks, train, j);
    unsetenv("XT_DEBUG");
    if (code) fail_msg("%s on %d ranks ended with %d", what.name, what.ranks, code);
    return j;
}

static void alike(const job *j, const job *one) {
    double tolerance = j->half ? 0.02 : 1e-5;
    for (int i = 0; i < STEPS; i++) {
        if (!(fabs(j->loss[i] - one->loss[i]) < tolerance * one->loss[i]))
            fail_msg("%s: loss %d is %.8g, one device has %.8g", j->name, i, j->loss[i], one->loss[i]);
        if (!(fabs(j->balance[i] - one->balance[i]) < tolerance * one->balance[i]))
            fail_msg("%s: balance %d is %.8g, one device has %.8g", j->name, i, j->balance[i], one->balance[i]);
    }
    assert_int_equal(j->n_weights, one->n_weights);
    for (int i = 0; i < j->n_weights && !j->half; i++)
        if (!(fabs((double)j->weights[i] - (double)one->weights[i]) <= 1e-5))
            fail_msg("%s: weight %d is %.8g, one device has %.8g", j->name, i, (double)j->weights[i],
                     (double)one->weights[i]);
}

static void same_as_one(void **state) {
    (void)state;
    static const job layouts[] = {
        {.name = "2 experts' devices", .ranks = 2, .data = 1, .expert = 2, .over = "expert"},
        {.name = "tokens whole", .ranks = 2, .data = 1, .expert = 2, .over = "expert", .batch = "data"},
        {.name = "4", .ranks = 4, .data = 1, .expert = 4, .over = "expert"},
        {.name = "8", .ranks = 8, .data = 1, .expert = 8, .over = "expert"},
        {.name = "data beside", .ranks = 4, .data = 2, .expert = 2, .over = "expert"},
        {.name = "data beside, 8", .ranks = 8, .data = 2, .expert = 4, .over = "expert"},
        {.name = "data's own devices", .ranks = 4, .data = 4, .expert = 1, .over = "data"},
        {.name = "sharded too",
         .ranks = 4,
         .data = 2,
         .expert = 2,
         .over = "expert",
         .fsdp = true,
         .batch = "data+expert"},
        {.name = "compiled", .ranks = 4, .data = 2, .expert = 2, .over = "expert", .compiled = true},
        {.name = "bf16", .ranks = 2, .data = 1, .expert = 2, .over = "expert", .half = true},
    };
    static const struct {
        int experts, k;
        double factor;
    } kinds[] = {{8, 1, 1}, {8, 2, 0.75}, {9, 2, 0}};
    for (size_t q = 0; q < sizeof kinds / sizeof kinds[0]; q++) {
        job what = {.name = "one",
                    .ranks = 1,
                    .data = 1,
                    .expert = 1,
                    .over = "expert",
                    .experts = kinds[q].experts,
                    .k = kinds[q].k,
                    .factor = kinds[q].factor,
                    .B = 8,
                    .T = 12,
                    .C = 8,
                    .hidden = 16};
        job *one = run(what);
        assert_true(one->loss[STEPS - 1] < one->loss[0] && one->balance[0] > 0.9);
        for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
            job l = layouts[i];
            l.experts = what.experts, l.k = what.k, l.factor = what.factor;
            l.B = what.B, l.T = what.T, l.C = what.C, l.hidden = what.hidden;
            job *j = run(l);
            alike(j, one);
            int64_t parts = l.expert * (strcmp(l.over, "data") == 0 ? l.data : 1);
            /* the router, norms and what uneven parts are filled up with are whole */
            if (!(j->bytes < one->bytes / parts + one->bytes / 6))
                fail_msg("%s: %lld bytes of parameters on a device, one has %lld", l.name, (long long)j->bytes,
                         (long long)one->bytes);
            /* there and back, and the same of gradients */
            bool even = what.experts % parts == 0 && !l.batch;
            if (even) assert_int_equal(j->exchanges, 4);
            munmap(j, sizeof *j);
        }
        munmap(one, sizeof *one);
    }
}

/* --- mistakes --- */
static void refuses(job what, const char *const *words) {
    xt_module *net = xt_module_new(layer, &what);
    xt_clear_error();
    xt_tensor y = xt_forward(net, xt_zeros(XT_F32, 2, 3, 4));
    assert_true(xt_is_error(y));
    for (const char *const *w = words; *w; w++)
        if (!strstr(xt_status_message(xt_error()), *w))
            fail_msg("\"%s\" does not say \"%s\"", xt_status_message(xt_error()), *w);
    xt_clear_error();
    xt_module_free(net);
}

/* More devices than experts, and no layer before the balance is asked for. */
static int too_few(int rank, void *arg) {
    (void)arg;
    xt_mesh *mesh = xt_mesh_new({"expert", 4});
    job j = {.experts = 2, .k = 1, .factor = 1, .hidden = 4};
    xt_module *net = xt_module_new(layer, &j);
    xt_mesh_expert_parallel(mesh, net, "expert");
    xt_tensor y = xt_forward(net, xt_zeros(XT_F32, 4, 3, 4));
    bool ok =
        xt_is_error(y) && strstr(xt_status_message(xt_error()), "test_moe.c:") &&
        strstr(xt_status_message(xt_error()), "xt_moe moe: 2 experts for the 4 devices along \"expert\": some would "
                                              "have none; take more experts, or divide them over fewer");
    if (!ok && rank == 0) fprintf(stderr, "said: %s\n", xt_error() ? xt_status_message(xt_error()) : "nothing");
    _exit(ok ? 0 : 3);
}

static void mistakes(void **state) {
    (void)state;
    assert_int_equal(launched(4, too_few, NULL), 0);
    job good = {.experts = 4, .k = 2, .factor = 1, .hidden = 4}, bad = good;
    bad.k = 5;
    refuses(bad,
            (const char *const[]){"test_moe.c:", "xt_moe moe: ", ".experts is 4, .top_k 5", "a top_k from 1", NULL});
    bad = good, bad.experts = 0;
    refuses(bad, (const char *const[]){".experts is 0", "1 expert or more", NULL});
    bad = good, bad.factor = -1;
    refuses(bad, (const char *const[]){".capacity_factor -1", "finite factor from 0", NULL});
    bad = good, bad.hidden = 0;
    refuses(bad, (const char *const[]){".hidden 0", "a hidden size from 1", NULL});
    xt_module *net = xt_module_new(layer, &good);
    assert_true(xt_is_error(xt_moe_balance(net)));
    assert_non_null(
        strstr(xt_status_message(xt_error()), "no xt_moe of this network was called in this step, blocks of"));
    xt_clear_error();
    assert_true(xt_is_error(xt_forward(net, xt_zeros(XT_F32, 4))));
    assert_non_null(strstr(xt_status_message(xt_error()), "floats [B,...,C] are needed"));
    xt_clear_error();
    xt_module_free(net);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    /* ranks are forked, so this process opens its device behind them */
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_one), cmocka_unit_test(mistakes),
                                       cmocka_unit_test(as_a_loop_says)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return xt_finish() || failed;
}
