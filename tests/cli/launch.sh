#!/bin/bash
# xtrain launch and started ranks from outside: output, exit codes, signals, orphans, fresh processes, mpirun, and
# nothing left behind.
set -u
. "$(dirname "$0")/../examples/lib.sh"
unset CPU_NUM_DEVICES XT_DEVICE PJRT_DEVICE XT_RANK XT_WORLD_SIZE XT_RENDEZVOUS
hello=$BUILD/hello
out=$tmp/out err=$tmp/err
lines() { sort "$1" | tr '\n' '|'; }
say() { "$@" >"$out" 2>"$err" </dev/null; }
within() { # within LIMIT_MS COMMAND...: the best of some runs, as a loaded machine makes any of them late
    local began limit=$1 k took
    shift
    for k in 1 2 3 4 5 6; do
        began=$(date +%s%N)
        "$@"
        took=$((($(date +%s%N) - began) / 1000000))
        [ $took -lt "$limit" ] && return 0
        echo "took $took ms, limit $limit"
    done
    return 1
}
shm_before=$(shm_left; echo none) # of others, who may have been killed

say "$XTRAIN" launch -n 3 -- "$hello"
check "three ranks" \
    [ "$(lines "$out")" \
    = "[rank 0] hello from rank 0 of 3|[rank 1] hello from rank 1 of 3|[rank 2] hello from rank 2 of 3|" ]
check "nothing on stderr" [ ! -s "$err" ]
CPU_NUM_DEVICES=2 say "$XTRAIN" launch -- "$hello"
check "a rank per device" [ "$(wc -l <"$out")" = 2 ]
say "$XTRAIN" launch -n 1 -- "$hello"
check "one rank has no prefix" [ "$(cat "$out")" = "hello from rank 0 of 1" ]
CPU_NUM_DEVICES=4 say "$hello"
check "the program by itself" [ "$(grep -c '^\[rank [0-3]\] hello from rank [0-3] of 4$' "$out")" = 4 ]
say "$XTRAIN" launch -n 2 -- "$XTRAIN" launch -n 5 -- "$hello"
check "a rank starts no more" [ "$(lines "$out")" = "[rank 0] hello from rank 0 of 2|[rank 1] hello from rank 1 of 2|" ]

say "$XTRAIN" launch -n 3 -- sh -c '[ $XT_RANK = 1 ] && { echo "the fault" >&2; exit 9; }; sleep 20'
code=$?
check "the exit code is kept" [ $code = 9 ]
check "the first failure comes first" [ "$(sed -n 1p "$err")" = "[rank 1] the fault" ]
check "then what became of it" \
    grep -qE '^xtrain launch: rank 1 \(pid [0-9]+\) ended with exit code 9; ending the other 2$' "$err"
check "the others end at once" within 2500 \
    say "$XTRAIN" launch -n 3 -- sh -c '[ $XT_RANK = 1 ] && exit 9; trap "" TERM; sleep 20 & wait; sleep 20'
say "$XTRAIN" launch -n 2 -- sh -c '[ $XT_RANK = 0 ] && kill -9 $$; sleep 20'
check "a killed rank's code" [ $? = 137 ]
check "and why" grep -q 'was killed by SIGKILL' "$err"
say "$XTRAIN" launch -n2 -- "$hello"
check "-n2 is -n 2" [ "$(lines "$out")" = "[rank 0] hello from rank 0 of 2|[rank 1] hello from rank 1 of 2|" ]
say "$XTRAIN" launch -nx -- "$hello"
check "and -nx a mistake" [ "$?$(grep -c "'x' is no value for -n" "$err")" = 21 ]
# A reader that goes away (| head) ends no run.
"$XTRAIN" launch -n 2 -- sh -c 'for i in $(seq 2000); do echo line $i; done; echo done >"$0.$XT_RANK"' "$tmp/read" \
    2>"$err" | head -n 1 >"$out"
