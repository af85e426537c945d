/* Functions of the program's that the library calls, each with something in it that it may not do: xt_finish, freeing
 * what is in use, the next batch of the loader in use, another sink and another handler. Parts of a program call all
 * of them (inside.inc: the list is read from the headers), each part in a process of its own: first to see which part
 * calls which, then once for each function and act. None ends in a signal, none hangs, and xt_finish is refused by
 * name. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xtrain/doctor.h>
#include <xtrain/xtrain.h>

enum { ACT_NONE, ACT_FINISH, ACT_FREE, ACT_NEXT, ACT_SET, ACTS };
static const char *const acts[ACTS] = {"nothing", "xt_finish", "frees", "the next batch", "another sink and handler"};
enum { MOST = 512 };
static struct {
    atomic_bool called[MOST];
    atomic_bool acted;
} * shared;
static int act, function;
static struct {
    xt_module *module;
    xt_optimizer *optimizer;
    xt_loader *loader;
    xt_dataset *dataset;
    xt_trainer *trainer;
    xt_step *step;
} the; /* objects in use */

static void inside(int i) {
    xt_batch b;
    shared->called[i] = true;
    if (act == ACT_NONE || i != function || atomic_exchange(&shared->acted, true)) return;
    switch (act) {
    case ACT_FINISH: (void)xt_finish(); break;
    case ACT_FREE:
        xt_loader_free(the.loader);
        xt_dataset_free(the.dataset);
        xt_step_free(the.step);
        xt_optimizer_free(the.optimizer);
        xt_module_free(the.module);
        xt_trainer_free(the.trainer);
        break;
    case ACT_NEXT: (void)(the.loader && xt_next(the.loader, &b)); break;
    case ACT_SET:
        xt_set_sink(NULL, NULL);
        xt_on_error(NULL, NULL);
        break;
    }
}

static xt_loader *small_loader(int64_t batch);
static xt_tensor loss_of(xt_module *m, xt_tensor x);
static xt_tensor step_of(xt_module *m, xt_batch b);
static void logged(xt_module *m, xt_batch b) {
    xt_log("val/loss", step_of(m, b));
}
#include "inside.inc"

static float x[8][4];
static int64_t y[8];
static xt_loader *small_loader(int64_t batch) {
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64}, 8), .batch = batch);
}
static xt_tensor loss_of(xt_module *m, xt_tensor in) {
    return xt_mean(xt_square(xt_forward(m, in)));
}
static bool fails; /* a fit's step does */
static xt_tensor step_of(xt_module *m, xt_batch b) {
    xt_tensor loss = loss_of(m, b.x);
    xt_metric finished = {.sums = xt_reshape(loss, 1), .finish = does_xt_metric_finish};
    xt_log("train/loss", loss);
    xt_log_metric("train/finished", finished);
    xt_log_text("train/words", "some");
    return fails ? b.x : loss; /* no loss: it has many elements */
}

