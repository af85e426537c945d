#!/bin/bash
# A program and its library belong together: other headers and second copies of the library are refused with both paths.
# A rank that sleeps is told by the watchdogs of all ranks, a leak of host memory and a large read are told, and numbers
# for machines parse.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
/* host [COPY [late]]: a copy of the library is loaded before or after the program records something. */
static void own(void) {
    xt_sum(xt_ones(XT_F32, 2));
    xt_status refused = xt_error(); /* looked at: the step's end does not end the program */
    printf("own: %s\n", refused ? xt_status_message(refused) : xt_mark_step() ? "works" : "no step");
}
int main(int argc, char **argv) {
    if (argc > 2) own();
    void *so = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (argc > 1 && !so) return puts(dlerror()), 9;
    if (argc <= 2) own();
    if (so) {
        bool (*step)(const xt_src *) = (bool (*)(const xt_src *))dlsym(so, "xt_mark_step_at");
        xt_status (*error)(void) = (xt_status(*)(void))dlsym(so, "xt_error");
        const char *(*message)(xt_status) = (const char *(*)(xt_status))dlsym(so, "xt_status_message");
        if (!step || !error || !message) return 8;
        bool fine = step(XT_HERE);
        printf("copy: %s\n", fine ? "works" : message(error())); /* each copy knows its own statuses */
    }
    xt_clear_error();
    return xt_finish();
}
C
build() { # build OUT INCLUDE SOURCE FLAGS...
    # shellcheck disable=SC2086
    cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$2" "${@:4}" "$3" -o "$tmp/$1" \
        -L"$BUILD" -lxtrain -ldl -Wl,-rpath,"$BUILD"
}
run() { (cd "$tmp" && timeout 200 "$@") >"$tmp/out" 2>&1 </dev/null; }
build host "$root/include" "$tmp/host.c"
run ./host
check "a program with its own library" grep -q '^own: works' "$tmp/out"
mkdir "$tmp/copy"
cp -L "$BUILD/libxtrain.so" "$tmp/copy/libxtrain.so.0"
run ./host "$tmp/copy/libxtrain.so.0"
check "two copies: the program is refused, with both paths" \
    grep -qE \
    "^own: two copies of libxtrain are in this process: $tmp/copy/libxtrain.so.0 \(version [0-9.]+\) and .*$(basename \
    "$BUILD")/libxtrain.so.0 \(version" "$tmp/out"
check "and so is the copy" grep -q '^copy: two copies of libxtrain' "$tmp/out"
run ./host "$tmp/copy/libxtrain.so.0" late
check "a copy that comes later" grep -q '^own: works' "$tmp/out"
want="^copy: two copies of libxtrain are in this process: .*libxtrain.so.0 \(version [0-9.]+\) and "
want+="$tmp/copy/libxtrain.so.0"
check "is refused" grep -qE "$want" "$tmp/out"
cp -r "$root/include" "$tmp/old"
sed -i 's/^#define XT_VERSION_MINOR .*/#define XT_VERSION_MINOR 77/' "$tmp/old/xtrain/base.h"
build old_host "$tmp/old" "$tmp/host.c" -O2 # the constructor that says so is a jump then, and not on the stack
run ./old_host
want="^own: .*old_host was built against the headers of xtrain [0-9]+\.77\.[0-9]+ \(.*old/xtrain/diag.h\), but runs "
want+="with .*libxtrain.so.0 of version [0-9.]+"
check "other headers are refused, with paths and versions" grep -qE "$want" "$tmp/out"
# At the first call, whatever it is, before it reads a struct of the other layout; not at the first boundary.
cat >"$tmp/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static xt_status get(void *user, int64_t i, void *x, void *y) { return (void)user, (void)i, (void)x, (void)y, NULL; }
int main(int argc, char **argv) {
    const xt_dataset_desc desc = {.struct_size = sizeof desc, .count = 4, .x = {XT_F32, {1}}, .get = get};
    const char *call = argc > 1 ? argv[1] : "";
    bool none = true;
    if (strcmp(call, "module") == 0) none = !xt_module_new(net, NULL);
    if (strcmp(call, "trainer") == 0) none = !xt_trainer_new(.max_epochs = 1);
    if (strcmp(call, "dataset") == 0) none = !xt_dataset_new(&desc);
    if (strcmp(call, "samples") == 0) none = !xt_sample_loader(.batch = 2, .count = 1, .x = {XT_F32, {1}});
    if (strcmp(call, "callback") == 0) none = !xt_timer(.duration = "1s");
    if (strcmp(call, "compile") == 0) none = !xt_compile(NULL);
    if (strcmp(call, "mesh") == 0) none = !xt_mesh_new({"data", 1});
    if (strcmp(call, "launch") == 0) none = xt_launch(NULL, NULL, .nprocs = 1) != 0;
    xt_status s = xt_error();
    printf("%s: %s, %s\n", call, none ? "none" : "made", s ? xt_status_message(s) : "no error");
    fflush(stdout);
    _Exit(0);
}
C
build old_calls "$tmp/old" "$tmp/calls.c"
for call in module trainer dataset samples callback compile mesh launch; do
    run ./old_calls $call
    check "other headers are refused by the first call: $call" \
        grep -qE "^$call: none, .*old_calls was built against the headers of xtrain [0-9]+\.77" "$tmp/out"
