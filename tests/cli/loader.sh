#!/bin/bash
# The loader on two ranks from outside: what it says of its shards, that they are all the samples, and an error with the
# sample's index.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS
export XT_SUMMARY=off
cat >"$tmp/p.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
static xt_status get(void *user, int64_t i, void *x, void *y) {
    const char *bad = getenv("BAD");
    if (bad && i == atoi(bad)) return xt_status_new(XT_DATA_LOSS, "the picture is broken");
    *(float *)x = user ? 0 : (float)i;
    *(int64_t *)y = i;
    return NULL;
}
static int run(int rank, void *arg) {
    xt_dataset *d = xt_dataset_new(
        &(xt_dataset_desc){.count = 103, .name = "numbers", .x = {XT_F32}, .y = {XT_I64}, .get = get, .user = arg});
    xt_loader *l = xt_loader_new(d, .batch = 8, .pad_last = getenv("PAD") ? XT_ON : XT_DEFAULT,
                                 .drop_last = getenv("KEEP") ? XT_OFF : XT_DEFAULT,
                                 .shard = getenv("ALL") ? XT_OFF : XT_DEFAULT, .shuffle = XT_ON, .workers = 3);
    long sum = 0, n = 0;
    for (xt_batch b; xt_next(l, &b);) {
        int64_t y[8];
        xt_read(b.y, y, (size_t)xt_dim(b.y, 0) * sizeof *y);
        for (int i = 0; i < b.size; i++) sum += y[i], n++;
    }
    printf("rank %d read %ld %ld\n", rank, n, sum);
    xt_loader_free(l);
    return xt_finish();
}
int main(void) { return xt_launch(run, NULL); }
C
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
check "the program builds" cc $asan -I"$root/include" "$tmp/p.c" -o "$tmp/p" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
run() { env "$@" XT_POSTMORTEM_DIR="$tmp/crash" "$tmp/p" >"$tmp/out" 2>&1; }
total() { awk '/read/ {n += $(NF - 1); sum += $NF} END {print n, sum}' "$tmp/out"; }
run CPU_NUM_DEVICES=2
want="[rank 0] loader of numbers: 103 samples, sharded over 2 ranks: of every 16 in the epoch's order each reads its "
want+="8, 6 batches an epoch on each, the last, incomplete one left out (.pad_last = XT_ON keeps it); .shard = XT_OFF "
want+="gives every rank all"
check "sharding is on, and said" grep -qF "$want" "$tmp/out"
check "once" [ "$(grep -c 'loader of' "$tmp/out")" = 1 ]
check "equal shares" [ "$(grep -c 'read 48 ' "$tmp/out")" = 2 ]
run CPU_NUM_DEVICES=3 PAD=1
check "no tail is lost" [ "$(total)" = "103 5253" ]
check "nor said to be" [ "$(grep -c 'left out' "$tmp/out")" = 0 ]
run CPU_NUM_DEVICES=2 KEEP=1
want="7 batches an epoch on each, the last 1 of the order, which they cannot share evenly, left out (.pad_last = "
want+="XT_ON keeps them)"
check "an odd tail is said" grep -qF "$want" "$tmp/out"
check "and what can be shared is read" [ "$(grep -c 'read 51 ' "$tmp/out")" = 2 ]
run CPU_NUM_DEVICES=2 ALL=1 PAD=1
check "sharding off is said" \
    grep -qF "loader of numbers: sharding is off (.shard = XT_OFF), each of the 2 ranks reads every sample" "$tmp/out"
check "and so" [ "$(grep -c 'read 103 5253' "$tmp/out")" = 2 ]
run PAD=1
check "one rank has nothing to say" [ "$(cat "$tmp/out")" = "rank 0 read 103 5253" ]
run CPU_NUM_DEVICES=2 BAD=37 PAD=1
check "a sample's error ends the run" [ $? = 1 ]
check "with its index and the loop's line" \
    grep -qE "^\[rank [01]\] .*p.c:[0-9]+: numbers: sample 37: the picture is broken" "$tmp/out"
finish
