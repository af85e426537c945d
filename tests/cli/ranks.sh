#!/bin/bash
# Ranks that train and fail together: a user's mistake on one rank, a rank that leaves early, hangs, or is killed. The
# message names rank and line.
set -u
. "$(dirname "$0")/../examples/lib.sh"
shm_before=$(shm_left; echo none) # of others, who may have been killed
root=$(cd "$(dirname "$0")/../.." && pwd)
cat >"$tmp/fail.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static xt_tensor line(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static int train(int rank, void *arg) {
    const char *mode = arg;
    xt_module *net = xt_module_new(line, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.1);
    for (int i = 0; i < 50; i++) {
        float x[8][2] = {{1}}, y[8][1] = {{1}};
        xt_tensor in = xt_from_array(x, XT_F32, 8, 2);
        if (i == 20 && mode[0] == 'h') setenv("XT_TIMEOUT", "3", 1); /* not earlier: loaded machines are late too */
        if (rank == 1 && i == 20) {
            if (mode[0] == 's') in = xt_reshape(in, 3, 3);
            if (mode[0] == 'e') return 0;
            if (mode[0] == 'h') sleep(300);
            if (mode[0] == 'k') raise(SIGKILL);
        }
        xt_backward(xt_mse_loss(xt_forward(net, in), xt_from_array(y, XT_F32, 8, 1)));
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) {
            if (mode[0] == 'h') fprintf(stderr, "over in step %d\n", i);
            break;
        }
    }
    return xt_finish();
}
int main(int argc, char **argv) { return xt_launch(train, argv[argc - 1]); }
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/fail.c" -o "$tmp/fail" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the program builds" [ $? = 0 ]
export CPU_NUM_DEVICES=3 XT_TIMEOUT=100 XT_SUMMARY=off
attempt() { timeout 150 "$tmp/fail" "$1" >"$tmp/out" 2>&1 </dev/null; }
attempt good
check "all is well" [ $? = 0 ]
attempt shape
check "a mistake on one rank" [ $? = 1 ]
check "comes first, with its line" \
    [ "$(sed -n 1p "$tmp/out" | sed "s|$tmp/||")" \
    = "[rank 1] fail.c:16: xt_reshape: [8,2] has 16 elements, [3,3] has 9" ]
check "and ends the others" grep -q 'rank 1 (pid [0-9]*) ended with exit code 1' "$tmp/out"
attempt exit
check "a rank that leaves early" [ $? = 1 ]
check "is named to those that wait" \
    grep -qE 'fail.c:[0-9]+: .*all_reduce.*: rank 1 \(pid [0-9]+\), last seen at .*fail.c:[0-9]+' "$tmp/out"
check "and is told to finish" grep -q '^\[rank 1\] the program ended without xt_finish()' "$tmp/out"
XT_IN_FLIGHT=1 attempt hang
check "a rank that does not come" [ $? = 1 ]
check "ends the boundary that waited for its step" grep -q '^\[rank [02]\] over in step 21' "$tmp/out"
check "is named at the time limit" \
    grep -qE 'since 3\.0 s; did not come: rank 1 \(pid [0-9]+\), last seen at .*fail.c:[0-9]+' "$tmp/out"
attempt kill
check "a killed rank" [ $? = 137 ]
check "with where it was" \
    grep -qE 'rank 1 \(pid [0-9]+\) was killed by SIGKILL.*last seen at .*fail.c:[0-9]+ \(.*, step 19[,)]' "$tmp/out"

# --- a fit's steps have one number, in the last words of a rank and in what is said of the others: that of the rows
cat >"$tmp/steps.c" <<'C'
#include <signal.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static float x[64][2], y[64][1];
static xt_tensor net(xt_module *m, xt_tensor v, void *user) { return user ? v : xt_linear(m, "fc", v, 1); }
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (b.epoch == 1 && b.index == 2 && xt_rank() == 1) xt_wait(), sleep(1), raise(SIGSEGV);
    return xt_mse_loss(xt_forward(m, b.x), b.y);
}
static void val(xt_module *m, xt_batch b, void *user) { (void)user, xt_log("val", xt_sum(xt_forward(m, b.x))); }
static xt_optimizer *sgd(xt_module *m, void *user) { (void)user; return xt_sgd(m, .lr = 0.1); }
int main(void) {
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, y, (xt_spec){XT_F32, {1}}, 64);
    xt_loader *train = xt_loader_new(d, .batch = 4), *other = xt_loader_new(xt_dataset_retain(d), .batch = 4);
    xt_task task = {.net = net, .training_step = step, .validation_step = val, .configure_optimizers = sgd};
    return xt_fit(xt_trainer_new(.max_epochs = 3, .logger = XT_OFF), &task, train, other) || xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -I"$root/include" "$tmp/steps.c" -o "$tmp/steps" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD"
