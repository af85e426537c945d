#!/bin/bash
# The boundary is real: programs unchanged on XLA's own CPU compilers (two API versions), with the same losses and the
# same counts. In f64 all 40 losses agree to 1e-9, running free and from the same state at every step, and so do the
# states after the steps: the network's max pools and relus have no value so near their edge that f64's last bit
# decides. f32 has some, of which each puts one gradient, and what follows when running free, on another course; which
# steps they meet changes with every change of rounding, so of f32's states it is asked that three in four agree to
# 1e-5. Its losses agree to 1e-5 from the same state, and to 1e-2 running free.
# PLUGIN_TURNS=1: the plugins take turns with the unit tests.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
plugins=$("$root/tools/plugins.sh" "${XT_PLUGINS_DIR:-$BUILD/plugins}" 2>"$tmp/out") || {
    echo "no foreign plugins: $(tail -n 1 "$tmp/out")"
    exit 77
}
cc -O1 -I"$root/include" "$root/tests/slow/losses.c" -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" -o "$tmp/losses" ||
    exit 1
for dtype in f32 f64; do
    mkdir "$tmp/states.$dtype"
    XT_SUMMARY=off XT_DEVICE=CPU "$tmp/losses" $dtype save "$tmp/states.$dtype" >"$tmp/cpu.$dtype" 2>"$tmp/out"
    check "$dtype losses on our compiler" [ "$(wc -l <"$tmp/cpu.$dtype")" = 40 ]
done
# agree TOLERANCE OURS FILE: all 40 losses of FILE are those of our compiler
agree() {
    awk -v tolerance="$1" '
        NR == FNR {a[$1] = $2; next}
        {
            d = ($2 - a[$1]) / a[$1]
            if (d < 0) d = -d
            if (!(d <= tolerance)) {print "step", $1, a[$1], $2; bad = 1}
            k++
        }
        END {exit bad || k < 40}' "$2" "$3"
}
# same_states TOLERANCE FAR FILE: all of the 40 states but FAR agree
same_states() {
    awk -v tolerance="$1" -v most="$2" '
        !($3 <= tolerance) {print "step", $1, "state", $3; far++}
        END {exit far > most || NR < 40}' "$3"
}
n_plugins=$(wc -w <<<"$plugins") turn=0
for p in $plugins; do
    name=$(basename "$p" .so) turn=$((turn + 1)) k=$turn
    XT_DEVICE=$p "$BUILD/mnist_single" >"$tmp/out" 2>&1
    check "$name: program 1 runs" [ $? = 0 ]
    check "$name: 1 compile" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
    check "$name: 468 executions" [ "$(figure "$tmp/out" 'executions +([0-9]+) ')" = 468 ]
    while read -r dtype from_state far free; do
        XT_SUMMARY=off XT_DEVICE=$p "$tmp/losses" $dtype from "$tmp/states.$dtype" >"$tmp/other" 2>"$tmp/out"
        check "$name: $dtype, from the same state, all losses agree to $from_state" \
            agree $from_state "$tmp/cpu.$dtype" "$tmp/other"
        check "$name: $dtype, from the same state, all next states but $far agree to $from_state" \
            same_states $from_state $far "$tmp/other"
        XT_SUMMARY=off XT_DEVICE=$p "$tmp/losses" $dtype >"$tmp/other" 2>"$tmp/out"
        check "$name: $dtype, running free, all losses agree to $free" agree $free "$tmp/cpu.$dtype" "$tmp/other"
    done <<<"f32 1e-5 10 1e-2
f64 1e-9 0 1e-9"
    check "$name: conformance" env XTRAIN="$BUILD/xtrain" \
        bash "$root/tests/conformance/run.sh" "$root/tests/conformance/programs" "$p"
    for t in "$BUILD"/test_device_exec "$BUILD"/test_lazy_*; do
        [ -f "$t" ] && [ -x "$t" ] || continue
        case $t in */test_lazy_loops_in_row) continue ;; esac # hundreds of programs, for what no device has a part in
        k=$((k + 1))
        [ -n "${PLUGIN_TURNS:-}" ] && [ $((k % n_plugins)) != 0 ] && continue
        check "$name: $(basename "$t")" env XT_TEST_PLUGIN="$p" XT_DEVICE="$p" "$t"
    done
done
finish
