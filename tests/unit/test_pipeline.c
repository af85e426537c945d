/* Pipelines of blocks. On one device: y and gradients are those of a loop over blocks with the same weights. On 2, 4
 * and 8 ranks, with stages alone and beside data and tensor parallelism: losses and all weights after some steps are
 * those of one device, each rank holds its stage's blocks alone, and micro-batches are sent on, not gathered. Mistakes
 * name what was found. */
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

#include "launched.h"

enum { STEPS = 3, B = 16, T = 6, C = 8, HEADS = 2, MOST = B * T * C, WEIGHTS = 1 << 14 };
typedef struct job {
    const char *name;
    int ranks;
    int64_t data, stage, tensor;
    bool fsdp, half, compiled;
    double drop;
    int64_t layers, micro;
    xt_pipeline_schedule schedule;
    /* seen */
    double loss[STEPS];
    float weights[WEIGHTS];
    int n_weights, gathers, sends;
    int64_t bytes;
} job;

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = HEADS, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), 4 * C));
    h = xt_linear(m, "mlp.c_proj", h, C);
    return xt_add(x, j && j->drop > 0 ? xt_dropout(m, h, j->drop) : h);
}
static xt_tensor head(xt_module *m, xt_tensor x, xt_tensor y, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_minus(xt_cast(xt_linear(m, "out", x, C), XT_F32), y)));
}
/* A net and its loss, called on the module itself. */
static xt_tensor lost(xt_module *m, xt_tensor x, xt_tensor y, const job *j) {
    x = xt_linear(m, "in", x, C);
    return xt_pipeline_loss(m, "h", x, y, block, head, .layers = j->layers, .microbatches = j->micro,
                            .schedule = j->schedule, .user = (void *)j);
}
static xt_tensor looped(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    x = xt_linear(m, "in", x, C);
    for (int i = 0; i < j->layers; i++) x = block(xt_sub(m, "h", i), x, NULL);
    return xt_linear(m, "out", x, C);
}

static void fill(float *x, int64_t n, uint32_t seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}
static int64_t count(xt_tensor t) {
    int64_t n = 1;
    for (int d = 0; d < xt_rank_of(t); d++) n *= xt_dim(t, d);
    return n;
}

/* --- many ranks --- */
/* What the compiler says of a step's collectives, to stderr: "partitioned over 4 devices: 1 all_reduce, ..." */
static int heard(void) {
    int fd = memfd_create("stderr", 0);
    return fd < 0 || dup2(fd, 2) < 0 ? -1 : fd;
}
static int collectives(int fd, const char *kind) {
    static char text[1 << 17];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const char *program = strstr(text, "partitioned over "), *word = program ? strstr(program, kind) : NULL;
    while (word && word > text && word[-1] >= '0' && word[-1] <= '9') word--;
    return word ? atoi(word) : -1;
}

static int64_t bytes_of(const char *role) {
    xt_memory_row rows[64];
    int n = xt_memory_rows(rows, 64);
    int64_t sum = 0;
    for (int i = 0; i < n && i < 64; i++)
        if (strcmp(rows[i].role, role) == 0) sum += rows[i].bytes;
    return sum;
}

static xt_loader *samples(int64_t batch) {
    static float x[MOST], y[MOST];
    fill(x, MOST, 1), fill(y, MOST, 2);
    xt_spec one = {XT_F32, {T, C}};
    return xt_loader_new(xt_array_dataset(x, one, y, one, B), .batch = batch);
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    void **of = user;
    const job *j = of[0];
    (void)n;
    if (j->half) xt_autocast_begin(XT_BF16);
    xt_tensor loss = lost(of[1], in[0], in[1], j);
    if (j->half) xt_autocast_end();
    xt_backward(loss);
    xt_optimizer_step(of[2]);
    return loss;
}

