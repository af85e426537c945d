/* Training on meshes of 1, 2 and 4 CPU ranks: the MNIST network, and GPT-2's shape, data parallel, fully sharded,
 * tensor parallel and mixed. The losses are those of one device to 1e-5, and what a rank holds of parameters and
 * optimizer state shrinks as the mesh says. Ranks are forked; each writes what it saw into shared memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <xtrain/program.h>
#include <xtrain/xtrain.h>

#include "base/base.h"
#include "format/safetensors.h"

#include "bytes_of_role.h"
#include "launched.h"

enum { STEPS = 4, RANKS = 8 };
typedef struct seen {
    double loss[STEPS];
    int64_t parameters, optimizer, whole; /* bytes of the ledger; of all parameters together */
    int64_t gradients; /* bytes between two micro-batches */
    int64_t compiles;
    double read; /* a parameter's sum, read whole */
} seen;
typedef struct job {
    const char *name;
    int ranks;
    bool gpt;
    int64_t data, tensor, context; /* context 0: sequences are whole */
    bool fsdp, tensor_parallel, zero;
    bool micro; /* a step's batch comes in two */
    /* compiled: the step is a compiled step function, blocks are computed again in the backward pass */
    bool adam, compiled;
    const char *file; /* saves the trained weights there */
    bool odd; /* a GPT whose dims no mesh divides */
    seen at[RANKS];
} job;

static xt_mesh *mesh; /* of this rank */

/* --- networks --- */
static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_shard(xt_flatten(x, 1), mesh, "data", "tensor"), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

enum { SEQ = 8, LAYERS = 2 };
typedef struct gpt_sizes {
    int vocab, width, heads, hidden;
} gpt_sizes;
static gpt_sizes sizes_of(const job *j) {
    return j && j->odd ? (gpt_sizes){65, 21, 3, 83} : (gpt_sizes){32, 16, 4, 64};
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    gpt_sizes s = sizes_of(user);
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = s.heads, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), s.hidden));
    return xt_add(x, xt_dropout(m, xt_linear(m, "mlp.c_proj", h, s.width), 0.1));
}
static xt_tensor gpt2(xt_module *m, xt_tensor tokens, void *user) {
    const job *j = user;
    gpt_sizes s = sizes_of(j);
    xt_tensor x = xt_embedding(m, "wte", tokens, s.vocab, s.width);
    x = xt_add(x, xt_embedding(m, "wpe", xt_arange(xt_dim(tokens, 1), XT_I64), SEQ, s.width));
    /* activations divided between blocks, too */
    if (j && j->tensor_parallel) x = xt_shard(x, mesh, "data", NULL, "tensor");
    for (int i = 0; i < LAYERS; i++)
        x = j && j->compiled ? xt_checkpoint_block(block, xt_sub(m, "h", i), x, user)
                             : block(xt_sub(m, "h", i), x, user);
    return xt_matmul(xt_layer_norm(m, "ln_f", x), xt_transpose(xt_module_find(m, "wte.weight"), 0, 1));
}

static xt_loader *digits(int64_t batch) {
    return xt_loader_new(xt_drawn_digits(64, 5), .batch = batch, .shuffle = XT_ON, .seed = 3);
}
static xt_loader *texts(const job *j, int64_t batch) {
    enum { SAMPLES = 96 };
    static int64_t x[SAMPLES][SEQ], y[SAMPLES][SEQ];
    int vocab = sizes_of(j).vocab;
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < SEQ; k++) {
            x[i][k] = (i * 5 + k * 3) % vocab;
            y[i][k] = (i * 5 + (k + 1) * 3) % vocab;
        }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_I64, {SEQ}}, y, (xt_spec){XT_I64, {SEQ}}, j ? SAMPLES : 32),
                         .batch = batch);
}

/* --- one rank --- */
typedef struct trained {
    const job *j;
    xt_module *net;
    xt_optimizer *opt;
} trained;
static xt_tensor step(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    (void)n;
    xt_tensor y = xt_forward(t->net, in[0]), loss = t->j->gpt ? xt_cross_entropy(y, in[1]) : xt_nll_loss(y, in[1]);
    xt_backward(loss);
    xt_optimizer_step(t->opt);
    return loss;
}