# the signal is the library's to report, not the sanitizer's
(cd "$tmp" && ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0 "$XTRAIN" launch -n 2 ./steps >"$tmp/out" 2>&1)
# 8 steps an epoch a rank: the tenth has ended, or the eleventh is under way
check "a fit's step in the last words" grep -qE 'SIGSEGV in step 1[01], ' "$tmp/out"
check "and in what is said of the rank" grep -qE 'last seen at .*steps.c:[0-9]+ \([^)]*step 1[01],' "$tmp/out"
check "and no other count: rank 0 is at most the steps in flight ahead" \
    [ -z "$(grep -oE 'step [0-9]+' "$tmp/out" | awk '$2 > 14')" ]

# --- ranks that record different programs: an error that shows the first op that differs, with both lines, on 2 and on
# 4 ranks
export ALONE=$tmp/alone.safetensors
cat >"$tmp/guard.c" <<'C'
#include <stdlib.h>
#include <xtrain/xtrain.h>
static char mode;
static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    xt_tensor h = xt_linear(m, "fc1", x, user ? 3 : 4);
    if (mode == 'r' && xt_rank() == 1)
        h = xt_relu(h);
    xt_tensor y = xt_linear(m, "fc2", h, 1), z = xt_linear(m, "aux", x, 1);
    return mode == 'p' && xt_rank() > 0 ? y : xt_add(y, z);
}
static int train(int rank, void *arg) {
    xt_module *net = xt_module_new(net_fn, arg);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.1);
    for (int i = 0; i < 8; i++) {
        xt_tensor x = xt_ones(XT_F32, mode == 'v' ? 4 + (i * 3 + rank) % 3 : 4, 2);
        xt_tensor loss = xt_mean(xt_square(xt_forward(net, x)));
        if (mode == 'l' && i == 5 && rank == 1)
            loss = xt_exp(loss);
        xt_backward(loss); if (mode == 'f' && rank == 0 && i == 3 && xt_save(net, getenv("ALONE"))) break;
        xt_optimizer_step(sgd);
        if (mode == 's' && !(rank == 1 && i == 3))
            xt_keep(xt_all_reduce(loss, .op = XT_MAX));
        if (mode == 'o' && rank == 0) xt_master_printf("%t\n", xt_tanh(loss));
        bool reads = mode == 'e' || (mode == 'a' && rank == 0 && i == 3) || (mode == 'b' && (rank == 0 || i < 3));
        if (reads) xt_item(xt_module_find(net, "fc2.bias"));
        if (!xt_mark_step()) break;
    }
    return xt_finish();
}
int main(int argc, char **argv) { mode = argv[argc - 1][0]; return xt_launch(train, NULL); }
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/guard.c" -o "$tmp/guard" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the guarded program builds" [ $? = 0 ]
guarded() { # RANKS MODE EXIT PATTERN
    CPU_NUM_DEVICES=$1 timeout 150 "$tmp/guard" "$2" >"$tmp/out" 2>&1 </dev/null
    check "$1 ranks, $2: exit $3" [ $? = "$3" ]
    check "$1 ranks, $2: said" grep -qE "$4" "$tmp/out"
}
for n in 2 4; do
    op='[a-z_]+ tensor<[^>]*> at [^ ]*guard.c'
    other='guard.c:26: rank 1 runs another program in step 0 than rank 0'
    guarded $n relu 1 "$other.*rank 0 has $op:8.*, rank 1 has $op:7[,. ]"
    guarded $n param 1 'rank 0 has [a-z_]+ tensor<[^>]*> at [^ ]*guard.c:8 \(aux\), rank 1 has '
    guarded $n loss 1 \
        'rank 1 runs another program in step 5 than rank 0.*rank 1 has [a-z_]+ tensor<[^>]*> at [^ ]*guard.c:1[69]'
    guarded $n skip 1 'rank 1 runs another program in step 3 than rank 0.*rank 0 has [a-z_]+ tensor.*rank 1 has '
    # a file of rank 0 alone within a step: the lines that end the ranks' steps are told
    begins='the step of rank 0 begins behind a file \(xt_save or the like\) at [^ ]*guard.c:19, that of rank 1 behind '
    begins+='(xt_mark_step at [^ ]*guard.c:26|another end): one rank alone writes files between two steps, not within'
    guarded $n file 1 "$begins"
    # a value that the step's collectives are needed for, read by rank 0 alone: at first, and where all have read before
    alone='rank 0 reads a value in the middle of step 3, and rank [1-3] does not.*all_reduce at [^ ]*guard.c:'
    guarded $n alone 1 "$alone"
    guarded $n both_at_first 1 "$alone"
