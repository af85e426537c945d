#!/bin/bash
# Does xtrain accept and refuse what the StableHLO project's own verifier does? Each stretch between `// -----` lines of
# its verifier tests is one program: with an `expected-error` comment it must be refused, without one it must be read.
# usage: tests/conformance/stablehlo_verifier.sh CHECKOUT [FILE.mlir ...]      FILES relative to
# CHECKOUT/stablehlo/tests verifier_differences.txt beside this script: FILE LINE REASON for the stretches that are
# judged otherwise here, checked for stale entries.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?usage: $0 CHECKOUT [FILE.mlir ...]}/stablehlo/tests
shift
files=("$@")
[ ${#files[@]} -gt 0 ] ||
    files=(ops_stablehlo.mlir ops_stablehlo_quantized.mlir \
        ops_stablehlo_roundtrip.mlir ops_chlo.mlir ops_chlo_roundtrip.mlir ops_broadcasting.mlir \
    ops_dot_general_algorithms.mlir
    ops_interpreter.mlir ops_stablehlo_bounded_dynamism.mlir future_type.mlir verify_async_ops.mlir verify_bounds.mlir \
        verify_convolution.mlir verify_dynamic_conv.mlir
    verify_reduce.mlir verify_reduce_window.mlir verify_replica_groups_mesh_axes.mlir verify_scatter.mlir \
        verify_select_and_scatter.mlir verify_while.mlir
    infer_stablehlo.mlir infer_chlo.mlir print_stablehlo.mlir print_reduce.mlir print_while.mlir \
        print_types_invalid.mlir)
export XTRAIN=${XTRAIN:-$(cd "$here/../.." && pwd)/build/xtrain}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A stretch becomes FILE@LINE.mlir, LINE its first.
for f in "${files[@]}"; do
    [ -f "$root/$f" ] || continue
    awk -v base="$tmp/$f" '
        BEGIN { out = base "@1.mlir" }
        /^\/\/ -----/ { close(out); out = base "@" NR + 1 ".mlir"; next }
        { print > out }' "$root/$f"
done
# What stands outside StableHLO programs proper: other dialects of the test tools, sparse types, tensors
# without a rank, declarations.
outside='hlo_test_[a-z]*\.|"?(arith|tensor|shape)\.[a-z]|#(CSR|CSC|DCSR|SV|sparse)|tensor<\*|sdy\.mesh'
export outside
judge() {
    local want=read got=refused
    if grep -qE "$outside" "$1"; then
        echo skip
        return
    fi
    grep -q 'expected-error' "$1" && want=refused
    said=$(timeout 20 "$XTRAIN" run "$1" --print pretty 2>&1 >/dev/null)
    rc=$?
    [ $rc = 0 ] && got=read
    [ $rc -gt 1 ] && got="exit $rc"
    case $said in *"there is no program in this file"*) got=$want ;; esac
    name=$(basename "$1" .mlir)
    if [ "$got" = "$want" ]; then
        echo "ok ${name/@/ }"
    else
        [ $want = refused ] && said=$(grep -o 'expected-error.*' "$1" | head -n 1)
        echo "bad ${name/@/ } $got: ${said##*"$1":}"
    fi
}
export -f judge
find "$tmp" -name '*.mlir' -print0 | xargs -0 -P 2 -I{} bash -c 'judge "$0"' {} | sort -k2,2 -k3,3n >"$tmp/results"
awk -v listed="$here/verifier_differences.txt" '
    BEGIN { while ((getline line < listed) > 0) if (line !~ /^#/ && split(line, f, " ") > 2) known[f[1] " " f[2]] = 1 }
    $1 == "skip" { skipped++; next }
    {
        e = $2 " " $3
        if ($1 == "ok") { if (e in known) { stale++; print "STALE " e } else passed++; next }
        if (e in known) { accepted++; next }
        failed++; sub(/^bad /, ""); print "FAIL " $0
    }
    END {
        printf "%d are not programs of StableHLO alone, %d differ for a stated reason, %d stale entries\n",
            skipped, accepted, stale
        printf "%d passed, %d failed\n", passed, failed + stale
        exit failed + stale > 0
    }' "$tmp/results"
