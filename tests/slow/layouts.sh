#!/bin/bash
# Networks over images and sequences and their gradients in each layout and instruction set against the interpreter:
# many random ones (XT_TEST_SEED the first, XT_TEST_COUNT how many; default 3000 from a seed of today), and each view at
# each operand of the fused ops in all sizes.
. "$(dirname "$0")/../examples/lib.sh"
seed=${XT_TEST_SEED:-$(date +%Y%m%d)000} count=${XT_TEST_COUNT:-3000}
for features in avx512 avx2 base; do
    echo "XT_CPU_FEATURES=$features XT_TEST_SEED=$seed XT_TEST_COUNT=$count test_cpu_graphs"
    check "$features: random networks agree" env XT_CPU_FEATURES=$features XT_TEST_SEED="$seed" XT_TEST_COUNT="$count" \
        "$BUILD/test_cpu_graphs"
    check "$features: random convolutions agree" env XT_CPU_FEATURES=$features XT_TEST_SEED="$seed" \
        XT_TEST_COUNT="$count" "$BUILD/test_cpu_conv_random"
    check "$features: all views agree" env XT_CPU_FEATURES=$features XT_TEST_VIEWS=all "$BUILD/test_cpu_views"
    seed=$((seed + count))
done
finish
