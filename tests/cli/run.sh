#!/bin/bash
# xtrain run: outputs, exit codes and messages.
set -u
. "$(dirname "$0")/expect.sh"

cat >"$tmp/add.mlir" <<'EOF'
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}
EOF
cat >"$tmp/checks.mlir" <<'EOF'
func.func @a() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
// -----
func.func @b() {
  %0 = stablehlo.constant dense<7> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%0, %0) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}
EOF
sed 's/check.expect_eq_const %0, dense<\[1.0, 2.0\]>/check.expect_eq_const %0, dense<[1.0, 3.0]>/' "$tmp/checks.mlir" \
    >"$tmp/wrong.mlir"
echo 'func.func @main() { %0 = stablehlo.ad %1 : tensor<f32>' >"$tmp/broken.mlir"
cp "$tmp/add.mlir" "$tmp/add.mlir.txt"
args='[dense<[1.0, 2.0]> : tensor<2xf32>, dense<3.0> : tensor<2xf32>]'
run=("$xtrain" run --device interpreter)

expect help 0 "usage: $xtrain run PROGRAM" "$xtrain" run --help
expect outputs 0 "$tmp/o/out0.npy  f32\[2\]" "${run[@]}" "$tmp/add.mlir" --args "$args" --output-dir "$tmp/o"
expect again 0 '^\{.*"outputs":\[\{.*"shape":\[2\].*"entries":1' "${run[@]}" "$tmp/add.mlir" --input "$tmp/o/out0.npy" \
    "$tmp/o/out0.npy" --output-dir "$tmp/p" --json
expect same 0 '' "${run[@]}" --input "$tmp/o/out0.npy" "$tmp/o/out0.npy" "$tmp/add.mlir" --expect "$tmp/p/out0.npy"
expect differs 1 'output 0 against .*out0.npy: 2 of 2 elements differ; the first, \[0\], is 8, expected 4' \
    "${run[@]}" "$tmp/add.mlir" --input "$tmp/o/out0.npy" "$tmp/o/out0.npy" --expect "$tmp/o/out0.npy"
expect checks 0 '2 functions ran' "${run[@]}" "$tmp/checks.mlir"
expect wrong 1 'wrong.mlir:3: @a: expect_eq_const: element \[1\] is 2, expected 3' "${run[@]}" "$tmp/wrong.mlir"
expect broken 1 "broken.mlir:1:26: 'stablehlo.ad' is not an op that is known here" "${run[@]}" "$tmp/broken.mlir"
expect missing 1 'none.mlir' "${run[@]}" "$tmp/none.mlir"
expect count 1 '@main takes 2 inputs, 0 are given' "${run[@]}" "$tmp/add.mlir"
expect shape 1 'input 0 is a tensor<3xf32>, the program wants tensor<2xf32>' "${run[@]}" "$tmp/add.mlir" \
    --args 'dense<0.0> : tensor<3xf32>, dense<0.0> : tensor<3xf32>'
expect not_npy 1 'not an npy file' "${run[@]}" "$tmp/add.mlir" --input "$tmp/add.mlir.txt" --input "$tmp/checks.mlir"
expect usage 2 'which program' "$xtrain" run
expect option 2 'there is no option --nonsense' "$xtrain" run --nonsense
expect print 0 '"stablehlo.add"\(%arg0, %arg1\) : \(tensor<2xf32>, tensor<2xf32>\) -> tensor<2xf32>' "$xtrain" run \
    "$tmp/add.mlir" --print generic
for name in XT_EVENTS XT_METRICS XT_PROFILE; do
    expect $name 0 "xtrain run: $name=$tmp/told is not written: it is of programs that record steps" \
        env $name="$tmp/told" "${run[@]}" "$tmp/add.mlir" --args "$args" --output-dir "$tmp/o"
done
{ # attributes by the thousand cost as many looks, not their square; two of one name are found among them
    printf 'func.func @main(%%a: tensor<2xf32>) -> tensor<2xf32> {\n  %%0 = stablehlo.add %%a, %%a {'
    for i in $(seq 1000); do printf 'x%d = %d : i32, ' "$i" "$i"; done
    printf 'x500 = 1 : i32} : tensor<2xf32>\n  return %%0 : tensor<2xf32>\n}\n'
} >"$tmp/twice.mlir"
expect twice 1 "attribute 'x500' is given twice" "${run[@]}" "$tmp/twice.mlir" --args 'dense<1.0> : tensor<2xf32>'
echo "$passed passed, $failed failed"
[ $failed = 0 ]