enum { MICRO = 2 };
static xt_tensor micro_step(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    (void)n;
    xt_tensor loss = xt_mul_scalar(xt_cross_entropy(xt_forward(t->net, in[0]), in[1]), 1.0 / MICRO);
    xt_backward(loss);
    return loss;
}

/* Gradients outlive a step, and the next one adds to them. */
static void accumulate(const trained *t, xt_loader *l, seen *out) {
    xt_step *compiled = t->j->compiled ? xt_compile(micro_step, .user = (void *)t) : NULL;
    xt_batch b;
    for (int i = 0; i < STEPS * MICRO && xt_next(l, &b); i++) {
        xt_tensor loss =
            xt_keep(compiled ? xt_call(compiled, b.x, b.y) : micro_step((xt_tensor[]){b.x, b.y}, 2, (void *)t));
        if (i % MICRO == MICRO - 1) xt_optimizer_step(t->opt);
        xt_mark_step();
        if (i % MICRO == 0) out->gradients = bytes_of("gradient");
        out->loss[i / MICRO] += xt_item(loss);
        xt_drop(loss);
    }
}

static int train(int rank, void *arg) {
    job *j = arg;
    seen *out = &j->at[rank];
    xt_seed(11);
    mesh = xt_mesh_new({"data", j->data}, {"tensor", j->tensor}, {"context", j->context ? j->context : 1});
    xt_module *net = xt_module_new(j->gpt ? gpt2 : mnist_net, j);
    if (j->fsdp)
        xt_mesh_fsdp(mesh, net, "data");
    else if (j->zero)
        xt_mesh_zero(mesh, net, "data");
    else
        xt_mesh_data_parallel(mesh, net, "data");
    if (j->context) xt_mesh_context_parallel(mesh, net, "context");
    if (j->tensor_parallel)
        xt_mesh_tensor_parallel(mesh, net, "tensor");
    else if (!j->gpt)
        xt_shard_params(net, mesh, "fc1.*", "tensor");
    xt_optimizer *opt = j->adam ? xt_adamw(net, .lr = 0.003, .clip_norm = 1) : xt_sgd(net, .lr = 0.05, .momentum = 0.9);
    int64_t batch = (j->odd ? 24 : j->gpt ? 8 : 16) / xt_mesh_size(mesh, "data") / (j->micro ? MICRO : 1);
    xt_loader *l = j->gpt ? texts(j, batch) : digits(batch);
    trained t = {j, net, opt};
    xt_step *compiled = j->compiled && !j->micro ? xt_compile(step, .user = &t) : NULL;
    xt_tensor losses[STEPS];
    int n = 0;
    if (j->micro) accumulate(&t, l, out);
    for (xt_batch b; !j->micro && n < STEPS && xt_next(l, &b); n++) {
        losses[n] = xt_keep(compiled ? xt_call(compiled, b.x, b.y) : step((xt_tensor[]){b.x, b.y}, 2, &t));
    }
    xt_mark_step();
    for (int i = 0; i < n; i++) {
        out->loss[i] = xt_item(losses[i]);
        xt_drop(losses[i]);
    }
    out->compiles = xt_counter("compiles") + xt_counter("disk_hits");
    out->parameters = bytes_of("parameter");
    out->optimizer = bytes_of("optimizer");
    out->whole = xt_module_param_count(net) * 4;
    out->read = xt_item(xt_sum(xt_square(xt_module_find(net, j->gpt ? "h.0.mlp.c_fc.weight" : "fc1.weight"))));
    if (j->file) {
        xt_status s = xt_save(net, j->file);
        if (s) fprintf(stderr, "%s\n", xt_status_message(s));
        xt_status_free(s);
    }
    return xt_finish();
}

/* --- all ranks --- */
static job *shared(const job *what) {
    job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = *what;
    return j;
}

static void runs(const char *what, const char *name, int ranks, xt_rank_fn function, void *arg) {
    int code = launched(ranks, function, arg);
    if (code) fail_msg("%s %s on %d ranks ended with %d", what, name, ranks, code);
}

