#!/bin/bash
# An error that nobody looks at ends the program: printed once, with its line, when it arises; at the end of the step
# the process exits with code 1. An error that the program looks at, or has a handler for, is its own business.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror ${asan:+$asan} -I"$root/include" "$here/unseen.c" -o "$tmp/unseen" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -lm -pthread || exit 1
line() { grep -n "$1" "$here/unseen.c" | head -n 1 | cut -d: -f1; }
# run MODE: the program's exit code
run() {
    (cd "$tmp" && timeout 60 ./unseen "$1") >"$tmp/out" 2>"$tmp/err"
    local rc=$?
    cat "$tmp/err" >>"$tmp/out"
    return $rc
}
# ends MODE WORD LINE_OF CALL STEPS: the error with WORD and the line is told once, CALL ends the program after STEPS
# steps, and what the program has under way is kept
ends() {
    run "$1"
    check "$1: exit code 1" [ $? = 1 ]
    check "$1: the error is told once, with its line" [ "$(grep -c "unseen.c:$(line "$3").*$2" "$tmp/err")" = 1 ]
    check "$1: what ends the program" \
        grep -qE "unseen.c:[0-9]+: $4 ends the program with exit code 1, after $5 steps?: nobody has looked" "$tmp/err"
    check "$1: nothing goes on" [ "$(grep -c alive "$tmp/out")" = 0 ]
    check "$1: what it printed is there, and its exit handlers run" \
        grep -q "begin the program's own exit handler ran" "$tmp/out"
}
ends shape xt_matmul "the wrong shape" xt_mark_step 3
ends refused xt_optimizer_step "the refused step" xt_mark_step 3
ends null "lr" "the wrong rate" xt_mark_step 3
ends scan xt_matmul "the wrong shape" xt_mark_step 3
ends step xt_matmul "the wrong shape" xt_call 7 # each call ends the step in which its input was made, too
ends batch xt_matmul "the wrong shape" xt_next 3
ends wait xt_matmul "the wrong shape" xt_wait 3
ends pthread xt_matmul "the wrong shape" xt_mark_step 3
# In a loop without boundaries no step ends: its third update does.
run noends
check "no boundary: exit code 1" [ $? = 1 ]
check "no boundary: the error is told once" [ "$(grep -c 'unseen.c:.*xt_linear' "$tmp/err")" = 1 ]
check "no boundary: what ends it" \
    grep -qE "unseen.c:[0-9]+: xt_optimizer_step ends the program with exit code 1, after 0 steps" "$tmp/err"
check "no boundary: nothing goes on" [ "$(grep -c alive "$tmp/out")" = 0 ]
run label
check "a wrong label: exit code 1" [ $? = 1 ]
check "it is told once, with its line" [ "$(grep -c "unseen.c:$(line 'the label').*label 9" "$tmp/err")" = 1 ]
check "no number of the loss has changed" [ "$(grep -c 'changed from' "$tmp/err")" = 0 ]
run lookends
check "no boundary, but it looks: goes on" grep -q 'alive for 16 steps' "$tmp/out"
run keepslooking
check "no boundary, and an error stays: goes on" grep -q 'alive for 216 steps' "$tmp/out"
check "and nothing is said of a step that grows: none is recorded" [ "$(grep -c 'has ended the step' "$tmp/err")" = 0 ]
XT_MEMORY_LIMIT=64M ends oom "program of step 3.*failed" "return xt_mark_step" xt_mark_step 3
check "oom: the report is kept" grep -q 'xtrain postmortem' "$tmp/err"

run reader
check "an error in a function of xt_when_ready: exit code 1" [ $? = 1 ]
check "it is told once, with its line" [ "$(grep -c "unseen.c:$(line 'the wrong shape').*xt_matmul" "$tmp/err")" = 1 ]
check "the call that ends it is the one on its line" \
    grep -q "unseen.c:$(line 'is("reader")'): xt_when_ready ends the program with exit code 1" "$tmp/err"

# The rows that were logged before the error are written.
(cd "$tmp" && XT_RUNS_DIR=$tmp/rows ./unseen shape >"$tmp/out" 2>&1)
check "rows before the error are written" [ "$(cat "$tmp"/rows/*/*/metrics.csv 2>/dev/null | grep -c '^[0-9]')" -ge 2 ]

run last
check "last: xt_finish ends it with exit code 1" [ $? = 1 ]
check "last: it is told once" [ "$(grep -c 'unseen.c.*xt_matmul' "$tmp/err")" = 1 ]
check "last: nothing goes on" [ "$(grep -c 'finish' "$tmp/out")" = 0 ]

run looked
check "looked: goes on" [ $? = 0 ]
check "looked: all steps" grep -q 'alive for 16 steps' "$tmp/out"
check "looked: told once by the library" [ "$(grep -c xt_matmul "$tmp/err")" = 1 ]
check "looked: xt_finish is content" grep -q 'finish 0' "$tmp/out"
run status
check "a status that says the same: goes on" [ $? = 0 ]
check "status: the message is the error's" grep -q 'status: .*xt_matmul' "$tmp/out"
check "status: it goes on, and is still pending at the end" grep -q 'finish 1' "$tmp/out"
run returned
check "a status that is returned is the caller's own" grep -q 'finish 0' "$tmp/out"

