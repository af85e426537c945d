#!/bin/bash
# Round trips through bytecode: every program of a StableHLO checkout (STABLEHLO, with its testdata and
# tests/interpret), every conformance program and each program that the bundled models make is written as a portable
# artefact, read back and compared as text. Where PYTHON_JAX names a Python with JAX, StableHLO's own reader reads a
# part of what was written. EVERY=k takes each k-th file of the checkout (default 1).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
xtrain=$BUILD/xtrain
mkdir -p "$tmp/in" "$tmp/bc" "$tmp/models"
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
wrong=0 same=0 unread=0

# back FILE VERSION: whether the artefact of that version reads back as the program. What this library cannot read is
# counted apart.
back() {
    "$xtrain" run "$1" --emit "$tmp/a.mlir" >"$tmp/out" 2>&1 || { unread=$((unread + 1)); return 0; }
    if "$xtrain" run "$1" --emit "$tmp/x.mlirbc" --emit-version "$2" >"$tmp/out" 2>&1 &&
        "$xtrain" run "$tmp/x.mlirbc" --emit "$tmp/b.mlir" >"$tmp/out" 2>&1 &&
        cmp -s "$tmp/a.mlir" "$tmp/b.mlir"; then
        same=$((same + 1))
        # StableHLO's reader knows no dialect of its own tests.
        [ $((same % 40)) = 0 ] && ! grep -qE '(check\.|interpreter\.)' "$tmp/a.mlir" &&
            cp "$tmp/x.mlirbc" "$tmp/bc/$same.mlirbc"
        return 0
    fi
    wrong=$((wrong + 1))
    echo "$1: $(head -c 300 "$tmp/out")"
    diff "$tmp/a.mlir" "$tmp/b.mlir" | head -n 4 | cut -c1-300
    return 1
}
all() { # NAME FILE ...
    name=$1 wrong=0
    shift
    for f in "$@"; do back "$f" "${VERSION:-1.20.0}" >>"$tmp/report" 2>&1; done
    [ $wrong = 0 ] || cat "$tmp/report"
    check "$name: $# files, $same the same so far, $unread of programs that are not read at all" [ $wrong = 0 ]
}

all "conformance programs" "$root"/tests/conformance/programs/*/prog.mlir
VERSION=1.13.0 all "conformance programs, StableHLO 1.13" "$root"/tests/conformance/programs/*/prog.mlir
for model in mnist resnet18 gpt2; do
    XT_DUMP=$tmp/models/$model "$xtrain" bench "$model" --steps 1 --warmup 0 >"$tmp/out" 2>&1
done
all "programs of the models" $(find "$tmp/models" -name '*.mlir')
if [ -n "${STABLEHLO:-}" ]; then
    # One module a file.
    for f in "$STABLEHLO"/stablehlo/tests/interpret/*.mlir; do
        awk -v out="$tmp/in/$(basename "$f" .mlir)" '/^\/\/ -----/ { k++; next } { print > (out "." k + 0 ".mlir") }' \
            "$f"
    done
    all "tests/interpret" $(find "$tmp/in" -name '*.mlir' | sort | awk -v k="${EVERY:-1}" 'NR % k == 0')
    all "testdata" $(find "$STABLEHLO/stablehlo/testdata" -name '*.mlir' | sort | awk -v k="${EVERY:-1}" 'NR % k == 0')
fi
if [ -n "${PYTHON_JAX:-}" ]; then
    "$PYTHON_JAX" - "$tmp"/bc/*.mlirbc >"$tmp/out" 2>&1 <<'PY'
import sys
from jax._src.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo
context = mlir.make_ir_context()
for path in sys.argv[1:]:
    with context:
        stablehlo.deserialize_portable_artifact(context, open(path, "rb").read())
print(len(sys.argv) - 1, "read")
PY
    check "StableHLO's own reader: $(tail -n 1 "$tmp/out")" grep -q '[1-9][0-9]* read' "$tmp/out"
fi
finish
