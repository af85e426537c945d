/* Logs the learning rates with every row, under Lightning's names for them: lr-SGD, lr-AdamW/pg1, lr-SGD-1. The host
 * knows them, so nothing is read. */
#include "optim/optim.h"
#include "train/train_int.h"

enum { MOST = 64, NAME = 64 };

/* "SGD", and for the second optimizer of that kind "SGD-1". */
static void kind_name(const xt_trainer *t, int which, char out[NAME]) {
    const char *title = t->opts[which]->name->title;
    int before = 0;
    for (int i = 0; i < which; i++) before += strcmp(t->opts[i]->name->title, title) == 0;
    if (before)
        snprintf(out, NAME, "%s-%d", title, before);
    else
        snprintf(out, NAME, "%s", title);
}

static xt_status fit_start(xt_trainer *t, void *user) {
    (void)user;
    return callback_needs_logger(t, "xt_lr_monitor");
}

static void row(xt_trainer *t, void *user) {
    char text[MOST][NAME + 16], kind[NAME];
    const char *names[MOST];
    double rates[MOST];
    int n = 0;
    if (!callback_leads(t, &lr_monitor_desc, user)) return;
    for (int k = 0; k < t->n_opts; k++) {
        int groups = xt_optimizer_groups(t->opts[k]);
        kind_name(t, k, kind);
        for (int i = 0; i < groups && n < MOST; i++, n++) {
            if (groups == 1)
                snprintf(text[n], sizeof text[n], "lr-%s", kind);
            else
                snprintf(text[n], sizeof text[n], "lr-%s/pg%d", kind, i + 1);
            names[n] = text[n];
            rates[n] = xt_optimizer_group_lr(t->opts[k], i);
        }
    }
    xt_trainer_log_host(t, n, names, rates);
}

const xt_callback_desc lr_monitor_desc = {
    .struct_size = sizeof(xt_callback_desc), .name = "lr_monitor", .fit_start = fit_start, .row = row};

xt_callback *xt_lr_monitor(void) {
    xt_callback *c = callback_make(&lr_monitor_desc, NULL);
    if (c) c->user = c; /* it has no state: which of several it is */
    return c;
}
