#!/bin/bash
# The CPU compiler on machines with less: its unit tests again with the vector loops (and oneDNN) held to AVX2, and to
# the architecture's baseline.
set -u
build=${BUILD:-build}
passed=0 failed=0
tests="test_cpu_ops test_cpu_random test_cpu_special test_cpu_linalg test_cpu_reduce test_cpu_index test_cpu_sort
    test_cpu_conv test_cpu_simd test_cpu_views test_cpu_graphs test_cpu_reduce_fused test_cpu_cross_entropy
    test_cpu_chwn test_cpu_control test_cpu_memory test_parity_mnist"
turn=0
for features in avx2 base; do
    for t in $tests; do
        # A sanitizer makes each ten times as long: there each test has one of the levels (they are odd in number).
        turn=$((turn + 1))
        [ -n "${ASAN_BUILD:-}" ] && [ $((turn % 2)) = 0 ] && continue
        # OneDNN has no level so low; the loops are compared by themselves.
        [ "$features" = base ] && case $t in test_cpu_conv | test_cpu_simd) continue ;; esac
        if out=$(XT_CPU_FEATURES=$features "$build/$t" 2>&1); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "XT_CPU_FEATURES=$features $t:"
            echo "$out" | grep -v 'RUN\|OK' | tail -n 20
        fi
    done
done
# What one level has written into the program cache another one loads: nothing is told, nothing compiled anew.
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
fit() {
    XT_CACHE=on XT_CACHE_DIR=$cache/programs XT_RUNS_DIR=$cache/runs XT_SUMMARY=on XT_PROGRESS=off \
        "${XTRAIN:-$build/xtrain}" fit mnist --epochs 1 --limit-batches 2 --limit-val 1
}
fit >"$cache/first" 2>&1
XT_CPU_FEATURES=avx2 fit >"$cache/second" 2>&1
if grep -qE 'programs +[1-9][0-9]* compiled' "$cache/first" && grep -qE 'programs +0 compiled' "$cache/second" &&
    ! grep -qiE 'warning|not usable' "$cache/second"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "the program cache under XT_CPU_FEATURES=avx2:"
    tail -n 20 "$cache/first" "$cache/second"
fi
# A misspelt level is told, and the best one is used.
if XT_CPU_FEATURES=avx9 "$build/test_cpu_sort" 2>&1 |
    grep -q 'XT_CPU_FEATURES=avx9 is ignored: expected base, avx2 or avx512'; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "no word about a misspelt level"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
