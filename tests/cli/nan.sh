#!/bin/bash
# XT_DEBUG=nan where NaN is made out of sight: in loops (also nested), branches and called functions of a program, with
# the iteration; in a compiled step function; on one rank of several, alone and with a mesh, without any rank waiting
# for another.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
source=$root/tests/cli/nan.c
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash XT_CACHE=off XT_DEBUG=nan
cd "$tmp" || exit 1

# --- programs
cat >loop.mlir <<'M'
func.func private @root(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.sqrt %x : tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %way: tensor<i32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %step = stablehlo.constant dense<1.0> : tensor<2xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2xf32>
   cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %q:2 = stablehlo.while(%k = %zero, %w = %v) : tensor<i32>, tensor<2xf32>
     cond {
      %c = stablehlo.compare LT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.subtract %w, %step : tensor<2xf32>
      %e = "stablehlo.case"(%way) ({
        %n = stablehlo.negate %d : tensor<2xf32>
        %a = stablehlo.negate %n : tensor<2xf32>
        stablehlo.return %a : tensor<2xf32>
      }, {
        %l = stablehlo.log %d : tensor<2xf32>
        %b = stablehlo.exponential %l : tensor<2xf32>
        stablehlo.return %b : tensor<2xf32>
      }, {
        %s = func.call @root(%d) : (tensor<2xf32>) -> tensor<2xf32>
        %b = stablehlo.multiply %s, %s : tensor<2xf32>
        stablehlo.return %b : tensor<2xf32>
      }) : (tensor<i32>) -> tensor<2xf32>
      %k1 = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %k1, %e : tensor<i32>, tensor<2xf32>
    }
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %q#1 : tensor<i32>, tensor<2xf32>
  }
  return %r#1 : tensor<2xf32>
}
M
at() { echo "loop.mlir:$(grep -n "$1" loop.mlir | head -n "${2:-1}" | tail -n 1 | cut -d: -f1)"; }
program() {
    "$BUILD/xtrain" run loop.mlir --args "[dense<[$1]> : tensor<2xf32>, dense<$2> : tensor<i32>]" --json >out 2>&1
}
inner=$(at 'stablehlo.while' 2) outer=$(at 'stablehlo.while')
program '4.5, 90.0' 0
check "a program without NaN runs" [ $? = 0 ]
program '4.5, 90.0' 1
check "NaN in a branch inside two loops" [ $? = 1 ]
said="$(at 'stablehlo.log'): log tensor<2xf32> makes the first NaN or Inf in iteration 1 of the while at $inner, "
said+="in iteration 1 of the while at $outer: 1 of 2 elements"
check "the op, its line and both iterations" grep -qE "$said" out
check "and the range of what it got" \
    grep -qE "subtract tensor<2xf32> at $(at 'stablehlo.subtract'): from -0.5 to 85" out
program '2.5, 90.0' 2
said="$(at 'stablehlo.sqrt'): sqrt tensor<2xf32> makes the first NaN or Inf in iteration 2 of the while at $inner, "
said+="in iteration 0 of"
check "in a function that a branch calls" grep -qE "$said" out
program '0x7FC00000, 90.0' 0
check "what came in with NaN is the input's" grep -q 'input 0 of @main has NaN or Inf: from 90 to 90, 1 NaN' out
XT_DEBUG=compile program '4.5, 90.0' 1
check "without the switch nothing is looked for" [ $? = 0 ]

# --- steps
# shellcheck disable=SC2086
"${CC:-cc}" ${ASAN_BUILD:+-fsanitize=address,undefined} -O2 -I"$root/include" "$source" -o nan \
    -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" || exit 1
line() { echo "nan.c:$(grep -n "@$1 " "$source" | cut -d: -f1)"; }
timeout 200 ./nan call >out 2>&1
check "a compiled step function" \
    grep -qE "$(line sqrt): sqrt tensor<3xf32> at .* makes the first NaN or Inf of step [0-9]+: 1 of 3 elements" out
export CPU_NUM_DEVICES=2 XT_TIMEOUT=100
timeout 200 ./nan ddp >out 2>&1
check "one rank of two ends both" [ $? = 1 ]
check "it names its op" \
    grep -qE "$(line log): log tensor<8x8xf32> at .* makes the first NaN or Inf of step 4 on rank 1" out
timeout 200 ./nan mesh >out 2>&1
check "with a mesh" \
    grep -qE "$(line log): log tensor<8x8xf32> at .* makes the first NaN or Inf of step 4: 8 of 64 elements" out
timeout 200 ./nan input >out 2>&1
said="$(line input): value tensor<8x4xf32> at .* has NaN or Inf when step 4 begins|"
said+="rank 1 has NaN or Inf in what step 4 begins with"
check "a bad batch on one rank" grep -qE "$said" out
finish
