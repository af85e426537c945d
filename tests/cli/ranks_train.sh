#!/bin/bash
# A Trainer on two ranks: checkpoints (rank 0 writes, both wait, resumed by one and by two), averages of the weights,
# stop decisions of one rank, signals that only one rank gets, spikes that only one rank sees, and values merged over
# ranks.
set -u
. "$(dirname "$0")/../examples/lib.sh"
shm_before=$(shm_left; echo none) # of others, who may have been killed
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_TIMEOUT=100 XT_CACHE=on XT_CACHE_DIR=$tmp/cache
ranks_program ranks_train
ranks() { CPU_NUM_DEVICES=$1 timeout 150 "$tmp/ranks" "${@:2}" >"$tmp/out" 2>&1 </dev/null; }
line() { grep -oE "rank $1 of [0-9]+: .*" "$tmp/out" | tail -n 1; }
weights() { line "$1" | grep -oE 'weights [0-9a-f]+'; }
value() { awk -F, -v n="$2" -v l="$3" '!/^step,/ && $8 == n && $7 == l {v = $9} END {print v}' "$1"; }
newest() { ls -d "$tmp/runs/$1"/version_* | sort -t_ -k2 -n | tail -n 1; }

# --- checkpoints and averages
ranks 2 averages --run_name whole
check "two ranks train with an average" [ $? = 0 ]
check "and end with the same weights" [ -n "$(weights 0)" -a "$(weights 0)" = "$(weights 1)" ]
want=$(weights 0)
check "rank 0 alone writes" [ "$(ls -d "$tmp/runs/whole"/version_* | wc -l)" = 1 ]
KEEP=$tmp/kept ranks 2 averages --run_name half --max_steps 9
check "a run of 9 steps of 12" [ $? = 0 -a -f "$tmp/kept/last.ckpt" ]
ranks 2 averages --run_name half --resume "$tmp/kept/last.ckpt"
check "resumed by both: the whole run's bits" [ "$(weights 0)" = "$want" -a "$(weights 1)" = "$want" ]
ranks 1 averages --run_name half --resume "$tmp/kept/last.ckpt"
check "resumed by one" [ $? = 0 ]
check "with a warning that the batch is another one" grep -qi 'effective batch' "$tmp/out"
check "it goes on from step 9, behind the samples of three batches of two ranks" \
    grep -q 'epoch 1, batch 6, step 9' "$tmp/out"
BATCH=8 ranks 1 averages --run_name one --max_steps 9 &&
    BATCH=8 KEEP=$tmp/kept1 ranks 1 averages --run_name one --max_steps 9
ranks 2 averages --run_name two --resume "$tmp/kept1/last.ckpt"
check "one rank's checkpoint goes on with two" [ $? = 0 -a "$(weights 0)" = "$(weights 1)" ]
ranks 2 left_out
check "a batch that both leave out" [ $? = 0 -a "$(weights 0)" = "$(weights 1)" ]
check "is told once" [ "$(grep -c 'training_step gave no loss' "$tmp/out")" = 1 ]
ranks 2 left_out_alone
check "one that rank 1 alone leaves out ends the fit" [ $? = 1 ]
check "which is said" grep -q 'the ranks are out of step: ' "$tmp/out"
ranks 2 swa
check "the plain mean of the last epochs" [ $? = 0 -a "$(weights 0)" = "$(weights 1)" ]
ranks 2 order
check "shuffled" [ $? = 0 -a "$(weights 0)" = "$(weights 1)" ]

# --- a call that all ranks make together, made by one
ranks 2 alone
check "a save by one rank ends the run" [ $? = 1 ]
text='xt_trainer_save, which all ranks call at the same place: .*(did not come: rank 1|different collective calls: '
text+='.*rank 1) '
check "it says that all ranks make the call, and who did not" grep -qE "$text" "$tmp/out"
check "no half of a file is left" [ ! -e alone.ckpt ]

# --- stopping
ranks 2 early
check "a value that is bad on one rank stops both" [ $? = 0 ]
check "at the same epoch, before the last" \
    [ "$(line 0 | grep -oE 'step [0-9]+, epoch [0-8],')" = "$(line 1 | grep -oE 'step [0-9]+, epoch [0-8],')" \
    -a -n "$(line 0 | grep -oE 'epoch [0-8],')" ]
line=$(grep -n 'xt_log("val/loss"' "$root/tests/examples/ranks_train.c" | cut -d: -f1)
check "the watched value is rank 0's alone: said once, with its line" \
    [ \
    "$(grep -c "xt_early_stopping watches val/loss, logged at .*ranks_train.c:$line without .sync_dist: with 2 ranks" \
    "$tmp/out")" = 1 ]
