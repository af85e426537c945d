#!/bin/bash
# The boundary is real: programs unchanged on XLA's own CPU compilers (two API versions), with the same losses and the same counts.
# Steps feed rounding differences back, and each compiler has its own exponentials and orders of summation, so losses drift apart step by step: all 40
# agree to 1e-5 with the newer XLA (its arithmetic is close to ours), the first 5 with the older one, which differs from the newer XLA by as much.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
plugins=$("$root/tools/plugins.sh" "${XT_PLUGINS_DIR:-$BUILD/plugins}" 2>"$tmp/out") || { echo "no foreign plugins: $(tail -n 1 "$tmp/out")"; exit 77; }
cc -O1 -I"$root/include" "$root/tests/slow/losses.c" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$tmp/losses" || exit 1
XT_SUMMARY=off XT_DEVICE=CPU "$tmp/losses" >"$tmp/cpu" 2>"$tmp/out"
check "losses on our compiler" [ "$(wc -l <"$tmp/cpu")" = 40 ]
steps=5
for p in $plugins; do
    name=$(basename "$p" .so)
    XT_DEVICE=$p "$BUILD/mnist_single" >"$tmp/out" 2>&1
    check "$name: program 1 runs" [ $? = 0 ]
    check "$name: 1 compile" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
    check "$name: 468 executions" [ "$(figure "$tmp/out" 'executions +([0-9]+) ')" = 468 ]
    XT_SUMMARY=off XT_DEVICE=$p "$tmp/losses" >"$tmp/other" 2>"$tmp/out"
    check "$name: the first $steps losses agree to 1e-5" \
        awk -v n=$steps 'NR == FNR {a[$1] = $2; next} $1 < n {d = ($2 - a[$1]) / a[$1]; if (d < 0) d = -d; if (d > 1e-5) {print "step", $1, a[$1], $2; bad = 1} k++} END {exit bad || k < n}' "$tmp/cpu" "$tmp/other"
    check "$name: conformance" env XTRAIN="$BUILD/xtrain" bash "$root/tests/conformance/run.sh" "$root/tests/conformance/programs" "$p"
    for t in "$BUILD"/test_device_exec "$BUILD"/test_lazy_*; do
        [ -f "$t" ] && [ -x "$t" ] && check "$name: $(basename "$t")" env XT_TEST_PLUGIN="$p" XT_DEVICE="$p" "$t"
    done
    steps=40
done
finish
