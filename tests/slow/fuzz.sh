#!/bin/bash
# Each target of tests/fuzz under libFuzzer, AddressSanitizer and UBSan, from its corpus, for ten minutes of processor
# time (so that a busy machine takes longer, not less). FUZZ_SECONDS: how much each; FUZZ_TARGETS="cpu parse": these
# alone; FUZZ_JOBS: how many at once (default: the cores); FUZZ_TIMEOUT: seconds by the clock after which an input is
# too slow (60; more beside other work). What is found lies in build-fuzz/found and is named here;
# build-fuzz/test_fuzz_NAME FILE shows it again, and it joins tests/fuzz/corpus/NAME, where the unit tests replay it.
# What grows the coverage is kept in build-fuzz/corpus for the next time.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
clang=$(command -v clang-14 || command -v clang) || { echo "clang is not installed (Debian: clang-14)"; exit 77; }
echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p && n > 1 && 0; }' >"$tmp/probe.c"
"$clang" -fsanitize=fuzzer "$tmp/probe.c" -o "$tmp/probe" 2>"$tmp/out" || { echo "no libFuzzer for $clang"; exit 77; }
seconds=${FUZZ_SECONDS:-600}
targets=${FUZZ_TARGETS:-$(cd tests/fuzz && ls fuzz_*.c | sed 's/^fuzz_//;s/\.c$//' | tr '\n' ' ')}
programs=pjrt_plugin_xtrain_cpu.so
for t in $targets; do programs+=" fuzz_$t test_fuzz_$t"; done
CC=$clang TARGETS=$programs \
    tools/build.sh build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link \
    >"$tmp/out" 2>&1
check "the build" [ $? = 0 ]
mkdir -p build-fuzz/found
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    XT_PLUGIN_DIR=$root/build-fuzz XT_SUMMARY=off XT_POSTMORTEM=off XT_PROGRESS=off XT_THREADS=1 \
    XT_STATUS_DIR=$tmp/status TMPDIR=$tmp
ticks=$(($(getconf CLK_TCK) * seconds))
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0; }
one() { # one TARGET: libFuzzer's last words in $tmp/TARGET.log, its exit status in $tmp/TARGET.rc
    mkdir -p "build-fuzz/corpus/$1"
    "build-fuzz/fuzz_$1" -timeout="${FUZZ_TIMEOUT:-60}" -rss_limit_mb=3000 -malloc_limit_mb=1024 \
        -max_len=65536 -len_control=20 -close_fd_mask=1 -print_final_stats=1 -artifact_prefix="build-fuzz/found/$1-" \
        "build-fuzz/corpus/$1" "tests/fuzz/corpus/$1" >"$tmp/$1.log" 2>&1 &
    local fuzzer=$!
    while kill -0 $fuzzer 2>/dev/null && [ "$(used $fuzzer)" -lt $ticks ]; do sleep 1; done
    kill -USR1 $fuzzer 2>/dev/null # libFuzzer ends behind the input at hand, as at the end of its time
    wait $fuzzer
    echo $? >"$tmp/$1.rc"
}
jobs=${FUZZ_JOBS:-$(nproc)}
for t in $targets; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    one "$t" &
done
wait
for t in $targets; do
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$tmp/$t.log")
    echo "$t: ${runs:-?} inputs, $(find "build-fuzz/corpus/$t" -type f | wc -l) of them kept"
    grep -aE 'Test unit written|ERROR: |runtime error|SUMMARY' "$tmp/$t.log" | head -n 8
    tail -n 60 "$tmp/$t.log" >"$tmp/out"
    check "$t" [ "$(cat "$tmp/$t.rc")" = 0 ]
done
finish
