#!/bin/bash
# Programs that are killed: by the kernel for lack of memory, in a memory cgroup made for that (skipped where none can
# be made), alone and as a rank of a launch; and by kill -9 in the middle of writing their own reports.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${ASAN_BUILD:-}" ] && { echo "the sanitizer's own memory would count"; exit 77; }
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash XT_CACHE=off
cat >"$tmp/eater.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
/* eater [MB [RANK]]: takes MB of host memory in each step from the 30th on, all ranks or one */
static int train(int rank, void *arg) {
    char **v = arg;
    int mb = v[1] ? atoi(v[1]) : 0, only = v[1] && v[2] ? atoi(v[2]) : -1;
    static float data[8];
    for (int i = 0; i < 3000; i++) {
        xt_when_ready(xt_sum(xt_exp(xt_from_array(data, XT_F32, 8))), NULL, NULL);
        if (!xt_mark_step()) break; /* the boundary */
        if (i >= 30 && mb && (only < 0 || rank == only)) memset(malloc((size_t)mb << 20), 1, (size_t)mb << 20);
    }
    return xt_finish();
}
int main(int argc, char **argv) { return argc > 2 ? xt_launch(train, argv) : train(0, argv); }
C
cat >"$tmp/reporter.c" <<'C'
#include <stdio.h>
#include <xtrain/xtrain.h>
/* Runs out of memory again and again: each time a report goes to the black box, the first one to the crash folder, and
 * events to XT_EVENTS. */
int main(void) {
    static float data[1 << 20];
    for (;;) {
        xt_tensor x = xt_keep(xt_from_array(data, XT_F32, 1 << 20));
        xt_when_ready(xt_sum(xt_exp(x)), NULL, NULL);
        xt_mark_step();
        xt_when_ready(xt_matmul(xt_reshape(x, 1 << 20, 1), xt_reshape(x, 1, 1 << 20)), NULL, NULL);
        if (xt_wait() || xt_status_code(xt_error()) != XT_RESOURCE_EXHAUSTED) return 1;
        xt_clear_error();
        xt_drop(x);
        puts("survived");
        fflush(stdout);
    }
}
C
for p in eater reporter; do
    cc -O1 "$tmp/$p.c" -I"$root/include" -o "$tmp/$p" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
done
line=$(grep -n 'the boundary' "$tmp/eater.c" | cut -d: -f1)

# --- kill -9 while reporting: whatever the moment, what is left can be read, and the next start says so
for ms in 0 3 8 15 25 40 60 90; do
    rm -rf "$tmp/crash" "$tmp/status" "$tmp/events" "$tmp/run" # of the time before: "survived" must be this one's
    : >"$tmp/run"
    (cd "$tmp" && XT_MEMORY_LIMIT=64M XT_EVENTS=$tmp/events XT_DEBUG=compile,exec exec ./reporter) >"$tmp/run" 2>&1 &
    pid=$!
    for _ in $(seq 1200); do
        grep -q survived "$tmp/run" && break
        sleep 0.05
    done
    sleep "0.0$(printf %02d "$ms")"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    "$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
    check "killed while reporting: postmortem" [ $? = 0 ]
    check "names the kill" grep -q 'It was killed' "$tmp/out"
    check "and the last out-of-memory report with lines" grep -qE 'reporter.c:[0-9]+' "$tmp/out"
    check "no half-written file is left" [ -z "$(find "$tmp/crash" "$tmp/status" -name '*.new' -o -name '*.taken')" ]
    check "each event but the last is a whole JSON object" [ -z "$(head -n -1 "$tmp/events" | grep -vE '^\{.*\}$')" ]
done

# --- the kernel
own=$(awk -F: '$1 == 0 && $2 == "" {print "/sys/fs/cgroup" $3; exit}' /proc/self/cgroup)
limit=memory.max
[ -w "$own/cgroup.subtree_control" ] && [ -f "$own/memory.max" ] || {
    own=/sys/fs/cgroup/memory$(awk -F: '$2 ~ /memory/ {print $3; exit}' /proc/self/cgroup)
    limit=memory.limit_in_bytes
}
group=$own/xtrain-test-$$
if mkdir "$group" 2>/dev/null && echo $((100 << 20)) 2>/dev/null >"$group/$limit"; then
    clear_away() {
        for p in $(cat "$group/cgroup.procs"); do kill -9 "$p"; done 2>/dev/null
        sleep 0.2
        rmdir "$group"
        rm -rf "$tmp"
    }
    trap clear_away EXIT
    [ -f "$group/memory.swap.max" ] && echo 0 >"$group/memory.swap.max"
    inside() { bash -c 'echo $$ >"$0/cgroup.procs" && cd "$1" && shift && exec timeout 200 "$@"' "$group" "$tmp" "$@"; }
    rm -rf "$tmp/crash" "$tmp/status"
    inside ./eater 8 >"$tmp/out" 2>&1
    check "the kernel kills it" [ $? = 137 ]
    "$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
    want="killed, most likely by the kernel because memory ran out: the cgroup's oom_kill count went from [0-9]+ to "
    want+="[0-9]+"
    check "postmortem, from another cgroup: by the kernel" grep -qE "$want" "$tmp/out"
    check "with the place" grep -qE "last seen at .*eater.c:$line" "$tmp/out"
    check "and what to do" grep -q 'XT_MEMORY_LIMIT' "$tmp/out"
    rm -rf "$tmp/crash" "$tmp/status"
    inside ./eater 8 >"$tmp/out" 2>&1
    inside ./eater 0 >"$tmp/out" 2>&1
    want="an earlier run of eater \(pid [0-9]+\) ended without a word at step [0-9]+, last seen at .*eater.c:$line: "
    want+="it was killed by the kernel because memory ran out. xtrain postmortem"
    check "the next start tells it" grep -qE "$want" "$tmp/out"
    rm -rf "$tmp/crash" "$tmp/status"
    CPU_NUM_DEVICES=2 inside ./eater 8 1 ranks >"$tmp/out" 2>&1
    check "a launch fails with its rank" [ $? = 137 ]
    want="rank 1 \(pid [0-9]+\) was killed by the kernel because memory ran out \(the cgroup's oom_kill went from "
    want+="[0-9]+ to [0-9]+\)"
    check "the launcher names the rank and the kernel" grep -qE "$want" "$tmp/out"
    check "and where it is explained" grep -qE 'its last state: xtrain postmortem .*xt-crash-[0-9]+' "$tmp/out"
    "$BUILD/xtrain" postmortem "$tmp/crash" >"$tmp/out" 2>&1
    check "which it is" grep -qE "killed, most likely by the kernel" "$tmp/out"
else
    rmdir "$group" 2>/dev/null
    echo "no memory cgroup can be made here: kills by the kernel are not provoked"
fi
finish
