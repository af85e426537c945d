#!/bin/bash
# Everything compiles with clang 14, warnings as errors, and the unit tests pass so built.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
command -v clang-14 >"$tmp/out" 2>&1 || {
    echo "clang-14 is not installed (Debian's package clang-14, libomp-14-dev)"
    exit 77
}
CC=clang-14 tools/build.sh build-clang -Dwerror=true >"$tmp/out" 2>&1
check "the build" [ $? = 0 ]
BUILD='' XTRAIN='' tests/run.sh build-clang unit >"$tmp/out" 2>&1
check "the unit tests" [ $? = 0 ]
finish