static void compare(const job *j, const job *one) {
    for (int r = 0; r < j->ranks; r++) {
        for (int i = 0; i < STEPS; i++)
            if (!(fabs(j->at[r].loss[i] - one->at[0].loss[i]) < 1e-5 * fabs(one->at[0].loss[i])))
                fail_msg("%s: rank %d of %d has loss %.8f in step %d, one device %.8f", j->name, r, j->ranks,
                         j->at[r].loss[i], i, one->at[0].loss[i]);
        if (!(fabs(j->at[r].read - one->at[0].read) < 1e-4 * fabs(one->at[0].read)))
            fail_msg("%s: rank %d reads %.8f, one device %.8f", j->name, r, j->at[r].read, one->at[0].read);
    }
}

static job *reference(bool gpt, bool odd, bool adam) {
    job *one = shared(&(job){
        .name = gpt ? "gpt2" : "mnist", .ranks = 1, .gpt = gpt, .odd = odd, .adam = adam, .data = 0, .tensor = 1});
    runs("layout", one->name, one->ranks, train, one);
    assert_true(one->at[0].loss[0] > 1 && one->at[0].loss[STEPS - 1] < one->at[0].loss[0]);
    return one;
}

static void mnist(void **state) {
    (void)state;
    job *one = reference(false, false, false);
    static const job jobs[] = {
        {.name = "data", .ranks = 2, .data = 2, .tensor = 1},
        {.name = "data", .ranks = 4, .data = 4, .tensor = 1},
        {.name = "fsdp", .ranks = 2, .data = 2, .tensor = 1, .fsdp = true},
        {.name = "data x tensor", .ranks = 4, .data = 2, .tensor = 2, .fsdp = true},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        job *j = shared(&jobs[i]);
        runs("layout", j->name, j->ranks, train, j);
        compare(j, one);
        if (!j->fsdp)
            assert_int_equal(j->at[0].parameters, one->at[0].parameters);
        else
            assert_true(j->at[0].parameters < one->at[0].parameters * 6 / 10);
    }
}

static void gpt(void **state) {
    (void)state;
    job *one = reference(true, false, true);
    static const job jobs[] = {
        {.name = "data", .ranks = 2, .gpt = true, .adam = true, .data = 2, .tensor = 1},
        {.name = "fsdp", .ranks = 4, .gpt = true, .adam = true, .data = 4, .tensor = 1, .fsdp = true},
        {.name = "zero", .ranks = 2, .gpt = true, .adam = true, .data = 2, .tensor = 1, .zero = true},
        {.name = "zero", .ranks = 4, .gpt = true, .adam = true, .data = 4, .tensor = 1, .zero = true, .compiled = true},
        {.name = "tensor", .ranks = 2, .gpt = true, .adam = true, .data = 1, .tensor = 2, .tensor_parallel = true},
        {.name = "data x tensor",
         .ranks = 4,
         .gpt = true,
         .adam = true,
         .data = 2,
         .tensor = 2,
         .tensor_parallel = true},
        {.name = "compiled",
         .ranks = 4,
         .gpt = true,
         .adam = true,
         .compiled = true,
         .data = 2,
         .tensor = 2,
         .fsdp = true,
         .tensor_parallel = true},
        {.name = "fsdp x tensor",
         .ranks = 4,
         .gpt = true,
         .adam = true,
         .data = 2,
         .tensor = 2,
         .fsdp = true,
         .tensor_parallel = true},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        job *j = shared(&jobs[i]);
        runs("layout", j->name, j->ranks, train, j);
        compare(j, one);
        const seen *s = &j->at[j->ranks - 1];
        printf("%s on %d ranks: parameters %lld of %lld bytes, optimizer %lld of %lld\n", j->name, j->ranks,
               (long long)s->parameters, (long long)one->at[0].parameters, (long long)s->optimizer,
               (long long)one->at[0].optimizer);
        int64_t share = j->fsdp && j->tensor_parallel ? 4 : j->fsdp ? 4 : j->tensor_parallel ? 2 : 1;
        assert_true(s->parameters <= one->at[0].parameters / share * 12 / 10); /* small vectors stay whole */
        assert_true(s->optimizer <= one->at[0].optimizer / (j->zero ? j->ranks : share) * 12 / 10);
    }
}