done
# sequences of other lengths, values that only rank 0 asks for, and what everyone reads, are no mistake
for mode in varying own everyone; do
    CPU_NUM_DEVICES=4 timeout 150 "$tmp/guard" $mode >"$tmp/out" 2>&1 </dev/null
    check "$mode is fine" [ $? = 0 ]
done
CPU_NUM_DEVICES=2 XT_RANK_GUARD=warn timeout 150 "$tmp/guard" relu >"$tmp/out" 2>&1 </dev/null
check "XT_RANK_GUARD=warn goes on" [ $? = 0 ]
check "with a warning" grep -q 'rank 1 runs another program in step 0' "$tmp/out"
# Over MPI nobody can look at a rank that waits in an older program of its own: it tells, and the others need not wait
# for the time limit.
if command -v mpirun >/dev/null; then
    XT_RENDEZVOUS=mpi:guard$$ timeout 150 mpirun --allow-run-as-root --oversubscribe -np 2 "$tmp/guard" loss \
        >"$tmp/out" 2>&1 </dev/null
    check "over MPI: said" \
        grep -qE \
        'rank 1 runs another program in step 5 than rank 0.*rank 0 has [a-z_]+ tensor.*rank 1 has [a-z_]+ tensor' \
        "$tmp/out"
fi

# --- on a mesh: another op, another width, a value that one rank wants, a step that one leaves out
cat >"$tmp/meshed.c" <<'C'
#include <xtrain/xtrain.h>
static char mode;
static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_linear(m, "fc1", x, mode == 'w' && xt_rank() == 1 ? 3 : 4);
    if (mode == 'o' && xt_rank() == 1)
        x = xt_tanh(x);
    else
        x = xt_sigmoid(x);
    return xt_linear(m, "fc2", x, 1);
}
static int train(int rank, void *arg) {
    (void)arg;
    xt_mesh *mesh = xt_mesh_new({"data", 0});
    xt_module *net = xt_module_new(net_fn, NULL);
    xt_mesh_data_parallel(mesh, net, "data");
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.1);
    xt_loader *l = xt_sample_loader(.batch = 2, .count = 6, .x = {XT_F32, {8}}, .y = {XT_I64});
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor out = xt_forward(net, b.x), loss = xt_mean(xt_square(out));
        if (mode == 'k' && rank == 1 && b.index == 2)
            xt_master_printf("%t\n", xt_max(out));
        xt_backward(loss);
        if (mode == 's' && rank == 1 && b.index == 2) continue;
        xt_optimizer_step(sgd);
    }
    return xt_finish();
}
int main(int argc, char **argv) { mode = argv[argc - 1][0]; return xt_launch(train, NULL); }
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/meshed.c" -o "$tmp/guard" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the program on a mesh builds" [ $? = 0 ]
guarded 2 op 1 \
    'rank 0 has logistic tensor<4x4xf32> at [^ ]*meshed.c:9.*, rank 1 has tanh tensor<4x4xf32> at [^ ]*meshed.c:7'
op='[a-z_]+ tensor<[^>]*> at [^ ]*meshed.c:[0-9]+'
guarded 4 width 1 "rank 0 has $op.*, rank 1 has $op"
guarded 2 keep 1 'rank 0 has nothing more, rank 1 has reduce tensor<f32> at [^ ]*meshed.c:22; rank 0 is at '
other='rank 1 runs another program in step 3 than rank 0'
guarded 2 skip 1 "$other.*read the same values .xt_item, xt_read, xt_save. in the same order"
CPU_NUM_DEVICES=2 timeout 150 "$tmp/guard" none >"$tmp/out" 2>&1 </dev/null
check "ranks that are alike train" [ $? = 0 ]

