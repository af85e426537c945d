#!/bin/bash
# Small programs of users: each mistake gives its sentence with the line, and none crashes; what looks like one but is
# allowed works.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
# run_c NAME <<C: compiles and runs; the program's own line numbers are in $tmp/NAME.c
run_c() {
    cat >"$tmp/$1.c"
    cc -std=c11 -Wall -Wextra -pedantic -Werror ${ASAN_BUILD:+-fsanitize=address,undefined} \
        -I"$root/include" "$tmp/$1.c" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$tmp/$1" >"$tmp/out" 2>&1 &&
        (cd "$tmp" && "./$1") >"$tmp/out" 2>&1
}
run_c forgotten <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    float a[2] = {1, 2};
    xt_item(xt_sum(xt_from_array(a, XT_F32, 2)));
    return 0;
}
C
check "forgotten xt_finish is said" grep -q 'ended without xt_finish' "$tmp/out"
run_c shapes <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    float a[6] = {0};
    xt_tensor x = xt_from_array(a, XT_F32, 2, 3);
    xt_tensor y = xt_matmul(x, x);
    xt_backward(xt_sum(xt_relu(y)));
    return xt_finish();
}
C
check "exit code 1" [ $? = 1 ]
check "wrong shapes name the line" grep -q 'shapes.c:5: xt_matmul: x \[2,3\] and y \[2,3\]' "$tmp/out"
run_c dead <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    float a[2] = {1, 2};
    xt_tensor x = xt_from_array(a, XT_F32, 2);
    xt_mark_step();
    xt_add(x, x);
    return xt_finish();
}
C
check "a dead handle names all three lines" \
    grep -q 'dead.c:6.*made at .*dead.c:4.*died at .*dead.c:5.*xt_keep' "$tmp/out"
run_c twice <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_linear(m, "a", x, 2);
    return xt_linear(m, "a", x, 2);
}
int main(void) {
    float a[2] = {1, 2};
    xt_module *m = xt_module_new(net, NULL);
    xt_forward(m, xt_from_array(a, XT_F32, 1, 2));
    return xt_finish();
}
C
check "the same layer name twice" grep -q 'twice.c:5.*layer a is called twice.*twice.c:4.*xt_share' "$tmp/out"
run_c early <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    for (int i = 0; i < 3; i++) {
        float a[2] = {1, (float)i};
        xt_tensor x = xt_from_array(a, XT_F32, 2);
        xt_requires_grad(x, 1);
        xt_tensor loss = xt_sum(xt_mul(x, x));
        double v = xt_item(loss);
        xt_backward(loss);
        if (v != 1.0 + i * i || xt_item(xt_sum(xt_grad(x))) != 2.0 + 2.0 * i) return 3;
        xt_mark_step();
    }
    return xt_finish();
}
C
check "backward after a read is right" [ $? = 0 ]
run_c unfinished <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    xt_add(xt_zeros(XT_F32, 2, 3), xt_zeros(XT_F32, 4));
    return 0;
}
C
check "also when nothing was ever run" grep -q 'ended without xt_finish' "$tmp/out"
run_c dropped <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    xt_tensor t = xt_keep(xt_ones(XT_F32, 2));
    xt_mark_step();
    xt_drop(t);
    xt_sum(t);
    return xt_finish();
}
C
check "a dropped tensor is said to be dropped" \
    grep -q 'dropped.c:6.*made at .*dropped.c:3.*died at .*dropped.c:5, where xt_drop took back its xt_keep' "$tmp/out"
run_c freed <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "a", x, 3);
}
int main(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_backward(xt_mean(xt_forward(m, xt_ones(XT_F32, 2, 4))));
    xt_optimizer_step(o);
    xt_mark_step();
    xt_module_free(m);
    xt_optimizer_step(o);
    return xt_finish();
}
C
check "exit code 1" [ $? = 1 ]
check "an optimizer without its module" grep -q 'the module of this optimizer was freed' "$tmp/out"
run_c none <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    xt_loader *l = xt_loader_new(NULL, .batch = 2);
    for (xt_batch b; xt_next(l, &b);) {}
    return xt_finish();
}
C
check "a loader without a dataset" grep -q 'xt_loader_new: the dataset is NULL' "$tmp/out"
run_c seeds <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    float first = 0, x;
    for (int i = 0; i < 4; i++) {
        xt_seed(7);
        xt_tensor a = xt_rand(XT_F32), b = xt_rand(XT_F32);
        if (xt_item(a) == xt_item(b) || !xt_read(a, &x, sizeof x) || (i && x != first)) return 3;
        first = x;
        if (i > 1) xt_mark_step();
    }
    return xt_finish();
}
C
check "the same seed gives the same draws again" [ $? = 0 ]
run_c plain <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "a", x, 3);
}
int main(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_loader *l = xt_sample_loader(.batch = 4, .count = 120, .x = {XT_F32, {5}}, .y = {XT_I64});
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        xt_log("loss", loss);
        xt_backward(loss);
        xt_optimizer_step(o);
    }
    return xt_finish();
}
C
check "xt_log in a plain loop writes a row every 50 steps, as a fit" \
    [ "$(grep ',loss,' "$XT_RUNS_DIR/default/version_0/metrics.csv" | cut -d, -f1 | paste -sd ' ')" = "50 100 120" ]
check "and costs no compile" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
finish
