#!/bin/bash
# Program 1 of the users: one compile and 468 executions; a second start compiles nothing.
. "$(dirname "$0")/lib.sh"
"$BUILD/mnist_single" >"$tmp/out" 2>&1
check "exit code 0" [ $? = 0 ]
check "1 compile" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
check "468 executions" [ "$(figure "$tmp/out" 'executions +([0-9]+) ')" = 468 ]
check "no read" [ "$(figure "$tmp/out" 'transfers +([0-9]+) reads')" = 0 ]
export XT_CACHE=on XT_CACHE_DIR=$tmp/cache
"$BUILD/mnist_single" >"$tmp/out" 2>&1
"$BUILD/mnist_single" >"$tmp/out" 2>&1
check "second start compiles nothing" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 0 ]
check "second start loads one program" [ "$(figure "$tmp/out" '([0-9]+) from disk')" = 1 ]
check "cache folder is private" [ "$(stat -c %a "$tmp/cache")" = 700 ]
printf 'damaged' | dd of="$(ls "$tmp"/cache/*.xtc)" bs=1 seek=60 conv=notrunc 2>/dev/null
"$BUILD/mnist_single" >"$tmp/out" 2>&1
check "a damaged cache file is reported" grep -q 'cache file .* is not usable: its checksum is wrong' "$tmp/out"
check "and compiled again" [ "$(figure "$tmp/out" 'programs +([0-9]+) compiled')" = 1 ]
finish
