#!/bin/bash
# Runs every program of a folder (DIR/NAME/{prog.mlir,in*.npy,out*.npy}) and compares its outputs. Integers and booleans
# must be exact; floats may differ by what xtrain run --expect allows: 1e-5 in f32 and where f32 goes in, 1e-12 in f64,
# because sums run in another order than in the compiler that made the answers and its exponentials and logarithms are
# approximations of their own.
# usage: tests/conformance/run.sh [DIR [DEVICE]]    DEVICE: as --device (default: interpreter and CPU, each counted)
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$here/programs}
devices=${2:-interpreter CPU}
xtrain=${XTRAIN:-$here/../../build/xtrain}
passed=0 failed=0
for device in $devices; do
    for prog in "$dir"/*/prog.mlir; do
        at=$(dirname "$prog")
        # Programs that call into the library of the framework that wrote them run only on the devices named in
        # only.txt, which also says why.
        [ -f "$at/only.txt" ] && ! head -n 1 "$at/only.txt" | grep -qw -- "$device" && continue
        in=() out=()
        for ((i = 0; ; i++)); do [ -f "$at/in$i.npy" ] || break; in+=("$at/in$i.npy"); done
        for ((i = 0; ; i++)); do [ -f "$at/out$i.npy" ] || break; out+=("$at/out$i.npy"); done
        args=()
        [ ${#in[@]} -gt 0 ] && args+=(--input "${in[@]}")
        [ ${#out[@]} -gt 0 ] && args+=(--expect "${out[@]}")
        if said=$("$xtrain" run "$prog" --device "$device" "${args[@]}" 2>&1); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "$device $(basename "$at"): $(tail -n 1 <<<"$said")"
        fi
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
