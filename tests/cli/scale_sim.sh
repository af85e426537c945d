#!/bin/bash
# bench/scale_sim: the model's figures for given constants, ranks on one host, and mistakes in its options.
. "$(dirname "$0")/../examples/lib.sh"
out=$tmp/out err=$tmp/err sim=$BUILD/scale_sim
"$sim" --model --alpha 1e-5 --beta 1e-9 --local-alpha 1e-6 --local-beta 1e-10 --model-hosts 1000 --local-ranks 8 \
    >"$out" 2>"$err"
check "the model of given constants measures nothing" \
    [ "$?$(grep -c '^1000 hosts of 8 ranks; alpha 10.0 us' "$out")" = 01 ]
# 1 MiB on 1000 hosts: ring 2 * 999 * alpha + 2 * 999 / 1000 * 2^20 * beta = 19.98 + 2.095 ms; doubling 10 * (alpha +
# 2^20 * beta) = 10.586; halving 20 * alpha + 2.095 = 2.295; by hosts 3 steps and 2 * 7 / 8 of 2^20 bytes more, 2.482.
check "ring, doubling, halving, by hosts" grep -qE '^ +1048576 +22.075 +10.586 +2.295 +2.482 +1.241 +1.241$' "$out"
check "steps of ddp and fsdp" [ "$(grep -cE '^ +(gpt2-mini|GPT-2 124M), [0-9 ms]+  +[0-9.]+  +[0-9.]+$' "$out")" = 3 ]
"$sim" --one-host --ranks 2,4,8,16 --seconds 0.02 >"$out" 2>"$err"
check "ranks on one host, elapsed and processor time" [ "$(grep -cE '^ +1 +(2|4|8|16) +[0-9]' "$out")" = 8 ]
check "beside n log n" grep -qE '^as \(n log n\)\^ +[0-9.]+ +(ok|FASTER) +[0-9.]+ ' "$out"
"$sim" --alpha >"$out" 2>"$err"
check "an option without its value" [ "$?$(grep -c 'scale_sim: --alpha (nothing)' "$err")" = 21 ]
"$sim" --ranks 1 >"$out" 2>"$err"
check "one rank is none" [ "$?$(grep -c 'scale_sim: --ranks 1' "$err")" = 21 ]
"$sim" --help >"$out" 2>"$err"
check "its help" [ "$?$(grep -c '^usage: scale_sim' "$out")" = 01 ]
finish
