#!/bin/bash
# The CPU compiler on machines with less: its unit tests again with the vector loops (and oneDNN) held to AVX2, and to the architecture's baseline.
set -u
build=${BUILD:-build}
passed=0 failed=0
tests="test_cpu_ops test_cpu_random test_cpu_special test_cpu_linalg test_cpu_reduce test_cpu_index test_cpu_sort test_cpu_conv test_cpu_simd test_cpu_views"
for features in avx2 base; do
    for t in $tests; do
        [ "$features" = base ] && case $t in test_cpu_conv | test_cpu_simd) continue ;; esac # oneDNN has no level so low; the loops are compared by themselves
        if out=$(XT_CPU_FEATURES=$features "$build/$t" 2>&1); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "XT_CPU_FEATURES=$features $t:"
            echo "$out" | grep -v 'RUN\|OK' | tail -n 20
        fi
    done
done
# A misspelt level is told, and the best one is used.
if XT_CPU_FEATURES=avx9 "$build/test_cpu_sort" 2>&1 | grep -q 'XT_CPU_FEATURES=avx9 is ignored: expected base, avx2 or avx512'; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "no word about a misspelt level"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