/* Dims that no mesh divides: a vocabulary of 65, a width of 21 in 3 heads, 83 hidden units. Parameters and optimizer
 * state are divided all the same, and what fills their parts up changes nothing. */
static void odd_dims(void **state) {
    (void)state;
    job *one = reference(true, true, true);
    static const job jobs[] = {
        {.name = "fsdp", .data = 2, .tensor = 1, .fsdp = true},
        {.name = "fsdp", .data = 3, .tensor = 1, .fsdp = true},
        {.name = "fsdp, compiled", .data = 4, .tensor = 1, .fsdp = true, .compiled = true},
        {.name = "fsdp", .data = 8, .tensor = 1, .fsdp = true},
        {.name = "zero", .data = 2, .tensor = 1, .zero = true},
        {.name = "zero", .data = 3, .tensor = 1, .zero = true},
        {.name = "zero", .data = 4, .tensor = 1, .zero = true},
        {.name = "zero, compiled", .data = 8, .tensor = 1, .zero = true, .compiled = true},
        {.name = "tensor", .data = 1, .tensor = 2, .tensor_parallel = true},
        {.name = "tensor", .data = 1, .tensor = 3, .tensor_parallel = true},
        {.name = "tensor", .data = 1, .tensor = 4, .tensor_parallel = true},
        {.name = "tensor, compiled", .data = 1, .tensor = 8, .tensor_parallel = true, .compiled = true},
        {.name = "fsdp x tensor", .data = 2, .tensor = 2, .fsdp = true, .tensor_parallel = true},
        {.name = "fsdp x tensor", .data = 4, .tensor = 2, .fsdp = true, .tensor_parallel = true},
        {.name = "zero x tensor", .data = 2, .tensor = 4, .zero = true, .tensor_parallel = true},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        job *j = shared(&jobs[i]);
        j->gpt = j->odd = j->adam = true;
        j->ranks = (int)(j->data * j->tensor);
        runs("layout", j->name, j->ranks, train, j);
        compare(j, one);
        const seen *first = &j->at[0];
        int64_t share = j->fsdp ? j->ranks : j->tensor_parallel ? j->tensor : 1;
        printf("odd dims, %s on %d ranks: parameters %lld of %lld bytes, optimizer %lld of %lld\n", j->name, j->ranks,
               (long long)first->parameters, (long long)one->at[0].parameters, (long long)first->optimizer,
               (long long)one->at[0].optimizer);
        assert_true(first->parameters <= one->at[0].parameters / share * 14 / 10);
        assert_true(first->optimizer <= one->at[0].optimizer / (j->zero ? j->ranks : share) * 14 / 10);
    }
}

/* Sequences divided over ranks, alone and with all else; 8 positions in 3 heads over 3 ranks stay whole. */
static void divided_sequences(void **state) {
    (void)state;
    job *one[] = {reference(true, false, true), reference(true, true, true)};
    static const job jobs[] = {
        {.name = "context", .data = 1, .tensor = 1, .context = 2},
        {.name = "context, compiled", .data = 1, .tensor = 1, .context = 4, .compiled = true},
        {.name = "context", .data = 1, .tensor = 1, .context = 8},
        {.name = "context x data", .data = 2, .tensor = 1, .context = 2, .fsdp = true},
        {.name = "context x data", .data = 4, .tensor = 1, .context = 2, .zero = true},
        {.name = "context x data x tensor",
         .data = 2,
         .tensor = 2,
         .context = 2,
         .fsdp = true,
         .tensor_parallel = true},
        {.name = "odd, context", .data = 1, .tensor = 1, .context = 4, .odd = true},
        {.name = "odd, context", .data = 1, .tensor = 1, .context = 3, .odd = true},
        {.name = "odd, context x tensor", .data = 1, .tensor = 2, .context = 4, .odd = true, .tensor_parallel = true},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        job *j = shared(&jobs[i]);
        j->gpt = j->adam = true;
        j->ranks = (int)(j->data * j->tensor * j->context);
        runs("layout", j->name, j->ranks, train, j);
        compare(j, one[j->odd]);
    }
}

