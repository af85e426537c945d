#!/bin/bash
# Runs test suites and counts: one line a test program, its output only when it fails, and at the end "N passed, N
# failed". A cmocka program counts its tests; a script counts the tests of its own last line "N passed, N failed", or as
# one.
# usage: tests/run.sh BUILD_DIR SUITE ...     suites: unit cli examples conformance layers slow (all of tests/slow)
# slow:NAME device:NAME environments (each unit test in one of tests/environments.txt, in turns) environment:NAME (all
# in this one); or a test's name as its line has it (cli/plan, unit/test_nn)
# TEST_JOBS: how many at once (default: the processors). What must have the machine for itself stands in `alone`.
set -u
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
shift
jobs=${TEST_JOBS:-$(nproc)}
# These compare what stands in /dev/shm or runs before and after. They come last, so that no long test before them is
# waited for with the other processors idle.
alone=' cli/hosts cli/nodes slow/* '
last=()
export XT_PLUGIN_DIR=$build XT_CACHE=off XT_SUMMARY=off BUILD=$build XTRAIN=$build/xtrain PATH=$build:$PATH
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:allocator_may_return_null=1} \
    UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}
# Programs that tests compile need the library's sanitizers.
if grep -qs libasan "$build/libxtrain.so"; then export ASAN_BUILD=1; fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: >"$tmp/counts"

# run NAME LIMIT COMMAND... beside others, if the test may
run() {
    local most=$jobs
    case "$alone" in *" $1 "* | *" ${1%%/*}/"\**) most=1 ;; esac
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
    if [ "$most" = 1 ]; then
        one "$@"
    else
        one "$@" &
    fi
}
# The line of a test, whole beside others' lines, and what it counts.
tell() {
    local name=$1 p=$2 f=$3 skips=$4
    {
        flock 9
        cat "$out.said"
        echo "$p $f $skips $name" >>"$tmp/counts"
    } 9>>"$tmp/lock"
    rm -rf "$out" "$out".*
}
one() {
    local name=$1 limit=$2 rc out p=0 f=0 skips=0 began=$SECONDS
    out=$tmp/${name//\//_}.out
    shift 2
    one_test "$@" >"$out.said"
    tell "$name" "$p" "$f" "$skips"
}
# The command of NAME, under LIMIT, into `out`; its line is printed, and p, f and skips are counted.
one_test() {
    export TEST_TMP=$out.first XT_POSTMORTEM_DIR=$out.crash XT_STATUS_DIR=$out.status
    timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null
    rc=$?
    # gcc 12's LeakSanitizer itself dies at the exit of some programs, in its walk over thread-local storage ("Tracer
    # caught signal 11"). Nothing was found then, good or bad: the program runs again under everything but the leak
    # check, and that is said.
    if [ -n "${ASAN_BUILD:-}" ] && [ $rc != 0 ] &&
        grep -qE \
        'Tracer caught signal|LeakSanitizer does not work under ptrace|LeakSanitizer has encountered a fatal error' \
        "$out"; then
        echo "note $name: LeakSanitizer died at its exit; it runs again without the leak check"
        TEST_TMP=$out.again ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
            timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null
        rc=$?
    fi
    if [ $rc = 77 ]; then
        skips=1
        echo "skip $name: $(tail -n 1 "$out")"
        return
    fi
    grep '^skip ' "$out" | sed "s|^skip |skip $name: |" # parts of a script, each with its reason
    skips=$(grep -c '^skip ' "$out")
    if grep -q '^\[==========\]' "$out"; then
        p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s)\..*/\1/p' "$out" | awk '{n += $1} END {print n + 0}')
        f=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s), listed.*/\1/p' "$out" | awk '{n += $1} END {print n + 0}')
        # Objects that are left at the end fail the group's teardown, which cmocka neither counts nor gives an exit
        # status for.
        f=$((f + $(grep -cE '^\[  FAILED  \] GROUP (SETUP|TEARDOWN)' "$out")))
    elif tail -n 1 "$out" | grep -qE '^[0-9]+ passed, [0-9]+ failed'; then
        p=$(tail -n 1 "$out" | sed -E 's/^([0-9]+) passed.*/\1/')
        f=$(tail -n 1 "$out" | sed -E 's/^[0-9]+ passed, ([0-9]+) failed.*/\1/')
    else
        [ $rc = 0 ] && p=1
    fi
    [ $rc != 0 ] && [ "$f" = 0 ] && f=1
    if [ "$f" = 0 ]; then
        printf 'ok   %-40s %3d tests %3d s\n' "$name" "$p" $((SECONDS - began))
    else
        printf 'FAIL %-40s %3d passed, %d failed, exit %d%s\n' "$name" "$p" "$f" $rc \
            "$([ $rc = 124 ] && echo " (time limit $limit s)")"
        # What failed stands above what it left behind.
        grep -aE '^\[  (ERROR|FAILED)|^\[   LINE|^not so:|ERROR: |runtime error' "$out" | head -n 20 | sed 's/^/    /'
        echo "    ... the end of its output:"
        tail -n 40 "$out" | sed 's/^/    /'
    fi
}