check "who stops reading ends no run" [ "$(cat "$tmp/read.0" "$tmp/read.1" 2>&1 | tr '\n' ' ')" = "done done " ]
# The library's lines begin with the rank. What ranks say alike is shown once, whoever of them is late, and where Open
# MPI starts them too.
late='[ $RANK = 1 ] && sleep 1.5; echo "[rank $RANK] a warning of all" >&2; echo "mine $RANK"'
for n in 2 4; do
    say "$XTRAIN" launch -n $n -- sh -c "RANK=\$XT_RANK; $late"
    check "a late rank's warning is not shown again, $n ranks" \
        [ "$(grep -c '^\[rank.*\] a warning of all$' "$err")" = 1 ]
    check "which rank was late is told, $n ranks" grep -q '^\[rank 1\] said so too, later: a warning of all$' "$err"
    command -v mpirun >/dev/null || continue
    say "$XTRAIN" launch -n $n --host localhost:$n -- sh -c "RANK=\$OMPI_COMM_WORLD_RANK; $late"
    check "nor by mpirun, $n ranks" [ "$(grep -c '^\[rank.*\] a warning of all$' "$err")" = 1 ]
    check "nor is anything lost, $n ranks" [ "$(grep -c '^mine' "$out")$(grep -c ' later: a warn' "$err")" = ${n}1 ]
done
say "$XTRAIN" launch -n 2 --log-dir "$tmp/logs" -- sh -c 'echo to out $XT_RANK; sleep 0.2; echo to err $XT_RANK >&2'
check "--log-dir: a file a rank" \
    [ "$(cat "$tmp/logs/rank_0.log" "$tmp/logs/rank_1.log" | tr '\n' '|')" = "to out 0|to err 0|to out 1|to err 1|" ]
check "and the output as always" [ "$(lines "$out")$(lines "$err")" \
    = "[rank 0] to out 0|[rank 1] to out 1|[rank 0] to err 0|[rank 1] to err 1|" ]
# A rank alone has its file too, be it that it was asked for or that there is one device; what it prints stays as it is.
say "$XTRAIN" launch -n 1 --log-dir "$tmp/one" -- sh -c 'echo alone; echo to err >&2'
check "--log-dir: of one rank" [ "$?$(cat "$out")$(lines "$tmp/one/rank_0.log")" = "0alonealone|to err|" ]
CPU_NUM_DEVICES=1 XT_LOG_DIR=$tmp/two say "$XTRAIN" launch -- sh -c 'echo alone; exit 7'
check "XT_LOG_DIR: of one device" [ "$?$(cat "$out")$(cat "$tmp/two/rank_0.log")" = 7alonealone ]
XT_LOG_DIR=$tmp/three say "$XTRAIN" launch -n 2 -- sh -c 'echo all'
check "a rank keeps no file of its own" [ "$(find "$tmp/three" -type f | wc -l)" = 2 ]
CPU_NUM_DEVICES=1 XT_LOG_DIR=$tmp/four say "$hello"
check "a function in this process is said to keep none" \
    [ "$?$(cat "$out")$(grep -c 'xt_launch: XT_LOG_DIR keeps nothing here' "$err")" = "0hello from rank 0 of 11" ]
# What ranks print and nothing takes is lost, and no success.
"$XTRAIN" launch -n 2 -- "$hello" >/dev/full 2>"$err"
check "output to a full disk: the exit code" [ $? = 1 ]
check "and said, once" [ "$(grep -c 'what ranks print is lost on stdout: No space left on device' "$err")" = 1 ]
"$XTRAIN" launch -n 2 -- sh -c 'exit 9' >/dev/full 2>"$err"
check "a rank's own code stays" [ $? = 9 ]
say "$XTRAIN" launch -n 2 --log-dir "$tmp/read.0" -- true
check "a folder that cannot be made is named" [ "$?$(grep -c "^xtrain launch: --log-dir.*$tmp/read.0" "$err")" = 11 ]
say "$XTRAIN" launch -n 2 -- no-such-program
check "an unknown program" [ $? = 1 ]
check "is one sentence" [ "$(cat "$err")" = "xtrain launch: running 'no-such-program': not found in PATH" ]
say "$XTRAIN" launch -n 2
check "no program is a usage error" [ $? = 2 ]
say "$XTRAIN" launch -n 2x -- true
check "a number is a number" [ $? = 2 ]
say "$XTRAIN" launch -n 0 -- "$hello"
check "no ranks is a usage error" [ "$?$(grep -c 'a number of ranks from 1 to 4096 is expected' "$err")" = 21 ]
say "$XTRAIN" launch --hoss a -n 2 "$hello"
check "a misspelt option has its neighbour" grep -q 'there is no option --hoss; did you mean --host?' "$err"
say "$XTRAIN" launch -n 2 "$hello"
check "-- may be left out" [ "$(wc -l <"$out")" = 2 ]
XT_DEVICE=TPU TPU_NUM_DEVICES=4 say "$XTRAIN" launch -n 8 -- true
check "more ranks than chips" grep -q 'this host offers 4 TPU devices (TPU_NUM_DEVICES=4)' "$err"
say env XT_DEVICE=TPU TPU_NUM_DEVICES=4 "$XTRAIN" launch \
    -- sh -c 'echo "$XT_RANK $TPU_VISIBLE_CHIPS $TPU_PROCESS_BOUNDS $CLOUD_TPU_TASK_ID $TPU_PROCESS_PORT"'
