/* Fits on several ranks over a data module, for tests/cli/ranks_data.sh: ranks_data MODE [trainer options]. Each rank
 * prints a line for every batch that it trained on, with the numbers of the samples in it, and one at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

#include "weights_sum.h"

enum { FEATURES = 4, MOST = 64 };
static const char *mode;
static int n_args;
static char **args;
static bool is(const char *m) {
    return strcmp(mode, m) == 0;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_dropout(m, xt_relu(xt_linear(m, "fc1", x, 8)), 0.2), 3);
}

/* The numbers of a batch's samples, of those that are no padding. */
static void tell(const char *what, const xt_batch *b) {
    float x[MOST][FEATURES];
    char line[1024];
    size_t n = 0;
    int64_t rows = xt_dim(b->x, 0);
    if (rows > MOST || !xt_read(b->x, x, (size_t)rows * sizeof *x)) exit(3);
    for (int64_t i = 0; i < b->size; i++) n += (size_t)snprintf(line + n, sizeof line - n, " %d", (int)x[i][0]);
    printf("rank %d %s epoch %lld batch %lld:%s\n", xt_rank(), what, (long long)b->epoch, (long long)b->index,
           n ? line : "");
}

static xt_tensor loss_of(xt_module *m, const xt_batch *b) {
    xt_tensor losses = xt_cross_entropy(xt_forward(m, xt_mul_scalar(b->x, 0.01)), b->y, .reduction = XT_NONE);
    return xt_is_none(b->mask) ? xt_mean(losses) : xt_masked_mean(losses, b->mask);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    static const char *const parts[2] = {"first", "second"};
    xt_tensor loss = {0};
    if (!b.parts || is("sequential")) {
        tell(is("sequential") ? parts[b.loader] : "only", &b);
        return loss_of(m, &b);
    }
    for (int i = 0; i < b.n_parts; i++) {
        if (xt_is_none(b.parts[i].x)) continue;
        tell(parts[i], &b.parts[i]);
        xt_tensor more = loss_of(m, &b.parts[i]);
        loss = xt_is_none(loss) ? more : xt_add(loss, more);
    }
    return loss;
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    tell("val", &b);
    xt_log("val/loss", loss_of(m, &b), .sync_dist = XT_ON);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}

/* --- the data module --- */
typedef struct data {
    int made; /* loaders, kept in checkpoints */
    char pattern[256];
} data;

static xt_status prepare(void *user) {
    (void)user;
    fprintf(stderr, "prepared by rank %d\n", xt_rank());
    if (is("bad-prepare")) return xt_status_new(XT_NOT_FOUND, "nothing to download");
    return NULL;
}
static xt_status setup(xt_trainer *t, const char *stage, void *user) {
    data *d = user;
    fprintf(stderr, "set up by rank %d for %s\n", xt_rank(), stage);
    if (is("bad-setup") && xt_rank() == 1) return xt_status_new(XT_NOT_FOUND, "rank 1 has no disk");
    snprintf(d->pattern, sizeof d->pattern, "%s", xt_trainer_text(t, "data.shards", "shards"));
    return NULL;
}
/* "17.txt" holds the sample's number; its label is what is left of it by three. */
static xt_status decode(void *user, const xt_tar_sample *s, void *x, void *y) {
    (void)user;
    int i = xt_tar_find(s, "txt");
    if (i < 0) return xt_status_new(XT_NOT_FOUND, "no text");
    int number = atoi(s->data[i]);
    for (int k = 0; k < FEATURES; k++) ((float *)x)[k] = (float)(k ? number * k % 7 : number);
    if (y) *(int64_t *)y = number % 3;
    return NULL;
}
static xt_loader *load(xt_trainer *t, const data *d, int which) {
    xt_dataset *ds =
        xt_tar_dataset(d->pattern, .decode = decode, .x = (xt_spec){XT_F32, {FEATURES}}, .y = (xt_spec){XT_I64, {0}});
    if (!ds) return NULL;
    int64_t batch = (int64_t)xt_trainer_number(t, "data.batch", 4);
    bool tar = which == 0 && !is("shuffle");
    static int64_t lengths[1024];
    for (int i = 0; i < 1024; i++) lengths[i] = i % 5;
    xt_sampler *sampler = is("bucket") ? xt_bucket_sampler(lengths, xt_dataset_count(ds), 2, ((int64_t[]){2, 4}))
                          : tar        ? xt_tar_sampler(ds, .buffer = 6)
                                       : NULL;
    bool pads = !is("drop") && !is("short");
    return xt_loader_new(ds, .batch = batch, .sampler = sampler, .shuffle = which == 1 || is("shuffle"),
                         .pad_last = pads ? XT_ON : XT_OFF, .drop_last = is("short") ? XT_OFF : XT_DEFAULT,
                         .workers = 2);
}
static xt_loader *train(xt_trainer *t, void *user) {
    data *d = user;
    d->made++;
    static const char *const names[] = {"min", "cycle", "max", "sequential"};
    xt_loader *a = load(t, d, 0);
    for (int k = 0; k < 4; k++)
        if (is(names[k]))
            return xt_combined_loader(2, ((xt_loader *[]){a, load(t, d, 1)}), .mode = (xt_combined_mode)k);
    return a;
}
static xt_loader *val(xt_trainer *t, void *user) {
    return load(t, user, 2);
}
static void teardown(xt_trainer *t, const char *stage, void *user) {
    (void)t, (void)user;
    fprintf(stderr, "torn down by rank %d after %s\n", xt_rank(), stage);
}
static size_t save_state(char *buf, size_t n, void *user) {
    return (size_t)snprintf(buf, n, "{\"made\": %d}", ((data *)user)->made);
}
static xt_status load_state(const char *json, void *user) {
    return sscanf(json, "{\"made\": %d}", &((data *)user)->made) == 1 ? NULL
                                                                      : xt_status_new(XT_INVALID_ARGUMENT, "%s", json);
}

static int run(int rank, void *arg) {
    (void)arg;
    data d = {0};
    const xt_data_module module = {.struct_size = sizeof module,
                                   .user = &d,
                                   .prepare = prepare,
                                   .setup = setup,
                                   .train = train,
                                   .val = val,
                                   .teardown = teardown,
                                   .save_state = save_state,
                                   .load_state = load_state};
    xt_task task = {
        .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .log_every_n_steps = 1, .loggers = "csv", .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF, .seed = 5);
    xt_trainer_args(t, n_args, args);
    int code = xt_fit_data(t, &task, &module);
    xt_module *m = xt_trainer_module(t);
    unsigned long long sum = weights_sum(code ? NULL : m, NULL);
    if (!sum) return 1;
    printf("rank %d ended: code %d, step %lld, made %d, weights %016llx\n", rank, code,
           (long long)xt_trainer_global_step(t), d.made, sum);
    fflush(stdout);
    int finished = xt_finish();
    return code ? code : finished;
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "tar";
    args = argv + 1;
    n_args = argc - 1;
    return xt_launch(run, NULL);
}
