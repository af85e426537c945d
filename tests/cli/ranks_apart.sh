#!/bin/bash
# Ranks that are not alike are told before they wait: other numbers of steps with values that are merged, loaders that
# divide their samples in other ways. A plain loop and the Trainer, 2 and 4 ranks, our launcher and mpirun. No run comes
# to the time limit of its waits (XT_TIMEOUT), whose message is another one.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off XT_TIMEOUT=100
cat >"$tmp/apart.c" <<'C'
#include <string.h>
#include <xtrain/xtrain.h>
static float a[64][4];
static int64_t y[64];
static const char *how, *who;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 3);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static xt_optimizer *optimizers(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static xt_loader *loader(bool other) {
    for (int i = 0; i < 64; i++) a[i][i % 4] = (float)i / 64, y[i] = i % 3;
    int64_t samples = strcmp(how, "samples") == 0 && other ? 40 : 64;
    int64_t batch = strcmp(how, "batch") == 0 && other ? 4 : 8;
    uint64_t seed = strcmp(how, "seed") == 0 && other ? 2 : 1;
    xt_dataset *ds = xt_array_dataset(a, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64}, samples);
    xt_switch shard = strcmp(how, "own") == 0 ? XT_OFF : XT_ON;
    return xt_loader_new(ds, .batch = batch, .shuffle = XT_ON, .seed = seed, .shard = shard); /* made */
}
static bool leaves(xt_module *m, const xt_batch *b, void *user) {
    (void)m, (void)user;
    bool mine = strcmp(how, "leave") == 0 ? xt_rank() == xt_world_size() - 1 : strcmp(how, "leave all") == 0;
    return mine && b->epoch == 0 && b->index == 1;
}
static int go(int rank, void *user) {
    (void)user;
    bool other = rank == xt_world_size() - 1;
    xt_module *m = xt_module_new(net, NULL);
    xt_loader *l = loader(other);
    int64_t steps = strcmp(how, "steps") == 0 ? (other ? 3 : 6) : 6;
    if (strcmp(who, "trainer") == 0) {
        xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = optimizers};
        if (strncmp(how, "leave", 5) == 0) task.on_train_batch_start = leaves;
        xt_trainer *t = xt_trainer_new(.max_steps = steps, .max_epochs = 3, .checkpointing = XT_OFF,
                                       .log_every_n_steps = strcmp(how, "log") == 0 && other ? 3 : 2);
        return xt_fit(t, &task, l, NULL);
    }
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    for (int64_t n = 0; n < steps;)
        for (xt_batch b; n < steps && xt_next(l, &b); n++) { /* next */
            xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
            xt_backward(loss);
            xt_optimizer_step(o);
            xt_log("loss", loss, .sync_dist = XT_ON);
        }
    return xt_finish(); /* end */
}
int main(int argc, char **argv) {
    how = argc > 1 ? argv[1] : "";
    who = argc > 2 ? argv[2] : "";
    return xt_launch(go, NULL);
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 -std=gnu11 "$tmp/apart.c" -I"$root/include" -o "$tmp/apart" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
cd "$tmp" || exit 1
at() { echo "apart.c:$(grep -n "/\* $1 \*/" apart.c | cut -d: -f1)"; }
ranks() {
    CPU_NUM_DEVICES=$1 timeout 150 "$tmp/apart" "${@:2}" >"$tmp/out" 2>&1 </dev/null
    rc=$?
}
mpi() {
    timeout 150 mpirun --allow-run-as-root --oversubscribe -np "$1" "$tmp/apart" "${@:2}" >"$tmp/out" 2>&1 </dev/null
    rc=$?
}
# refused RANKS PATTERN HOW...: exit code 1, the words, and nobody waited until the limit
refused() {
    check "$1 ranks, ${*:3}: exit code 1" [ "$rc" = 1 ]
    check "$1 ranks, ${*:3}: both ranks, what each has, and the line" grep -qE "$2" "$tmp/out"
    check "$1 ranks, ${*:3}: before the time limit" bash -c "! grep -q 'XT_TIMEOUT' '$tmp/out'"
}
differ='the ranks. loaders divide their samples in different ways: rank 0 takes'
for n in 2 4; do
    last=$((n - 1))
    ranks $n steps
    ended="rank $last has ended its training \(.*$(at end), in step [0-9]+\)"
    refused $n "$ended .* rank [0-9]+, which goes on \(.*($(at next)|$(at end))" steps
    ranks $n batch
    alike="of 64 samples \(.*$(at made)\)"
    refused $n "$differ batches of 8, [0-9]+ an epoch, $alike; rank $last takes batches of 4, .*$alike" batch
done
ranks 2 samples
refused 2 "$differ .* of 64 samples .*; rank 1 takes .* of 40 samples" samples
ranks 2 seed
refused 2 "$differ .*, shuffled with seed 1 .*; rank 1 .*, shuffled with seed 2" seed
ranks 2 own
check "each rank with all the samples: nothing to compare" [ "$rc" = 0 ]
ranks 2 alike
check "ranks that are alike" [ "$rc" = 0 ]
check "are told nothing of it" bash -c "! grep -qE 'different|out of step' '$tmp/out'"
ranks 2 batch trainer
refused 2 'different (numbers of batches|ways)' batch trainer
ranks 2 steps trainer
refused 2 'rank 0 has 6, rank 1 has 3' steps trainer
ranks 2 log trainer
refused 2 'different options: of log_every_n_steps rank 0 has 2, rank 1 has 3' log trainer
ranks 2 leave trainer
gone='on_train_batch_start: rank 1 leaves out the rest of epoch 0 from batch 1 on .*, rank 0 does not'
refused 2 "$gone" leave trainer
ranks 2 "leave all" trainer
check "all leave an epoch at the same batch" [ "$rc" = 0 ]
ranks 2 alike trainer
check "a fit of ranks that are alike" [ "$rc" = 0 ]
if command -v mpirun >/dev/null; then
    mpi 2 steps
    refused 2 "rank 1 has ended its training .* rank 0, which goes on" steps, mpirun
    mpi 2 batch
    refused 2 "$differ" batch, mpirun
    mpi 2 alike
    check "ranks that are alike under mpirun" [ "$rc" = 0 ]
fi
finish