static int train(int rank, void *arg) {
    job *j = arg;
    xt_seed(5);
    int listens = rank == 0 && j->ranks > 1 ? heard() : -1;
    xt_mesh *mesh = xt_mesh_new({"data", j->data}, {"stage", j->stage}, {"tensor", j->tensor});
    xt_module *net = xt_module_new(NULL, NULL);
    if (j->fsdp)
        xt_mesh_fsdp(mesh, net, "data");
    else
        xt_mesh_data_parallel(mesh, net, "data");
    xt_mesh_tensor_parallel(mesh, net, "tensor");
    xt_mesh_pipeline_parallel(mesh, net, "stage");
    /* not Adam: a key's bias has no slope but rounding, which Adam would make steps of */
    xt_optimizer *opt = xt_sgd(net, .lr = 0.1, .momentum = 0.9);
    void *of[] = {j, net, opt};
    xt_step *compiled = j->compiled ? xt_compile(step, .user = of) : NULL;
    for (int i = 0; i < STEPS; i++) {
        xt_loader *l = samples(B / xt_mesh_size(mesh, "data"));
        xt_batch b;
        if (!xt_next(l, &b)) return 1;
        xt_tensor loss = xt_keep(compiled ? xt_call(compiled, b.x, b.y) : step((xt_tensor[]){b.x, b.y}, 2, of));
        xt_mark_step();
        double told = xt_item(loss);
        if (rank == 0) j->loss[i] = told;
        xt_drop(loss);
        xt_loader_free(l);
    }
    int64_t bytes = bytes_of("parameter");
    static float w[WEIGHTS];
    int at = 0;
    for (int k = 0; k < xt_module_tensors(net); k++) {
        xt_tensor t = xt_module_tensor(net, k);
        int64_t n = count(t);
        if (at + n > WEIGHTS || !xt_read(t, w + at, (size_t)n * sizeof *w)) return 1;
        at += (int)n;
    }
    if (rank == 0) {
        if (listens >= 0) j->gathers = collectives(listens, " all_gather");
        if (listens >= 0) j->sends = collectives(listens, " collective_permute");
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
    for (int i = 0; i < STEPS; i++)
        if (!(fabs(j->loss[i] - one->loss[i]) < tolerance * one->loss[i]))
            fail_msg("%s: loss %d is %.8g, one device has %.8g", j->name, i, j->loss[i], one->loss[i]);
    assert_int_equal(j->n_weights, one->n_weights);
    for (int i = 0; i < j->n_weights && !j->half; i++)
        if (!(fabs((double)j->weights[i] - (double)one->weights[i]) <= 1e-5))
            fail_msg("%s: weight %d is %.8g, one device has %.8g", j->name, i, (double)j->weights[i],
                     (double)one->weights[i]);
}

static void same_as_one(void **state) {
    (void)state;
    static const job layouts[] = {
        {.name = "2 stages", .ranks = 2, .data = 1, .stage = 2, .tensor = 1, .micro = 4},
        {.name = "one micro-batch", .ranks = 2, .data = 1, .stage = 2, .tensor = 1, .micro = 1},
        {.name = "4 stages", .ranks = 4, .data = 1, .stage = 4, .tensor = 1, .micro = 8},
        {.name = "8 stages", .ranks = 8, .data = 1, .stage = 8, .tensor = 1, .micro = 2},
        {.name = "data beside", .ranks = 4, .data = 2, .stage = 2, .tensor = 1, .micro = 4},
        {.name = "sharded beside", .ranks = 4, .data = 2, .stage = 2, .tensor = 1, .micro = 2, .fsdp = true},
        {.name = "tensor beside", .ranks = 4, .data = 1, .stage = 2, .tensor = 2, .micro = 4},
        {.name = "all three", .ranks = 8, .data = 2, .stage = 2, .tensor = 2, .micro = 2},
        {.name = "compiled", .ranks = 2, .data = 1, .stage = 2, .tensor = 1, .micro = 4, .compiled = true},
        {.name = "bf16", .ranks = 2, .data = 1, .stage = 2, .tensor = 1, .micro = 4, .half = true},
    };
    job *one = run((job){.name = "one", .ranks = 1, .data = 1, .stage = 1, .tensor = 1, .layers = 8, .micro = 1});
    assert_true(one->loss[STEPS - 1] < one->loss[0] && one->loss[0] > 0.1);
    for (size_t i = 0; i < 2 * sizeof layouts / sizeof layouts[0]; i++) {
        job l = layouts[i / 2];
        l.layers = 8;
        l.schedule = i % 2 ? XT_ONE_F_ONE_B : XT_GPIPE;
        job *j = run(l);
        printf("%s, %s: %d all_gather, %lld of %lld bytes of parameters on a device\n", j->name,
               i % 2 ? "1F1B" : "GPipe", j->gathers, (long long)j->bytes, (long long)one->bytes);
        alike(j, one);
        if (l.data * l.tensor == 1) assert_int_equal(j->gathers, 0); /* sends alone, and sums */
        assert_true(j->sends >= 2); /* forward, and back */
        assert_true(j->bytes < one->bytes / l.stage + one->bytes / 10);
        munmap(j, sizeof *j);
    }
    munmap(one, sizeof *one);
}

/* --- one device, beside a loop, which begins with the same values --- */
/* Slice i of the stack that the loop's "h.i.NAME" is of, or the parameter of the same name. */
static xt_tensor of_loop(xt_module *loop, const char *name, int i) {
    char full[128];
    if (strncmp(name, "h.", 2) != 0) return xt_module_find(loop, name);
    snprintf(full, sizeof full, "h.%d.%s", i, name + 2);
    return xt_module_find(loop, full);
}

/* By j's schedule; of a loop, where there is none. The loss is multiplied, as a scale would. */
static xt_tensor loss_of(xt_module *net, const float *x, const float *r, const job *j) {
    xt_tensor in = xt_from_array(x, XT_F32, B, T, C), y = xt_from_array(r, XT_F32, B, T, C);
    return xt_mul_scalar(j ? lost(net, in, y, j) : xt_mean(xt_square(xt_minus(xt_forward(net, in), y))), 30);
}

static void as_a_loop(void **state) {
    (void)state;
    static float x[MOST], r[MOST], d[2][WEIGHTS];
    fill(x, MOST, 3), fill(r, MOST, 4);
    for (int i = 0; i < 12; i++) {
        job j = {.layers = (int[]){1, 2, 3, 5, 4, 4}[i % 6], .micro = (int[]){1, 2, 4, 16, 8, 1}[i % 6]};
        j.schedule = i < 6 ? XT_GPIPE : XT_ONE_F_ONE_B;
        xt_module *net = xt_module_new(NULL, NULL), *loop = xt_module_new(looped, &j);
        xt_tensor a = loss_of(net, x, r, &j), b = loss_of(loop, x, r, NULL);
        xt_backward(a), xt_backward(b);
        a = xt_keep(a), b = xt_keep(b);
        xt_mark_step();
        double p = xt_item(a), q = xt_item(b);
        if (!(fabs(p - q) < 1e-4 * (1 + fabs(q)))) fail_msg("case %d: %.8g, the loop has %.8g", i, p, q);
        for (int k = 0; k < xt_module_tensors(net); k++) {
            const char *name = xt_module_tensor_name(net, k);
            xt_tensor t = xt_module_tensor(net, k);
            bool stacked = strncmp(name, "h.", 2) == 0;
            int64_t n = count(t), one = stacked ? n / j.layers : n;
            assert_true(xt_read(xt_grad(t), d[0], (size_t)n * sizeof **d));
            for (int l = 0; l < (stacked ? j.layers : 1); l++)
                assert_true(xt_read(xt_grad(of_loop(loop, name, l)), d[1] + l * one, (size_t)one * sizeof **d));
            double scale = 0;
            for (int64_t e = 0; e < n; e++) scale = fmax(scale, fabs((double)d[1][e]));
            assert_true(scale > 1e-3);
            for (int64_t e = 0; e < n; e++)
                if (!(fabs((double)d[0][e] - (double)d[1][e]) <= 2e-5 * scale))
                    fail_msg("case %d: gradient %d of %s is %.8g, the loop has %.8g", i, (int)e, name, (double)d[0][e],
                             (double)d[1][e]);
        }
        xt_module_free(net);
        xt_module_free(loop);
    }
}

/* With dropout: what 1F1B computes again has the masks that it had, so gradients are the slopes of the loss; and masks
 * go by micro-batch and layer, so other numbers of stages draw the same. */
static double dropped(xt_module *net, const job *j, const float *x, const float *r, bool back) {
    xt_seed(11);
    xt_tensor l = loss_of(net, x, r, j);
    if (back) xt_backward(l);
    l = xt_keep(l);
    xt_mark_step();
    double v = xt_item(l);
    xt_drop(l);
    return v;
}
static void same_masks(void **state) {
    (void)state;
    job *one = run((job){.name = "one",
                         .ranks = 1,
                         .data = 1,
                         .stage = 1,
                         .tensor = 1,
                         .layers = 4,
                         .micro = 4,
                         .drop = 0.4,
                         .schedule = XT_ONE_F_ONE_B});
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        job *many = run((job){.name = "dropout",
                              .ranks = ranks,
                              .data = 1,
                              .stage = ranks,
                              .tensor = 1,
                              .layers = 4,
                              .micro = 4,
                              .drop = 0.4,
                              .schedule = XT_ONE_F_ONE_B});
        alike(many, one);
        munmap(many, sizeof *many);
    }
    munmap(one, sizeof *one);
}