# A status that nobody has read or freed is such an error when the step ends.
ends saved "xt_save gave says" "the ignored status" xt_mark_step 4
# So it is where another error of the step comes first.
ends both "xt_save gave says" "ignored, and a second error" xt_mark_step 4
check "both: the other error is told, too" [ "$(grep -c "unseen.c:.*xt_matmul" "$tmp/err")" = 1 ]
ends compared "xt_load gave says" "the compared status" xt_mark_step 3
run lastsave
check "a status of the last step: exit code 1" [ $? = 1 ]
check "its line" grep -q "unseen.c:$(line 'the last status'): the status that xt_save gave says" "$tmp/err"
run cleared
check "xt_clear_error says that it is the program's own business" grep -q 'finish 0' "$tmp/out"
run read
check "one that was read is, too" grep -q 'finish 0' "$tmp/out"
run statehandled
check "a handler is told of it, and nothing ends" grep -q 'alive for 16 steps, handler 1$' "$tmp/out"
check "and it stays pending, as every error that a handler is told of" grep -q 'finish 1' "$tmp/out"
run nothingelse
check "a program of one call: exit code 1" [ $? = 1 ]
check "and why" grep -q "the status that xt_write_file gave says.*no folder" "$tmp/err"

run handled
check "handler: goes on" [ $? = 0 ]
check "handler: called once for the failure" grep -q 'alive for 16 steps, handler 1$' "$tmp/out"
check "handler: nothing is printed" [ "$(grep -vc '^xt_log writes to' "$tmp/err")" = 0 ]
check "handler: the error stays pending" grep -q 'finish 1' "$tmp/out"
run twice
check "handler: two failures, two calls" grep -q 'alive for 16 steps, handler 2$' "$tmp/out"
check "handler: cleared after each" grep -q 'finish 0' "$tmp/out"
run item
check "after a failure xt_item gives NaN, xt_read false" grep -q 'item nan, read 0' "$tmp/out"
check "%t says the cause once" grep -qE 'loss \(no value: .*unseen.c:[0-9]+: xt_matmul.*\) and \(no value\)$' "$tmp/out"

# What an xt_call gives back can be looked at before anything ends; nothing else that is told ends with 0.
call=$(line 'the call \*/')
run lookcall
check "xt_call: the error can be looked at, and the loop goes on" [ $? = 0 ]
check "xt_call: one call of eight failed" grep -q 'fine 7' "$tmp/out"
run nostep
check "xt_call of no step function: exit code 1" [ $? = 1 ]
check "xt_call of no step function: the second call ends it" \
    grep -q "unseen.c:$call: xt_call ends the program with exit code 1" "$tmp/err"
run nofinish
check "the program ends without xt_finish after an error: exit code 1" [ $? = 1 ]
check "which it says" grep -q 'ended without xt_finish() and without looking at the error above' "$tmp/err"
check "other exit handlers run then too" grep -q "the program's own exit handler ran" "$tmp/out"
run deadthread
check "a thread ends with an error: exit code 1 at xt_finish" [ $? = 1 ]
check "and the error is told once" [ "$(grep -c 'unseen.c.*xt_matmul' "$tmp/err")" = 1 ]

# Passes of the Trainer: what has failed is no success of the program.
# fit CODE WHAT WORD...: the exit code of a program that does WORD... behind a fit that has failed
fit() {
    local want=$1 what=$2 rc
    shift 2
    (cd "$tmp" && XT_RUNS_DIR=$tmp/runs timeout 60 ./unseen fit "$@") >"$tmp/out" 2>&1
    rc=$?
    check "$what: exit code $want" [ $rc = "$want" ]
    check "$what: the fit has failed" grep -q 'result 1' "$tmp/out"
    check "$what: told once" [ "$(grep -c 'unseen.c.*xt_matmul' "$tmp/out")" = 1 ]
}
fit 1 "a fit's result is ignored"
call=$(line 'only_test ? xt_test')
check "its line, and what the exit code is" grep -q "unseen.c:$call: this call has failed, and the program" "$tmp/out"
check "other exit handlers run then too" grep -q "the program's own exit handler ran" "$tmp/out"
fit 1 "a fit's result is ignored, xt_finish's is not" finish returns
check "xt_finish gives 1" grep -q 'finish 1' "$tmp/out"
fit 1 "both results are ignored" finish
fit 1 "a test's result is ignored" test finish
fit 1 "the result is the exit code" returns
check "nothing is left to say" [ "$(grep -c 'this call has failed' "$tmp/out")" = 0 ]
fit 0 "the program looks" looks finish
check "xt_finish is content" grep -q 'finish 0' "$tmp/out"
fit 0 "the program goes on" clears finish
fit 0 "another fit succeeds" again finish
check "which it does" grep -q 'again 0' "$tmp/out"

# C++
cat >"$tmp/plain.cpp" <<'C'
#include <cstdio>
#include <xtrain/xtrain.h>
int main(int argc, char **) {
    int calls = 0;
    if (argc > 1) xt_on_error([](xt_status, void *user) { ++*static_cast<int *>(user); }, &calls);
    for (int s = 0; s < 20; s++) {
        xt_tensor x = xt_ones(XT_F32, 2, 3);
        if (s == 3) xt_matmul(x, x); // the wrong shape
        xt_mark_step();
    }
    std::printf("alive, %d\n", calls);
    return xt_finish();
}
C
if c++ -std=c++20 -Wall ${asan:+$asan} -I"$root/include" "$tmp/plain.cpp" -o "$tmp/plain" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1; then
    (cd "$tmp" && ./plain) >"$tmp/out" 2>&1
    check "C++: exit code 1" [ $? = 1 ]
    check "C++: the line, and what ends it" \
        [ "$(grep -cE 'plain.cpp:8: xt_matmul|plain.cpp:9: xt_mark_step ends the program' "$tmp/out")" = 2 ]
    (cd "$tmp" && ./plain handler) >"$tmp/out" 2>&1
    check "C++: with a handler it goes on" grep -q 'alive, 1' "$tmp/out"
else check "a C++ program compiles" false; fi
finish
