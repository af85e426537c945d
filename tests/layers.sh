#!/bin/bash
# Who stands on whom (doc/architecture.md), by includes and by linked symbols.
#  1. A folder under src/ includes only the folders listed for it, and needs symbols of these alone.
#  2. A folder with rooms: each room includes, and needs symbols of, only itself and those before it in the list.
#  3. Files of a folder that all need each other are at most 5, but for those listed with a number, which may only
#     shrink.
#  4. Public code includes <xtrain/...> only.
# Symbols are those of the build in $BUILD, read by tools/symbols.py.
set -u
cd "$(dirname "$0")/.."
build=${BUILD:-build}
declare -A may=(
    [base]="base" [crash]="base crash" [ir]="base ir" [format]="base ir format" [pass]="base ir pass"
    [grad]="base ir grad"
    [coll]="base coll"
    [cpu]="base ir pass coll cpu format"
    [pjrt]="base ir cpu format coll pjrt device/pjrt_abi.h device/pjrt_slots.def" [device]="base device format"
    [lazy]="base crash ir grad pass format device coll lazy" [ops]="base ir lazy/lazy.h lazy/places.h ops"
    [distributions]="base ir lazy ops distributions"
    [nn]="base ir format lazy ops nn" [optim]="base ir format lazy ops nn optim"
    [data]="base ir format device lazy ops data"
    [api]="base lazy api"
    [metrics]="base crash ir coll lazy ops metrics" [dist]="base crash ir coll device lazy ops dist"
    [train]="base crash ir format device coll lazy ops nn optim data metrics dist diag train"
    [diag]="base crash ir device lazy coll diag" [plan]="base ir format pass device lazy plan"
)
# Symbols without an include, as lazy.h or a public header declares them: each with what keeps it. FROM TO reason.
symbols_too="
metrics nn      perplexity is the public cross entropy's
ops     lazy    lazy.h alone is included: what the core offers to other folders
"
# From the lowest to the highest; '.' is what lies in the folder itself. Its FOLDER.h is the face, for all of them.
declare -A rooms=([cpu]="thread vector run plan plan/attention kernel ." [coll]="core shm mpi ."
    [lazy]="core program step mesh")
# FOLDER SIZES reason
circles="
src/ir      20,14  the table of interpreters and its rows, the op table and its type rules
src/grad    19     the table of rules and its rows, which ask for gradients of regions
"
passed=0 failed=0
verdict() { # what is wrong, one line a fault; nothing when all is well
    if [ -n "$1" ]; then
        failed=$((failed + 1))
        printf '%s\n' "$1"
    else
        passed=$((passed + 1))
    fi
}
may_lines=$(for f in "${!may[@]}"; do for m in ${may[$f]}; do echo "may $f $m"; done; done)
room_lines=$(for f in "${!rooms[@]}"; do n=0; for r in ${rooms[$f]}; do echo "room $f $r $((n += 1))"; done; done)
symbol_lines=$(awk 'NF { print "too", $1, $2 }' <<<"$symbols_too")

