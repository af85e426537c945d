/* Programs that meet the end of memory and go on: out_of_memory on | kill | first N | most N | samples N | trials N |
 * none
 *
 * on: an error that is handled; kill: and then killed; the others: xt_batch_find from N on, up to N, of N samples, with
 * N trials, and where nothing fits. They print what they found and how many sizes were tried. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

enum { WIDE = 1024 };
static int tried;
static int64_t samples = 100000;
static float row[WIDE];

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static xt_status get(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)i, (void)y;
    memcpy(x, row, sizeof row);
    return NULL;
}
static xt_loader *make(int64_t batch, void *user) {
    (void)user;
    tried++;
    const xt_dataset_desc d = {
        .struct_size = sizeof d, .count = samples, .x = {XT_F32, {WIDE}}, .get = get, .name = "rows"};
    return xt_loader_new(xt_dataset_new(&d), .batch = batch);
}

/* More than the limit, in a program of a step after the first. */
static int goes_on(bool killed) {
    xt_item(xt_sum(xt_ones(XT_F32, 8)));
    xt_mark_step();
    xt_item(xt_sum(xt_matmul(xt_rand(XT_F32, 5000, 8), xt_rand(XT_F32, 8, 5000))));
    printf("code %d\n", (int)xt_status_code(xt_error()));
    xt_clear_error();
    for (int i = 0; i < 3; i++) {
        printf("%g\n", xt_item(xt_sum(xt_ones(XT_F32, 8))));
        xt_mark_step();
    }
    fflush(stdout);
    if (killed) raise(SIGKILL);
    return xt_finish();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "on";
    int64_t n = argc > 2 ? atoll(argv[2]) : 0, found;
    if (strcmp(mode, "on") == 0 || strcmp(mode, "kill") == 0) return goes_on(strcmp(mode, "kill") == 0);
    const xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = configure};
    if (strcmp(mode, "samples") == 0) samples = n;
    if (strcmp(mode, "first") == 0)
        found = xt_batch_find(&task, make, NULL, .first = n, .margin = 0);
    else if (strcmp(mode, "power") == 0)
        found = xt_batch_find(&task, make, NULL, .first = n, .power_only = XT_ON);
    else if (strcmp(mode, "most") == 0)
        found = xt_batch_find(&task, make, NULL, .most = n, .margin = 0);
    else if (strcmp(mode, "trials") == 0)
        found = xt_batch_find(&task, make, NULL, .max_trials = n);
    else
        found = xt_batch_find(&task, make, NULL);
    printf("found %lld in %d\n", (long long)found, tried);
    if (xt_error()) printf("error: %s\n", xt_status_message(xt_error()));
    xt_clear_error();
    return xt_finish();
}
