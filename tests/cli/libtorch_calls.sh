#!/bin/bash
# Calls that libtorch has mean the same in C++ here (libtorch_calls.py).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd) calls=$(dirname "$0")/libtorch_calls
export XT_SUMMARY=off
for program in python3 g++; do
    command -v $program >/dev/null || { echo "no $program here"; exit 77; }
done
[ -n "${ASAN_BUILD:-}" ] && { echo "the methods are C's functions, which have their own tests"; exit 77; }
python3 "$calls.py" program "$calls.txt" >"$tmp/calls.cpp" &&
    g++ -std=c++17 -w -I"$root/include" "$tmp/calls.cpp" -o "$tmp/calls" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" \
        >"$tmp/out" 2>&1
check "calls compile" [ $? = 0 ]
"$tmp/calls" >"$tmp/results" 2>"$tmp/err"
check "and run" [ $? = 0 ]
echo '#include <xtrain.hpp>' | g++ -std=c++17 -E -P -I"$root/include" -x c++ - >"$tmp/header"
python3 "$calls.py" compare "$calls.txt" "$tmp/results" "$tmp/header" >"$tmp/out"
check "they mean what libtorch's mean" [ $? = 0 ]
cat "$tmp/out"
finish
