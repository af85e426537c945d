#!/bin/bash
# Ends that other code has a part in: loggers of the program's, threads with fits of their own, exit handlers and static
# objects, a plugin of somebody's that is closed. exits.c has the ways.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
export XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM=off
cc ${asan:+$asan} -g -O1 "$root/tests/cli/exits.c" -I"$root/include" -o "$tmp/exits" -L"$BUILD" -lxtrain -lpthread \
    -Wl,-rpath,"$BUILD" || exit 1
ends() { # ends CODE HOW...
    local code=$1 rc
    shift
    timeout 60 "$tmp/exits" "$@" >"$tmp/out" 2>&1
    rc=$?
    check "$*: exit code $code ($rc)" [ $rc = "$code" ]
}
said() { check "it says: $1" grep -q -- "$1" "$tmp/out"; }
values() { cat "$XT_RUNS_DIR"/default/version_*/metrics.csv | grep -c ',train,step,loss,'; }

# --- a logger's function: the logger ends, and the training and the other loggers do not
for where in logger text; do
    rm -rf "$XT_RUNS_DIR"
    ends 0 $where exit
    said 'logger own: its function has left by pthread_exit; it must return'
    check "$where: once" [ "$(grep -c 'logger own' "$tmp/out")" = 1 ]
    check "$where: no row is missing elsewhere" [ "$(values)" = 24 ]
    rm -rf "$XT_RUNS_DIR"
    ends 0 $where error
    said 'logger own: .*exits.c:[0-9]*: xt_add: x \[2\] and y \[3\] do not broadcast'
    check "$where: no row is missing elsewhere" [ "$(values)" = 24 ]
done

# --- another thread's fit
ends 0 elsewhere
said 'exits.c:[0-9]*: xt_finish while another thread is in xt_fit'
said '^finish 1$'
said '^fit 0 steps 24$'
ends 0 after
said '^finish 0$'
ends 143 after term # the fit that was left takes no signals any more
ends 143 jump term

# --- a thread that is cancelled holds nobody up. AddressSanitizer finds its own marks of the frames that pthread_cancel
# has unwound when it takes the thread down, and ends the process in its own sigaltstack.
for where in fit loop; do
    [ -z "${ASAN_BUILD:-}" ] || break
    for ms in 0 1 2 5 10 20 30 40 60 90; do
        ends 0 cancel $where $ms
    done
    said '^cancelled 1'
done

# --- nor does the main thread, which nobody waits for: its threads in the library would keep the process for ever
ends 1 main
said 'the main thread has left xt_fit by pthread_exit'
ends 1 function
said 'the main thread has left the function of xt_forward by pthread_exit'

# --- exit handlers
ends 0 drop finish # a free behind xt_finish is harmless
check "drop: without a word" [ "$(grep -c exits.c "$tmp/out")" = 0 ]
for finish in "" finish; do
    ends 1 destroyed $finish # an error as any other, though the program has returned 0
    said 'exits.c:[0-9]*: .*the program is ending: exit() has begun to take down what the device works with'
    said '^computed -*nan$'
done
ends 0 value
said '^value 0.[0-9]*$'

# --- a plugin of somebody's that brings the library, and is closed and opened again
cat >"$tmp/plug.c" <<'C'
#include <xtrain/xtrain.h>
double run(int finish) {
    static float x[6] = {1, 2, 3};
    double v = xt_item(xt_sum(xt_matmul(xt_from_array(x, XT_F32, 2, 3), xt_from_array(x, XT_F32, 3, 2))));
    return finish && xt_finish() ? -1 : v;
}
C
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        void *plug = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
        double (*run)(int) = plug ? (double (*)(int))dlsym(plug, "run") : NULL;
        if (!run) return puts(dlerror()), 2;
        printf("%g\n", run(atoi(argv[2])));
        fflush(stdout);
        dlclose(plug);
    }
    return 0;
}
C
cc ${asan:+$asan} -shared -fPIC "$tmp/plug.c" -I"$root/include" -o "$tmp/plug.so" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" && cc ${asan:+$asan} "$tmp/host.c" -o "$tmp/host" -ldl || exit 1
for finish in 0 1; do
    "$tmp/host" "$tmp/plug.so" $finish >"$tmp/out" 2>&1
    check "a plugin that is closed, finish $finish" [ $? = 0 ]
    check "it computes each time" [ "$(grep -c '^9$' "$tmp/out")" = 3 ]
done
# --- exit() while programs run: they are waited for, since what they work with goes
for i in 1 2 3 4 5 6 7 8; do ends 0 midway $i; done
finish