/* Filling that is -Inf from the first step on: 5 numbers over 2 to 4 ranks, whose logarithm is trained. XT_DEBUG=nan,
 * which looks at what a rank has, looks at the numbers alone. */
typedef struct logs {
    double loss[STEPS], norm;
} logs;
static xt_tensor log_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor w = xt_param(m, "w", "ones", 0, XT_F32, 5);
    return xt_mse_loss(xt_log2(w), x);
}
static int train_logs(int rank, void *arg) {
    logs *out = arg;
    mesh = xt_mesh_new({"data", 0});
    xt_module *net = xt_module_new(log_net, NULL);
    xt_shard_params(net, mesh, "w", "data");
    xt_optimizer *opt = xt_sgd(net, .lr = 0.5, .clip_norm = 1);
    double loss[STEPS];
    for (int i = 0; i < STEPS; i++) {
        xt_tensor x = xt_from_array((float[]){1, 0.5f, 0.25f, -0.5f, 2}, XT_F32, 5);
        xt_tensor l = xt_forward(net, x);
        xt_backward(l);
        xt_optimizer_step(opt);
        l = xt_keep(l);
        xt_mark_step();
        loss[i] = xt_item(l);
        xt_drop(l);
    }
    double norm = xt_item(xt_sum(xt_square(xt_module_find(net, "w"))));
    if (rank == 0) {
        memcpy(out->loss, loss, sizeof loss);
        out->norm = norm;
    }
    return xt_finish();
}
static void filling_is_not_read(void **state) {
    (void)state;
    logs *one = mmap(NULL, 2 * sizeof *one, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *many = one + 1;
    assert_true(one != MAP_FAILED);
    setenv("XT_DEBUG", "nan", 1);
    runs("logarithms", "", 1, train_logs, one);
    for (int ranks = 2; ranks <= 4; ranks++) {
        runs("logarithms", "", ranks, train_logs, many);
        for (int i = 0; i < STEPS; i++) assert_true(fabs(many->loss[i] - one->loss[i]) < 1e-6);
        assert_true(fabs(many->norm - one->norm) < 1e-6);
    }
    unsetenv("XT_DEBUG");
    assert_true(one->loss[STEPS - 1] < one->loss[0]);
}

/* Micro-batches: losses are those of one device, and what a rank keeps of the gradients between them is what its
 * part of the optimizer's state reads. */
static void accumulated(void **state) {
    (void)state;
    job *one = NULL;
    static const job jobs[] = {
        {.name = "one, micro", .ranks = 1, .data = 0},
        {.name = "data, micro", .ranks = 2, .data = 2},
        {.name = "zero, micro", .ranks = 2, .data = 2, .zero = true},
        {.name = "zero, micro", .ranks = 4, .data = 4, .zero = true},
        {.name = "zero, micro, compiled", .ranks = 2, .data = 2, .zero = true, .compiled = true},
        {.name = "fsdp, micro", .ranks = 4, .data = 4, .fsdp = true},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        job *j = shared(&jobs[i]);
        j->gpt = j->adam = j->micro = true;
        j->tensor = 1;
        runs("layout", j->name, j->ranks, train, j);
        if (!one) one = j;
        compare(j, one);
        int64_t whole = one->at[0].parameters, got = j->at[j->ranks - 1].gradients;
        int share = j->zero || j->fsdp ? j->ranks : 1;
        printf("%s on %d ranks: gradients %lld of %lld bytes\n", j->name, j->ranks, (long long)got, (long long)whole);
        assert_in_range(got, whole / share, whole / share * 12 / 10); /* small vectors stay whole */
    }
}

/* --- checkpoints --- */
static char folder[64];

static void same_files(const char *a, const char *b, double tolerance) {
    st_file *x = NULL, *y = NULL;
    xt_status s = st_open(a, &x);
    if (!s) s = st_open(b, &y);
    if (s) fail_msg("%s", xt_status_message(s));
    assert_int_equal(st_count(x), st_count(y));
    for (size_t i = 0; i < st_count(x); i++) {
        const st_entry *e = st_at(x, i), *f = st_find(y, e->name);
        size_t n = (size_t)(e->end - e->begin);
        assert_true(f && f->end - f->begin == n);
        if (e->dtype != XT_F32) continue;
        float *u = malloc(n + 1), *v = malloc(n + 1);
        assert_null(st_read(x, e, u, n));
        assert_null(st_read(y, f, v, n));
        for (size_t k = 0; k < n / 4; k++)
            if (!(fabs((double)u[k] - (double)v[k]) <= tolerance))
                fail_msg("%s[%zu] is %g in %s, %g in %s", e->name, k, (double)u[k], a, (double)v[k], b);
        free(u);
        free(v);
    }
    st_close(x);
    st_close(y);
}

static void same_weights(bool odd, int64_t data, int64_t tensor) {
    char one_file[96], many_file[96];
    snprintf(one_file, sizeof one_file, "%s/one.safetensors", folder);
    snprintf(many_file, sizeof many_file, "%s/many.safetensors", folder);
    job *one =
        shared(&(job){.name = "one", .ranks = 1, .gpt = true, .odd = odd, .data = 0, .tensor = 1, .file = one_file});
    job *many = shared(&(job){.name = "many",
                              .ranks = (int)(data * tensor),
                              .gpt = true,
                              .odd = odd,
                              .data = data,
                              .tensor = tensor,
                              .fsdp = true,
                              .tensor_parallel = true,
                              .file = many_file});
    runs("layout", one->name, one->ranks, train, one);
    runs("layout", many->name, many->ranks, train, many);
    compare(many, one);
    same_files(one_file, many_file, 1e-5);
}

static void saved_whole(void **state) {
    (void)state;
    same_weights(false, 2, 2);
    same_weights(true, 2, 3);
    same_weights(true, 8, 1);
}

/* A fit of 4 steps, against a fit of 2 on a mesh of 4 that is saved and goes on: there again, or on one device. */
typedef struct fit_job {
    int ranks, steps;
    bool mesh;
    const char *run, *resume;
    double loss[RANKS];
} fit_job;

static xt_tensor fit_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_cross_entropy(xt_forward(net, b.x), b.y);
    xt_log("loss", loss, .on_step = XT_ON, .sync_dist = XT_ON);
    return loss;
}
static xt_optimizer *fit_optimizer(xt_module *net, void *user) {
    (void)user;
    return xt_adamw(net, .lr = 0.003);
}