# What both graphs are judged by. Lines: FROM TO WHAT, files by path; WHAT is the include's line or the symbol.
judge='
    function folder(file,   a) { split(file, a, "/"); return a[2] }
    function room(file) { sub(/^src\/[^\/]+\//, "", file); return sub(/\/[^\/]*$/, "", file) ? file : "." }
    $1 == "may" { may[$2, $3] = 1; list[$2] = list[$2] " " $3; next }
    $1 == "too" { if (kind == "symbol") may[$2, $3] = 1; next }
    $1 == "room" { level[$2, $3] = $4; roomy[$2] = 1; next }
    {
        from = folder($1); to = folder($2); target = $2; sub(/^src\//, "", target)
        says = kind == "include" ? $1 ":" $3 " includes " target : $1 " needs " $3 " of " $2
        if (!((from, to) in may) && !((from, target) in may))
            print from "\t" says ", but " from " may stand only on:" list[from]
        else if (from == to && roomy[from] && $2 != "src/" from "/" from ".h") {
            if (!((from, room($1)) in level)) print from "\t" $1 " lies in no room of src/" from
            else if (level[from, room($2)] > level[from, room($1)]) print from "\t" says ", which stands above it"
        }
    }'
rules=$(printf '%s\n%s\n%s\n' "$may_lines" "$room_lines" "$symbol_lines")

includes=$(grep -rnE '^#include "[^"]+/[^"]+"' src --include=*.c --include=*.h --include=*.def --include=*.inc |
    sed -E 's/^([^:]+):([0-9]+):#include "([^"]+)".*/\1 src\/\3 \2/')
wrong=$(printf '%s\n%s\n' "$rules" "$includes" | awk -v kind=include "$judge")
for dir in src/*/; do verdict "$(awk -F'\t' -v f="$(basename "$dir")" '$1 == f { print $2 }' <<<"$wrong")"; done

if ! command -v python3 nm >/dev/null; then
    echo "skip symbols: python3 or nm is missing"
else
    symbols=$(tools/symbols.py "$build") && rings=$(tools/symbols.py "$build" --circles) || exit 1
    wrong=$(printf '%s\n%s\n' "$rules" "$symbols" | awk -v kind=symbol "$judge")
    for dir in src/*/; do verdict "$(awk -F'\t' -v f="$(basename "$dir")" '$1 == f { print $2 }' <<<"$wrong")"; done
    # An exception that nothing needs any longer goes.
    while read -r _ from to; do
        grep -q "^src/$from/[^ ]* src/$to/" <<<"$symbols" ||
            verdict "$from needs no symbol of $to: its line in symbols_too of tests/layers.sh can go"
    done <<<"$symbol_lines"
    # Circles of more than 5 files by folder, "19,12", against those that are listed.
    for dir in src/*/; do
        dir=${dir%/}
        now=$(awk -v d="$dir" '$1 == d && $2 > 5 { printf "%s%s", sep, $2; sep = "," }' <<<"$rings")
        known=$(awk -v d="$dir" '$1 == d { print $2 }' <<<"$circles")
        if [ "$now" = "$known" ]; then
            verdict ""
        elif [ "$(printf '%s\n' "${now:-0}" "${known:-0}" | sort -t, -k1,1n -k2,2n | tail -n 1)" = "${known:-0}" ]; then
            verdict "$dir: its circles have ${now:-at most 5} files; write that where tests/layers.sh allows $known"
        else
            verdict "$dir: $now files that all need each other, at most ${known:-5} allowed:
$(grep "^$dir " <<<"$rings" | head -n 3)"
        fi
    done
fi
# (A device plugin is the other side: the skeleton of one is made of the readers and the interpreter.)
folders=$(printf '%s\n' "${!may[@]}" | paste -sd'|')
verdict "$(grep -rnE --exclude-dir=device "^#include \"($folders)/" cli models examples include 2>/dev/null)"
# A thread may use what the process may (src/base/cpus.h).
verdict "$(grep -rn --include=*.c 'pthread_create(' src | grep -v '^src/base/cpus')"
# Another thread may be reading the environment (env_set).
verdict "$(grep -rnE --include=*.c '\b(set|unset|put|clear)env\(' src | grep -vE '^src/base/env.c|:[0-9]+: ?[/*]')"
# A program that a test links has the library's sanitizers, or the script says what it does where there are some.
verdict "$(for t in tests/cli/*.sh tests/examples/*.sh; do
    grep -q ASAN_BUILD "$t" && continue
    sed -e :a -e '/\\$/N; s/\\\n//; ta' "$t" | grep -- '-lxtrain' | grep -v asan | sed "s|^|$t: no ASAN_BUILD: |"
done)"
# Who adds a file says in the walk what it is for.
verdict "$(tools/walk.sh)"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
