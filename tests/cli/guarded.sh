#!/bin/bash
# The compiler's tests with no memory behind any allocation (tests/guard.c), in each instruction set: our kernels, those
# made at run time, oneDNN's and OpenBLAS's neither read nor write behind what they were given.
# GUARDED: the tests; those of a few seconds unless it is set (tests/slow/guarded.sh: all).
# GUARDED_SECONDS: how long each may take
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${ASAN_BUILD:-}" ]; then
    echo "a sanitizer has its own malloc"
    exit 77
fi
cc -std=c11 -O2 -Wall -Wextra -Werror -fno-builtin -shared -fPIC "$root/tests/guard.c" -o "$tmp/guard.so" || exit 1
# guarded PROGRAM [SET]: XT_CPU_FEATURES is SET, or not set. Primitives are few: a process has some 65,000 mappings.
guarded() {
    env -u XT_CPU_FEATURES ${2:+XT_CPU_FEATURES=$2} ONEDNN_PRIMITIVE_CACHE_CAPACITY=32 LD_PRELOAD="$tmp/guard.so" \
        timeout "${GUARDED_SECONDS:-100}" "$1" >"$tmp/out" 2>&1
}
cat >"$tmp/behind.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv) {
    (void)argv;
    volatile long *p = malloc(16 * sizeof *p);
    return (int)p[15 + argc] & 0;
}
END
cc -O0 "$tmp/behind.c" -o "$tmp/behind"
guarded "$tmp/behind" 2>/dev/null
check "a read of one word too many ends the program" [ $? = 139 ]
for t in ${GUARDED:-chwn conv conv_random index jit layout linalg ops packed passes random reduce reduce_fused rng \
    simd sort special special_rows}; do
    for set in "" avx2 base; do
        guarded "$BUILD/test_cpu_$t" $set
        check "test_cpu_$t${set:+ with $set}" [ $? = 0 ]
    done
done
finish
