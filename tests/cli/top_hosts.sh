#!/bin/bash
# xtrain top where hosts share a folder of status files: UTS namespaces as hosts, host by host, this one first; and a
# PID namespace as a host whose processes nobody here sees: it is listed, and nothing here takes its file away.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$BUILD}
out=$tmp/out
unshare -u true 2>"$out" && unshare -u -p -f --mount-proc true 2>>"$out" ||
    { echo "namespaces are not permitted here: $(tail -n 1 "$out")"; exit 77; }
cat >"$tmp/steps.c" <<'C'
#include <unistd.h>
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
static int train(int rank, void *arg) {
    (void)rank, (void)arg;
    static float x[8][2] = {{1}};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    while (access("stop", F_OK) != 0) {
        xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 8, 2)))));
        xt_optimizer_step(sgd);
        xt_mark_step();
        usleep(20000);
    }
    return xt_finish();
}
int main(void) { return xt_launch(train, NULL); }
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$tmp/steps.c" -I"$root/include" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" -o "$tmp/steps" || exit 1
cd "$tmp" || exit 1
on() { # on HOST OPTIONS_OF_UNSHARE COMMAND...
    local host=$1 how=$2
    shift 2
    # shellcheck disable=SC2086
    unshare $how bash -c 'hostname "$0"; exec "$@"' "$host" "$@" </dev/null
}
CPU_NUM_DEVICES=2 on alpha -u ./steps >a 2>&1 &
CPU_NUM_DEVICES=2 on beta -u ./steps >b 2>&1 &
on gamma "-u -p -f --mount-proc" ./steps >c 2>&1 &
for _ in $(seq 300); do
    on beta -u "$BUILD/xtrain" top --json >"$out" 2>&1
    [ "$(grep -oE '"step": [0-9]{2,}' "$out" | wc -l)" = 5 ] && break
    sleep 0.1
done
for host in alpha beta gamma; do
    want=$([ $host = gamma ] && echo 1 || echo 2)
    check "$host's programs say so" [ "$(grep -o "\"host\": \"$host\"" "$out" | wc -l)" = "$want" ]
done
on beta -u "$BUILD/xtrain" top --once >"$out" 2>&1
check "this host comes first, then the others by name" \
    [ "$(grep -oE '^[a-z]+( \(this host\))?: [0-9]+ programs?' "$out" | tr '\n' ';')" = \
    "beta (this host): 2 programs;alpha: 2 programs;gamma: 1 program;" ]
check "and of each its ranks in their order" \
    [ "$(grep -oE ' steps +([01]/2)?' "$out" | awk '{printf "%s;", $2}')" = "0/2;1/2;0/2;1/2;;" ]
on beta -u ./steps --once >d 2>&1 & # a start looks for runs that were killed
sleep 1
check "a program nobody here sees is none that was killed" [ "$(cat a b c d | grep -c 'an earlier run')" = 0 ]
check "and its file stays" [ -n "$(find "$tmp/status" -name 'gamma-*.xtbox')" ]
touch stop
wait
"$BUILD/xtrain" top --once >"$out" 2>&1
check "none is left" grep -q 'no xtrain program' "$out"
check "nor a file" [ -z "$(find "$tmp/status" -name '*.xtbox*')" ]
rm -f stop
CPU_NUM_DEVICES=2 ./steps >a 2>&1 &
for _ in $(seq 300); do
    "$BUILD/xtrain" top --once >"$out" 2>&1
    [ "$(grep -c ' steps ' "$out")" = 2 ] && break
    sleep 0.1
done
check "one host needs no line of its own" [ "$(grep -c 'programs' "$out")" = 0 ]
touch stop
wait
echo "$passed passed, $failed failed"
[ $failed = 0 ]