# --- ranks of a Trainer that log different names, or only one of them logs, with sync_dist: an error with both ranks'
# names, no waiting
cat >"$tmp/names.c" <<'C'
#include <xtrain/xtrain.h>
static char mode;
static xt_tensor line(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 2); }
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = user ? b.x : xt_mean(xt_square(xt_forward(m, b.x)));
    if (mode == 's') xt_log("same", loss, .sync_dist = XT_ON, .on_epoch = XT_ON);
    if (mode == 'n') { /* three batches on two ranks: Lightning's own numbers */
        double one = 1 + xt_rank(), at = (double)b.index + xt_rank();
        xt_log_value("sum", one, .sync_dist = XT_ON, .reduce = XT_SUM, .on_epoch = XT_ON);
        xt_log_value("mean", one, .sync_dist = XT_ON, .on_epoch = XT_ON);
        xt_log_value("max", at, .sync_dist = XT_ON, .reduce = XT_MAX, .on_epoch = XT_ON);
        xt_log_value("two", 2, .sync_dist = XT_ON, .reduce = XT_SUM, .on_epoch = XT_ON);
        xt_log_value("at", at, .sync_dist = XT_ON, .on_epoch = XT_ON);
    }
    if (mode == 'd') xt_log(xt_rank() ? "b" : "a", loss, .sync_dist = XT_ON);
    if (mode == 'o') /* the order is each rank's own */
        for (int i = 0; i < 3; i++) {
            int k = xt_rank() ? 2 - i : i;
            xt_log_value(k == 0 ? "one" : k == 1 ? "two" : "three", k + 1, .sync_dist = XT_ON, .on_epoch = XT_ON,
                         .reduce = XT_SUM);
        }
    if (mode == 'r') xt_log("other", loss, .sync_dist = XT_ON, .reduce = XT_LAST);
    if (mode == 'r' && xt_rank() == 0) xt_log("red", loss, .sync_dist = XT_ON, .reduce = XT_MEAN);
    if (mode == 'r' && xt_rank() == 1) xt_log("red", loss, .sync_dist = XT_ON, .reduce = XT_MAX);
    return loss;
}
static xt_optimizer *sgd(xt_module *m, void *user) { return user ? NULL : xt_sgd(m, .lr = 0.01); }
/* numbers of an epoch are merged over the ranks as well */
static void epoch_end(xt_module *m, int64_t epoch, void *user) {
    if (m && !user && mode == 'n')
        xt_log_value("hook", (double)epoch + xt_rank(), .sync_dist = XT_ON, .reduce = XT_SUM);
}
static int train(int rank, void *arg) {
    xt_task task = {.net = line, .training_step = step, .configure_optimizers = sgd, .on_train_epoch_end = epoch_end};
    mode = *(const char *)arg;
    xt_trainer *t = xt_trainer_new(.max_epochs = rank < 0 || mode == 'n' ? 1 : 3,
                                   .log_every_n_steps = mode == 'n' ? 1 : 2, .logger = XT_OFF, .checkpointing = XT_OFF);
    int64_t count = mode == 'n' ? 3 : mode == 'u' ? 10 - 2 * xt_rank() : 10; /* u: uneven */
    if (mode == 'x' && xt_rank() == 1) /* a share of no batch */
        xt_trainer_args(t, 3, (char *[]){"names", "--limit_train_batches", "0.01", NULL});
    int rc = xt_fit(t, &task, xt_sample_loader(.batch = 4, .count = count, .x = {XT_F32, {3}}));
    static const char *const names[] = {"sum_step",  "sum_epoch", "mean_step", "mean_epoch", "max_epoch",
                                        "two_epoch", "at_step",   "at_epoch",  "hook"};
    for (int i = 0; rank == 0 && mode == 'n' && i < 9; i++)
        xt_master_printf("%s=%g ", names[i], xt_trainer_metric(t, names[i], true));
    for (int i = 0; rank == 0 && mode == 'o' && i < 3; i++)
        xt_master_printf("%g ", xt_trainer_metric(t, i == 0 ? "one_step" : i == 1 ? "two_step" : "three_step", true));
    return rc | xt_finish();
}
/* A loop of its own, which logs the same: "-different", "-reductions". */
static int plain(int rank, void *arg) {
    mode = ((const char *)arg)[1];
    xt_module *m = xt_module_new(line, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    xt_log_every_n_steps(2);
    xt_loader *l = xt_sample_loader(.batch = 4, .count = 20, .x = {XT_F32, {3}});
    for (xt_batch b; xt_next(l, &b);) {
        xt_backward(step(m, b, NULL));
        if (mode == 'p' && b.index == (rank ? 2 : 5)) /* each leaves out one step, of its own choice */
            xt_zero_grad(o);
        else
            xt_optimizer_step(o);
    }
    return xt_finish();
}
int main(int argc, char **argv) {
    return xt_launch(*argv[argc - 1] == '-' ? plain : train, argv[argc - 1]);
}
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/names.c" -o "$tmp/names" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the second program builds" [ $? = 0 ]
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" same >"$tmp/out" 2>&1
check "ranks that log the same" [ $? = 0 ]
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" numbers >"$tmp/out" 2>&1
check "ranks that log numbers" [ $? = 0 ]
merged='sum_step=3 sum_epoch=9 mean_step=1.5 mean_epoch=1.5 max_epoch=3 two_epoch=12 at_step=2.5 at_epoch=1.5 hook=1 '
check "which are merged" grep -q "$merged" "$tmp/out"
if command -v mpirun >/dev/null; then # ranks without XT_RENDEZVOUS, on one host and as if on two
    for hosts in 0,0 0,1; do
        XT_RANK_HOSTS=$hosts timeout 150 mpirun --allow-run-as-root --oversubscribe -np 2 "$tmp/names" numbers \
            >"$tmp/out" 2>&1 </dev/null
        check "the same under mpirun, hosts $hosts" grep -q "$merged" "$tmp/out"
    done
    timeout 150 mpirun --allow-run-as-root --oversubscribe -np 2 "$tmp/names" -different >"$tmp/out" 2>&1 </dev/null
    check "a mistake under mpirun is told" \
        grep -qE 'with sync_dist.*rank 0.*names.c:[0-9]+.*rank 1.*names.c:[0-9]+' "$tmp/out"
fi
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" different >"$tmp/out" 2>&1
check "ranks that log different names fail" [ $? = 1 ]
check "with the names of both" \
    grep -qE 'different names with sync_dist, at step [0-9]*: rank 0 logged "a" \(.*c:[0-9]+\), rank 1 logged "b" ' \
    "$tmp/out"
XT_TIMEOUT=20 CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" uneven >"$tmp/out" 2>&1
check "ranks with epochs of different lengths fail" [ $? = 1 ]
check "before the first step, with the length of each" \
    grep -q 'training loaders: rank 0 has 10, rank 1 has 8; ' "$tmp/out"
check "and without waiting" [ "$(grep -c 'epoch 1' "$tmp/out")" = 0 ]
XT_TIMEOUT=20 CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" x >"$tmp/out" 2>&1
check "a rank that refuses its fit ends it" [ $? = 1 ]
check "with its reason, and nobody trains" \
    [ "$(grep -c 'limit_train_batches = 0.01' "$tmp/out" | sed 's/2/1/') $(grep -c 'epoch 1' "$tmp/out")" = "1 0" ]
check "which the other rank is told" grep -q 'rank 1 has refused its fit: .*limit_train_batches = 0.01' "$tmp/out"
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" order >"$tmp/out" 2>&1
check "ranks that log in other orders" [ $? = 0 ]
check "are merged by name" grep -q 'rank 0. 2 4 6 ' "$tmp/out"
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" reductions >"$tmp/out" 2>&1
check "ranks that reduce a name otherwise fail" [ $? = 1 ]
lines=$(grep -n 'xt_log("red"' "$tmp/names.c" | cut -d: -f1 | paste -sd' ')
as='as a value with'
check "with the lines of both" grep -q \
    "\"red\" with sync_dist.*rank 0 .*names.c:${lines% *} $as XT_MEAN, rank 1 .*names.c:${lines#* } $as XT_MAX" \
    "$tmp/out"
for mistake in different reductions; do # a loop of one's own ends as a fit does
    CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" -$mistake >"$tmp/out" 2>&1
    check "a plain loop, $mistake: exit code 1" [ $? = 1 ]
    check "with the lines of both" grep -qE 'with sync_dist.*rank 0.*names.c:[0-9]+.*rank 1.*names.c:[0-9]+' "$tmp/out"
done
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" -same >"$tmp/out" 2>&1
check "a plain loop that logs the same is none" [ $? = 0 ]
check "and its ranks are in step" [ "$(grep -c 'out of step' "$tmp/out")" = 0 ]
CPU_NUM_DEVICES=2 timeout 150 "$tmp/names" -pace >"$tmp/out" 2>&1
check "ranks that step with other batches are told so" grep -qE \
    'out of step: optimizer step 4 is of batch 4 of epoch 0 on rank 1 .*c:[0-9]+. and of batch 3 of epoch 0 on rank 0' \
    "$tmp/out"
check "once" [ "$(grep -c 'out of step' "$tmp/out")" = 1 ]
check "no shared memory is left" [ -z "$(shm_left | grep -vxF "$shm_before")" ]
finish
