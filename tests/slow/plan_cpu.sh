#!/bin/bash
# The step times that xtrain plan estimates for this host's CPU, beside measured ones: within a factor of 2. Both in the
# same minute, the fastest step of a few; a machine with much other work is measured again, three times at most.
. "$(dirname "$0")/../examples/lib.sh"
x=$BUILD/xtrain
near() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a < 2 * b && b < 2 * a)}'; }
for c in "mnist 128 60" "resnet18 16 5" "gpt2 4 4"; do
    read -r model batch steps <<<"$c"
    for try in 1 2 3; do
        estimate=$("$x" plan "$model" --batch "$batch" --row 2>/dev/null | awk '{print $4}')
        measured=$("$x" bench "$model" --batch "$batch" --steps "$steps" --json 2>/dev/null | tail -n 1 |
            grep -oE '"ms_median": [0-9.]+' | grep -oE '[0-9.]+$')
        near "$estimate" "$measured" && break
    done
    echo "$model, batch $batch: estimated $estimate ms, measured $measured ms"
    check "$model: $estimate ms estimated, $measured ms measured" near "$estimate" "$measured"
done
finish
