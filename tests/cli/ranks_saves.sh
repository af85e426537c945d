#!/bin/bash
# Two ranks that train in plain data parallel and save: under one path the file is rank 0's, whoever comes first, and is
# there when the other goes on; a rank alone saves, and each saves under a path of its own. On a mesh b.size counts the
# samples of b.x, and the rows are those of plain data parallel training; a rank that fails there saves nothing alone.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off XT_TIMEOUT=100 XT_CACHE=on XT_CACHE_DIR=$tmp/cache
build() {
    cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 -std=gnu11 -Wall -Wextra -Werror "$tmp/$1.c" \
        -I"$root/include" -o "$tmp/$1" -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" || exit 1
}
cat >"$tmp/saves.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static float x[64][4], y[64][1];
static xt_tensor net(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_batch_norm(m, "bn", t), 1);
}
static double mean(xt_module *m) {
    float all[4];
    return xt_read(xt_module_find(m, "bn.running_mean"), all, sizeof all) ? (double)all[0] : -1;
}
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int late = argc > 2 ? atoi(argv[2]) : -1, rank = xt_rank();
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 4; k++) x[i][k] = (float)i, y[i][0] = 1;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.01);
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_F32, {1}}, 64);
    xt_loader *l = xt_loader_new(d, .batch = 8);
    for (xt_batch b; xt_next(l, &b);) {
        xt_backward(xt_mse_loss(xt_forward(m, b.x), b.y));
        xt_optimizer_step(o);
    }
    char path[64] = "both", optimizer[80];
    if (!strcmp(how, "own")) snprintf(path, sizeof path, "own%d", rank);
    for (int i = 0; i < (strcmp(how, "often") ? 1 : 20); i++) {
        if (!strcmp(how, "alone") && rank == 0) break;
        if (rank == late) usleep(300000);
        snprintf(optimizer, sizeof optimizer, "%s.opt", path);
        if (xt_save(m, path) || xt_optimizer_save(o, optimizer)) return 1;
        if (rank == 1 && !strcmp(how, "often") && (xt_load(m, path) || xt_optimizer_load(o, optimizer))) return 1;
    }
    printf("rank %d has %g\n", rank, mean(m));
    xt_module *saved = xt_module_new(net, NULL);
    xt_forward(saved, xt_zeros(XT_F32, 8, 4));
    usleep(rank == 0 && strcmp(how, "alone") ? 600000 : 0); /* behind the other's */
    if (rank == !strcmp(how, "alone") || !strcmp(how, "own")) {
        if (xt_load(saved, path)) return 1;
        printf("file of %d: %g\n", rank, mean(saved));
    }
    return xt_finish();
}
C
build saves
cd "$tmp" || exit 1
ranks() {
    rm -f both* own*
    timeout 100 "$XTRAIN" launch -n 2 ./saves "$@" >out 2>&1 </dev/null
    rc=$?
    has0=$(grep -oE 'rank 0 has [0-9.]+' out | grep -oE '[0-9.]+$')
    has1=$(grep -oE 'rank 1 has [0-9.]+' out | grep -oE '[0-9.]+$')
    file0=$(sed -nE 's/.*file of 0: ([0-9.]+).*/\1/p' out)
    file1=$(sed -nE 's/.*file of 1: ([0-9.]+).*/\1/p' out)
}
for late in -1 0 1; do
    ranks both $late
    check "two ranks save, $late late" [ $rc = 0 ]
    check "they have statistics of their own" [ "$has0" != "$has1" -a -n "$has0" ]
    check "the file is rank 0's" [ "$file0" = "$has0" ]
done
ranks often
check "rank 1 finds the file whenever its save has returned" [ $rc = 0 ]
ranks own
check "each its own path" [ $rc = 0 -a "$file0" = "$has0" -a "$file1" = "$has1" -a -f own1.opt ]
ranks alone
check "rank 1 alone" [ $rc = 0 -a "$file1" = "$has1" -a -f both.opt ]

