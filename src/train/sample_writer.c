/* Samples of what the model makes, from time to time: the program's function, in eval mode, with a name
 * for its files. */
#include "nn/nn.h"
#include "train/train_int.h"

typedef struct sampler {
    xt_sample_writer_opts o;
    train_interval every;
    int64_t last_ns;
} sampler;

static void make_samples(xt_trainer *t, sampler *m) {
    if (world_get()->rank != 0 || t->o.fast_dev_run) return;
    str path = STR_INIT;
    str_printf(&path, "%s/samples", t->run_dir ? t->run_dir : train_runs_dir(t));
    xt_status s = file_make_dirs(str_cstr(&path), 0755);
    str_printf(&path, "/step_%07lld", (long long)t->global_step);
    nn_mode_begin(NULL, t->net, NN_EVALUATING);
    xt_no_grad_begin();
    if (!s && !path.failed) m->o.sample(t->net, t->global_step, str_cstr(&path), m->o.user);
    xt_no_grad_end_at(NULL);
    nn_mode_end(NULL, t->net);
    if (s) lazy_fail(s);
    str_free(&path);
    m->last_ns = clock_ns();
}

static xt_status fit_start(xt_trainer *t, void *user) {
    sampler *m = user;
    (void)t;
    m->last_ns = clock_ns();
    return NULL;
}

static void step_end(xt_trainer *t, void *user) {
    sampler *m = user;
    int64_t part = (int64_t)(m->every.share * (double)t->train_limit);
    bool due = false;
    switch (m->every.unit) {
    case INTERVAL_EPOCHS: break; /* epoch_end's */
    case INTERVAL_STEPS: due = t->global_step % m->every.n == 0; break;
    case INTERVAL_BATCHES:
        due = t->position.batches % m->every.n < t->accumulate;
        break; /* at the end of the window it falls into */
    case INTERVAL_SHARE: due = t->epoch_batches % (part > 0 ? part : 1) == 0; break;
    case INTERVAL_TIME: due = clock_ns() - m->last_ns >= m->every.n; break;
    }
    if (due) make_samples(t, m);
}

static void epoch_end(xt_trainer *t, void *user) {
    sampler *m = user;
    if (m->every.unit == INTERVAL_EPOCHS && (t->epoch + 1) % m->every.n == 0) make_samples(t, m);
}

static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "sample_writer",
                                      .fit_start = fit_start,
                                      .step_end = step_end,
                                      .epoch_end = epoch_end,
                                      .free_user = base_free};

xt_callback *xt_sample_writer_opt(const xt_src *src, xt_sample_writer_opts o) {
    SRC_CALLED_FROM(src);
    sampler *m = base_calloc(1, sizeof *m);
    xt_status s = !m ? status_oom(sizeof *m, "a callback")
                  : o.sample
                      ? interval_parse("every", o.every ? o.every : "1epochs", &m->every)
                      : status_new(XT_INVALID_ARGUMENT, NULL, "sample is missing: the function that makes the samples");
    if (s) {
        lazy_fail(status_context(s, "xt_sample_writer"));
        base_free(m);
        return NULL;
    }
    m->o = o;
    return callback_make(&desc, m);
}
