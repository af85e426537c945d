#!/bin/bash
# What a user sees of a run from outside: causes with lines however the program was built, crash folders, killed runs,
# xtrain top, codes, ranks that agree or not.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash
unset XT_CACHE
cat >"$tmp/loop.c" <<'C'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
int train(int rank, void *arg) {
    const char *mode = arg;
    static float data[8][2] = {{1}};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 40 || mode[0] == 'w'; i++) {
        xt_tensor x = xt_from_data(data, XT_F32, 2, ((const int64_t[]){8, 2})), y = xt_forward(m, x);
        xt_tensor loss = xt_mean(mode[0] == 'd' && rank == 1 && i == 5 ? xt_abs(y) : xt_square(y));
        xt_log("train/loss", loss);
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) break; /* the boundary */
        if (i == 30 && mode[0] == 'k') raise(SIGKILL);
        if (i == 30 && mode[0] == 's') *(volatile int *)(long)(rank) = 1;
        if (i == 30 && mode[0] == 'a') abort();
        if (i == 30 && mode[0] == 't') raise(SIGTERM);
        if (i == (mode[0] == 'p' ? 30 : 3) && (mode[0] == 'p' || mode[0] == 'q')) raise(SIGPIPE);
        if (i == 30 && mode[0] == 'i') raise(SIGINT);
        if (i == 30 && mode[0] == 'e') x = xt_reshape(xt_from_data(data, XT_F32, 2, ((const int64_t[]){8, 2})), 3, 3);
        if (mode[0] == 'w') usleep(2000);
    }
    int code = xt_finish();
    if (mode[0] == 'x') raise(SIGKILL);
    return code;
}
#ifndef NO_MAIN
int main(int argc, char **argv) { return argc > 2 ? xt_launch(train, argv[1]) : train(0, argv[1]); }
#endif
C
build() { # build OUT FLAGS...
    local out=$1
    shift
    # shellcheck disable=SC2086
    cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$@" -I"$root/include" -o "$tmp/$out" \
        -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
}
build loop "$tmp/loop.c"
check "the program builds" [ -x "$tmp/loop" ]
run() { (cd "$tmp" && timeout 200 "$@") >"$tmp/out" 2>&1 </dev/null; }

# A line inserted above the loop: the second start is a disk hit and names the new line, however the program is built.
export XT_CACHE_DIR=$tmp/cache XT_DEBUG=compile
line=$(grep -n 'the boundary' "$tmp/loop.c" | cut -d: -f1)
run ./loop n
check "a first start compiles" grep -qE "^compile 1: .* at .*loop.c:$line" "$tmp/out"
sed '7i\    /* a new line */' "$tmp/loop.c" >"$tmp/shifted.c"
mv "$tmp/shifted.c" "$tmp/loop2.c"
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
int main(void) {
    void *so = dlopen("./train.so", RTLD_NOW);
    int (*train)(int, void *) = so ? (int (*)(int, void *))dlsym(so, "train") : 0;
    return train ? train(0, "n") : 99;
}
C
build o2 -O2 "$tmp/loop2.c"
build o2g1 -O2 -g1 "$tmp/loop2.c"
build stripped -O2 "$tmp/loop2.c" && strip "$tmp/stripped"
build pie -O2 -fPIE -pie "$tmp/loop2.c"
build train.so -O2 -fPIC -shared -DNO_MAIN "$tmp/loop2.c"
cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$tmp/host.c" -o "$tmp/host" -ldl
for p in o2 o2g1 stripped pie host; do
    run "./$p" n
    check "$p: the second start is a disk hit at the new line" \
        grep -qE "^disk hit: .* at .*loop2.c:$((line + 1))" "$tmp/out"
    check "$p: nothing is compiled" bash -c "! grep -q '^compile ' '$tmp/out'"
done
unset XT_DEBUG XT_CACHE_DIR
export XT_CACHE=off

