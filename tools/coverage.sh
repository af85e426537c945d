#!/bin/bash
# Which lines the tests execute: builds with -Db_coverage=true, runs them, prints the share of lines by folder. Ranks
# count as well: those that are forked, end by _exit or become another program write their counters before (see
# tools/coverage/preload.c). A program that is killed by a signal leaves nothing.
# usage: tools/coverage.sh BUILD_DIR [SUITE ...]   suites of tests/run.sh; unit when none is given
#        LIST=FOLDER tools/coverage.sh ...         also each file of that folder
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- unit
command -v gcov >/dev/null || { echo "gcov is missing: it comes with gcc" >&2; exit 1; }
tools/build.sh "$build" -Db_coverage=true
build=$(cd "$build" && pwd)
cc -shared -fPIC -O1 -D_GNU_SOURCE -Wall -Werror -o "$build/coverage_preload.so" tools/coverage/preload.c -ldl
find "$build" -name '*.gcda' -delete
failed=0
LD_PRELOAD="$build/coverage_preload.so${LD_PRELOAD:+:$LD_PRELOAD}" tests/run.sh "$build" "$@" || failed=1
cd "$build"
# "File 'NAME'" and "Lines executed:P% of N" for each source of an object; headers count where they are included, which
# says nothing of a folder, so they are left out.
find libxtrain*.p xtrain.p -name '*.gcno' | sort | xargs gcov -n 2>/dev/null | awk -v list="${LIST:-}" '
    /^File / { name = substr($2, 2, length($2) - 2); sub(/^(\.\.\/)+/, "", name); next }
    /^Lines executed:/ && name ~ /^(src|cli|models)\/.*\.c$/ {
        sub(/^Lines executed:/, "")
        n = split(name, part, "/")
        folder = part[1] == "src" && n > 2 ? "src/" part[2] : part[1]
        hit = $1 * $3 / 100
        lines[folder] += $3; hits[folder] += hit; all += $3; all_hit += hit
        if (list != "" && index(name, list) == 1) printf "%6.1f %%  %6d lines  %s\n", $1, $3, name | "sort -k5"
    }
    { name = "" }
    END {
        close("sort -k5")
        for (f in lines) printf "%6.1f %%  %6d lines  %s\n", 100 * hits[f] / lines[f], lines[f], f | "sort -k5"
        close("sort -k5")
        if (all) printf "%6.1f %%  %6d lines  all\n", 100 * all_hit / all, all
    }'
exit $failed
