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
    diag_note_epoch(&(diag_epoch){.seconds = d.seconds, .compile_ms = d.compile_ms, .idle_share = d.idle_share, .peak_mib = d.peak_mib, .compiles = d.compiles});
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
    r->batches_per_s = train_s > 0 ? ranks * (double)t->at.micro_batches / train_s : 0;
    r->flops_per_s = train_s > 0 ? ranks * ((double)counter_get(COUNTER_flops) - t->at.flops) / train_s : 0;
    r->mfu = t->mfu;
    r->compiles = counter_get(COUNTER_compiles) - t->at.compiles;
    r->compiles_after_first_epoch = t->at.first_epoch_seen ? counter_get(COUNTER_compiles) - t->at.compiles_first_epoch : 0;
    r->compile_ms = (double)(counter_get(COUNTER_compile_ns) - t->at.compile_ns) / 1e6;
    float losses[2];
    if (t->at.micro_batches && lazy_type(t->loss_state)) {
        xt_status s = lazy_state_read(t->loss_state, losses, sizeof losses);
        if (!s) {
            r->loss_first = losses[0];
            r->loss_last = losses[1];
            if (world_get()->rank == 0 && !t->quiet) log_loss_seen("loss", losses[1], t->global_step);
        }
        xt_status_free(s);
    }
    r->val_loss = train_metric_of("val/loss");
    if (isnan(r->val_loss)) r->val_loss = train_metric_of("val_loss");
    if (isnan(r->val_loss)) r->val_loss = train_metric_of("val/loss/dataloader_idx_0");
    r->executions = counter_get(COUNTER_executions) - t->at.executions;
    r->host_reads = counter_get(COUNTER_host_reads) - t->at.host_reads;
    r->peak_rss_mib = (double)ru.ru_maxrss / 1024;
    r->epochs_detail = t->details;
}