done
cat >"$tmp/launched.c" <<'C'
#include <xtrain/xtrain.h>
static int rank(int r, void *arg) { return r + (arg != NULL); }
int main(int argc, char **argv) { return argv[0] ? xt_launch(rank, NULL, .nprocs = argc) : 9; }
C
build launched "$tmp/old" "$tmp/launched.c"
run ./launched
check "xt_launch of other headers: exit code 1" [ $? = 1 ]
check "the cause is all that is said" [ "$(grep -c . "$tmp/out")" = 1 ]
check "which is the headers" grep -q 'launched was built against the headers' "$tmp/out"
# The line told is the program's, also where an inline function of a header stands between it and the library.
cat >"$tmp/first.c" <<'C'
#include <xtrain/xtrain.h>
int main(int argc, char **argv) {
    float v[3] = {(float)argc, argv != NULL, 3};
    xt_tensor t = argc > 1 ? xt_ones(XT_F32, 3) : /* here */
                      xt_from_array(v, XT_F32, 3); /* here */
    return xt_is_error(t) ? xt_finish() : 9;
}
C
for how in -O0 -O2; do
    build first "$tmp/old" "$tmp/first.c" -g $how
    for argument in "" ones; do
        # shellcheck disable=SC2086
        run ./first $argument
        check "a refused first call is told with the program's line: $how $argument" \
            grep -qE "first\.c:[45]: .*first was built against the headers of xtrain [0-9]+\.77" "$tmp/out"
    done
done