static int fit(int rank, void *arg) {
    fit_job *j = arg;
    xt_seed(11);
    xt_module *net = xt_module_new(gpt2, NULL);
    mesh = xt_mesh_new({"data", j->mesh ? 2 : 0}, {"tensor", j->mesh ? 2 : 1});
    xt_mesh_fsdp(mesh, net, "data");
    xt_mesh_tensor_parallel(mesh, net, "tensor");
    xt_task task = {.module = net, .training_step = fit_step, .configure_optimizers = fit_optimizer};
    xt_trainer *t =
        xt_trainer_new(.max_steps = j->steps, .log_every_n_steps = 1, .runs_dir = folder, .run_name = j->run,
                       .resume = j->resume, .loggers = "csv", .progress_bar = XT_OFF, .model_summary = XT_OFF,
                       .seed = 11, .gradient_clip_val = 1, .accumulate_grad_batches = 2);
    if (j->mesh) xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 1, .save_top_k = -1));
    int code = xt_fit(t, &task, texts(NULL, 8 / xt_mesh_size(mesh, "data")));
    j->loss[rank] = xt_trainer_result(t).loss_last;
    return code ? code : xt_finish();
}

static double fitted(fit_job what) {
    fit_job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = what;
    runs("the fit", j->run, j->ranks, fit, j);
    for (int r = 1; r < j->ranks; r++) assert_true(j->loss[r] == j->loss[0]);
    return j->loss[0];
}

static void resumed(void **state) {
    (void)state;
    char last[128];
    snprintf(last, sizeof last, "%s/half/version_0/checkpoints/last.ckpt", folder);
    double whole = fitted((fit_job){.ranks = 1, .steps = 4, .run = "whole"});
    fitted((fit_job){.ranks = 4, .steps = 2, .mesh = true, .run = "half"});
    double here = fitted((fit_job){.ranks = 4, .steps = 4, .mesh = true, .run = "here", .resume = last});
    double there = fitted((fit_job){.ranks = 1, .steps = 4, .run = "there", .resume = last});
    assert_true(whole > 0.1 && whole < 100);
    if (!(fabs(here - whole) < 1e-5 * whole) || !(fabs(there - whole) < 1e-5 * whole))
        fail_msg("the unbroken run ends with loss %.8f, resumed on 4 ranks %.8f, on one %.8f", whole, here, there);
}

