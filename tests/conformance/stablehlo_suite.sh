#!/bin/bash
# Runs the StableHLO project's own programs, given a checkout of that project, and counts.
# usage: tests/conformance/stablehlo_suite.sh CHECKOUT [--device D]... [--jobs N] [--only PATTERN] [--text]
#
# Programs: stablehlo/tests/interpret/**/*.mlir, stablehlo/testdata/*.mlir and its folder `quantized`, each with `xtrain
# run`, which checks their assertions. Devices: the reference interpreter and the CPU plugin unless --device names
# others. With --text also every .mlir of testdata, its folders `dynamic` and `quantized` included, must print, parse
# and print again as the same text, pretty and generic; dynamic programs are not run (no inputs come with them).
# never.txt and not_yet.txt beside this script hold what is expected to fail: FILE DEVICE REASON, one a line; DEVICE may
# be * or text. An entry that passes is reported as stale and fails the run, as does a file that fails without an entry.
set -u
here=$(cd "$(dirname "$0")" && pwd)
checkout= devices=() jobs=2 only= text=
while [ $# -gt 0 ]; do
    case $1 in
        --device) devices+=("$2"); shift ;;
        --jobs) jobs=$2; shift ;;
        --only) only=$2; shift ;;
        --text) text=1 ;;
        -*) sed -n '3,3p' "$0" | cut -c3- >&2; exit 2 ;;
        *) checkout=$1 ;;
    esac
    shift
done
root=$checkout/stablehlo
[ -d "$root/testdata" ] || { echo "usage: $0 CHECKOUT [--device D]...: no folder $root/testdata" >&2; exit 2; }
[ ${#devices[@]} -gt 0 ] || devices=(interpreter CPU)
export XTRAIN=${XTRAIN:-$(cd "$here/../.." && pwd)/build/xtrain} ROOT=$root
export XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$(dirname "$XTRAIN")} XT_CACHE=off XT_SUMMARY=off XT_PROGRESS=off
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMP_DIR=$tmp

# one DEVICE FILE: a line "ok FILE DEVICE" or "bad FILE DEVICE REASON"; FILE relative to stablehlo/
one() {
    local device=$1 file=$2 out dir=$TMP_DIR/$BASHPID said
    if [ "$device" = text ]; then
        said=$(fixed_point "$ROOT/$file" "$dir" 2>&1)
    else
        args=$(sed -n 's/^\/\/ RUN: stablehlo-translate .*--args="\(.*\)".*/\1/p' "$ROOT/$file" | head -n 1)
        mkdir -p "$dir"
        said=$(timeout 120 "$XTRAIN" run "$ROOT/$file" --device "$device" --output-dir "$dir" ${args:+--args "$args"} \
            2>&1)
    fi
    if [ $? = 0 ]; then
        echo "ok $file $device"
    else
        out=$(tail -n 1 <<<"$said")
        echo "bad $file $device ${out//$ROOT\//}"
    fi
    rm -rf "$dir" "$dir".*
}
# Text printed from text printed must not change; the generic form must say the same program.
fixed_point() {
    local file=$1 t=$2
    timeout 60 "$XTRAIN" run "$file" --print pretty >"$t.1.mlir" || return 1
    timeout 60 "$XTRAIN" run "$t.1.mlir" --print pretty >"$t.2.mlir" || return 1
    timeout 60 "$XTRAIN" run "$t.1.mlir" --print generic >"$t.3.mlir" || return 1
    timeout 60 "$XTRAIN" run "$t.3.mlir" --print pretty >"$t.4.mlir" || return 1
    cmp -s "$t.1.mlir" "$t.2.mlir" || { echo "pretty text changes when printed again"; return 1; }
    cmp -s "$t.1.mlir" "$t.4.mlir" || { echo "generic text reads as another program"; return 1; }
}
export -f one fixed_point

programs() { (cd "$root" && ls tests/interpret/*.mlir tests/interpret/*/*.mlir testdata/*.mlir \
    testdata/quantized/*.mlir 2>/dev/null); }
texts() { (cd "$root" && ls testdata/*.mlir testdata/dynamic/*.mlir testdata/quantized/*.mlir 2>/dev/null); }
{
    for device in "${devices[@]}"; do programs | sed "s|^|$device |"; done
    [ -z "$text" ] || texts | sed 's|^|text |'
} | { [ -z "$only" ] && cat || grep -E -- "$only"; } >"$tmp/work"
xargs -P "$jobs" -L 1 bash -c 'one "$0" "$1"' <"$tmp/work" | sort >"$tmp/results"

awk -v never="$here/never.txt" -v notyet="$here/not_yet.txt" '
    function load(path, kind,   line, f) {
        while ((getline line < path) > 0) {
            if (line ~ /^#/ || split(line, f, " ") < 3) continue
            listed[f[1] " " f[2]] = kind
        }
    }
    function entry(file, device) {
        if ((file " " device) in listed) return file " " device
        return device != "text" && (file " *") in listed ? file " *" : ""
    }
    BEGIN { load(never, "never"); load(notyet, "not yet") }
    {
        e = entry($2, $3)
        if (e != "") { seen[e] = 1; if ($1 == "ok") passes[e]++; else { fails[e]++; count[listed[e]]++ } }
        if ($1 == "ok") { passed++; next }
        if (e != "") next
        failed++
        sub(/^bad /, ""); print "FAIL " $0
    }
    END {
        for (e in seen) if (passes[e] && !fails[e]) { stale++; print "STALE (" listed[e] ") " e " passes now" }
        printf "%d listed as never, %d as not yet, %d stale entries\n", count["never"], count["not yet"], stale
        printf "%d passed, %d failed\n", passed, failed + stale
        exit failed + stale > 0
    }' "$tmp/results"
