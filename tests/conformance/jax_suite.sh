#!/bin/bash
# JAX's own tests on the plugin. usage: tests/conformance/jax_suite.sh CHECKOUT [FILE[:FILTER] ...]
# CHECKOUT: JAX's sources at the version installed for $PYTHON (default python3; JAX 0.10.2 is what the lists are for).
# FILE: lax_test, ...; FILTER: as absl's --test_targets, a regular expression. $PLUGIN: another plugin to run them on
# (XLA's, for comparison); else the wheel of $BUILD is unpacked and used. NUM_DEVICES=N: devices of the plugin. Prints
# per file: passed, failed, skipped (and how many of those by the name of the device), seconds, seconds of processor
# time; then the sum of all files. Lists: jax_never.txt, jax_not_yet.txt, a line per test: FILE CLASS.TEST REASON (a *
# matches anything). $LIMIT: seconds for each file; what was not reached by then counts as nothing. Exit 1: a test
# failed that is on no list; a listed test passed, or no test of a listed pattern (*) failed in a file that ran whole (a
# stale entry).
set -u
checkout=$(cd "${1:?usage: jax_suite.sh CHECKOUT [FILE[:FILTER] ...]}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) python=${PYTHON:-python3} build=${BUILD:-build}
shift
[ $# -gt 0 ] ||
    set -- lax_test lax_control_flow_test lax_autodiff_test lax_vmap_test lax_scipy_test nn_test random_test \
    lax_numpy_test lax_numpy_indexing_test api_test
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -n "${PLUGIN:-}" ]; then
    export PJRT_NAMES_AND_LIBRARY_PATHS=other:$PLUGIN JAX_PLATFORMS=other,cpu
else
    wheel=$(ls "$build"/wheel/xtrain_pjrt-*.whl 2>/dev/null | tail -1)
    [ -n "$wheel" ] || { echo "no wheel in $build/wheel: make wheel"; exit 2; }
    "$python" -m zipfile -e "$wheel" "$tmp/site"
    export PYTHONPATH=$tmp/site${PYTHONPATH:+:$PYTHONPATH} JAX_PLATFORMS=xtrain,cpu
fi
export JAX_SKIP_SLOW_TESTS=1 CPU_NUM_DEVICES=${NUM_DEVICES:-1}
grep -hv '^#' "$here/jax_never.txt" "$here/jax_not_yet.txt" | awk 'NF' >"$tmp/listed"
listed() { # FILE TEST
    while read -r f t _; do
        case "$f $2" in "$1 "$t) return 0 ;; esac
    done <"$tmp/listed"
    return 1
}
# Seconds of all children that ended.
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) / hz }' /proc/$$/stat; }
bad=0
: >"$tmp/all"
# Tests of callbacks, of debugging, of shard_map and of sharded linear algebra skip themselves where the device is not
# called cpu, gpu or tpu: they are run under the name of JAX's CPU.
dut() { # FILE
    case $1 in \
        *callback_test | debug* | shard_map_test | jaxpr_effects_test | scheduling_groups_test | linalg_sharding_test) \
        grep -q parse_flags_with_absl "$checkout/tests/$1.py" && echo --jax_test_dut=cpu ;; esac
}
by_name='devices? with tags|enabled only for|[Oo]nly (works|supported|runs) on|[Uu]nsupported platform|'
by_name+='not supported on|only test|non-CPU devices'
for item; do
    file=${item%%:*} filter=
    [ "$item" = "$file" ] || filter=${item#*:}
    start=$(date +%s) cpu=$(cpu)
    (cd "$checkout" &&
        timeout "${LIMIT:-3000}" "$python" "tests/$file.py" $(dut "$file") ${filter:+--test_targets="$filter"} \
        >"$tmp/out" 2>&1)
    rc=$?
    sed -nE 's/^\[ +(OK|FAILED|SKIPPED) +\] ([A-Za-z0-9_]+\.[^ ]+).*/\1 \2/p' "$tmp/out" | sort -u >"$tmp/results"
    count() { grep -c "^$1 " "$tmp/results"; }
    reserved=$(grep -E '^\[ +SKIPPED' "$tmp/out" | grep -cE "$by_name")
    echo "$(count OK) $(count FAILED) $(count SKIPPED) $reserved" >>"$tmp/all"
    echo "$file: $(count OK) passed, $(count FAILED) failed, $(count \
        SKIPPED) skipped ($reserved by the device's name), $(($(date +%s) - start)) s, processor $(awk -v a="$cpu" \
        -v b="$(cpu)" 'BEGIN { printf "%.1f", b - a }') s"
    [ -n "${LOG:-}" ] && cp "$tmp/out" "$LOG/$file.log"
    whole=
    [ -n "$filter" ] || [ $rc -gt 1 ] || [ ! -s "$tmp/results" ] || whole=yes
    if [ $rc = 124 ]; then
        echo "  stopped by the time limit in $(grep -E '^\[ RUN' "$tmp/out" | tail -1)"
    elif [ $rc -gt 1 ]; then
        echo "  ended with $rc in $(grep -E '^\[ RUN' "$tmp/out" | tail -1)"
        bad=1
    elif [ $rc = 1 ] && [ "$(count FAILED)" = 0 ]; then
        echo "  ended with 1: $(grep -E 'Error' "$tmp/out" | tail -1)"
        bad=1
    fi
    while read -r result test; do
        [ "$result" != FAILED ] || listed "$file" "$test" || { echo "  FAILED $test"; bad=1; }
    done <"$tmp/results"
    while read -r f t reason; do
        [ "$f" = "$file" ] || continue
        stale=
        case $t in
        *\**) # a pattern: some test of it must fail
            if [ -n "$whole" ]; then
                stale=yes
                while read -r result test; do
                    case "$result $test" in "FAILED "$t) stale= ;; esac
                done <"$tmp/results"
            fi ;;
        *) grep -qxF "OK $t" "$tmp/results" && stale=yes ;;
        esac
        [ -z "$stale" ] || { echo "  stale: $t passes ($reason)"; bad=1; }
    done <"$tmp/listed"
done
[ $# -lt 2 ] ||
    awk '{ for (i = 1; i <= 4; i++) n[i] += $i }
    END {
        said = "all: %d passed, %d failed, %d skipped (%d by the device'"'"'s name)\n"
        printf said, n[1], n[2], n[3], n[4]
    }' "$tmp/all"
exit $bad
