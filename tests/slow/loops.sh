#!/bin/bash
# tests/cli/loops.sh with more seeds, as the compiler inlines and copies calls or does not, and without debug
# information where it leaves the code in order; then tests/cli/loop_memory.sh with other seeds.
set -u
here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
count() { # count NAME OUTPUT
    echo "$1: $2"
    read -r p f < <(tail -n 1 <<<"$2" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
}
for flags in -O0 -O2 -O3 "-O0 -g0"; do
    # shellcheck disable=SC2086
    count "$flags" "$(LOOPS=${LOOPS:-300} LOOPS_FIRST=${LOOPS_FIRST:-100} bash "$here/../cli/loops.sh" $flags)"
done
count "memory" "$(LOOPS=${LOOPS:-100} LOOPS_FIRST=${LOOPS_FIRST:-100} bash "$here/../cli/loop_memory.sh")"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