# Ends that are not xt_finish.
sanitized=${ASAN_BUILD:-}
for end in "s SIGSEGV 139" "a SIGABRT 134" "t SIGTERM 143"; do
    read -r mode name code <<<"$end"
    [ -n "$sanitized" ] && [ "$mode" != t ] && continue # the sanitizer's own handlers come first
    rm -rf "$tmp/crash"
    run ./loop "$mode"
    check "$name ends the program as it would" [ $? = "$code" ]
    check "$name is told with step and line" \
        grep -qE \
        "^xtrain: $name in step 30, last seen at .*loop.c:$line; xtrain postmortem .*xt-crash-[0-9]+ explains" \
        "$tmp/out"
    "$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
    check "postmortem names $name" grep -q "ended by signal" "$tmp/out"
    check "and the line" \
        grep -qE "step 30, .*last seen at .*loop.c:$line, last op recorded at .*loop.c:[0-9]+" "$tmp/out"
    check "and who held the memory, though it ran for a moment" \
        grep -qE 'live buffers by line, as of step (1[6-9]|2[0-9]|30):' "$tmp/out"
    check "and has events" grep -qE 'execution .*loop.c:[0-9]+ +program' "$tmp/out"
    check "and the memory by line" grep -qE 'parameter +.*loop.c:[0-9]+' "$tmp/out"
done
rm -rf "$tmp/crash"
run ./loop e
check "an error that nobody handles ends with 1" [ $? = 1 ]
check "has a code" \
    grep -q '^\[XT003\] xtrain explain XT003 says more; what the run was doing: xtrain postmortem ' "$tmp/out"
check "and a crash folder" grep -q 'xt_reshape' "$tmp"/crash/xt-crash-*/report.txt
rm -rf "$tmp/crash"
run env -u XT_POSTMORTEM_DIR ./loop e
check "without a folder named for it, a user's mistake leaves none" \
    [ $? = 1 -a -z "$(ls -d "$tmp"/xt-crash-* "$tmp/crash" 2>/dev/null)" ]
check "but a message with its line" grep -qE 'loop.c:[0-9]+: xt_reshape' "$tmp/out"

# Killed: the black box survives, postmortem finds it at once, and so does the next start.
rm -rf "$tmp/crash"
run ./loop k
check "kill -9" [ $? = 137 ]
"$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
check "postmortem explains a kill" grep -qE 'It was killed' "$tmp/out"
check "with the place" grep -qE "last seen at .*loop.c:$line" "$tmp/out"
rm -rf "$tmp/crash"
run ./loop k
run ./loop n
want='an earlier run of loop \(pid [0-9]+\) ended without a word at step 30, .*loop.c:[0-9]+: '
want+='it was killed, or has called _exit. xtrain postmortem .*xt-crash-[0-9]+ explains'
check "the next start tells of it" grep -qE "$want" "$tmp/out"
run ./loop n
check "once" bash -c "! grep -q 'an earlier run' '$tmp/out'"
left=$(find "$tmp/status" -mindepth 1 ! -name 'crash-folders-*')
check "nothing is left in the status folder but the list of crash folders" [ -z "$left" ]
"$BUILD/xtrain" postmortem "$tmp/status" >"$tmp/out" 2>&1
check "a folder without a dead run is an error" [ $? = 1 ]

# Ends by hand: told as what they are. A folder is kept of a run that was under way, and none after Ctrl-C; after
# xt_finish nothing is lost.
rm -rf "$tmp/crash"
run ./loop p
check "SIGPIPE ends the program as it would" [ $? = 141 ]
want="^xtrain: SIGPIPE \(it wrote to a pipe that nobody reads any more.*\) in step 30, last seen at .*loop.c:$line; "
want+="xtrain postmortem"
check "and is told as what it is" grep -qE "$want" "$tmp/out"
"$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
check "also by postmortem" grep -q 'signal 13 .*it wrote to a pipe that nobody read any more' "$tmp/out"
rm -rf "$tmp/crash"
run ./loop q
check "a pipe that closes in the first steps" \
    grep -qE '^xtrain: SIGPIPE .* in step 3, last seen at .*loop.c:[0-9]+$' "$tmp/out"
