#!/bin/bash
# xtrain new makes a project that builds, trains as a program and by `xtrain fit`; xtrain cache lists, checks and
# removes compiled programs.
set -u
. "$(dirname "$0")/../examples/lib.sh"
unset XT_CACHE
export XT_CACHE_DIR=$tmp/cache
"$XTRAIN" cache ls >"$tmp/out" 2>&1
check "no cache yet is no error" [ $? = 0 ]
check "says so" grep -q 'there is no compile cache yet' "$tmp/out"
(cd "$tmp" && "$XTRAIN" new demo) >"$tmp/out" 2>&1
check "xtrain new demo" [ $? = 0 ]
for f in demo.c main.c Makefile README.md .gitignore; do check "it has $f" [ -s "$tmp/demo/$f" ]; done
asan=
nm "$BUILD/libxtrain.so" | grep -q __asan_init && asan=-fsanitize=address,undefined
make -C "$tmp/demo" CFLAGS="-O1 -Wall -Wextra -Wpedantic -Werror $asan" >"$tmp/out" 2>&1
check "make" [ $? = 0 ]
(cd "$tmp/demo" && ./demo --max_epochs 2) >"$tmp/out" 2>&1
check "the plain program" [ $? = 0 ]
check "its files" [ -n "$(ls -d "$tmp"/runs/demo/version_0 2>/dev/null)" ]
(cd "$tmp/demo" && "$XTRAIN" fit ./demo.so --max_epochs 3 --json) >"$tmp/fit" 2>"$tmp/out"
check "xtrain fit ./demo.so" [ $? = 0 ]
check "it learns" \
    awk -v t="$(tail -n 1 "$tmp/fit")" \
    'BEGIN {match(t, /"val_loss": [0-9.e-]+/); exit !(RLENGTH > 12 && substr(t, RSTART + 12, RLENGTH - 12) + 0 < 0.2)}'
make -C "$tmp/demo" fit >"$tmp/out" 2>&1
check "make fit" [ $? = 0 ]
(cd "$tmp" && "$XTRAIN" new demo) >"$tmp/out" 2>&1
check "an existing folder is refused" [ $? = 1 ]
"$XTRAIN" new "$tmp/a b" >"$tmp/out" 2>&1
check "a name that is none is a usage error" [ $? = 2 ]
check "and nothing is made" [ ! -e "$tmp/a b" ]

n=$(find "$tmp/cache" -name '*.xtc' | wc -l)
"$XTRAIN" cache ls >"$tmp/out" 2>&1
check "cache ls lists each file" [ "$(grep -cE '^[0-9a-f]{32}\.xtc +[0-9]+ ' "$tmp/out")" = "$n" ]
check "there are some" [ "$n" -ge 2 ]
"$XTRAIN" cache verify >"$tmp/out" 2>&1
check "cache verify: all sound" grep -q 'all sound' "$tmp/out"
f=$(find "$tmp/cache" -name '*.xtc' | head -n 1)
# The byte written differs from the one that is there: which programs the cache holds, and so their bytes, changes from
# run to run.
[ "$(tail -c +101 "$f" | head -c 1 | tr -d '\0')" = X ] && byte=Y || byte=X
printf "$byte" | dd of="$f" bs=1 seek=100 conv=notrunc 2>/dev/null
"$XTRAIN" cache verify >"$tmp/out" 2>&1
check "a damaged file is exit 1" [ $? = 1 ]
check "and named" grep -q "^$(basename "$f") .*its checksum is wrong" "$tmp/out"
"$XTRAIN" cache prune --json >"$tmp/out" 2>&1
check "prune removes it" grep -q '"removed": 1' "$tmp/out"
check "and nothing else" [ "$(find "$tmp/cache" -name '*.xtc' | wc -l)" = $((n - 1)) ]
"$XTRAIN" cache prune --all >"$tmp/out" 2>&1
check "prune --all" [ "$(find "$tmp/cache" -name '*.xtc' | wc -l)" = 0 ]
"$XTRAIN" cache ls --all >"$tmp/out" 2>&1
check "options of prune belong to prune" [ $? = 2 ]
"$XTRAIN" cache >"$tmp/out" 2>&1
check "an action is needed" [ $? = 2 ]
chmod 755 "$tmp/cache"
"$XTRAIN" cache verify >"$tmp/out" 2>&1
check "a folder that others may enter is refused" [ $? = 1 ]
chmod 700 "$tmp/cache"
XT_CACHE=off "$XTRAIN" cache ls >"$tmp/out" 2>&1
check "a cache that is off is said" [ $? = 1 ]
finish