static void masks(void **state) {
    (void)state;
    static float x[MOST], r[MOST], d[WEIGHTS], w[WEIGHTS];
    fill(x, MOST, 3), fill(r, MOST, 4);
    job j = {.layers = 2, .micro = 4, .drop = 0.4, .schedule = XT_ONE_F_ONE_B};
    xt_module *net = xt_module_new(NULL, NULL);
    double with = dropped(net, &j, x, r, true);
    assert_true(with == dropped(net, &j, x, r, false)); /* the same seed */
    j.drop = 0;
    assert_true(fabs(with - dropped(net, &j, x, r, false)) > 1e-3 * with);
    j.drop = 0.4;
    xt_tensor t = xt_module_find(net, "h.mlp.c_fc.bias");
    int64_t n = count(t);
    assert_true(xt_read(xt_grad(t), d, (size_t)n * sizeof *d) && xt_read(t, w, (size_t)n * sizeof *w));
    int steep = 0;
    for (int64_t i = 0; i < n; i += 7) { /* central differences */
        const double eps = 0.02;
        float was = w[i];
        double at[2];
        for (int k = 0; k < 2; k++) {
            w[i] = was + (float)(k ? -eps : eps);
            xt_assign(t, xt_from_array(w, XT_F32, 2, n / 2));
            at[k] = dropped(net, &j, x, r, false);
        }
        w[i] = was;
        double slope = (at[0] - at[1]) / (2 * eps);
        steep += fabs(slope) > 0.02;
        if (!(fabs(slope - (double)d[i]) < 0.004 + 0.02 * fabs(slope)))
            fail_msg("gradient %d is %.6g, the slope %.6g", (int)i, (double)d[i], slope);
    }
    assert_true(steep > 3);
    xt_module_free(net);
}

