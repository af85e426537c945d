#!/bin/bash
# Every method of xt::tensor that computes is a function too, and has libtorch's arguments (doc/from-pytorch.md).
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only reads the headers; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
echo '#include <xtrain.hpp>' | g++ -std=c++17 -E -P -I"$root/include" -x c++ - >"$tmp/header" &&
    python3 "$root/tests/cli/cpp_functions.py" "$root/tests/cli/libtorch_methods.txt" <"$tmp/header" >"$tmp/out" 2>&1
check "every method is a function too, with libtorch's arguments" [ $? = 0 ]
cat "$tmp/out"
finish
