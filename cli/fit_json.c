/* The JSON line of `xtrain fit --json` (doc: the command line's contract). */
#include "cli/config.h"

#include <math.h>
#include <stdio.h>

static void number(const char *key, double v) {
    if (isfinite(v))
        cli_printf(", \"%s\": %.8g", key, v);
    else
        cli_printf(", \"%s\": null", key);
}

void fit_print_json(const char *model, const xt_fit_result *r, double accuracy) {
    cli_printf("{\"model\": \"%s\", \"epochs\": %lld, \"steps\": %lld", model, (long long)r->epochs,
               (long long)r->steps);
    number("loss_first", r->loss_first);
    number("loss_last", r->loss_last);
    number("val_loss", r->val_loss);
    number("test_accuracy", accuracy >= 0 ? accuracy : NAN);
    number("seconds", r->seconds);
    number("samples_per_s", r->samples_per_s);
    number("batches_per_s", r->batches_per_s);
    number("flops_per_s", r->flops_per_s);
    number("mfu", r->mfu);
    cli_printf(", \"compiles\": %lld, \"compiles_after_first_epoch\": %lld", (long long)r->compiles,
               (long long)r->compiles_after_first_epoch);
    number("compile_ms", r->compile_ms);
    cli_printf(", \"executions\": %lld, \"host_reads\": %lld", (long long)r->executions, (long long)r->host_reads);
    number("peak_rss_mib", r->peak_rss_mib);
    cli_printf(", \"epochs_detail\": [");
    for (int64_t i = 0; i < r->epochs; i++) {
        const xt_epoch_detail *e = &r->epochs_detail[i];
        cli_printf(
            "%s{\"seconds\": %.6g, \"compiles\": %lld, \"compile_ms\": %.6g, \"idle_share\": %.4g, \"peak_mib\": %.6g}",
            i ? ", " : "", e->seconds, (long long)e->compiles, e->compile_ms, e->idle_share, e->peak_mib);
    }
    cli_printf("]}\n");
}

void fit_print_pass_json(fit_stage stage, const char *model, xt_trainer *t) {
    static const char *const names[] = {"val/loss", "val/acc", "test/loss", "test/acc"};
    cli_printf("{\"model\": \"%s\", \"stage\": \"%s\"", model, fit_stage_names[stage]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double v = xt_trainer_metric(t, names[i], true);
        if (!isnan(v)) number(names[i], v);
    }
    cli_printf(", \"compiles\": %lld, \"executions\": %lld, \"host_reads\": %lld}\n", (long long)xt_counter("compiles"),
               (long long)xt_counter("executions"), (long long)xt_counter("host_reads"));
}
