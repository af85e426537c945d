#!/bin/bash
# Program 2: the same losses on 1 and 2 ranks with the same global batch; started directly, by xtrain launch, and by
# hand.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off
steps=30
CPU_NUM_DEVICES=1 "$BUILD/mnist_multi" 128 $steps >"$tmp/one" 2>"$tmp/out"
check "one rank" [ $? = 0 ]
CPU_NUM_DEVICES=2 "$BUILD/mnist_multi" 64 $steps >"$tmp/two" 2>"$tmp/out"
check "two ranks" [ $? = 0 ]
"$XTRAIN" launch -n 2 -- "$BUILD/mnist_multi" 64 $steps >"$tmp/launched" 2>"$tmp/out"
check "two ranks by xtrain launch" [ $? = 0 ]
# "[rank 0] step 29 of 30 on 2 ranks: loss 0.123" -> "29 0.123"
losses() { sed -nE 's/.*step ([0-9]+) of .* loss ([-0-9.e+]+)$/\1 \2/p' "$1"; }
for f in two launched; do
    check "$f: every printed loss is there" [ "$(losses "$tmp/$f" | wc -l)" = 2 ]
    near='NR == FNR {a[$1] = $2; next} {d = $2 - a[$1]; if (d < 0) d = -d; if (!($1 in a) || d > 1e-5 * (a[$1] + 1)) '
    near+='bad = 1} END {exit bad || FNR == 0}'
    check "$f: equal losses to 1e-5" awk "$near" <(losses "$tmp/one") <(losses "$tmp/$f")
done
CPU_NUM_DEVICES=2 XT_SUMMARY=on "$BUILD/mnist_multi" 64 $steps >"$tmp/o" 2>"$tmp/out"
check "one compile a rank" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
finish