# What runs for long by intention has a limit of its own, on a machine of one core too.
slow() {
    local limit=7200
    case $1 in fuzz | tsan | valgrind) limit=21600 ;; esac
    run "slow/$1" $limit bash "tests/slow/$1.sh"
}
unit_tests() {
    for t in "$build"/test_*; do [ -f "$t" ] && [ -x "$t" ] && echo "$t"; done
}
# environments NAME ...: the unit tests in turns
environments() {
    local t i=0 n=$# name settings
    for t in $(unit_tests); do
        name=${*:$((i++ % n + 1)):1}
        read -r -a settings < <(sed -n "s/^$name  *//p" tests/environments.txt)
        [ ${#settings[@]} -gt 0 ] || { echo "tests/environments.txt has no $name" >&2; exit 2; }
        run "$name/$(basename "$t")" 600 env "${settings[@]}" "$t"
    done
}

for suite in "$@"; do
    case $suite in
        unit) for t in $(unit_tests); do run "unit/$(basename "$t")" 600 "$t"; done ;;
        environments) environments $(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' tests/environments.txt) ;;
        environment:*) environments "${suite#environment:}" ;;
        cli) for t in tests/cli/*.sh; do
            name=cli/$(basename "$t" .sh)
            if [[ $alone == *" $name "* ]]; then
                last+=("$name")
                continue
            fi
            [ "$name" != cli/expect ] && run "$name" 600 bash "$t"
        done ;;
        examples) for t in tests/examples/*.sh; do
            [ "$(basename "$t")" != lib.sh ] && [ -f "$t" ] && run "examples/$(basename "$t" .sh)" 600 bash "$t"
        done ;;
        conformance) [ -x tests/conformance/run.sh ] &&
            run conformance 600 tests/conformance/run.sh tests/conformance/programs ;;
        layers) run layers 300 tests/layers.sh ;;
        slow) for t in tests/slow/*.sh; do slow "$(basename "$t" .sh)"; done ;;
        slow:*) slow "${suite#slow:}" ;;
        device:*) run "device ${suite#device:}" 1800 env XT_TEST_PLUGIN="${suite#device:}" bash tests/device.sh ;;
        unit/test_* | test_*) run "unit/${suite#unit/}" 600 "$build/${suite#unit/}" ;;
        cli/* | examples/*) run "$suite" 600 bash "tests/$suite.sh" ;;
        *) run "$suite" 600 bash "$suite" ;;
    esac
done
for name in "${last[@]}"; do run "$name" 600 bash "tests/$name.sh"; done
wait
read -r passed failed skipped < <(awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0}' "$tmp/counts")
names=$(awk '$2 > 0 {printf " %s", $4}' "$tmp/counts")
[ -n "$names" ] && echo "failed:$names"
if [ $skipped -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ $failed = 0 ] && [ $passed -gt 0 ]
