#!/bin/bash
# A program that uses every name of the API's description compiles as C11 and C++20, by gcc and clang, without a
# warning, and runs.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
# try COMPILER FLAGS...: compiles and runs
try() {
    local compiler=$1
    command -v "$compiler" >/dev/null || { echo "skip $*: $compiler is not installed"; return; }
    # clang's sanitizer runtime is not gcc's, which the library has
    [ -n "$asan" ] && [[ $compiler == clang* ]] && { echo "skip $*: the library has gcc's sanitizers"; return; }
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror $asan \
        -I"$root/include" "$root/tests/examples/api_names.c" -x none \
        -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" -o "$tmp/api" >"$tmp/out" 2>&1
    local rc=$?
    check "$*: compiles" [ $rc = 0 ]
    [ $rc = 0 ] || return
    (cd "$tmp" && ./api) >"$tmp/out" 2>&1
    check "$*: runs" [ $? = 0 ]
    check "$*: says so" grep -q '^api: ok$' "$tmp/out"
}
try gcc -std=c11
try clang -std=c11
try g++ -std=c++20 -x c++
try clang++ -std=c++20 -x c++
finish