check "the variables of a chip" grep -qx '\[rank 2\] 2 2 2,2,1 2 8478' "$out"

# The launcher is killed by -9: neither the ranks nor what they started may live on.
# running TEXT counts the processes with it in an argument; pgrep is not on every machine. The pattern's backslash keeps
# grep from finding itself.
running() { grep -lzs "${1/./\\.}" /proc/[0-9]*/cmdline | wc -l; }
mark=xtrain-orphan-$$
: >"$out"
"$XTRAIN" launch -n 2 -- sh -c "sleep 300.$$ & echo ready; wait; : $mark" >"$out" 2>"$err" </dev/null &
launcher=$!
for _ in $(seq 1200); do [ "$(grep -c ready "$out")" = 2 ] && break; sleep 0.05; done
check "the ranks have started" [ "$(running 300.$$)" -ge 2 ]
kill -9 $launcher
wait $launcher 2>/dev/null
for _ in $(seq 600); do [ "$(running 300.$$)" = 0 ] && break; sleep 0.05; done
check "no orphan" [ "$(running 300.$$)" = 0 ]
# Or the lines of the launch before are taken for this one's, and the signal comes before there is a launcher to hear
# it.
: >"$out"
"$XTRAIN" launch -n 2 -- sh -c "echo ready; sleep 301.$$" >"$out" 2>"$err" </dev/null &
launcher=$!
for _ in $(seq 1200); do [ "$(grep -c ready "$out")" = 2 ] && break; sleep 0.05; done
kill -TERM $launcher
wait $launcher
check "SIGTERM ends all" [ $? = 143 ]
check "and says so" grep -q 'Terminated, passed on to the ranks' "$err"
: >"$out"
# A script's shell lets it ignore SIGINT.
"$XTRAIN" launch -n 2 -- sh -c "echo ready; sleep 302.$$" >"$out" 2>"$err" </dev/null &
launcher=$!
for _ in $(seq 1200); do [ "$(grep -c ready "$out")" = 2 ] && break; sleep 0.05; done
kill -INT $launcher
wait $launcher
check "SIGINT too, from the background" [ $? = 130 ]
: >"$out"
"$XTRAIN" launch -n 2 -- sh -c "trap '' TERM; echo ready; sleep 303.$$" >"$out" 2>"$err" </dev/null &
launcher=$!
for _ in $(seq 1200); do [ "$(grep -c ready "$out")" = 2 ] && break; sleep 0.05; done
kill -TERM $launcher
wait $launcher
check "ranks that do not end are killed" [ $? = 143 -a "$(running 303.$$)" = 0 ]
check "and named" grep -qE 'not ended 5 s after the signal, and killed: rank 0 \(pid [0-9]+\); rank 1 \(pid' "$err"
check "no rank is left" [ "$(running 301.$$)" = 0 ]

# Ranks given by hand, as Ray's workers do.
word=by-hand-$$
for r in 0 1 2; do XT_RANK=$r XT_WORLD_SIZE=3 XT_RENDEZVOUS=$word "$hello" >"$tmp/hand.$r" 2>&1 & done
wait
check "ranks by hand" \
    [ "$(cat "$tmp"/hand.* | lines /dev/stdin)" \
    = "hello from rank 0 of 3|hello from rank 1 of 3|hello from rank 2 of 3|" ]

