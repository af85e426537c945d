#!/bin/bash
# Small stacks: `ulimit -s`, which other threads of a program get too, and a thread of the program's own. No call of the
# library needs more than 192 KiB of it, compiling included.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM=off
kib=192
[ -n "${ASAN_BUILD:-}" ] && kib=4096 # its frames are wider
cat >"$tmp/steps.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
static float x[64][40];
static int64_t y[64];
static xt_tensor net(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_layer_norm(m, "n", xt_relu(xt_linear(m, "a", in, 32))), 3);
}
static void *steps(void *unused) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.01);
    for (int i = 0; i < 5; i++) {
        xt_tensor out = xt_forward(m, xt_from_array(x, XT_F32, 64, 40));
        xt_tensor loss = xt_cross_entropy(out, xt_from_array(y, XT_I64, 64));
        xt_backward(loss);
        xt_optimizer_step(o);
        if (i == 4) printf("loss %g\n", xt_item(loss));
        xt_mark_step();
    }
    return unused;
}
int main(int argc, char **argv) {
    pthread_attr_t a;
    pthread_t t;
    for (int i = 0; i < 64; i++) y[i] = i % 3, x[i][i % 40] = 1;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, (size_t)atoi(argc > 1 ? argv[1] : "192") << 10);
    if (pthread_create(&t, &a, steps, NULL) != 0) return 2;
    pthread_join(t, NULL);
    return xt_finish();
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 "$tmp/steps.c" -I"$root/include" -o "$tmp/steps" -L"$BUILD" \
    -lxtrain -lpthread -Wl,-rpath,"$BUILD" || exit 1
"$tmp/steps" $kib >"$tmp/out" 2>&1
check "a thread of $kib KiB" [ $? = 0 ]
check "it trains" grep -q '^loss [0-9.]*$' "$tmp/out"
limited() { (
    ulimit -s $kib
    exec timeout 300 "$@"
) >"$tmp/out" 2>&1; }
limited "$BUILD/mnist_single"
check "ulimit -s $kib: a convolutional network" [ $? = 0 ]
limited "$BUILD/xtrain" fit gpt2-tiny --steps 2
check "ulimit -s $kib: a transformer" [ $? = 0 ]
CPU_NUM_DEVICES=2 limited "$BUILD/mesh" 2 1 fsdp
check "ulimit -s $kib: two ranks and a mesh" [ $? = 0 ]
finish