ranks 2 signal
check "SIGTERM on rank 1 ends with 143" [ $? = 143 ]
check "both at the same step" \
    [ -n "$(line 0)" -a "$(line 0 | grep -oE 'code 143, step [0-9]+')" \
    = "$(line 1 | grep -oE 'code 143, step [0-9]+')" ]
check "with a checkpoint" [ -f "$(newest default)/checkpoints/last.ckpt" ]

# --- what is logged
ranks 2 spike --max_epochs 1 --run_name spike
check "a spike of rank 1" [ $? = 0 ]
check "is reported" grep -qiE 'spike.*(batch )?12' "$tmp/out"
want=$(cat "$(newest spike)/skip_batches.json")
check "the list has it" [ "$want" = '{"rank 0": [], "rank 1": [12]}' ]
KEEP=$tmp/spiked ranks 2 spike --max_epochs 1 --run_name spiked --max_steps 15
check "a run of 15 steps, the spike among them" [ $? = 0 ]
ranks 2 spike --max_epochs 1 --run_name spiked --resume "$tmp/spiked/last.ckpt"
check "resumed: rank 1 knows its own spikes" [ "$(cat "$(newest spiked)/skip_batches.json" 2>/dev/null)" = "$want" ]
check "and tells none again" [ "$(grep -c 'the loss spiked' "$tmp/out")" = 0 ]
OFTEN=1 ranks 2 spike --max_epochs 30 --run_name often
want=$(for ((i = 0; i < 30 * 24; i++)); do ((i % 24 % 2 == 1 && i % 24 > 4)) && echo -n "$i, "; done)
check "a rank's list is whole, however long" \
    [ "$(cat "$(newest often)/skip_batches.json")" = "{\"rank 0\": [], \"rank 1\": [${want%, }]}" ]
ranks 2 merge --run_name merge --max_epochs 1 --limit_train_batches 3
check "values of two ranks" [ $? = 0 ]
csv=$(newest merge)/metrics.csv
for row in 'sum_step step 3' 'sum_epoch epoch 9' 'mean_step step 1.5' 'mean_epoch epoch 1.5' 'two epoch 12' \
    'at_step step 2.5' 'at_epoch epoch 1.5' 'max epoch 3' 'min epoch 0'; do
    set -- $row
    check "$1 is $3" [ "$(value "$csv" "$1" "$2")" = "$3" ]
done

# --- names under different ifs: no more programs than names, and the values of runs that have one of them
for which in options options-A options-B options-C; do
    XT_CACHE=off ranks 2 $which --run_name $which --max_epochs 3
    check "$which" [ $? = 0 ]
    grep -oE 'rank 0: [0-9]+ programs' "$tmp/out" | grep -oE '[0-9]+ ' >"$tmp/programs.$which"
done
check "three names: at most 2 programs more than one of them" \
    [ "$(cat "$tmp/programs.options")" -le $(($(cat "$tmp/programs.options-A") + 2)) ]
for k in A B C; do
    for run in options options-$k; do
        awk -F, -v k=$k '$8 == k || $8 == k "_step" || $8 == k "_epoch"' OFS=, "$(newest $run)/metrics.csv" |
            cut -d, -f1,7-9 >"$tmp/rows.$run"
    done
    check "$k has its own values" [ -s "$tmp/rows.options" ]
    check "$k is the same alone" cmp -s "$tmp/rows.options" "$tmp/rows.options-$k"
done

# --- batch norm over ranks: the whole batch's statistics, so two ranks train as one does with both halves
ranks 2 norm --sync_batchnorm on --max_epochs 1
two=$(line 0 | grep -oE 'loss [0-9.]+')
ranks 2 norm --max_epochs 1
apart=$(line 0 | grep -oE 'loss [0-9.]+')
BATCH=8 ranks 1 norm --max_epochs 1
one=$(line 0 | grep -oE 'loss [0-9.]+')
check "sync_batchnorm: one rank's loss ($two, $one)" \
    awk -v a="${two#loss }" -v b="${one#loss }" 'BEGIN {exit !(a > 0 && (a - b) ^ 2 < 1e-10 * a * a)}'
check "which it is not without ($apart)" \
    awk -v a="${apart#loss }" -v b="${one#loss }" 'BEGIN {exit !(a > 0 && (a - b) ^ 2 > 1e-10 * a * a)}'
check "no shared memory is left" [ -z "$(shm_left | grep -vxF "$shm_before")" ]
finish
