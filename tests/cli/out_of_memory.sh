#!/bin/bash
# Runs that meet the end of memory and go on: what is kept of that is not told as their death, and a search for the
# largest batch finds it from either side, in as many trials as it may take, and leaves nothing behind.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash XT_MEMORY_LIMIT=16M
mkdir -p "$tmp/crash"
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror ${asan:+$asan} -I"$root/include" "$here/out_of_memory.c" \
    -o "$tmp/out_of_memory" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -lm || exit 1
run() { (cd "$tmp" && timeout 100 ./out_of_memory "$@") >"$tmp/out" 2>&1; }
folders() { find "$tmp/crash" -name 'xt-crash-*' | wc -l; }
found() { sed -nE "s/^found ([0-9]+) in ([0-9]+)$/\\$1/p" "$tmp/out"; }

run on
check "a program that handles the error ends well" [ $? = 0 ]
check "it met the end of memory, and computed on" [ "$(grep -cE '^(code 8|8)$' "$tmp/out")" = 4 ]
check "the report is kept" [ "$(folders)" = 1 ]
"$XTRAIN" postmortem "$tmp/crash" >"$tmp/out" 2>&1
check "postmortem: it ended by itself" grep -q '^It ended by itself' "$tmp/out"
check "and was not killed" [ "$(grep -c 'SIGKILL\|killed' "$tmp/out")" = 0 ]
check "the report of the memory is there" grep -q 'XT_MEMORY_LIMIT' "$tmp/out"
rm -rf "$tmp/crash"

run kill
"$XTRAIN" postmortem "$tmp/crash" >"$tmp/out" 2>&1
check "one that was killed later was killed" grep -q '^It was killed' "$tmp/out"
rm -rf "$tmp/crash"

run first 8192
most=$(found 1)
check "from above: the largest that fits is found" [ "${most:-0}" -gt 256 -a "${most:-8192}" -lt 8192 ]
check "by halves" [ "$(found 2)" -le 18 ]
# Each trial holds what the fullest moment holds, whoever is faster, so all searches end at one size.
said() { grep -q "^batch $1: $2\$" "$tmp/out"; }
between() { [ "${1:-0}" -gt 0 ] && said "$1" fits && said "$2" "out of memory"; }
next_fails() { between "$(found 1)" "$(($(found 1) + 1))"; }
twice_fails() { between "$(found 1)" "$(($(found 1) * 2))"; }
check "from above: one more does not fit" next_fails
run first 16
check "from below: one more does not fit" next_fails
check "from below: the same size" [ "$(found 1)" = "$most" ]
run first "$((most + most / 10))"
check "from a little too many: the same size" [ "$(found 1)" = "$most" ]
each() { for i in $(seq 20); do XT_MEMORY_LIMIT=1M run first 16 && found 1; done | sort | uniq -c | awk '{print $1}'; }
check "20 searches find one size" [ "$(each)" = 20 ]
run power 8192
check "powers of two only, from above" twice_fails
run most 100
check "all of .most fits" [ "$(found 1)" = 100 ]
run samples 300
check "fewer samples than memory holds: the last size that is a batch" [ "$(found 1)" = 256 ]
check "and no halves between it and what is no batch" [ "$(found 2)" = 9 ]
run trials 3
check "as many trials as may be" [ "$(found 1) $(found 2)" = "8 3" ]
run trials 0
check "no trials is a mistake" grep -q 'error: .*max_trials.* 0' "$tmp/out"
run first 0
check "a batch of none is a mistake" grep -q 'error: .*first.* 0' "$tmp/out"
run first 9000
check "more than .most is a mistake" grep -q 'error: .*\.first = 9000 is more than \.most = 8192' "$tmp/out"
run most -4
check "a negative .most is a mistake" grep -q 'error: .*most.* -4' "$tmp/out"
run samples 0
check "no samples" grep -q '^error: ' "$tmp/out"
XT_MEMORY_LIMIT=3K run none
check "not even one sample" grep -q 'error: .*not even a batch of 1 fits' "$tmp/out"
check "no search left a crash folder" [ "$(folders)" = 0 ]
finish
