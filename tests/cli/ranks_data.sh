#!/bin/bash
# Data modules on one, two and three ranks, over tar shards of unlike lengths: each sample once an epoch, whatever
# sampler or combination of loaders gives it, and a run that is resumed within an epoch goes on with the whole run's
# batches to the whole run's bits. prepare runs on rank 0 alone; its error, and one rank's, ends all of them.
set -u
. "$(dirname "$0")/../examples/lib.sh"
shm_before=$(shm_left; echo none) # of others, who may have been killed
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_TIMEOUT=100 XT_CACHE=on XT_CACHE_DIR=$tmp/cache
ranks_program ranks_data

# 47 samples in 5 shards of 5, 17, 1, 13 and 11
samples=47 from=0
mkdir "$tmp/files"
for shard in 0:5 1:17 2:1 3:13 4:11; do
    to=$((from + ${shard#*:}))
    for ((i = from; i < to; i++)); do echo "$i" >"$tmp/files/$(printf %03d "$i").txt"; done
    (cd "$tmp/files" && tar -cf "$tmp/s-${shard%:*}.tar" --format=ustar $(seq -f '%03g.txt' "$from" $((to - 1))))
    from=$to
done
ranks() {
    CPU_NUM_DEVICES=$1 timeout 150 "$tmp/ranks" "${@:2}" --data.shards "$tmp/s-{0..4}.tar" \
        >"$tmp/out" 2>"$tmp/err" </dev/null
}
# What was read in an epoch, of all ranks, in order: seen WHAT EPOCH
seen() {
    sed -nE "s/.*rank [0-9]+ $1 epoch $2 batch [0-9]+://p" "$tmp/out" | tr -s ' ' '\n' | grep . | sort -n
}
batches() { grep -oE 'rank [0-9]+ (only|first|second|val) epoch .*' "$tmp/out" | grep -v ' val ' | sort; }
ends() { grep -oE 'ended: .*' "$tmp/out" | sort -u; }
once() { [ "$(seen "$1" "$2")" = "$(seq 0 $((samples - 1)))" ]; }
differs() { [ -n "$(cat "$1")" ] && ! cmp -s "$1" "$2"; }

for n in 1 2 3; do
    for mode in tar shuffle bucket; do
        ranks $n $mode
        check "$mode on $n" [ $? = 0 ]
        for epoch in 0 1 2; do
            check "$mode on $n: each sample once in epoch $epoch" once only $epoch
            check "$mode on $n: and once in its validation" once val $epoch
        done
        check "$mode on $n: ranks have the same weights" [ "$(ends | wc -l)" = 1 ]
        sed -nE 's/.*rank 0 only epoch 0 (.*)/\1/p' "$tmp/out" >"$tmp/order0"
        sed -nE 's/.*rank 0 only epoch 1 (.*)/\1/p' "$tmp/out" >"$tmp/order1"
        check "$mode on $n: another order in each epoch" differs "$tmp/order0" "$tmp/order1"
    done
    check "prepared once, by rank 0" [ "$(grep -oE 'prepared by rank [0-9]+' "$tmp/err")" = "prepared by rank 0" ]
    check "set up by each rank" [ "$(grep -oE 'set up by rank [0-9]+' "$tmp/err" | sort -u | wc -l)" = $n ]
    check "torn down by each rank" [ "$(grep -oE 'torn down by rank [0-9]+' "$tmp/err" | sort -u | wc -l)" = $n ]
    # whole batches alone, and a short one of equally many samples on each rank: what is left over is no rank's
    for left in "drop $((samples / (4 * n) * 4 * n))" "short $((samples / n * n))"; do
        set -- $left
        ranks $n $1
        for epoch in 0 1 2; do
            check "$1 on $n: $2 samples" [ "$(seen only $epoch | uniq | wc -l)" = $2 ]
            check "$1 on $n: none twice" [ -z "$(seen only $epoch | uniq -d)" ]
        done
    done
    # several loaders: the second one is shuffled
    for mode in min cycle max sequential; do
        ranks $n $mode
        check "$mode on $n" [ $? = 0 ]
        for epoch in 0 1 2; do
            check "$mode on $n: each sample once by the first, epoch $epoch" once first $epoch
            check "$mode on $n: each sample once by the second, epoch $epoch" once second $epoch
        done
        check "$mode on $n: ranks have the same weights" [ "$(ends | wc -l)" = 1 ]
    done
    # within an epoch
    for mode in tar shuffle cycle sequential; do
        XT_RUNS_DIR=$tmp/whole$n$mode ranks $n $mode
        batches >"$tmp/whole"
        want=$(ends)
        steps=$(sed -nE 's/.*step ([0-9]+),.*/\1/p' <<<"$want")
        export XT_RUNS_DIR=$tmp/cut$n$mode
        ranks $n $mode --max_steps $((steps / 3 + 2))
        check "$mode on $n: a run that ends within epoch 1" [ $? = 0 -a -n "$(seen '[a-z]+' 1)" ]
        batches >"$tmp/cut"
        ranks $n $mode --resume last
        check "$mode on $n: resumed" [ $? = 0 ]
        batches >>"$tmp/cut"
        sort -o "$tmp/cut" "$tmp/cut"
        check "$mode on $n: the rest of the whole run's batches" cmp "$tmp/whole" "$tmp/cut"
        check "$mode on $n: with its weights, to the bit" [ "$(ends | sed 's/made [0-9]*,//')" \
            = "$(sed 's/made [0-9]*,//' <<<"$want")" -a -n "$want" ]
        check "$mode on $n: the module's state went on" grep -q 'made 2,' "$tmp/out"
        unset XT_RUNS_DIR
        export XT_RUNS_DIR=$tmp/runs
    done
done

# --- errors of one rank end all of them
for mode in bad-prepare bad-setup; do
    began=$SECONDS
    ranks 2 $mode
    code=$?
    check "$mode ends the run" [ $code = 1 ]
    check "$mode: at once ($((SECONDS - began)) s)" [ $((SECONDS - began)) -lt 30 ]
done
ranks 2 bad-prepare
check "it is told" grep -q "the data module's prepare: nothing to download" "$tmp/err"
ranks 2 bad-setup
check "so is the other" grep -q "the data module's setup: rank 1 has no disk" "$tmp/err"
check "no shared memory is left" [ -z "$(shm_left | grep -vxF "$shm_before")" ]
finish
