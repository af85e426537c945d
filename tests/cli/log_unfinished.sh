#!/bin/bash
# A program that logs and ends without xt_finish has the rows that were due, and is told which log call's values are not
# written. 1 and 2 ranks.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off XT_TIMEOUT=100
# A rank that calls exit() leaves what the functions below it hold.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
cat >"$tmp/ends.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static float x[64][2], y[64][1];
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static void leave(void *user, const void *data, size_t bytes, xt_dtype t) {
    (void)t, (void)data, (void)bytes, (void)user;
    exit(0);
}
static void validate(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_forward(m, b.x);
}
static int train(int rank, void *arg) {
    const char *how = arg;
    if (rank < 0) return 1;
    for (int i = 0; i < 64; i++) x[i][0] = y[i][0] = (float)i / 64;
    xt_dataset *ds = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, y, (xt_spec){XT_F32, {1}}, 64);
    xt_loader *l = xt_loader_new(ds, .batch = 4, .shard = XT_OFF);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_log_every_n_steps(3);
    xt_task task = {.module = m, .validation_step = validate};
    if (strcmp(how, "behind") == 0 && xt_validate(xt_trainer_new(.max_epochs = 1), &task, l)) return 1;
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
        xt_log("loss", loss, .sync_dist = XT_ON); /* loss */
        if (strcmp(how, "epoch") == 0) xt_log("mean", loss, .on_step = XT_OFF, .on_epoch = XT_ON); /* mean */
        xt_backward(loss);
        xt_optimizer_step(o);
        if (b.index == 1 && strcmp(how, "first") == 0) return 0;
        if (b.index == 3 && (strcmp(how, "fourth") == 0 || strcmp(how, "behind") == 0)) return 0;
        if (b.index == 3 && strcmp(how, "exit") == 0) exit(0);
        if (b.index == 4 && strcmp(how, "epoch") == 0) return xt_mark_step() ? 0 : 1;
        if (b.index == 3 && strcmp(how, "callback") == 0) xt_when_ready(loss, leave, NULL);
    }
    if (strcmp(how, "picture") == 0) xt_log_image("p", xt_full(0.5, XT_F32, 4, 4)); /* picture */
    if (strcmp(how, "twice") == 0) xt_finish();
    while (strcmp(how, "callback") == 0) pause(); /* two threads must not call exit */
    return strcmp(how, "finished") == 0 ? xt_finish() : 0;
}
int main(int argc, char **argv) { return argc > 2 ? xt_launch(train, argv[1]) : train(0, argv[1]); }
C
# shellcheck disable=SC2086
cc -g ${ASAN_BUILD:+-fsanitize=address,undefined} -Wall -Wextra -Werror -I"$root/include" "$tmp/ends.c" \
    -o "$tmp/ends" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the program builds" [ $? = 0 ]
cd "$tmp" || exit 1
steps() { cut -d, -f1 runs/default/version_0/metrics.csv 2>/dev/null | tail -n +2 | sort -nu | paste -sd' '; }
# ends HOW ROWS LINE NAME: the steps of the rows, and the log call that is told; none: LINE is empty
ends() {
    local ranks line=${3:+$(grep -n "/\* $3 \*/" ends.c | cut -d: -f1)}
    for ranks in 1 2; do
        rm -rf runs
        CPU_NUM_DEVICES=2 timeout 100 ./ends "$1" $([ $ranks = 1 ] || echo launched) >out 2>&1 </dev/null
        check "$1, $ranks ranks: it ends" [ $? = 0 ]
        check "$1, $ranks ranks: the rows are there" [ "$(steps)" = "$2" ]
        check "$1, $ranks ranks: what is lost is told" \
            [ "$(grep -c 'what was logged since the last row' out)" = "$([ -n "$3" ]; echo $((1 - $?)))" ]
        [ -z "$3" ] || check "with its line" grep -q "ends.c:$line: xt_log \"$4\".*: .*without xt_finish()" out
    done
}
ends finished '3 6 9 12 15 16' '' ''
ends twice '3 6 9 12 15 16' '' ''
ends whole '3 6 9 12 15' loss loss # the sixteenth step
ends first '' loss loss
ends fourth 3 loss loss
ends behind 3 loss loss # a pass of a trainer, which needs no xt_finish, before the loop
ends exit 3 loss loss
ends epoch 3 loss loss
timeout 100 ./ends picture >out 2>&1 </dev/null
line=$(grep -n '/\* picture \*/' ends.c | cut -d: -f1)
check "a picture behind the last step is told" \
    grep -q "ends.c:$line: xt_log_image \"p\" is not written: .*without xt_finish()" out
timeout 100 ./ends callback >out 2>&1 </dev/null
check "a program that a callback ends waits for nothing" [ $? = 0 ]
finish
