#!/bin/bash
# Under valgrind: the plugin's table in a client's wrong hands reads and writes nothing it must not, and nothing is lost
# at the end; nor is it by programs as users write them (examples/, and the command's own).
. "$(dirname "$0")/../examples/lib.sh"
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && { echo "AddressSanitizer and valgrind do not go together"; exit 77; }
export XT_SUMMARY=off XT_CACHE=off XT_THREADS=1 XT_PROGRESS=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash
# oneDNN compiles for the processor it finds, which valgrind does not know beyond AVX2.
export XT_CPU_FEATURES=avx2 ONEDNN_MAX_CPU_ISA=AVX2
clean() { # clean NAME COMMAND...
    local name=$1
    shift
    # Machine code that is made at run time lies in a mapped file, which valgrind takes to stay as it is otherwise.
    (cd "$tmp" && timeout 900 valgrind --quiet --smc-check=all --error-exitcode=9 --leak-check=full \
        --show-leak-kinds=definite --errors-for-leak-kinds=definite "$@") >"$tmp/out" 2>&1
    check "$name" [ $? = 0 ]
}
for t in test_pjrt_abuse test_pjrt_face test_pjrt_staged; do clean "$t" "$BUILD/$t"; done
program=$tmp/p.mlir
cat >"$program" <<'MLIR'
func.func @main(%a: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.exponential %a : tensor<4x6xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}
MLIR
"$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --epochs 1 >"$tmp/out" 2>&1
check "a run to draw" [ $? = 0 ]
clean hello "$BUILD/hello"
clean emit "$XTRAIN" run "$program" --emit "$tmp/p.bc"
clean print "$XTRAIN" run "$program" --print pretty
clean interpreter "$XTRAIN" run "$program" --device interpreter --args '[dense<0.5> : tensor<4x6xf32>]' \
    --output-dir "$tmp"
clean new "$XTRAIN" new project
clean plot "$XTRAIN" plot "$XT_RUNS_DIR/mnist" --output "$tmp/c.png"
export XT_CACHE=on XT_CACHE_DIR=$tmp/cache
clean cache "$XTRAIN" cache ls
export XT_CACHE=off
clean explain "$XTRAIN" explain XT203
clean version "$XTRAIN" version
finish
