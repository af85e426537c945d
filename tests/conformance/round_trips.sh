#!/bin/bash
# Do programs survive our own writers? Given a checkout of the StableHLO project, every .mlir of its testdata (folders
# below it too) and of tests/interpret goes text -> our bytecode -> text, every .mlir.bc of its compatibility tests
# bytecode -> text -> text and bytecode -> our bytecode -> text; what is printed must be the same each time, in the
# generic form, which says every attribute, but for defaults that are spelled out.
# usage: tests/conformance/round_trips.sh CHECKOUT [--jobs N] [--only PATTERN]
# round_trips.txt beside this script holds what is expected not to: FILE REASON, one a line, FILE relative to
# CHECKOUT/stablehlo, a * matches anything. A file that fails without an entry, and an entry without a file that fails,
# fail the run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
checkout= jobs=2 only=
while [ $# -gt 0 ]; do
    case $1 in
        --jobs) jobs=$2; shift ;;
        --only) only=$2; shift ;;
        -*) sed -n '5,5p' "$0" | cut -c3- >&2; exit 2 ;;
        *) checkout=$1 ;;
    esac
    shift
done
export ROOT=$checkout/stablehlo XTRAIN=${XTRAIN:-$(cd "$here/../.." && pwd)/build/xtrain} XT_CACHE=off XT_SUMMARY=off \
    XT_PROGRESS=off
[ -d "$ROOT/testdata" ] || {
    echo "usage: $0 CHECKOUT [--jobs N] [--only PATTERN]: no folder $ROOT/testdata" >&2
    exit 2
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMP_DIR=$tmp

print() { timeout 60 "$XTRAIN" run "$1" --print generic >"$2"; } # FILE OUT
trip() { # FILE DIR: each module of it, `// -----` lies between
    grep -q '^// -----' "$1" || { module "$1" "$2"; return; }
    awk -v base="$2.part" '/^\/\/ -----/ { n++ } { f = base "." n + 0 ".mlir"; print >f }' "$1"
    for part in "$2".part.*.mlir; do
        grep -qvE '^(//.*)?[ \t]*$' "$part" || continue # comments alone
        module "$part" "$part" || return 1
    done
}
module() { # FILE DIR
    print "$1" "$2.1.mlir" || return 1
    # What came later than the version that is written by default.
    timeout 60 "$XTRAIN" run "$1" --emit "$2.mlirbc" 2>"$2.said" ||
        {
            grep -qE 'does not have it|needs StableHLO|newer than StableHLO' "$2.said" &&
                timeout 60 "$XTRAIN" run "$1" --emit "$2.mlirbc" --emit-version 1.20.0
        } || {
            cat "$2.said"
            echo "bytecode is not written"
            return 1
        }
    print "$2.mlirbc" "$2.2.mlir" || { echo "our bytecode is not read"; return 1; }
    # An attribute that says its default, which bytecode leaves out as --emit does.
    if ! cmp -s "$2.1.mlir" "$2.2.mlir"; then
        timeout 60 "$XTRAIN" run "$1" --emit "$2.4.mlir" && timeout 60 "$XTRAIN" run "$2.mlirbc" --emit "$2.5.mlir" ||
            return 1
        cmp -s "$2.4.mlir" "$2.5.mlir" || {
            echo "our bytecode says another program: $(diff "$2.4.mlir" "$2.5.mlir" | sed -n '2p;4p' | tr '\n' ' ' |
                cut -c1-400)"
            return 1
        }
    fi
    print "$2.1.mlir" "$2.3.mlir" || { echo "our text is not read"; return 1; }
    cmp -s "$2.1.mlir" "$2.3.mlir" || {
        echo "our text says another program: $(diff "$2.1.mlir" "$2.3.mlir" | sed -n '2p;4p' | tr '\n' ' ' |
            cut -c1-400)"
        return 1
    }
}
one() { # FILE: a line "ok FILE" or "bad FILE REASON"
    local said t=$TMP_DIR/$BASHPID
    if said=$(trip "$ROOT/$1" "$t" 2>&1); then
        echo "ok $1"
    else
        echo "bad $1 $(tr '\n' ' ' <<<"${said//$ROOT\//}")"
    fi
    rm -f "$t".*
}
export -f print trip module one

(cd "$ROOT" && find testdata tests/interpret -name '*.mlir' && find . -name '*.mlir.bc' | sed 's|^\./||') | sort | {
    [ -z "$only" ] && cat || grep -E -- "$only"
} >"$tmp/work"
xargs -P "$jobs" -L 1 bash -c 'one "$0"' <"$tmp/work" | sort >"$tmp/results"
awk -v list="$here/round_trips.txt" -v part="$only" '
    function pattern(s) { gsub(/[.+]/, "\\\\&", s); gsub(/\*/, ".*", s); return "^" s "$" }
    BEGIN {
        while ((getline line < list) > 0) {
            if (line ~ /^#/ || split(line, f, " ") < 2) continue
            at[++n] = pattern(f[1]); text[n] = line
        }
    }
    $1 == "ok" { passed++; kind = $2 ~ /\.bc$/ ? "bytecode" : "text"; good[kind]++; next }
    {
        for (i = 1; i <= n; i++) if ($2 ~ at[i]) { used[i]++; listed++; next }
        failed++
        sub(/^bad /, ""); print "FAIL " $0
    }
    END {
        for (i = 1; i <= n && part == ""; i++) if (!used[i]) { stale++; print "STALE " text[i] }
        for (i = 1; i <= n; i++) if (used[i]) print used[i] " listed: " text[i]
        printf "%d texts and %d bytecode files come back the same, %d listed as not\n",
            good["text"], good["bytecode"], listed
        printf "%d passed, %d failed\n", passed, failed + stale
        exit failed + stale > 0
    }' "$tmp/results"
