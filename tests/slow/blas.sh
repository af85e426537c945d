#!/bin/bash
# OpenBLAS's share in "results do not depend on the number of threads": more shapes under every set of its kernels that
# this processor can run, each hostile environment by itself; then the unit tests of the CPU compiler under the sets
# that other processors would choose.
. "$(dirname "$0")/../examples/lib.sh"
export XT_CACHE=off XT_SUMMARY=off
timeout 5400 "$BUILD/test_cpu_threads" all >"$tmp/out" 2>&1
rc=$?
grep '^skip ' "$tmp/out"
[ $rc = 0 ] || grep -v 'RUN\|OK' "$tmp/out" | tail -n 40
check "the same bits under every set of kernels and every environment" [ $rc = 0 ]
for core in Haswell Zen Sandybridge Nehalem; do
    for t in "$BUILD"/test_cpu_* "$BUILD"/test_linalg "$BUILD"/test_parity_*; do
        [ -x "$t" ] && [ -f "$t" ] || continue
        case $t in *test_cpu_threads) continue ;; esac
        OPENBLAS_CORETYPE=$core timeout 600 "$t" >"$tmp/out" 2>&1
        rc=$?
        [ $rc = 0 ] || [ $rc = 77 ] || tail -n 20 "$tmp/out"
        check "$(basename "$t") with the kernels of $core" [ $rc = 0 -o $rc = 77 ]
    done
done
finish
