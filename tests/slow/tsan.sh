#!/bin/bash
# The unit tests under ThreadSanitizer, all of them: what only one thread runs today may run in several tomorrow.
# OpenMP's runtime is not instrumented: such a build runs everything in the pool of src/cpu/thread/pool.c, oneDNN's
# regions too where they come to us (src/cpu/thread/openmp.c). What is not reported is in tests/tsan.supp, with reasons.
# By clang: gcc 12's ThreadSanitizer keeps the threads of a parent in the list of a forked child, where their numbers
# come again, and ends the child ("duplicate thread with used id").
# TSAN_TESTS="test_lazy_steps ...": these alone; TSAN_JOBS: how many at once.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
clang=$(command -v clang-14 || command -v clang) || { echo "clang is not installed (Debian: clang-14)"; exit 77; }
CC=$clang tools/build.sh build-tsan -Db_sanitize=thread -Db_lundef=false >"$tmp/out" 2>&1
check "the build" [ $? = 0 ]
# Ranks are forked, also by processes that have threads; memory limits of tests are not ThreadSanitizer's.
export TSAN_OPTIONS="suppressions=$root/tests/tsan.supp halt_on_error=1 ignore_noninstrumented_modules=1 \
die_after_fork=0 allocator_may_return_null=1" XT_THREADS=2 XT_PLUGIN_DIR=$root/build-tsan XT_SUMMARY=off \
    XT_CACHE=off XT_POSTMORTEM_DIR=$tmp/crash XT_STATUS_DIR=$tmp/status
# test_cpu_cost compares the processor's time of compilations on one thread, most of which is ThreadSanitizer's here
# (over a quarter of an hour).
left_out=' test_cpu_cost '
tests=${TSAN_TESTS:-$(cd build-tsan && for t in test_*; do
    [ -f "$t" ] && [ -x "$t" ] && [[ $left_out != *" $t "* ]] && echo "$t"
done)}
one() {
    timeout 1800 "build-tsan/$1" >"$tmp/$1.log" 2>&1
    echo $? >"$tmp/$1.rc"
}
for t in $tests; do
    while [ "$(jobs -rp | wc -l)" -ge "${TSAN_JOBS:-$(nproc)}" ]; do wait -n; done
    one "$t" &
done
wait
for t in $tests; do
    rc=$(cat "$tmp/$t.rc")
    [ "$rc" = 77 ] && continue # it says why it cannot run here
    grep -a -m 1 -A 14 'WARNING: ThreadSanitizer' "$tmp/$t.log"
    tail -n 60 "$tmp/$t.log" >"$tmp/out"
    check "$t (exit $rc)" [ "$rc" = 0 ]
done
finish
