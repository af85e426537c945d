/* What Lightning's loop does at its edges, here: lightning_runs CASE [options]. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
static float x[42][5];
static int64_t y[42];
static const char *what;
static xt_trainer *t;
static int calls, validations, ends, teardowns;
#define IS(name) (strcmp(what, name) == 0)
static xt_tensor net(xt_module *m, xt_tensor q, void *u) {
    (void)u;
    return xt_linear(m, "a", q, 3);
}
static xt_tensor step(xt_module *m, xt_batch b, void *u) {
    (void)u;
    calls++;
    if (IS("stop") && xt_trainer_global_step(t) == 4) xt_trainer_stop(t);
    if ((IS("interrupt") || IS("own")) && calls == 5) raise(SIGINT);
    for (int i = 0; i < 2 && IS("twice") && calls == 5; i++) raise(SIGINT);
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static void validate(xt_module *m, xt_batch b, void *u) {
    (void)u;
    validations++;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
}
static bool rest(xt_module *m, const xt_batch *b, void *u) {
    (void)m, (void)u;
    return IS("rest") && b->index == 3;
}
static void over(xt_module *m, void *u) {
    (void)m, (void)u;
    ends++;
}
static void teardown(xt_module *m, const char *stage, void *u) {
    (void)m, (void)stage, (void)u;
    teardowns++;
}
static xt_optimizer *optimizers(xt_module *m, void *u) {
    (void)u;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    if (IS("plateau")) xt_plateau_schedule(o, .monitor = "val/loss", .patience = 0);
    return o;
}
int main(int argc, char **v) {
    what = v[1];
    for (int i = 0; i < 210; i++) x[i / 5][i % 5] = (float)(i * 7 % 11) * 0.1f;
    for (int i = 0; i < 42; i++) y[i] = i % 3;
    signal(SIGINT, IS("own") ? SIG_IGN : SIG_DFL); /* what runs in the background of a script has it ignored */
    t = xt_trainer_new(.max_epochs = 2, .model_summary = XT_OFF, .progress_bar = XT_OFF, .logger = XT_OFF);
    xt_trainer_args(t, argc - 1, v + 1);
    if (IS("monitor")) xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/loss", .save_top_k = 2));
    if (IS("early")) xt_trainer_add(t, xt_early_stopping(.monitor = "val/loss", .on_train_epoch_end = XT_ON));
    xt_task task = {.net = net,
                    .training_step = step,
                    .validation_step = validate,
                    .configure_optimizers = optimizers,
                    .on_train_batch_start = rest,
                    .on_fit_end = over,
                    .teardown = teardown};
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {5}}, y, (xt_spec){XT_I64, {0}}, 42);
    xt_loader *train = xt_loader_new(d, .batch = 4, .drop_last = XT_OFF),
              *val = xt_loader_new(xt_dataset_retain(d), .batch = 20, .drop_last = XT_OFF);
    int rc = xt_fit(t, &task, train, val);
    printf("rc %d calls %d validations %d step %lld epoch %lld ends %d teardowns %d\n", rc, calls, validations,
           (long long)xt_trainer_global_step(t), (long long)xt_trainer_epoch(t), ends, teardowns);
    xt_clear_error();
    return xt_finish();
}
