/* Logs the learning rate with every row, under Lightning's name for it: lr-SGD, lr-AdamW. The host knows it, so nothing is read. */
#include "optim/optim.h"
#include "train/train_int.h"

static void row(xt_trainer *t, void *user) {
    static const char *const names[][2] = {{"sgd", "lr-SGD"}, {"adam", "lr-Adam"}, {"adamw", "lr-AdamW"}};
    char other[64];
    snprintf(other, sizeof other, "lr-%s", t->opt->kind->name);
    const char *name = other;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strcmp(names[i][0], t->opt->kind->name) == 0) name = names[i][1];
    double lr = xt_optimizer_lr(t->opt);
    (void)user;
    xt_trainer_log_host(t, 1, &name, &lr);
}

const xt_callback_desc lr_monitor_desc = {.struct_size = sizeof(xt_callback_desc), .name = "lr_monitor", .row = row};

xt_callback *xt_lr_monitor(void) {
    return callback_make(&lr_monitor_desc, NULL);
}
