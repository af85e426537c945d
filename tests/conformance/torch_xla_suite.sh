#!/bin/bash
# PyTorch/XLA's own tests on the plugin. usage: tests/conformance/torch_xla_suite.sh CHECKOUT [FILE[:FILTER] ...]
# CHECKOUT: PyTorch/XLA's sources (the folder that has test/) at the version installed for $PYTHON (default python3; 2.9
# is what the lists are for). FILE: pjrt/test_dtypes, test_operations, ...; FILTER: as unittest's -k. $DEVICE: another
# PJRT_DEVICE to run them on (CPU: XLA's own, for comparison). The wheel of $BUILD is unpacked and used. The tests need
# the Python packages expecttest and absl-py. Prints per file: passed, failed, skipped, seconds, seconds of processor
# time. Lists: torch_xla_never.txt, torch_xla_not_yet.txt, a line per test: FILE CLASS.TEST REASON. Exit 1: a test
# failed that is on no list, or a listed test has passed (a stale entry). $LIMIT: seconds for each file.
set -u
checkout=$(cd "${1:?usage: torch_xla_suite.sh CHECKOUT [FILE[:FILTER] ...]}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) python=${PYTHON:-python3} build=${BUILD:-build}
shift
[ $# -gt 0 ] ||
    set -- pjrt/test_dtypes test_core_aten_ops test_operations test_input_output_aliases \
    test_while_loop scan/test_scan test_grad_checkpoint
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PJRT_DEVICE=${DEVICE:-XTRAIN} PYTHONPATH=$checkout/test${PYTHONPATH:+:$PYTHONPATH}
if [ "$PJRT_DEVICE" = XTRAIN ] && [ -z "${XTRAIN_PJRT_LIBRARY:-}" ]; then
    wheel=$(ls "$build"/wheel/xtrain_pjrt-*.whl 2>/dev/null | tail -1)
    [ -n "$wheel" ] || { echo "no wheel in $build/wheel: make wheel"; exit 2; }
    "$python" -m zipfile -e "$wheel" "$tmp/site"
    export PYTHONPATH=$tmp/site:$PYTHONPATH
fi
grep -hv '^#' "$here/torch_xla_never.txt" "$here/torch_xla_not_yet.txt" | awk 'NF' >"$tmp/listed"
is_listed() { awk -v f="$1" -v t="$2" '$1 == f && $2 == t { found = 1 } END { exit !found }' "$tmp/listed"; }
# Seconds of all children that ended.
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) / hz }' /proc/$$/stat; }
bad=0
for item; do
    file=${item%%:*} filter=
    [ "$item" = "$file" ] || filter=${item#*:}
    start=$(date +%s) cpu=$(cpu)
    (cd "$checkout/test" &&
        timeout "${LIMIT:-3000}" "$python" "$file.py" $(grep -q 'absltest\.main' "$file.py" ||
        echo -v) ${filter:+-k "$filter"} >"$tmp/out" 2>&1)
    rc=$?
    [ -n "${LOG:-}" ] && cp "$tmp/out" "$LOG/$(basename "$file").log"
    # unittest: "test_x (__main__.Class.test_x) ... ok"; absl: "[ OK ] Class.test_x"; other lines may stand between name
    # and result.
    awk '
        match($0, /^test[^ ]* \([^)]*\)/) {
            split(substr($0, RSTART, RLENGTH), a, /[ ()]+/)
            n = split(a[2], c, ".")
            name = (c[n] == a[1] ? c[n - 1] : c[n]) "." a[1]
        }
        name != "" && /(^|\.\.\. |[^A-Za-z])ok$/ { print "OK " name; name = "" }
        name != "" && /(FAIL|ERROR)$/ { print "FAILED " name; name = "" }
        name != "" && /skipped / { print "SKIPPED " name; name = "" }
        /^\[ +(OK|FAILED|SKIPPED) +\] / { gsub(/[][]/, ""); print $1 " " $2 }' "$tmp/out" | sort -u >"$tmp/results"
    # A file with a runner of its own (test_data_type) tells dots, the names of what failed, and how many there were.
    [ -s "$tmp/results" ] || awk '
        /^(FAIL|ERROR): / {
            n = split($3, c, "[.()]+")
            print "FAILED " (c[n - 1] == $2 ? c[n - 2] : c[n - 1]) "." $2
            bad++
        }
        /^Ran [0-9]+ tests?/ { ran = $2 }
        /^(OK|FAILED)( |$)/ && match($0, /skipped=[0-9]+/) { skipped = substr($0, RSTART + 8, RLENGTH - 8) }
        END {
            for (i = 1; i <= ran - bad - skipped; i++) print "OK unnamed." i
            for (i = 1; i <= skipped; i++) print "SKIPPED unnamed." i
        }' "$tmp/out" >"$tmp/results"
    # A program without test cases (test_grad_checkpoint) passes by ending well.
    grep -qE '^ *def test' "$checkout/test/$file.py" ||
        echo "$([ $rc = 0 ] && echo OK || echo FAILED) program.${file##*/}" >"$tmp/results"
    count() { grep -c "^$1 " "$tmp/results"; }
    echo "$file: $(count OK) passed, $(count FAILED) failed, $(count \
        SKIPPED) skipped, $(($(date +%s) - start)) s, processor $(awk -v a="$cpu" -v b="$(cpu)" \
        'BEGIN { printf "%.1f", b - a }') s"
    if [ $rc = 0 ] && [ ! -s "$tmp/results" ]; then
        echo "  no test's result was found in its output"
        bad=1
    elif [ $rc -gt 1 ]; then
        echo "  ended with $rc$([ $rc = 124 ] && echo ' (the time limit)')"
        [ $rc = 124 ] || bad=1
    elif [ $rc = 1 ] && [ "$(count FAILED)" = 0 ]; then
        echo "  ended with 1: $(grep -E 'Error' "$tmp/out" | tail -1)"
        bad=1
    fi
    while read -r result test; do
        if [ "$result" = FAILED ]; then is_listed "$file" "$test" || { echo "  FAILED $test"; bad=1; }; fi
        if [ "$result" = OK ] && is_listed "$file" "$test"; then echo "  stale: $test passes"; bad=1; fi
    done <"$tmp/results"
done
exit $bad