/* The same by .strategy of the trainer, without a mesh of one's own: what it takes is divided, checkpoints are whole,
 * and go on with other ranks and another strategy. */
typedef struct strategy_job {
    int ranks, steps;
    const char *strategy, *run, *resume;
    double loss;
    int64_t parameters, optimizer;
} strategy_job;

static int fit_divided(int rank, void *arg) {
    strategy_job *j = arg;
    xt_trainer *t =
        xt_trainer_new(.max_steps = j->steps, .log_every_n_steps = 1, .runs_dir = folder, .run_name = j->run,
                       .resume = j->resume, .loggers = "csv", .progress_bar = XT_OFF, .model_summary = XT_OFF,
                       .seed = 11, .gradient_clip_val = 1, .strategy = j->strategy);
    xt_task task = {.net = gpt2, .training_step = fit_step, .configure_optimizers = fit_optimizer};
    xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 1, .save_top_k = -1));
    int code = xt_fit(t, &task, texts(NULL, 8 / xt_world_size()));
    if (rank == 0) {
        j->loss = xt_trainer_result(t).loss_last;
        j->parameters = bytes_of("parameter");
        j->optimizer = bytes_of("optimizer");
    }
    return code ? code : xt_finish();
}

static strategy_job by_strategy(strategy_job what) {
    strategy_job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = what;
    runs("strategy", j->strategy, j->ranks, fit_divided, j);
    return *j;
}

static void strategies(void **state) {
    (void)state;
    char half[128], more[128];
    snprintf(half, sizeof half, "%s/zero_half/version_0/checkpoints/last.ckpt", folder);
    snprintf(more, sizeof more, "%s/fsdp_more/version_0/checkpoints/last.ckpt", folder);
    /* with one rank nothing is divided */
    strategy_job one = by_strategy((strategy_job){.ranks = 1, .steps = 4, .strategy = "fsdp", .run = "alone"});
    strategy_job zero = by_strategy((strategy_job){.ranks = 2, .steps = 2, .strategy = "zero1", .run = "zero_half"});
    strategy_job fsdp =
        by_strategy((strategy_job){.ranks = 4, .steps = 3, .strategy = "fsdp", .run = "fsdp_more", .resume = half});
    strategy_job last =
        by_strategy((strategy_job){.ranks = 1, .steps = 4, .strategy = "ddp", .run = "alone_again", .resume = more});
    strategy_job whole = by_strategy((strategy_job){.ranks = 2, .steps = 4, .strategy = "zero2", .run = "zero_whole"});
    printf("zero1: parameters %lld, optimizer %lld of %lld bytes on one of 2 ranks; fsdp: %lld and %lld on one of 4\n",
           (long long)zero.parameters, (long long)zero.optimizer, (long long)one.optimizer, (long long)fsdp.parameters,
           (long long)fsdp.optimizer);
    assert_true(one.loss > 0.1 && fabs(last.loss - one.loss) < 1e-5 * one.loss &&
                fabs(whole.loss - one.loss) < 1e-5 * one.loss);
    assert_true(zero.parameters == one.parameters && zero.optimizer < one.optimizer * 55 / 100);
    assert_true(fsdp.parameters < one.parameters * 35 / 100 && fsdp.optimizer < one.optimizer * 35 / 100);
}

/* --- predictions --- */
enum { SAMPLES = 11 };
static xt_tensor small(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor small_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_masked_mean(xt_mean(xt_square(xt_forward(m, b.x)), 1), b.mask);
}
static xt_tensor its_input(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    return b.x;
}
static xt_loader *numbered(void) {
    static float x[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) x[i] = (float)i;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, SAMPLES), .batch = 4,
                         .pad_last = XT_ON);
}
static int predict(int rank, void *arg) {
    const char *strategy = arg;
    (void)rank;
    const xt_task task = {
        .net = small, .training_step = small_step, .predict_step = its_input, .configure_optimizers = fit_optimizer};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = folder, .progress_bar = XT_OFF, .model_summary = XT_OFF,
                                   .checkpointing = XT_OFF, .strategy = strategy, .run_name = strategy);
    xt_trainer_add(t, xt_prediction_writer());
    if (xt_fit(t, &task, numbered(), NULL)) return 1;
    return xt_predict(t, &task, numbered(), NULL, NULL) ? 1 : xt_finish();
}