run ./loop i
check "Ctrl-C" [ $? = 130 ]
check "says where the run was" grep -qE "^xtrain: SIGINT \(Ctrl-C\) in step 30, last seen at .*loop.c:$line$" "$tmp/out"
run ./loop x
check "a kill after xt_finish" [ $? = 137 ]
check "these leave no crash folder" [ -z "$(ls "$tmp/crash")" ]
run ./loop n
check "and the next start tells only where its row is" [ -z "$(grep -v '^xt_log writes to ' "$tmp/out")" ]
# Old crash folders go, with a line; what is not the library's stays.
rm -rf "$tmp/crash" "$tmp/status"
for k in 1 2 3 4 5; do run ./loop t; done
check "five crash folders" [ "$(ls "$tmp/crash" | wc -l)" = 5 ]
oldest=$(ls -tr "$tmp/crash" | head -n 1)
echo mine >"$tmp/crash/$oldest/notes"
export XT_POSTMORTEM_KEEP=2
run ./loop n
want='^2 old crash folders removed, the newest 2 stay \(XT_POSTMORTEM_KEEP=N, 0 = all\): .*xt-crash-[0-9]+, '
want+='.*xt-crash-[0-9]+$'
check "the next start says what it removes" grep -qE "$want" "$tmp/out"
check "and leaves a folder with a file of the user's" \
    [ "$(ls "$tmp/crash" | wc -l)$(cat "$tmp/crash/$oldest/notes")" = 3mine ]
unset XT_POSTMORTEM_KEEP
rm -rf "$tmp/crash" "$tmp/status"

# What cannot begin is told once.
"$BUILD/xtrain" fit mnist --batch 100000 >"$tmp/out" 2>&1
check "a batch larger than the data: one error, one line" [ "$(wc -l <"$tmp/out")" = 1 ]
XT_RUNS_DIR=$tmp/runs XT_MEMORY_LIMIT=5M "$BUILD/xtrain" fit mnist --limit-batches 3 --no-pictures >"$tmp/out" 2>&1
check "out of memory ends a fit" [ $? = 1 ]
check "with one report" [ "$(grep -c 'live device buffers' "$tmp/out")" = 1 ]
env -u PYTHONPATH -u VIRTUAL_ENV XT_PLUGINS_DIR="$tmp/none" HOME="$tmp" PATH=/usr/bin:/bin XT_DEVICE=CUDA \
    "$BUILD/xtrain" fit mnist --limit-batches 1 >"$tmp/out" 2>&1
check "a device without its plugin: a line or two" [ "$(wc -l <"$tmp/out")" -lt 10 ]

# top
(cd "$tmp" && exec ./loop w) >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do
    "$BUILD/xtrain" top --json >"$tmp/out" 2>&1
    grep -qE '"step": [0-9]{2,}' "$tmp/out" && break
    sleep 0.1
done
check "top --json has the program" \
    grep -qE "\"pid\": $pid, .*\"program\": \".*loop\".*\"device\": \"xtrain_cpu\".*\"step\": [0-9]+" "$tmp/out"
"$BUILD/xtrain" top --once >"$tmp/out" 2>&1
check "top --once has it too" grep -qE "^ *$pid loop +xtrain_cpu " "$tmp/out"
if command -v script >/dev/null; then
    (for _ in $(seq 600); do grep -qE "$pid loop" "$tmp/terminal" 2>/dev/null && break; sleep 0.1; done; printf q) |
        TERM=xterm timeout 100 script -qfec "stty cols 200 rows 30; $BUILD/xtrain top --interval 0.3" "$tmp/terminal" \
        >/dev/null 2>&1
    check "top in a terminal" grep -qE "$pid loop" "$tmp/terminal"
    check "leaves the terminal as it was" grep -q $'\x1b\[?1049l' "$tmp/terminal"
fi
kill -9 "$pid"
wait "$pid" 2>/dev/null
"$BUILD/xtrain" top --once >"$tmp/out" 2>&1
check "a dead program disappears" bash -c "! grep -q ' $pid ' '$tmp/out' && ! grep -q '^ *$pid ' '$tmp/out'"
check "then there is none" grep -q 'no xtrain program' "$tmp/out"
rm -rf "$tmp/status"