# --- batches on a mesh
cat >batches.c <<'C'
#include <stdio.h>
#include <xtrain/xtrain.h>
static float x[26][4];
static int64_t y[26];
static bool fails;
static xt_tensor net(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    return xt_linear(m, "fc", t, 3);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    xt_trainer *t = *(xt_trainer **)user;
    xt_tensor noise = xt_mul(xt_randn(XT_F32, xt_is_none(b.mask) ? b.size : xt_dim(b.x, 0), 4), 0);
    if (xt_trainer_epoch(t) == 0)
        printf("rank %d: batch %d has size %d of %d rows\n", xt_rank(), (int)b.index, (int)b.size,
               (int)xt_dim(b.x, 0));
    xt_tensor loss = xt_cross_entropy(xt_forward(m, xt_add(b.x, noise)), b.y, .reduction = XT_NONE);
    if (fails && xt_trainer_epoch(t) == 1) loss = xt_matmul(loss, xt_zeros(XT_F32, 7, 7));
    loss = xt_is_none(b.mask) ? xt_mean(loss) : xt_masked_mean(loss, b.mask);
    xt_log("mean", loss, .on_step = XT_ON, .on_epoch = XT_ON, .sync_dist = XT_ON);
    return loss;
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1, .momentum = 0.9);
}
int main(int argc, char **argv) {
    for (int i = 0; i < 26; i++) x[i][i % 4] = (float)i / 26, y[i] = i % 3;
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "csv", .seed = 3);
    xt_trainer_args(t, argc, argv);
    xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = configure, .user = &t};
    fails = xt_trainer_number(t, "model.fails", 0) != 0 && xt_rank() == 0;
    bool pad = xt_trainer_number(t, "model.pad", 0) != 0;
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64, {0}}, 26);
    int rc = xt_fit(t, &task, xt_loader_new(d, .batch = 4, .pad_last = pad ? XT_ON : XT_OFF,
                                            .drop_last = pad ? XT_DEFAULT : XT_OFF), NULL);
    return xt_finish() || rc;
}
C
build batches
rows() { # of a run: step, samples, name and value to five digits
    awk -F, 'FNR > 1 {printf "%s %s %s %s %.4f\n", $1, $4, $7, $8, $9}' "runs/$1"/default/*/metrics.csv | sort
}
train() { XT_RUNS_DIR=$tmp/runs/$1 timeout 100 "$XTRAIN" launch -n 2 ./batches "${@:2}" >out 2>&1 </dev/null; }
for pad in 0 1; do
    train ddp$pad --model.pad $pad
    check "plain data parallel" [ $? = 0 ]
    check "a rank has its samples" grep -q 'rank 1: batch 0 has size 4 of 4 rows' out
    last=$([ $pad = 1 ] && echo 2 of 8 || echo 2 of 2)
    for strategy in zero2 fsdp; do
        train $strategy$pad --model.pad $pad --strategy $strategy
        check "$strategy" [ $? = 0 ]
        check "$strategy: a batch has all ranks' samples" grep -q 'rank 1: batch 0 has size 8 of 8 rows' out
        check "$strategy: so has the last one" grep -q "rank 1: batch 3 has size $last rows" out
        [ $pad = 1 ] || check "$strategy: rows as plain data parallel training has them" \
            [ "$(rows $strategy$pad)" = "$(rows ddp$pad)" ]
    done
done
# --- a rank that fails alone asks nobody for what it has no more than a part of
export XT_TIMEOUT=50
train fails --strategy zero2 --offload_optimizer on --callbacks exception_checkpoint --model.fails 1
check "rank 0 fails alone" [ $? = 1 ]
check "and does not wait for the others' parts" grep -q 'was not saved: each rank has a part of it' out
# --- and says what a file that it writes alone does not hold: gradients that wait, each rank's own
cat >"$tmp/waits.c" <<'C'
#include <stdlib.h>
#include <xtrain/xtrain.h>
static float x[32][4], y[32][1];
static xt_optimizer *first, *second;
static bool waits;
static xt_tensor net(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", t, 4)), 1);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
    xt_backward(loss);
    xt_optimizer_step(first);
    if (!waits) xt_optimizer_step(second);
    return b.index == 2 && xt_rank() == 0 ? b.x : loss; /* no scalar */
}
static int both(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)max, (void)user;
    out[0] = first = xt_sgd(m, .lr = 0.1);
    out[1] = second = xt_sgd(m, .lr = 0.1);
    xt_optimizer_group(first, "in.*", .frozen = XT_ON);
    xt_optimizer_group(second, "out.*", .frozen = XT_ON);
    return 2;
}
int main(int argc, char **argv) {
    (void)argv;
    waits = argc > 1;
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 4; k++) x[i][k] = (float)(i + k) / 32, y[i][0] = 1;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add(t, xt_exception_checkpoint(.dirpath = "."));
    xt_task task = {.net = net, .training_step = step, .configure_several = both, .manual_optimization = true};
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_F32, {1}}, 32);
    int rc = xt_fit(t, &task, xt_loader_new(d, .batch = 4), NULL);
    return xt_finish() || rc;
}
C
build waits
for how in waits ''; do
    rm -f on_exception.ckpt
    timeout 100 "$XTRAIN" launch -n 2 ./waits $how >out 2>&1 </dev/null
    check "a fit with an error${how:+ $how} fails" [ $? = 1 ]
    check "rank 0 saves what it has" [ -f on_exception.ckpt ]
    told=$(grep -c 'does not hold the gradients that wait' out)
    check "and says what it leaves out, where something waits" [ "$told$how" = 0 -o "$told$how" = 1waits ]
done
finish
