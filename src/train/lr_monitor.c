/* Logs the learning rate with every row, under Lightning's name for it: lr-SGD, lr-AdamW. The host knows it, so nothing is read. */
#include "optim/optim.h"
#include "train/train_int.h"

static void row(xt_trainer *t, void *user) {
    enum { MOST = 16 }; /* groups, as lr-AdamW/pg1, lr-AdamW/pg2: Lightning's names too */
    char text[MOST][64];
    const char *names[MOST];
    double rates[MOST];
    int n = xt_optimizer_groups(t->opt) < MOST ? xt_optimizer_groups(t->opt) : MOST;
    for (int i = 0; i < n; i++) {
        if (n == 1) snprintf(text[i], sizeof text[i], "lr-%s", t->opt->kind->title);
        else snprintf(text[i], sizeof text[i], "lr-%s/pg%d", t->opt->kind->title, i + 1);
        names[i] = text[i];
        rates[i] = xt_optimizer_group_lr(t->opt, i);
    }
    (void)user;
    xt_trainer_log_host(t, n, names, rates);
}

const xt_callback_desc lr_monitor_desc = {.struct_size = sizeof(xt_callback_desc), .name = "lr_monitor", .row = row};

xt_callback *xt_lr_monitor(void) {
    return callback_make(&lr_monitor_desc, NULL);
}
