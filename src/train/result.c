/* What a fit did and cost: differences of counters, wall times, and the two losses kept on the device. */
#include <math.h>
#include <sys/resource.h>

#include "diag/diag.h"
#include "train/train_int.h"

xt_epoch_detail result_counters(void) {
    return (xt_epoch_detail){.compiles = counter_get(COUNTER_compiles),
                             .compile_ms = (double)counter_get(COUNTER_compile_ns) / 1e6,
                             .idle_share = (double)counter_get(COUNTER_execute_ns)};
}

void result_begin(xt_trainer *t) {
    t->n_details = 0;
    log_loss_watch();
    diag_forget_epochs();
    t->epochs_done = 0;
    t->at = (train_totals){.began_ns = clock_ns(),
                           .compiles = counter_get(COUNTER_compiles),
                           .compile_ns = counter_get(COUNTER_compile_ns),
                           .executions = counter_get(COUNTER_executions),
                           .host_reads = counter_get(COUNTER_host_reads),
                           .flops = (double)counter_get(COUNTER_flops)};
    t->result = (xt_fit_result){.loss_first = NAN, .loss_last = NAN, .val_loss = NAN};
}

void result_epoch(xt_trainer *t, int64_t began_ns, const xt_epoch_detail *before) {
    xt_epoch_detail now = result_counters();
    double wall = (double)(clock_ns() - began_ns), busy = now.idle_share - before->idle_share;
    xt_epoch_detail d = {.seconds = wall / 1e9,
                         .compiles = now.compiles - before->compiles,
                         .compile_ms = now.compile_ms - before->compile_ms,
                         .idle_share = wall > 0 ? fmax(0, fmin(1, 1 - busy / wall)) : 0,
                         .peak_mib = (double)counter_get(COUNTER_device_peak_bytes) / 1048576};
    if (!VEC_PUSH(t->details, t->n_details, t->cap_details, d)) lazy_fail(status_oom(sizeof d, "an epoch's costs"));
    diag_note_epoch(&(diag_epoch){.seconds = d.seconds,
                                  .compile_ms = d.compile_ms,
                                  .idle_share = d.idle_share,
                                  .peak_mib = d.peak_mib,
                                  .compiles = d.compiles});
    if (!t->at.first_epoch_seen) t->at.compiles_first_epoch = now.compiles;
    t->at.first_epoch_seen = true;
}

void result_end(xt_trainer *t) {
    xt_fit_result *r = &t->result;
    struct rusage ru = {0};
    getrusage(RUSAGE_SELF, &ru);
    double ranks = world_get()->size, train_s = (double)t->at.train_ns / 1e9;
    r->epochs = (int64_t)t->n_details;
    r->steps = t->global_step;
    r->seconds = (double)(clock_ns() - t->at.began_ns) / 1e9;
    r->samples_per_s = train_s > 0 ? ranks * (double)t->at.samples / train_s : 0;
    r->tokens_per_s = train_s > 0 ? ranks * (double)t->at.tokens / train_s : 0;
    r->batches_per_s = train_s > 0 ? ranks * (double)t->at.micro_batches / train_s : 0;
    r->flops_per_s = train_s > 0 ? ranks * ((double)counter_get(COUNTER_flops) - t->at.flops) / train_s : 0;
    r->mfu = t->mfu;
    r->compiles = counter_get(COUNTER_compiles) - t->at.compiles;
    r->compiles_after_first_epoch =
        t->at.first_epoch_seen ? counter_get(COUNTER_compiles) - t->at.compiles_first_epoch : 0;
    r->compile_ms = (double)(counter_get(COUNTER_compile_ns) - t->at.compile_ns) / 1e6;
    float losses[2];
    if (t->at.micro_batches && lazy_type(t->loss_state)) {
        xt_status s = lazy_state_read(t->loss_state, losses, sizeof losses);
        if (!s) {
            r->loss_first = losses[0];
            r->loss_last = losses[1];
            if (world_get()->rank == 0 && !t->quiet) log_loss_seen(LOG_TRAIN, "loss", losses[1], t->global_step);
        }
        xt_status_free(s);
    }
    r->val_loss = train_metric_of(t, "val/loss");
    if (isnan(r->val_loss)) r->val_loss = train_metric_of(t, "val_loss");
    if (isnan(r->val_loss)) r->val_loss = train_metric_of(t, "val/loss/dataloader_idx_0");
    r->executions = counter_get(COUNTER_executions) - t->at.executions;
    r->host_reads = counter_get(COUNTER_host_reads) - t->at.host_reads;
    r->peak_rss_mib = (double)ru.ru_maxrss / 1024;
    r->epochs_detail = t->details;
}

