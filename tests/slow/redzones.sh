#!/bin/bash
# The compiler's unit tests with red zones around each temporary of a plan, which holds a pattern until it is written
# (XT_DEBUG=redzones), in each instruction set, and some hundred random networks more (XT_TEST_SEED, XT_TEST_COUNT).
# Left out: what measures memory.
. "$(dirname "$0")/../examples/lib.sh"
seed=${XT_TEST_SEED:-$(date +%Y%m%d)500} count=${XT_TEST_COUNT:-500}
export XT_DEBUG=redzones
for t in "$BUILD"/test_cpu_*; do
    name=$(basename "$t")
    [ -f "$t" ] && [ -x "$t" ] || continue
    case $name in test_cpu_cost | test_cpu_memory | test_cpu_rss) continue ;; esac
    for features in avx512 avx2 base; do
        check "$name, $features" env XT_CPU_FEATURES=$features "$t"
    done
done
for features in avx512 avx2 base; do
    echo "XT_CPU_FEATURES=$features XT_TEST_SEED=$seed XT_TEST_COUNT=$count test_cpu_graphs"
    check "random networks, $features" env XT_CPU_FEATURES=$features XT_TEST_SEED="$seed" XT_TEST_COUNT="$count" \
        "$BUILD/test_cpu_graphs"
    seed=$((seed + count))
done
finish