/* --- mistakes --- */
static xt_tensor normed(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_batch_norm(m, "bn", x);
}
static xt_tensor widened(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 5);
}
static xt_tensor widened_not(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 4);
}
static xt_tensor bare(xt_module *m, xt_tensor x, void *user) {
    (void)m, (void)user;
    return xt_relu(x);
}
static xt_tensor other_each_time(xt_module *m, xt_tensor x, void *user) {
    int *n = user;
    return xt_linear(m, (*n)++ ? "second" : "first", x, 4);
}
typedef struct wrong {
    xt_module_fn fn;
    int64_t layers, micro;
    const char *words[4];
    int calls;
} wrong;
static xt_tensor wrong_net(xt_module *m, xt_tensor x, void *user) {
    wrong *w = user;
    return xt_pipeline(m, "h", x, w->fn, .layers = w->layers, .microbatches = w->micro, .user = &w->calls);
}

static xt_tensor whole_head(xt_module *m, xt_tensor x, xt_tensor y, void *user) {
    (void)m, (void)user;
    return xt_minus(x, y);
}
static xt_tensor normed_head(xt_module *m, xt_tensor x, xt_tensor y, void *user) {
    (void)user;
    return xt_mean(xt_minus(xt_batch_norm(m, "bn", x), y));
}
static xt_tensor head_of_wrong(xt_module *m, xt_tensor x, void *user) {
    const wrong *w = user;
    return xt_pipeline_loss(m, "h", x, xt_zeros(XT_F32, w->layers, 4), widened_not, w->micro ? normed_head : whole_head,
                            .microbatches = 2, .schedule = XT_ONE_F_ONE_B);
}
static xt_tensor early(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_pipeline(m, "h", x, widened_not, .schedule = XT_ONE_F_ONE_B);
}

