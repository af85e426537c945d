#!/bin/bash
# Does xtrain read the StableHLO project's compatibility files, one of each version, as it reads the texts beside them?
# Functions are compared as printed: each that the bytecode gives and the text gives must be the same. What only one
# side can have (quantized types, declarations, buffers) is counted. Blanks, and defaults that only the text says
# (api_version 1, zero tolerances), are no difference; nor is the spelling of a flag and of an exponent.
# usage: tests/conformance/bytecode.sh CHECKOUT
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?usage: $0 CHECKOUT}
export XTRAIN=${XTRAIN:-$(cd "$here/../.." && pwd)/build/xtrain}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# The text without the functions that are refused: the function around the line of each error goes, until none is left.
readable() { # FILE OUT
    # No comments, no declarations.
    awk '/^\/\// || (/^func\.func private/ && !/\{ *$/) { print ""; next } { print }' "$1" >"$tmp/text.mlir"
    for ((i = 0; i < 120; i++)); do
        said=$(timeout 20 "$XTRAIN" run "$tmp/text.mlir" --print pretty 2>&1 >"$2") && return 0
        line=$(sed -n 's/.*text\.mlir:\([0-9]*\):.*/\1/p' <<<"$said" | head -n 1)
        [ -n "$line" ] || break
        awk -v bad="$line" '
            { text[NR] = $0 }
            /^func\.func|^"?[a-z_]+\.|^}/ { if (NR <= bad) first = NR }
            END {
                while (first > 1 && text[first] !~ /^func\.func|^"?[a-z_]+\./) first--
                last = first
                while (last < NR && text[last] !~ /^}/) last++
                for (k = 1; k <= NR; k++) print (k < first || k > last ? text[k] : "")
            }' "$tmp/text.mlir" >"$tmp/next.mlir"
        cmp -s "$tmp/text.mlir" "$tmp/next.mlir" && break
        mv "$tmp/next.mlir" "$tmp/text.mlir"
    done
    echo "the text: $said"
    return 1
}

while read -r file; do
    name=$(basename "$file")
    said=$(timeout 20 "$XTRAIN" run "$file" --print pretty 2>&1 >"$tmp/bytecode.out")
    rc=$?
    case $name in
    invalid_*) # of a version that is yet to come: must be refused, with the byte
        [ $rc = 1 ] && [[ $said == *": byte "* ]] && passed=$((passed + 1)) &&
            echo "ok   $name refused: ${said##*: byte }" && continue
        ;;
    *)
        if [ $rc = 0 ] && said=$(readable "${file%.bc}" "$tmp/text.out") && counts=$(awk '
            function flush() {
                gsub(/[ \n]+/, " ", body)
                gsub(/< /, "<", body)
                gsub(/ >/, ">", body)
                gsub(/{api_version = 1 : i32} /, "", body)
                gsub(/has_dynamic_root = true/, "has_dynamic_root", body)
                gsub(/(atol|rtol) = 0\.0+e\+00, |ulps = 0, /, "", body)
                gsub(/e-0/, "e-", body)
                accuracy = "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>"
                gsub(" {result_accuracy = " accuracy "}", "", body)
                if (name) all[side, name] = body
                if (name) names[name] = 1
                name = ""
            }
            FNR == 1 { flush(); side++ }
            /^ *func\.func/ { flush(); match($0, /@[A-Za-z0-9_.$"-]+/); name = substr($0, RSTART, RLENGTH); body = "" }
            name { body = body $0 "\n" }
            END {
                flush()
                for (n in names) {
                    if (!((1, n) in all)) { text_only++; missing = missing " " n }
                    else if (!((2, n) in all)) code_only++
                    else if (all[1, n] == all[2, n]) same++
                    else { differ++; printf "differs:\n%s\n%s\n", all[1, n], all[2, n] }
                }
                printf "%d functions the same, %d differ, %d only in bytecode, %d only in text%s\n",
                    same, differ, code_only, text_only, missing
                exit differ + text_only > 0 || same == 0
            }' "$tmp/bytecode.out" "$tmp/text.out"); then
            passed=$((passed + 1))
            echo "ok   $name: $counts"
            continue
        fi
        ;;
    esac
    failed=$((failed + 1))
    echo "FAIL $name: ${said:-} ${counts:-}"
done < <(find "$root" -name '*.mlir.bc' | sort)
echo "$passed passed, $failed failed"
[ $failed = 0 ]
