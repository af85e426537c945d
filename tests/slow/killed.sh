#!/bin/bash
# Killed and resumed in the variants that take longer: open windows, two optimizers, an average of the weights and spike
# detection; on two ranks, of which one is killed; with more kills. See tests/examples/killed.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
variant() { # NAME VARIABLES...
    local out
    out=$(env "${@:2}" KILLED_KILLS="${KILLS:-6}" bash "$here/../examples/killed.sh")
    local last
    last=$(tail -n 1 <<<"$out")
    echo "$1: $last"
    grep -v ' passed, ' <<<"$out"
    passed=$((passed + $(cut -d' ' -f1 <<<"$last"))) failed=$((failed + $(cut -d' ' -f3 <<<"$last")))
}
variant 'one optimizer' KILLED_MODE=
variant 'windows, two optimizers, average, spikes' KILLED_MODE=all
variant 'two ranks' KILLED_RANKS=2
variant 'two ranks, all of it' KILLED_RANKS=2 KILLED_MODE=all
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
