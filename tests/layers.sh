#!/bin/bash
# Who may include whom (doc/architecture.md): a folder under src/ may include only the folders listed for it. Public code includes <xtrain/...> only.
set -u
cd "$(dirname "$0")/.."
declare -A may=(
    [base]="base" [ir]="base ir" [format]="base ir format" [pass]="base ir pass" [grad]="base ir grad" [coll]="base coll"
    [cpu]="base ir pass coll cpu format" [pjrt]="base ir cpu format coll pjrt device/pjrt_abi.h device/pjrt_slots.def" [device]="base device format"
    [lazy]="base ir grad pass format device coll lazy" [ops]="base ir lazy/lazy.h ops" [nn]="base ir format lazy ops nn" [optim]="base ir format lazy ops nn optim" [data]="base ir format lazy data"
    [metrics]="base ir coll lazy metrics" [dist]="base coll device lazy ops dist" [train]="base ir format coll lazy nn optim data metrics dist diag train"
    [diag]="base ir device lazy coll diag" [plan]="base ir format pass device lazy plan"
)
passed=0 failed=0
for dir in src/*/; do
    layer=$(basename "$dir")
    bad=
    while IFS=: read -r file line text; do
        target=$(sed -E 's/.*"([^"]+)".*/\1/' <<<"$text")
        [[ $target == */* ]] || continue
        ok=
        for m in ${may[$layer]:-}; do
            if [[ $target == "$m"/* || $target == "$m" ]]; then ok=1; fi
        done
        [ -n "$ok" ] || bad+="$file:$line includes $target, but $layer may include only: ${may[$layer]:-nothing}"$'\n'
    done < <(grep -rnE '^#include "' "$dir" --include=*.c --include=*.h --include=*.def)
    if [ -n "$bad" ]; then failed=$((failed + 1)); printf '%s' "$bad"; else passed=$((passed + 1)); fi
done
# (A device plugin is the other side: the skeleton of one is made of the readers and the interpreter.)
bad=$(grep -rnE --exclude-dir=device '^#include "(base|ir|format|pass|grad|cpu|pjrt|coll|device|lazy|ops|nn|optim|data|metrics|dist|train|diag|plan)/' cli models examples include 2>/dev/null)
if [ -n "$bad" ]; then failed=$((failed + 1)); echo "$bad"; else passed=$((passed + 1)); fi
# The program has looked at an error when it calls these; the library's own looks must not count (src/lazy/error.c).
bad=$(grep -rnE '\b(xt_error|xt_status_message|xt_status_code)\(' src --include=*.c |
    grep -vE '^src/(base/status|lazy/error)\.c:|XT_API|^[^"]*"[^"]*(xt_error|xt_status_message|xt_status_code)\([^"]*"')
if [ -n "$bad" ]; then failed=$((failed + 1)); printf 'use lazy_pending, status_message, status_code here:\n%s\n' "$bad"; else passed=$((passed + 1)); fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