/* The error of a pass has all the words; what is missing, else NULL. */
static const char *missing(wrong *w, xt_module *net) {
    xt_clear_error();
    xt_tensor y = xt_forward(net, xt_zeros(XT_F32, 4, 4));
    if (!xt_is_error(y)) return "an error";
    for (int i = 0; i < 4 && w->words[i]; i++)
        if (!strstr(xt_status_message(xt_error()), w->words[i])) return w->words[i];
    return NULL;
}

static int on_stages(int rank, void *arg) {
    xt_mesh *mesh = xt_mesh_new({"data", 2}, {"stage", 2});
    for (wrong *w = arg; w->fn; w++) {
        xt_module *net = xt_module_new(wrong_net, w);
        xt_mesh_pipeline_parallel(mesh, net, "stage");
        const char *word = missing(w, net);
        if (word && rank == 0)
            fprintf(stderr, "no %s in: %s\n", word, xt_error() ? xt_status_message(xt_error()) : "nothing");
        if (word) _exit(3);
        xt_clear_error();
    }
    _exit(0);
}

static void mistakes(void **state) {
    (void)state;
    static wrong divided[] = {
        {bare, 3, 1, {"test_pipeline.c:", "xt_pipeline h: 3 layers over the 2 stages along \"stage\"", "must divide"}},
        {bare, 2, 4, {"a batch of 4 in 4 micro-batches divided over \"data\"", "a multiple of 8"}},
        {NULL}};
    assert_int_equal(launched(4, on_stages, divided), 0);
    static wrong here[] = {
        {bare, 0, 1, {".layers is 0 and .microbatches 1", "at least 1"}},
        {bare, 1, 0, {".layers is 1 and .microbatches 0"}},
        {bare, 2, 3, {"a batch of 4 in 3 micro-batches;", "a multiple of 3"}},
        {bare, 2, 2, {"the block has no parameters under its module"}},
        {normed, 2, 2, {"the block has the buffer h.bn.", "a layer norm instead of a batch norm"}},
        {widened, 2, 2, {"a block changes tensor<2x4xf32> to tensor<2x5xf32>", "the types must be equal"}},
        {other_each_time, 2, 2, {"the block asks for h.second.weight", "must do the same in each call"}}};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        xt_module *net = xt_module_new(wrong_net, &here[i]);
        const char *word = missing(&here[i], net);
        if (word) fail_msg("case %d: no \"%s\" in: %s", (int)i, word, xt_status_message(xt_error()));
        xt_clear_error();
        xt_module_free(net);
    }
    static struct {
        xt_module_fn net;
        wrong w;
    } heads[] = {
        {early,
         {NULL, 0, 0, {"test_pipeline.c:", "xt_pipeline h: a backward pass", "xt_pipeline_loss takes the head"}}},
        {head_of_wrong, {NULL, 4, 0, {"test_pipeline.c:", "the head gives tensor<2x4xf32>", "one float"}}},
        {head_of_wrong, {NULL, 4, 1, {"the head has the buffer bn."}}},
        {head_of_wrong, {NULL, 3, 0, {"targets for 3 samples, and inputs of 4", "the batch in front"}}}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        xt_module *net = xt_module_new(heads[i].net, &heads[i].w);
        const char *word = missing(&heads[i].w, net);
        if (word) fail_msg("head %d: no \"%s\" in: %s", (int)i, word, xt_status_message(xt_error()));
        xt_clear_error();
        xt_module_free(net);
    }
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    /* ranks are forked, so this process opens its device behind them */
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_one), cmocka_unit_test(same_masks),
                                       cmocka_unit_test(mistakes), cmocka_unit_test(masks),
                                       cmocka_unit_test(as_a_loop)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return xt_finish() || failed;
}