# Three ranks, one sleeps: every rank's watchdog says where each rank is.
cat >"$tmp/sleeper.c" <<'C'
#include <unistd.h>
#include <xtrain/xtrain.h>
static xt_tensor line(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static int train(int rank, void *arg) {
    (void)arg;
    static float x[8][2] = {{1}};
    xt_module *net = xt_module_new(line, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.1);
    for (int i = 0; i < 40; i++) {
        if (rank == 1 && i == 30) sleep(4);
        xt_backward(xt_mean(xt_square(xt_forward(net, xt_from_array(x, XT_F32, 8, 2)))));
        xt_optimizer_step(sgd); /* the collective */
        if (!xt_mark_step()) break; /* the boundary */
    }
    return xt_finish();
}
int main(void) { return xt_launch(train, NULL); }
C
build sleeper "$root/include" "$tmp/sleeper.c"
collective=$(grep -n 'the collective' "$tmp/sleeper.c" | cut -d: -f1)
boundary=$(grep -n 'the boundary' "$tmp/sleeper.c" | cut -d: -f1)
told_once() { # told_once RANKS HOW
    check "$2: where $1 ranks are is told by one of them" \
        [ "$(grep -c " rank $(($1 - 1)): .*sleeper.c" "$tmp/out")" = 1 ]
    check "$2: which the others say, alike" grep -q 'where the other ranks are, another one has told' "$tmp/out"
}
for ranks in 2 4; do
    CPU_NUM_DEVICES=$ranks XT_TIMEOUT=100 XT_WATCHDOG=1 run ./sleeper
    told_once $ranks "one host"
done
if command -v mpirun >/dev/null; then
    for hosts in 0,0,1,1 0,1,2,3; do
        XT_RENDEZVOUS=mpi:agree XT_RANK_HOSTS=$hosts XT_TIMEOUT=100 XT_WATCHDOG=1 \
            run mpirun --allow-run-as-root --oversubscribe -np 4 ./sleeper
        told_once 4 "hosts $hosts"
    done
fi
CPU_NUM_DEVICES=3 XT_TIMEOUT=100 XT_WATCHDOG=1 run ./sleeper
check "the run goes on after the sleep" [ $? = 0 ]
want='^\[ranks? 0[^]]*\] the step after step [0-9]+ takes [0-9.]+ s by now, longer than its limit of 1\.0 s.*'
want+='[0-9]+ programs in flight'
check "a waiting rank tells" grep -qE "$want" "$tmp/out"
want='^\[ranks? (0-)?1[^]]*\] (said so too, later: )?the step after step (29|3[0-9]) takes'
check "the sleeping one too" grep -qE "$want" "$tmp/out"
for r in 0 1 2; do
    want="rank $r: .*sleeper.c:$boundary \(collectives, step [0-9]+, sequence [0-9]+, program [0-9a-f]+, last "
    want+="all_reduce at .*sleeper.c:$collective, [0-9]+ in flight"
    check "rank $r: line, step, last collective, queue" grep -qE "$want" "$tmp/out"
done
told_once 3 "one host"
check "the code" grep -q '\[XT301\]' "$tmp/out"

# Host memory that the program leaks, 20 KB a step; and one large read.
cat >"$tmp/grow.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
int main(int argc, char **argv) {
    static float d[64];
    static char *kept[5000];
    for (int i = 0; i < 5000; i++) {
        if (argv[1][0] == 'l' && (kept[i] = malloc(20000))) memset(kept[i], 1, 20000);
        xt_when_ready(xt_sum(xt_from_array(d, XT_F32, 64)), NULL, NULL);
        if (argv[1][0] == 'r' && i == 100)
            xt_item(xt_sum(xt_exp(xt_matmul(xt_rand(XT_F32, 2000, 10), xt_rand(XT_F32, 10, 2000))))); /* the read */
        if (!xt_mark_step() || (argv[1][0] == 'r' && i == 300)) break;
    }
    for (int i = 0; i < 5000; i++) free(kept[i]);
    return argc > 2 || xt_finish();
}
C
build grow "$root/include" "$tmp/grow.c"
if [ -z "${ASAN_BUILD:-}" ]; then # its allocator keeps what is freed
    run ./grow none
    check "no false alarm" bash -c "! grep -qE 'grow|jump' '$tmp/out'"
    XT_EVENTS=$tmp/events.jsonl run ./grow leak
    check "a leak of host memory" grep -q '^host memory grows: the process has .*\[XT206\]' "$tmp/out"
    step=$(sed -nE 's/.*"event": "growth".*"step": ([0-9]+),.*/\1/p' "$tmp/events.jsonl" | head -n 1)
    check "within 3,000 steps" [ "${step:-9999}" -le 3000 ]
    check "once" [ "$(grep -c '"event": "growth"' "$tmp/events.jsonl")" = 1 ]
    XT_GROWTH=off run ./grow leak
    check "XT_GROWTH=off: not told" bash -c "! grep -qE 'grow|jump' '$tmp/out'"
fi
read_at=$(grep -n 'the read' "$tmp/grow.c" | cut -d: -f1)
XT_SUMMARY=on XT_EVENTS=$tmp/jump.jsonl XT_METRICS=$tmp/metrics.prom run ./grow read
check "a read that needs much" \
    grep -qE "^memory jumps: step 100 needs [0-9.]+ MiB at its peak, .* at .*grow.c:$read_at .*forced by a read" \
    "$tmp/out"
check "the jump is an event" grep -q '"event": "jump"' "$tmp/jump.jsonl"
check "every event is a JSON object" python3 -c 'import json, sys
kinds = {json.loads(line)["event"] for line in open(sys.argv[1])}
sys.exit(not {"compile", "execution", "totals"} <= kinds)' "$tmp/jump.jsonl"
want="! grep -vE '^# (HELP|TYPE) xtrain_[a-z0-9_]+ "
want+=".+$|^xtrain_[a-z0-9_]+\{rank=\"0\"(,(quantile|phase)=\"[a-zA-Z0-9.]+\")?\} [-+0-9.e]+$' '$tmp/metrics.prom'"
check "every line of the metrics is Prometheus text" bash -c "$want"
check "with the steps" grep -q '^xtrain_steps_total{rank="0"} 30[0-9]$' "$tmp/metrics.prom"
check "idle time has reasons" \
    grep -qE 'idle +the device had nothing to do for [0-9.]+ s = [0-9]+ %: .*(recording|compiling|own work) [0-9.]+ s' \
    "$tmp/out"
# A library that asks for a place in the first block of thread-local storage cannot be opened by a program that runs.
if command -v readelf >/dev/null; then
    check "no static thread-local storage" [ "$(readelf -d "$BUILD/libxtrain.so" | grep -c STATIC_TLS)" = 0 ]
fi
finish