/* --- parts of a program --- */
static void read_some(xt_dataset *ds, xt_loader *l) {
    the.dataset = ds, the.loader = l;
    int n = 0;
    for (xt_batch b; l && n++ < 3 && xt_next(l, &b);) (void)xt_item(xt_sum(b.x));
}
static void own_dataset(void) {
    static const xt_dataset_desc d = {.struct_size = sizeof d,
                                      .count = 8,
                                      .x = {XT_F32, {4}},
                                      .y = {XT_I64},
                                      .more = {{XT_F32, {2}}},
                                      FILL_xt_dataset_desc};
    xt_dataset *ds = xt_dataset_new(&d);
    static const xt_sampler_desc order = {.struct_size = sizeof order, .count = 8, FILL_xt_sampler_desc};
    read_some(ds, xt_loader_new(ds, .batch = 2, .sampler = xt_sampler_new(&order)));
}
static void own_tokens(void) {
    xt_spec row = {XT_F32, {4}}, label = {XT_I64};
    xt_dataset *ds = xt_map_dataset(xt_array_dataset(x, row, y, label, 8), row, label, does_xt_map_fn, NULL);
    read_some(ds, xt_loader_new(ds, .batch = 2, FILL_xt_loader_opts));
}
static void own_stream(void) {
    static const xt_stream_desc d = {.struct_size = sizeof d, .x = {XT_F32, {4}}, FILL_xt_stream_desc};
    xt_dataset *ds = xt_stream_dataset(&d);
    read_some(ds, xt_loader_new(ds, .batch = 2));
    if (the.loader) xt_loader_free(the.loader); /* by hand: its thread closes the stream */
}
static void own_tar(void) {
    xt_dataset *ds = xt_tar_dataset("shard.tar", .x = {XT_F32, {4}}, FILL_xt_tar_opts);
    read_some(ds, xt_loader_new(ds, .batch = 1));
}
static xt_trainer *trainer(int64_t epochs, const char *resume) {
    static const xt_callback_desc c = {.struct_size = sizeof c, .name = "all", FILL_xt_callback_desc};
    static const xt_logger_desc l = {.struct_size = sizeof l, .name = "own", FILL_xt_logger_desc};
    xt_trainer *t = xt_trainer_new(.max_epochs = epochs, .runs_dir = "runs", .log_every_n_steps = 1, .resume = resume,
                                   .num_sanity_val_steps = 1, .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_callback_new(&c, NULL));
    xt_trainer_add(t, xt_throughput_monitor(FILL_xt_throughput_opts));
    xt_trainer_add(t, xt_sample_writer(.sample = does_xt_sample_fn, .every = "1steps"));
    xt_trainer_add_logger(t, &l, NULL);
    return the.trainer = t;
}
static xt_task whole_task(void) {
    xt_task t = {.net = does_xt_module_fn, FILL_xt_task};
    t.configure_several = NULL;
    return t;
}
static void passes(void) {
    xt_task task = whole_task();
    xt_trainer *t = trainer(1, NULL);
    the.loader = small_loader(2);
    (void)(xt_fit(t, &task, the.loader, small_loader(2)) || xt_validate(t, &task, small_loader(2)) ||
           xt_test(t, &task, small_loader(2)) || xt_predict(t, &task, small_loader(2), does_xt_prediction_fn, NULL));
    xt_status s = xt_trainer_save(t, "own.ckpt");
    xt_status_free(s);
}
static void several(void) {
    xt_task task = {.net = does_xt_module_fn,
                    .training_step = does_xt_task_training_step,
                    .configure_several = does_xt_task_configure_several};
    (void)xt_fit(trainer(1, NULL), &task, the.loader = small_loader(2));
}
static void failing(void) {
    xt_task task = whole_task();
    fails = true;
    (void)xt_fit(trainer(1, NULL), &task, the.loader = small_loader(2));
}
static void resumed(void) {
    static const xt_data_module d = {.struct_size = sizeof d, FILL_xt_data_module};
    xt_task task = whole_task();
    xt_trainer *t = trainer(1, NULL);
    int failed = xt_fit_data(t, &task, &d);
    xt_status s = failed ? NULL : xt_trainer_save(t, "data.ckpt");
    xt_status_free(s);
    if (failed) return;
    t = trainer(2, "data.ckpt");
    (void)(xt_fit_data(t, &task, &d) || xt_test_data(t, &task, &d) ||
           xt_predict_data(t, &task, &d, does_xt_prediction_fn, NULL) || xt_validate_data(t, &task, &d));
}
static void found(void) {
    xt_task task = {.net = does_xt_module_fn,
                    .training_step = does_xt_task_training_step,
                    .configure_optimizers = does_xt_task_configure_optimizers};
    (void)xt_batch_find(&task, does_xt_batch_find_make, NULL, .first = 2, .most = 4, .steps = 1);
}
static void forwards(void) {
    xt_tensor in = xt_ones(XT_F32, 2, 4), out;
    xt_module *m = the.module = xt_module_new(does_xt_module_fn, NULL), *many;
    xt_optimizer *o = the.optimizer = xt_lbfgs(m);
    (void)xt_lambda_schedule(o, does_xt_schedule_fn);
    (void)xt_item(xt_sum(xt_forward(m, in)));
    (void)xt_optimizer_step_closure(o, does_xt_closure_fn, NULL);
    many = xt_module_new_many(does_xt_module_many_fn, 1, 1, NULL);
    if (xt_forward_many(many, 1, &in, 1, &out)) (void)xt_item(xt_sum(out));
}
static xt_tensor piped_net(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_pipeline_loss(m, "h", in, xt_ones(XT_F32, 2), does_xt_module_fn, does_xt_pipeline_head_fn);
}
static void pipelines(void) {
    the.module = xt_module_new(piped_net, NULL);
    (void)xt_item(xt_forward(the.module, xt_ones(XT_F32, 2, 3)));
}
static void functions(void) {
    xt_tensor in = xt_ones(XT_F32, 2), out, d = xt_scalar(1, XT_F32), carry = in, state = in, ys;
    (void)xt_scan(does_xt_scan_fn, 1, &carry, 1, &in, 1, &ys);
    (void)xt_while(does_xt_while_cond_fn, does_xt_while_fn, 1, &state);
    (void)xt_grad_fn(does_xt_fn, NULL, 1, &in, &out, &d);
    xt_tensor w = xt_requires_grad(in, true);
    if (xt_custom_grad(does_xt_custom_forward_fn, does_xt_custom_backward_fn, 1, &w, 1, &out, .saved = 1))
        xt_backward(xt_sum(out));
    the.step = xt_compile(does_xt_step_fn);
    (void)xt_item(xt_sum(xt_call(the.step, in)));
    xt_when_ready(xt_sum(in), does_xt_ready_fn, NULL);
    (void)xt_wait();
}
static void texts(void) {
    xt_set_sink(does_xt_sink_fn, NULL);
    xt_on_error(does_xt_error_fn, NULL);
    the.loader = small_loader(2);
    the.module = xt_module_new(does_xt_module_fn, NULL);
    xt_master_printf("words\n");
    xt_cost_summary();
    (void)xt_add(xt_ones(XT_F32, 3), xt_ones(XT_F32, 4));
    (void)xt_mark_step();
    xt_clear_error();
}
static void files(void) {
    xt_status s = xt_config_read("config.json", does_xt_config_read_take, NULL);
    xt_status_free(s);
    (void)xt_item(xt_sum(xt_ones(XT_F32, 7)));
    s = xt_cache_each(false, does_xt_cache_each_visit, NULL);
    xt_status_free(s);
}
static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"own_dataset", own_dataset},
             {"own_tokens", own_tokens},
             {"own_stream", own_stream},
             {"own_tar", own_tar},
             {"passes", passes},
             {"several", several},
             {"failing", failing},
             {"resumed", resumed},
             {"found", found},
             {"forwards", forwards},
             {"pipelines", pipelines},
             {"functions", functions},
             {"texts", texts},
             {"files", files}};
