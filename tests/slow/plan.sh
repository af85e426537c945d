#!/bin/bash
# Plans by the real compilers: TPU (libtpu) and CUDA without hardware, every model, one and many hosts, meshes, a
# program that does not fit, the page in a browser. The packages are fetched into BUILD/plugins, or found in
# XT_PLUGINS_DIR; without a network each part is skipped and says so. About 200 compilations of some seconds each: 10
# minutes on two quiet cores. JAX_PYTHON names a python3 that has jax.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
x=$BUILD/xtrain
export XT_PLUGINS_DIR=${XT_PLUGINS_DIR:-$BUILD/plugins}
out=$tmp/out
value() { tail -n 1 "$out" | grep -oE "\"$1\": (\"[^\"]*\"|[^,}]*)" | head -n 1 | sed -E "s/[^:]*: //"; }
plan() { "$x" plan --json --no-remedies "$@" >"$out" 2>"$tmp/err"; }
have() { # DEVICE NAME
    "$x" doctor --device "$1" --json 2>/dev/null | grep -q '"loads": true' ||
        "$x" doctor --install "$2" --yes >"$tmp/err" 2>&1
    "$x" doctor --device "$1" --json 2>/dev/null | grep -q '"loads": true'
}
adds_up() { python3 -c '
import json, sys
d = json.loads(open(sys.argv[1]).read().strip().split("\n")[-1])
k = d["by_kind"]
rows = sum(r["bytes"] for r in d["at_peak"])
assert sum(k.values()) == d["peak_bytes"], (sum(k.values()), d["peak_bytes"])
assert rows + k.get("fragmentation", 0) + k.get("reserved", 0) == d["peak_bytes"]
if d["compiler_peak_bytes"] > 0:
    own = d["argument_bytes"] + d["output_bytes"] - d["alias_bytes"] + d["temp_bytes"]
    assert own + d["live_elsewhere_bytes"] == d["peak_bytes"]
named = sum(r["bytes"] for r in d["at_peak"] if r["line"] > 0)
# In a small program the helpers of the compiler are a good part.
assert named > 0.8 * rows or rows < 4 << 20, (named, rows)
' "$out"; }
# PLAN_PARTS names some of: models examples meshes rest remedies jax cuda page.
part() { [[ " ${PLAN_PARTS:-models examples meshes rest remedies jax cuda page} " == *" $1 "* ]]; }
# Every example, as a user's program under rehearsal. Those that launch ranks to show something else train nothing, and
# plan says so.
examples() { # TOPOLOGY DEVICES
    local f name
    for f in "$root"/examples/*.c "$root"/examples/guides/*.c; do
        name=$(basename "$f" .c) args=() options=()
        [ -x "$BUILD/$name" ] || continue
        case $name in
            too_big) args=(0) ;;
            fragments) args=(1 8) ;;
            mnist_single) args=(64 2) ;;
            mesh) args=($(($2 / 2)) 2 fsdp) options=(--mesh "data=$(($2 / 2)),tensor=2") ;;
            hello | by_symbol | wrong_launch | remote*)
                "$x" plan --topology "$1" -- "$BUILD/$name" >"$out" 2>&1
                check "$name has nothing to compile, and plan says so" grep -q 'ran no step on a device' "$out"
                continue
                ;;
        esac
        check "example $name compiles for $1" plan --topology "$1" "${options[@]}" -- "$BUILD/$name" "${args[@]}"
        check "example $name on $1: rows add up" adds_up
    done
}
if have TPU tpu; then
    part models && for t in v4:2x2x1 v5e:2x2 v5p:2x2x2 v6e:4x4; do
        for m in mnist resnet18 gpt2-tiny gpt2-mini gpt2; do
            check "$m compiles for $t" plan "$m" --topology "$t"
            check "$m on $t fits" [ "$(value fits)" = true ]
            check "$m on $t: rows add up" adds_up
        done
    done
    cd "$tmp" || exit 1 # examples write logs
    part examples && for t in v4:2x2x1=8 v5e:2x2=4 v5p:2x2x2=8 v6e:4x4=16; do examples "${t%=*}" "${t#*=}"; done
    part meshes && for t in v4:2x2x2=16 v4:2x2x4=32 v4:2x4x4=64; do
        n=${t#*=} t=${t%=*}
        check "gpt2 data parallel on $t" plan gpt2 --topology "$t" --mesh "data=$n" --batch 1
        check "its gradients are reduced over data" grep -q '"op": "all-reduce", "axis": "data"' "$out"
        check "gpt2 on a mesh of $t" plan gpt2 --topology "$t" --mesh "data=$((n / 4)),model=4" --batch 1
        check "with collectives over model" grep -qE '"axis": "(data\+)?model"' "$out"
    done
    part meshes && for t in v5e:2x2 v5p:2x2x1 v6e:2x2; do
        check "experts on $t" plan gpt2-mini --topology "$t" --mesh expert=4 --experts 8 --batch 2
        check "tokens go to them and back" grep -q '"op": "all-to-all", "axis": "expert"' "$out"
        check "stages on $t" plan gpt2-mini --topology "$t" --mesh data=2,stage=2 --batch 4 --microbatches 4
        check "micro-batches are sent on" grep -q '"op": "collective-permute", "axis": "stage"' "$out"
        check "stages by 1F1B on $t" plan gpt2-mini --topology "$t" --mesh data=2,stage=2 --batch 4 --microbatches 4 \
            --pipeline 1f1b
        check "micro-batches are sent on there, too" grep -q '"op": "collective-permute", "axis": "stage"' "$out"
    done
    if part rest; then
        check "tpu7x and v2, v3 compile" plan gpt2-tiny --topology tpu7x:2x2x1
        check "v3" plan gpt2-tiny --topology v3:2x2
        check "v2" plan gpt2-tiny --topology v2:2x2
        check "with its code, or until the time limit" plan gpt2-tiny --topology v4:2x2x1 --full --time-limit 400
        check "the totals are the compiler's statistics" adds_up
        check "code was made, or it says that time was up" \
            sh -c "[ '$(value code_bytes)' -gt 0 ] || grep -q 'time limit was reached' '$out'"
        check "a compiler that takes long over its code is ended" plan mnist --topology v4:2x2x1 --full --time-limit 30
        check "and the memory is there all the same" adds_up
        check "too large a batch" plan gpt2 --topology v5e:2x2 --batch 64 --seq 1024
        check "does not fit" [ "$(value fits)" = false ]
        check "and the rows add up all the same" adds_up
    fi
    if part remedies; then
        "$x" plan gpt2-tiny --topology v5e:2x2 --batch 32 --remedies --json >"$out" 2>"$tmp/err"
        check "all of them with a figure" \
            [ "$(tail -n 1 "$out" | grep -o '"remedies": .*' | grep -o '"peak_bytes"' | wc -l)" = 10 ]
        by_plan=$(tail -n 1 "$out" | grep -oE '"activation checkpointing per block", "peak_bytes": [0-9]+' |
            grep -oE '[0-9]+$')
        plan gpt2-tiny --topology v5e:2x2 --batch 32 --checkpoint
        check "a remedy's figure is that of the program with the remedy in it" [ "$(value peak_bytes)" = "$by_plan" ]
        "$x" plan gpt2-tiny --topology v5e:2x2 --limit 100M --max-batch --json >"$out" 2>"$tmp/err"
        most=$(value max_batch) first=$(value first_that_does_not_fit)
        check "the largest batch of 100 MiB ($most)" [ "$most" -gt 0 -a "$first" -gt "$most" ]
        plan gpt2-tiny --topology v5e:2x2 --limit 100M --batch "$most"
        check "fits" [ "$(value fits)" = true ]
        plan gpt2-tiny --topology v5e:2x2 --limit 100M --batch "$first"
        check "and the next does not" [ "$(value fits)" = false ]
        "$x" plan gpt2-tiny --topology v5e:2x2 --limit 100M --max-batch >"$out" 2>"$tmp/err"
        check "as a sentence" grep -q "the largest batch of gpt2-tiny that fits v5e:2x2: $most" "$out"
        "$x" plan gpt2-tiny --topology v5e:2x2 --batch 16 --mesh auto --json >"$out" 2>"$tmp/err"
        check "the meshes of four devices" [ "$(grep -o '"collective_bytes"' "$out" | wc -l)" = 5 ]
        "$x" plan gpt2-tiny --topology v5e:2x2 --batch 16 --mesh auto >"$out" 2>"$tmp/err"
        check "as a table, the fastest first" \
            sh -c \
            "grep -E '^--mesh ' '$out' | awk '{for (i = 1; i < NF; i++) if (\$i == \"ms\") print \$(i-1)}' | sort -g -c"
        "$x" plan gpt2-tiny --sweep batch=8:16,topology=v4:2x2x1,v5e:2x2,precision=fp32,bf16 --json >"$out" 2>"$tmp/err"
        check "a sweep over batches, topologies and precisions" [ "$(grep -o '"peak_bytes"' "$out" | wc -l)" = 8 ]
        "$x" plan gpt2-tiny --sweep batch=8:16,topology=v4:2x2x1,v5e:2x2 >"$out" 2>"$tmp/err"
        check "as a table" [ "$(grep -cE '^batch=(8|16), topology=v[45].* yes$' "$out")" = 4 ]
    fi
    python=${JAX_PYTHON:-python3}
    libtpu=$("$x" doctor --device TPU --json | sed -nE 's#.*"path": "([^"]*)/libtpu/libtpu.so".*#\1#p')
    jax() { PYTHONPATH=$libtpu timeout 1500 "$python" "$root/tests/peers/$1" "${@:2}" 2>"$tmp/err" | tail -n 1; }
    near() { [ $((10 * $1)) -lt $((11 * $2)) ] && [ $((11 * $1)) -gt $((10 * $2)) ]; }
    if part jax && "$python" -c 'import jax' 2>/dev/null; then
        cc -O1 -I"$root/include" "$root/tests/peers/plan_mlp.c" \
            -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" -o "$tmp/mlp"
        "$x" plan --topology v5e:2x2 --json -- "$tmp/mlp" >"$out" 2>"$tmp/err"
        ours=$(value peak_bytes) theirs=$(jax plan_jax.py v5e:2x2)
        check "an MLP in JAX takes the same memory within 10 % ($ours, $theirs)" near "$ours" "$theirs"
        for size in "4 64" "8 256"; do
            read -r batch seq <<<"$size"
            plan gpt2 --topology v5e:2x2 --batch "$batch" --seq "$seq"
            ours=$(value peak_bytes) theirs=$(jax plan_gpt2_jax.py v5e:2x2 "$batch" "$seq")
            check "GPT-2 in JAX, $batch x $seq tokens, takes the same memory within 10 % ($ours, $theirs)" near \
                "$ours" "$theirs"
            echo "GPT-2, $batch x $seq: xtrain $ours, JAX $theirs bytes"
        done
    elif part jax; then
        echo "skip JAX: $python has no jax (JAX_PYTHON names another)"
    fi
else
    echo "skip TPU: libtpu cannot be had: $(tail -n 1 "$tmp/err")"
fi
if part cuda && have CUDA cuda; then
    for c in h100 a100 l4 b200; do
        for m in mnist resnet18 gpt2-tiny; do
            check "$m compiles for cuda:$c" plan "$m" --topology "cuda:$c"
            check "$m on cuda:$c: rows add up" adds_up
        done
    done
    "$x" plan gpt2-tiny --topology cuda:h100 --remedies --json >"$out" 2>"$tmp/err"
    check "remedies on cuda:h100" \
        [ "$(tail -n 1 "$out" | grep -o '"remedies": .*' | grep -o '"peak_bytes"' | wc -l)" -ge 8 ]
    plan gpt2-tiny --topology cuda:h100:4 --mesh data=2,model=2 --batch 4
    check "a mesh of four h100" grep -q '"op": "all-reduce' "$out"
elif part cuda; then
    echo "skip CUDA: jax-cuda13-pjrt cannot be had: $(tail -n 1 "$tmp/err")"
fi
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if part page && [ -n "$browser" ]; then
    "$x" plan gpt2-tiny --html "$tmp/page.html" >/dev/null 2>&1
    # The mouse over the left end: the handler shows what is alive there, which is not what the page shows at first.
    printf '%s\n' '<script>{ const c = document.getElementById("chart");' \
        'c.dispatchEvent(new MouseEvent("mousemove", {clientX: c.getBoundingClientRect().left + 1})); }' \
        '</script>' >>"$tmp/page.html"
    timeout 120 "$browser" \
        --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --dump-dom "file://$tmp/page.html" \
        >"$out" 2>"$tmp/err"
    check "the page draws memory over time" grep -qE '<path id="curve"[^>]* d="M0 [0-9.]+L' "$out"
    check "names the peak's lines" grep -qE '<td[^>]*>gpt2.c:[0-9]+</td>' "$out"
    want="grep -qE 'instruction [0-9] of [0-9]+: ' '$out' && grep -A 3 -E 'instruction [0-9] of' '$out' | grep -qE "
    want+="'[a-z0-9_]+[.]c:[0-9]+'"
    check "tells what is alive under the mouse, by line" sh -c "$want"
elif part page; then
    echo "skip page: no browser (Debian: apt-get install chromium)"
fi
finish
