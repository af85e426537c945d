#!/bin/bash
# A process that brings its own libgomp (PyTorch): oneDNN's regions are libgomp's there, and so are the loops of a
# program that has such regions. They run in as many threads as elsewhere.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off GOMP_SPINCOUNT=1000
cd "$tmp" || exit 1
# shellcheck disable=SC2086
"${CC:-cc}" ${ASAN_BUILD:+-fsanitize=address,undefined} -O2 -I"$root/include" "$root/tests/cli/own_libgomp.c" \
    -o own_libgomp -L"$BUILD" -lxtrain -ldl -Wl,-rpath,"$BUILD" || exit 1
busy() { sed -nE "s/^sum [^ ]+, ([0-9]+) and ([0-9]+) ms\$/\\$1/p" out; }
XT_THREADS=1 timeout 100 ./own_libgomp >out 2>&1
check "one thread works where one is asked for" [ $(($(busy 2) * 5)) -lt "$(busy 1)" ]
XT_THREADS=2 timeout 100 ./own_libgomp >out 2>&1
check "both work where two are asked for" [ $(($(busy 2) * 3)) -gt "$(busy 1)" ]
finish
