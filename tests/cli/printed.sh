#!/bin/bash
# What xt_print and %t write, on one rank and on two (once).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -std=c11 -I"$root/include" "$root/tests/cli/printed.c" \
    -o "$tmp/printed" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
cat >"$tmp/want" <<'W'
x = f32 [2,2]
[[ 1.0000,  2.5000],
 [-3.0000,  4.0000]]
xt_sum(x) = 4.5
xt_cast(xt_scalar(1234567, XT_F32), XT_I64) = 1234567
parts of 2: [-2.0000,  6.5000] and [[ true,  true],
 [false,  true]], 100%
y = f32 [2]
[2.0000, 1.5000]
y = f32 [2]
[4.0000, 1.5000]
y = f32 [2]
[ 0., 14.]
y = f32 [2]
[ 2., 14.]
y = f32 [2]
[ 4., 14.]
xt_zeros(XT_F32, 2, 2, 2) = f32 [2,2,2]
[[[0., 0.],
  [0., 0.]],

 [[0., 0.],
  [0., 0.]]]
W
"$tmp/printed" >"$tmp/out" 2>"$tmp/err"
check "it ends well" [ $? = 0 ]
check "one rank prints" cmp "$tmp/want" "$tmp/out"
"$XTRAIN" launch -n 2 -- "$tmp/printed" >"$tmp/out" 2>"$tmp/err"
check "two ranks end well" [ $? = 0 ]
sed -i 's/^\[rank 0\] //' "$tmp/out"
check "two ranks print once" cmp "$tmp/want" "$tmp/out"
cat >"$tmp/wrong.c" <<'C'
#include <xtrain/xtrain.h>
int main(void) {
    xt_tensor bad = xt_matmul(xt_zeros(XT_F32, 2, 3), xt_zeros(XT_F32, 2, 3));
    xt_print(bad);
    return xt_finish();
}
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/wrong.c" -o "$tmp/wrong" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD"
"$tmp/wrong" >"$tmp/out" 2>"$tmp/err"
check "an error's value ends with 1" [ $? = 1 ]
check "and is not printed as numbers" grep -q '^bad = (no value' "$tmp/out"
check "and is told with its line" grep -q 'wrong.c:3' "$tmp/err"
finish
