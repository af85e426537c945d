#!/bin/bash
# Plain loops and Trainers of one program: each has its rows in files of its own, whichever comes first. 1 and 2 ranks.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off XT_TIMEOUT=100
cat >"$tmp/both.c" <<'C'
#include <xtrain/xtrain.h>
static float x[64][2], y[64][1];
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static xt_tensor loss_of(xt_module *m, xt_batch b) { return xt_mse_loss(xt_forward(m, b.x), b.y); }
static xt_tensor training(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = user ? b.x : loss_of(m, b);
    xt_log("fit", loss);
    return loss;
}
static void validation(xt_module *m, xt_batch b, void *user) {
    if (!user) xt_log("val", loss_of(m, b));
}
static xt_optimizer *sgd(xt_module *m, void *user) { return user ? NULL : xt_sgd(m, .lr = 0.1); }
static xt_loader *data(void) {
    xt_dataset *ds = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, y, (xt_spec){XT_F32, {1}}, 64);
    return xt_loader_new(ds, .batch = 8, .shard = XT_OFF);
}
static void loop(const char *name) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_loader *l = data();
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor loss = loss_of(m, b);
        xt_log(name, loss);
        xt_backward(loss);
        xt_optimizer_step(o);
    }
}
static int train(int rank, void *arg) {
    int rc = rank < 0;
    xt_module *m = xt_module_new(net, NULL);
    xt_task task = {.net = net, .training_step = training, .configure_optimizers = sgd}, measure = {
        .module = m, .validation_step = validation};
    rc |= xt_module_build(m, (xt_spec){XT_F32, {8, 2}}) != NULL;
    xt_log_every_n_steps(4);
    for (const char *p = arg; *p; p++) {
        xt_trainer *t = xt_trainer_new(.max_epochs = 1, .loggers = *p == 'q' ? NULL : "csv", .log_every_n_steps = 4,
                                       .checkpointing = XT_OFF);
        if (*p == 'l') loop("loop");
        if (*p == 'f') rc |= xt_fit(t, &task, data());
        if (*p == 'v' || *p == 'q') rc |= xt_validate(t, &measure, data());
    }
    return rc | xt_finish();
}
int main(int argc, char **argv) { return argc > 2 ? xt_launch(train, argv[1]) : train(0, argv[1]); }
C
# shellcheck disable=SC2086
cc -g ${ASAN_BUILD:+-fsanitize=address,undefined} -Wall -Wextra -Werror -Wno-missing-field-initializers \
    -I"$root/include" "$tmp/both.c" -o "$tmp/both" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the program builds" [ $? = 0 ]
cd "$tmp" || exit 1
names() { # of each version's rows: "fit,loop val"
    local f
    for f in runs/default/version_*/metrics.csv; do
        cut -d, -f8 "$f" | tail -n +2 | grep -v '^loss' | sort -u | paste -sd,
    done | paste -sd' '
}
# files ORDER NAMES: l a plain loop, f a fit, v a validation with loggers, q one without
files() {
    local ranks
    for ranks in 1 2; do
        rm -rf runs
        CPU_NUM_DEVICES=2 timeout 100 ./both "$1" $([ $ranks = 1 ] || echo launched) >out 2>&1 </dev/null
        check "$1, $ranks ranks: it runs" [ $? = 0 ]
        check "$1, $ranks ranks: each has its own" [ "$(names)" = "$2" ]
    done
}
files l loop
files lf 'loop fit'
files fl 'fit loop'
files lfl 'loop fit'
files vl 'val loop'
files lv 'loop val'
files lvl 'loop val'
files lq loop,val # which opens no files, and so is the loop's
finish