/* --- a loss that is no number --- */
/* One number on the device: how many parameter tensors hold NaN or Inf. */
static xt_tensor count_ruined(const xt_trainer *t, const xt_src *src, int *out_params) {
    xt_tensor n = {0};
    *out_params = 0;
    for (int i = 0; i < xt_module_tensors(t->net); i++) {
        xt_tensor v = xt_module_tensor(t->net, i);
        const ir_type *type = lazy_type(v);
        if (!xt_module_tensor_is_param(t->net, i) || !type || !ir_dtype_is_float(type->dtype)) continue;
        xt_tensor bad = xt_cast_at(src, xt_logical_not_at(src, xt_isfinite_at(src, v)), XT_F32);
        xt_tensor any = xt_minimum_at(src, xt_sum_at(src, bad), xt_full_at(src, 1, XT_F32, XT_DIMS_(0)));
        n = (*out_params)++ ? xt_add_at(src, n, any) : any;
    }
    return n;
}

static bool read_ruined(const xt_trainer *t, const xt_src *src, double *out_ruined, int *out_params) {
    xt_no_grad_begin();
    xt_tensor n = count_ruined(t, src, out_params);
    xt_tensor kept = *out_params ? xt_keep_at(src, n) : n;
    xt_no_grad_end_at(NULL);
    if (!*out_params || !lazy_boundary(LAZY_STEP_END, src)) return false;
    *out_ruined = xt_item_at(src, kept);
    xt_drop_at(src, kept);
    return !lazy_pending();
}

int result_summary(xt_trainer *t, const xt_src *src) {
    double loss = t->result.loss_last, ruined = 0;
    int params = 0;
    /* without a loss there is none to judge */
    bool judged = !isfinite(loss) && !t->loss_begins && t->at.micro_batches > 0 && t->net;
    bool known = judged && read_ruined(t, src, &ruined, &params);
    if (judged && !known) lazy_forget_error();
    diag_summary_once(); /* which has the read in it, so that the end of the program adds no second one */
    if (!known) return 0;
    const char *word = isnan(loss) ? "NaN" : "infinity"; /* not -nan */
    if (ruined == 0) {
        log_msg(XT_SEV_WARNING,
                "the fit ended with a loss of %s, and all its parameters are finite: what the last batch gave it is "
                "the cause (an input that is not finite, a label outside the classes that was computed); "
                "--detect_anomaly on names the line",
                word);
        return 0;
    }
    static const char *const usual[] = {"train/loss", "loss", "train_loss"};
    char early[96] = "";
    for (size_t i = BASE_COUNT(usual); i-- > 0;) /* a name that this fit has rows of */
        if (log_find(t->log, usual[i], &loss))
            snprintf(early, sizeof early, "xt_early_stopping(.monitor = \"%s\") ends it soon; ", usual[i]);
    log_msg(XT_SEV_ERROR,
            "the fit ended with a loss of %s and no model: %.0f of %d parameter tensors hold NaN or Inf, as do the "
            "checkpoints since the first such loss. --detect_anomaly on ends a fit at the first one and names "
            "its line; %s--resume an earlier checkpoint with a smaller learning rate or gradient_clip_val",
            word, ruined, params, early);
    return 1;
}