# A function by name, in fresh processes, from a program that has threads.
cat >"$tmp/train.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
int train(int rank, void *arg) {
    xt_status st = xt_barrier(20);
    if (st) return 3;
    printf("%d of %d: %s\n", rank, xt_world_size(), arg ? (char *)arg : "none");
    fflush(stdout);
    if (xt_barrier(20)) return 3; /* the failure of rank 1 ends rank 0, which has told by then */
    return arg && rank == 1 ? atoi(arg) : 0;
}
static __attribute__((used)) int local(int rank, void *arg) { return rank + (arg != 0); }
C
cat >"$tmp/main.c" <<'C'
#include <pthread.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static void *idle(void *arg) { for (;;) pause(); return arg; }
static int hello(int rank, void *arg) { return rank + (arg != 0); }
int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, 0, idle, 0);
    if (argc == 1) return xt_launch(hello, 0);
    return xt_launch(0, 0, .module = argv[1], .symbol = argv[2], .arg_text = argc > 3 ? argv[3] : 0);
}
C
root=$(cd "$(dirname "$0")/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
cc $asan -I"$root/include" -shared -fPIC "$tmp/train.c" -o "$tmp/train.so" -L"$BUILD" -lxtrain &&
    cc $asan -I"$root/include" "$tmp/main.c" -o "$tmp/main" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -pthread
check "the module builds" [ $? = 0 ]
export LD_LIBRARY_PATH=$BUILD
CPU_NUM_DEVICES=2 say "$tmp/main"
check "a fork with threads is refused" \
    grep -q 'main.c:9: xt_launch: 2 ranks cannot be forked from this process: it has 1 other thread' "$err"
CPU_NUM_DEVICES=2 say "$tmp/main" "$tmp/train.so" train
check "fresh processes run the symbol" [ "$(lines "$out")" = "[rank 0] 0 of 2: none|[rank 1] 1 of 2: none|" ]
CPU_NUM_DEVICES=2 say "$tmp/main" "$tmp/train.so" train 5
check "their exit code and text" [ "$?$(lines "$out")" = "5[rank 0] 0 of 2: 5|[rank 1] 1 of 2: 5|" ]
CPU_NUM_DEVICES=2 say "$tmp/main" "$tmp/train.so" local
check "a static function is refused once" [ "$?$(grep -c "is static" "$err")" = 11 ]

if command -v mpirun >/dev/null; then
    mpi() { say mpirun --allow-run-as-root --oversubscribe "$@"; }
    mpi -np 2 "$hello"
    check "the same program under mpirun" [ "$(lines "$out")" = "hello from rank 0 of 2|hello from rank 1 of 2|" ]
    mpi -np 2 "$XTRAIN" __rank "$tmp/train.so:train"
    check "a barrier under mpirun" [ "$(lines "$out")" = "0 of 2: none|1 of 2: none|" ]
    say "$XTRAIN" launch -n 2 --host localhost --max-restarts 2 \
        -- sh -c 'echo "attempt $XT_RESTARTS"; [ $OMPI_COMM_WORLD_RANK = 1 ] && exit 5; exec sleep 20'
    check "and again, when a rank has died" \
        [ "$?$(grep -c '^attempt' "$out")$(grep -c 'restart [12] of 2, from the beginning: no checkpoint was complete' \
        "$err")" -ge 532 ]
    check "leaving no note" [ -z "$(ls .xtrain-restart-* 2>/dev/null)" ]
    say env XT_RESTART_FILE="$tmp/not here" XT_RANK=0 XT_WORLD_SIZE=1 "$hello"
    check "where no checkpoint can be noted is told at the start" \
        [ "$?$(grep -c 'rank 0 on host .* can write neither .*/not here nor .*, where checkpoints are noted' "$err")" \
        = 01 ]
    say "$XTRAIN" launch -n 2 --host localhost -- "$hello"
    check "--host starts mpirun" [ "$(lines "$out")" = "hello from rank 0 of 2|hello from rank 1 of 2|" ]
fi
check "no shared memory is left" [ -z "$(shm_left | grep -vxF "$shm_before")" ]

# What ranks say alike within a moment, which a loaded machine may prevent, is one line.
for _ in 1 2 3 4 5 6 7 8; do
    # shellcheck disable=SC2016
    say "$XTRAIN" launch -n 3 -- sh -c 'echo "[rank $XT_RANK] a.c:3: waited $XT_RANK.5 s" >&2; sleep 1'
    grep -q '^\[ranks 0-2\]' "$err" && break
done
check "a warning of all ranks is one line" grep -qE '^\[ranks 0-2\] a.c:3: waited [0-2].5 s \(the first' "$err"
check "and no more" [ "$(grep -c waited "$err")" = 1 ]
finish