# codes
"$BUILD/xtrain" explain XT203 --language en >"$tmp/out"
check "explain" grep -q '^XT203  The number of device buffers' "$tmp/out"
"$BUILD/xtrain" explain '[xt203]' --language zh >"$tmp/out"
check "explain in Chinese" grep -q '缓冲区' "$tmp/out"
"$BUILD/xtrain" explain 203 --language en >"$tmp/out"
check "a code by its number alone" grep -q "^XT203  " "$tmp/out"
"$BUILD/xtrain" explain switches >"$tmp/out"
check "switches and their cost" grep -q 'XT_DEBUG=nan' "$tmp/out"
"$BUILD/xtrain" --help >"$tmp/help"
check "also in --help" [ "$(grep -cF -f "$tmp/out" "$tmp/help")" = "$(wc -l <"$tmp/out")" ]
"$BUILD/xtrain" fit --help >"$tmp/out"
check "options say what they cost" \
    [ "$(grep -cE '^  --(explain|debug|profile) .*; costs:? .*( us| %)' "$tmp/out")" = 3 ]
"$BUILD/xtrain" explain XT998 >"$tmp/out" 2>&1
check "an unknown code" [ $? = 1 ]

# the command's own options
"$BUILD/xtrain" bench mnist --steps 2 --batch 8 --explain >"$tmp/out" 2>&1
check "--explain" grep -qE '^compile 1: program 1 .*expected: first program' "$tmp/out"
"$BUILD/xtrain" bench mnist --steps 2 --batch 8 --debug compil,nan >"$tmp/out" 2>&1
check "a misspelt word of --debug" grep -q 'no word "compil", it does nothing; did you mean compile?' "$tmp/out"
"$BUILD/xtrain" fit mnist --epochs 1 --limit-batches 3 --max-compiles 1 --no-pictures >"$tmp/out" 2>&1
check "--max-compiles" [ $? = 1 ]
export XT_CACHE_DIR=$tmp/warm
XT_CACHE=on "$BUILD/xtrain" fit mnist --epochs 1 --limit-batches 3 --no-pictures >"$tmp/warm.out" 2>&1
XT_CACHE=on "$BUILD/xtrain" fit mnist --epochs 1 --limit-batches 3 --max-compiles 1 --no-pictures >"$tmp/warm.out" 2>&1
check "programs from disk are not compiled" [ $? = 0 ]
unset XT_CACHE_DIR
check "which --help says" grep -qE -- '--max-compiles N .*programs from the cache on disk are not compiled' \
    <("$BUILD/xtrain" fit --help)
check "says why" grep -q 'XT_MAX_COMPILES=1 programs are compiled already and this step needs another: ' "$tmp/out"

# The trace of a device that is not ours: two runs of a module, "fusion.3" of op n0 twice, inside of a loop once; times
# since the begin of the session.
export RECORD_OF=$BUILD/pjrt_plugin_xtrain_cpu.so RECORD_PROFILE=$root/tests/fuzz/corpus/xspace/tpu
XT_DEVICE=$BUILD/record_plugin.so XT_PROFILE=$tmp/foreign.json XT_PROFILE_STEPS=11-12 run ./loop n
unset RECORD_OF RECORD_PROFILE
check "a foreign trace is merged: the line and the figures" \
    grep -qE '^ +0.003 +50.0% +2 +3.2 +0.6 +80% +fusion.3  .*loop.c:[0-9]+  \[loop fusion\]' "$tmp/out"
check "its threads have names" grep -q '"args": {"name": "/device:TPU:0 XLA Ops"}' "$tmp/foreign.json"
want="grep -q '\"fusion.3\".*\"step\": 11, \"file\": .*loop.c' '$tmp/foreign.json' && grep -q "
want+="'\"fusion.3\".*\"step\": 12, \"file\": .*loop.c' '$tmp/foreign.json'"
check "its runs are the steps" bash -c "$want"
check "beside the host's" grep -q '"name": "step 12", "ph": "X"' "$tmp/foreign.json"

# ranks
export CPU_NUM_DEVICES=2 XT_TIMEOUT=100
# Reports are folded that come within 0.3 s of each other, which a loaded machine may prevent.
for _ in 1 2 3 4 5 6 7 8; do
    XT_DEBUG=compile run ./loop n ranks
    grep -q '^\[ranks 0-1\] compile 1' "$tmp/out" && break
done
check "ranks that agree are folded" grep -qE '^\[ranks 0-1\] compile 1: program 1 for ' "$tmp/out"
check "one time" [ "$(grep -c 'compile 1: program 1' "$tmp/out")" = 1 ]
run ./loop d ranks
check "a rank whose graph differs is named" \
    grep -qE 'rank [01] runs another program in step 5 than rank [01]' "$tmp/out"
finish
