#!/bin/bash
# Plans by the real compilers: TPU (libtpu) and CUDA without hardware, every model, one and many hosts, meshes, a program that does not fit, the page in a browser.
# The packages are fetched into BUILD/plugins, or found in XT_PLUGINS_DIR; without a network each part is skipped and says so.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
x=$BUILD/xtrain
export XT_PLUGINS_DIR=${XT_PLUGINS_DIR:-$BUILD/plugins}
out=$tmp/out
value() { tail -n 1 "$out" | grep -oE "\"$1\": (\"[^\"]*\"|[^,}]*)" | head -n 1 | sed -E "s/[^:]*: //"; }
plan() { "$x" plan "$@" --json --no-remedies >"$out" 2>"$tmp/err"; }
have() { # DEVICE NAME
    "$x" doctor --device "$1" --json 2>/dev/null | grep -q '"loads": true' || "$x" doctor --install "$2" --yes >"$tmp/err" 2>&1
    "$x" doctor --device "$1" --json 2>/dev/null | grep -q '"loads": true'
}
adds_up() { python3 -c '
import json, sys
d = json.loads(open(sys.argv[1]).read().strip().split("\n")[-1])
k = d["by_kind"]
rows = sum(r["bytes"] for r in d["at_peak"])
assert sum(k.values()) == d["peak_bytes"], (sum(k.values()), d["peak_bytes"])
assert rows + k.get("fragmentation", 0) + k.get("reserved", 0) == d["peak_bytes"]
if d["compiler_peak_bytes"] > 0: assert d["argument_bytes"] + d["output_bytes"] - d["alias_bytes"] + d["temp_bytes"] == d["peak_bytes"]
named = sum(r["bytes"] for r in d["at_peak"] if r["line"] > 0)
assert named > 0.8 * rows, (named, rows)
' "$out"; }
if have TPU tpu; then
    for t in v4:2x2x1 v5e:2x2 v5p:2x2x2 v6e:4x4; do
        for m in mnist resnet18 gpt2-tiny gpt2; do
            check "$m compiles for $t" plan "$m" --topology "$t"
            check "$m on $t fits" [ "$(value fits)" = true ]
            check "$m on $t: rows add up" adds_up
        done
    done
    for t in v4:2x2x2=16 v4:2x2x4=32 v4:2x4x4=64; do
        n=${t#*=} t=${t%=*}
        check "gpt2 data parallel on $t" plan gpt2 --topology "$t" --mesh "data=$n" --batch 1
        check "its gradients are reduced over data" grep -q '"op": "all-reduce", "axis": "data"' "$out"
        check "gpt2 on a mesh of $t" plan gpt2 --topology "$t" --mesh "data=$((n / 4)),model=4" --batch 1
        check "with collectives over model" grep -qE '"axis": "(data\+)?model"' "$out"
    done
    check "tpu7x and v2, v3 compile" plan gpt2-tiny --topology tpu7x:2x2x1
    check "v3" plan gpt2-tiny --topology v3:2x2
    check "v2" plan gpt2-tiny --topology v2:2x2
    check "with its code" plan gpt2-tiny --topology v4:2x2x1 --full
    check "the totals are the compiler's statistics" adds_up
    check "code was made" [ "$(value code_bytes)" -gt 0 ]
    check "too large a batch" plan gpt2 --topology v5e:2x2 --batch 64 --seq 1024
    check "does not fit" [ "$(value fits)" = false ]
    check "and the rows add up all the same" adds_up
    libtpu=$("$x" doctor --device TPU --json | sed -nE 's#.*"path": "([^"]*)/libtpu/libtpu.so".*#\1#p')
    python=${JAX_PYTHON:-python3}
    if "$python" -c 'import jax' 2>/dev/null; then
        cc -O1 -I"$root/include" "$root/tests/peers/plan_mlp.c" -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" -o "$tmp/mlp"
        "$x" plan --topology v5e:2x2 --json -- "$tmp/mlp" >"$out" 2>"$tmp/err"
        ours=$(value peak_bytes) theirs=$(PYTHONPATH=$libtpu timeout 900 "$python" "$root/tests/peers/plan_jax.py" v5e:2x2 2>"$tmp/err" | tail -n 1)
        check "the same network in JAX takes the same memory within 10 % ($ours, $theirs)" [ $((10 * ours)) -lt $((11 * theirs)) -a $((11 * ours)) -gt $((10 * theirs)) ]
    else
        echo "skip JAX: $python has no jax (JAX_PYTHON names another)"
    fi
else
    echo "skip TPU: libtpu cannot be had: $(tail -n 1 "$tmp/err")"
fi
if have CUDA cuda; then
    for c in h100 a100 l4 b200; do
        check "gpt2-tiny compiles for cuda:$c" plan gpt2-tiny --topology "cuda:$c"
        check "rows add up" adds_up
    done
else
    echo "skip CUDA: jax-cuda13-pjrt cannot be had: $(tail -n 1 "$tmp/err")"
fi
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
    "$x" plan gpt2-tiny --html "$tmp/page.html" >/dev/null 2>&1
    # The mouse over the left end: the handler shows what is alive there, which is not what the page shows at first.
    printf '<script>{ const c = document.getElementById("chart"); c.dispatchEvent(new MouseEvent("mousemove", {clientX: c.getBoundingClientRect().left + 1})); }</script>\n' >>"$tmp/page.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --dump-dom "file://$tmp/page.html" >"$out" 2>"$tmp/err"
    check "the page draws memory over time" grep -qE '<path id="curve"[^>]* d="M0 [0-9.]+L' "$out"
    check "names the peak's lines" grep -qE '<td[^>]*>gpt2.c:[0-9]+</td>' "$out"
    check "tells what is alive under the mouse, by line" sh -c "grep -qE 'instruction [0-9] of [0-9]+: ' '$out' && grep -A 3 -E 'instruction [0-9] of' '$out' | grep -qE '[a-z0-9_]+[.]c:[0-9]+'"
else
    echo "skip page: no browser (Debian: apt-get install chromium)"
fi
finish
