#!/bin/bash
# Programs without stdin, stdout or stderr, closed by who starts them or by themselves: what is printed goes nowhere,
# and above all into no file of the library's that has got the number.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_PROGRESS=off
cat >"$tmp/prints.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
/* prints RESULT [DIGITS]: trains, printing to both streams from every batch; the descriptors in DIGITS are closed. */
static char **args;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", x, 16)), 3);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    printf("the program's own line of batch %d\n", (int)b.index);
    fprintf(stderr, "a line for stderr of batch %d\n", (int)b.index);
    fflush(stdout);
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}
static int train(int rank, void *arg) {
    static float x[64][8];
    static int64_t y[64];
    (void)arg;
    for (int i = 0; i < 64; i++) y[i] = i % 3, x[i][i % 8] = 1;
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "csv,jsonl");
    xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 2, .save_top_k = -1));
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_dataset *ds = xt_array_dataset(x, (xt_spec){XT_F32, {8}}, y, (xt_spec){XT_I64, {0}}, 64);
    int bad = xt_fit(t, &task, xt_loader_new(ds, .batch = 8, .workers = 2));
    FILE *f = rank == 0 ? fopen(args[1], "w") : NULL;
    if (f) fprintf(f, "%.9g\n", xt_trainer_result(t).loss_last), fclose(f);
    return xt_finish() || bad;
}
int main(int argc, char **argv) {
    args = argv;
    for (const char *p = argc > 2 ? argv[2] : ""; *p; p++) close(*p - '0');
    return xt_launch(train, NULL);
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 "$tmp/prints.c" -I"$root/include" -o "$tmp/prints" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
whole() { # every file of the run in $1 is what it is to be
    local file
    for file in "$1"/default/version_0/metrics.csv; do
        [ "$(tail -n +2 "$file" | grep -vcE '^[0-9]+(,[^,]*){8}$')" = 0 ] || return 1
        [ "$(wc -l <"$file")" -gt 8 ] || return 1
    done
    for file in "$1"/default/version_0/checkpoints/*.ckpt; do
        "$BUILD/xtrain" convert "$file" "$tmp/whole.safetensors" >"$tmp/out" 2>&1 || return 1
    done
    ! grep -qaE "own line|for stderr|micro-batch" -r "$1"
}
for ranks in 1 2; do
    export CPU_NUM_DEVICES=$ranks
    XT_CACHE_DIR=$tmp/cache XT_RUNS_DIR=$tmp/open$ranks "$tmp/prints" "$tmp/want$ranks" >"$tmp/out" 2>&1
    check "$ranks ranks, all open" [ $? = 0 ]
    for closed in 0 1 2 01 02 12 012; do
        for by in starter itself; do
            d=$tmp/$by$ranks$closed
            (
                export XT_RUNS_DIR=$d XT_CACHE=on XT_CACHE_DIR=$tmp/cache
                [ $by = itself ] && exec "$tmp/prints" "$d.loss" $closed >"$tmp/out" 2>&1
                case $closed in *0*) exec <&- ;; esac
                case $closed in *1*) exec >&- ;; *) exec >"$tmp/out" ;; esac
                case $closed in *2*) exec 2>&- ;; *) exec 2>"$tmp/err" ;; esac
                exec "$tmp/prints" "$d.loss"
            )
            rc=$?
            check "$closed closed by $by, $ranks ranks: trains ($rc)" [ $rc = 0 ]
            check "$closed closed by $by, $ranks ranks: the loss is the same" cmp -s "$d.loss" "$tmp/want$ranks"
            check "$closed closed by $by, $ranks ranks: the files are whole" whole "$d"
        done
    done
done
for file in "$tmp"/cache/*; do
    check "no cache file has what was printed" sh -c '! grep -qaE "own line|for stderr" "$1"' - "$file"
done
finish