enum { PARTS = sizeof parts / sizeof *parts, NAMES = sizeof names / sizeof *names };

/* Gives waitpid's status; what it said is in the file "said". */
static int run(int part) {
    int status = 0;
    shared->acted = false;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        alarm(20);
        dup2(fd, 1), dup2(fd, 2);
        parts[part].run();
        exit(xt_finish());
    }
    waitpid(child, &status, 0);
    return status;
}
static bool said(const char *text) {
    static char all[1 << 20];
    FILE *f = fopen("said", "r");
    size_t n = f ? fread(all, 1, sizeof all - 1, f) : 0;
    if (f) fclose(f);
    all[n] = 0;
    return strstr(all, text) != NULL;
}

int main(int argc, char **argv) {
    int runs = 0, bad = 0, in[NAMES];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < NAMES; i++) in[i] = -1;
    for (int p = PARTS; p-- > 0;) {
        memset(shared->called, 0, sizeof shared->called);
        int status = run(p);
        if (WIFSIGNALED(status) || argc > 1)
            printf("part %s: status %d\n", parts[p].name, status), bad += WIFSIGNALED(status);
        for (int i = 0; i < NAMES; i++)
            if (shared->called[i]) in[i] = p;
    }
    for (function = 0; function < NAMES; function++) {
        if (in[function] < 0) printf("%s: nothing here calls it\n", names[function]), bad++;
        if (in[function] < 0 || (argc > 1 && strcmp(argv[1], names[function]) != 0)) continue;
        for (act = ACT_FINISH; act < ACTS; act++, runs++) {
            int status = run(in[function]);
            const char *why = WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status))
                              : !shared->acted ? "it was not called"
                              : said("AddressSanitizer")                        ? "AddressSanitizer"
                              : act == ACT_FINISH && !said("xt_finish inside ") ? "xt_finish was not refused"
                                                                                : NULL;
            if (!why) continue;
            printf("%s in %s (%s): %s\n", acts[act], names[function], parts[in[function]].name, why);
            if (argc > 1) (void)!system("cat said");
            bad++;
        }
        act = ACT_NONE;
    }
    printf("%d functions, %d runs, %d bad\n", NAMES, runs, bad);
    return bad != 0;
}
