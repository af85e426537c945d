#!/bin/bash
# Equal layers share their kernels: oneDNN makes the product of twelve equal layers once and finds it again eleven
# times, in one program and in a second one. Where rows of the right side are contiguous there are loops of our
# own, so the right side of these is turned.
set -u
xtrain=${XTRAIN:-${BUILD:-build}/xtrain}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
t="tensor<8x48x48xf32>"
{
    echo "func.func @main(%v0: $t, %w: $t) -> $t {"
    for i in $(seq 1 12); do
        dims="batching_dims = [0] x [0], contracting_dims = [2] x [2]"
        echo "%p$i = stablehlo.dot_general %v$((i - 1)), %w, $dims : ($t, $t) -> $t"
        echo "%v$i = stablehlo.tanh %p$i : $t"
    done
    echo "return %v12 : $t"
    echo "}"
} >"$dir/layers.mlir"
XT_CACHE=off DNNL_VERBOSE=2 "$xtrain" run "$dir/layers.mlir" --args "[dense<0.5> : $t, dense<0.01> : $t]" \
    --output-dir "$dir" --dump "$dir/dump" >"$dir/said" 2>&1
miss=$(grep -c 'create:cache_miss,cpu,matmul' "$dir/said") hit=$(grep -c 'create:cache_hit,cpu,matmul' "$dir/said") \
    runs=$(grep -c 'exec,cpu,matmul' "$dir/said")
thunks=$(grep -h -c onednn-matmul "$dir"/dump/cpu-*.plan)
[ "$miss $hit $runs $thunks" = "1 11 12 12" ] && { echo "1 passed, 0 failed"; exit 0; }
echo "12 equal products: $miss made, $hit found again, $runs run, $thunks in the plan"
tail -n 20 "$dir/said"
echo "0 passed, 1 failed"
exit 1