/* A mesh's batch is all ranks', whose padding lies between their samples: each sample has its row, once, in order. The
 * files of all ranks lie in the run's folder. */
static void padding_is_not_predicted(void **state) {
    (void)state;
    for (int fsdp = 0; fsdp < 2; fsdp++)
        for (int ranks = 2; ranks <= 3; ranks++) {
            const char *strategy = fsdp ? "fsdp" : "ddp";
            double rows[SAMPLES] = {0};
            runs("predict", strategy, ranks, predict, (void *)(uintptr_t)strategy);
            for (int r = 0; r < ranks; r++) {
                char path[160];
                xt_array a;
                snprintf(path, sizeof path, "%s/%s/version_%d/predictions.rank%d.npy", folder, strategy, ranks - 2, r);
                assert_null(xt_npy_read(path, &a));
                for (int64_t i = 0; i < a.dims[0]; i++) {
                    float v = ((const float *)a.data)[i];
                    if (fsdp && v != (float)i) fail_msg("%d ranks: row %d of rank %d is %g", ranks, (int)i, r, v);
                    rows[(int)v]++;
                }
                xt_array_free(&a);
            }
            for (int i = 0; i < SAMPLES; i++)
                if (rows[i] != (fsdp ? ranks : 1)) fail_msg("%s: sample %d has %g rows", strategy, i, rows[i]);
        }
}

/* --- a rank that goes its own way --- */
typedef struct lonely {
    char said[2][4096];
} lonely;
static lonely *heard;

static void listen(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    char *to = heard->said[xt_rank() % 2];
    snprintf(to + strlen(to), sizeof heard->said[0] - strlen(to), "%.*s", (int)n, text);
}

static int reads_alone(int rank, void *arg) {
    (void)arg;
    xt_set_sink(listen, NULL);
    mesh = xt_mesh_new({"data", 0}, {"tensor", 1});
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_mesh_fsdp(mesh, net, "data");
    xt_optimizer *opt = xt_sgd(net, .lr = 0.05);
    xt_loader *l = digits(8);
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(opt);
        if (rank == 0 && b.index == 1) xt_item(loss);
    }
    return xt_finish();
}

/* Its program would meet the others' step: they hear of it at once, with the lines of both. */
static void one_rank_reads(void **state) {
    (void)state;
    heard = mmap(NULL, sizeof *heard, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(heard != MAP_FAILED);
    assert_in_range(launched(2, reads_alone, NULL), 1, 255);
    int told = 0; /* the launcher ends the other when one has failed, perhaps before it could say so */
    for (int r = 0; r < 2; r++)
        told += strstr(heard->said[r], "rank 1 runs another program in step ") &&
                strstr(heard->said[r], "first difference: rank 0 has ") &&
                strstr(heard->said[r], "read the same values (xt_item, xt_read, xt_save) in the same order");
    if (!told) fail_msg("rank 0 says: %s\nrank 1 says: %s", heard->said[0], heard->said[1]);
}

int main(void) {
    snprintf(folder, sizeof folder, "/tmp/xt_mesh_XXXXXX");
    if (!mkdtemp(folder)) return 1;
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(mnist),
                                       cmocka_unit_test(gpt),
                                       cmocka_unit_test(odd_dims),
                                       cmocka_unit_test(filling_is_not_read),
                                       cmocka_unit_test(divided_sequences),
                                       cmocka_unit_test(accumulated),
                                       cmocka_unit_test(saved_whole),
                                       cmocka_unit_test(resumed),
                                       cmocka_unit_test(strategies),
                                       cmocka_unit_test(padding_is_not_predicted),
                                       cmocka_unit_test(one_rank_reads)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : failed;
}
