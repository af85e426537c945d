#!/bin/bash
# The compiler's tests with no memory behind any allocation (tests/guard.c): our kernels, those made at run time,
# oneDNN's and OpenBLAS's neither read nor write behind what they were given. The instruction sets take turns.
# GUARDED: the tests, each in every set (tests/slow/guarded.sh: all); those of a few seconds unless it is set.
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
in_sets() { # TEST SET ... ("best": what the processor has)
    local t=$1 set
    shift
    for set in "$@"; do
        guarded "$BUILD/test_cpu_$t" "${set#best}"
        check "test_cpu_$t with $set" [ $? = 0 ]
    done
}
sets=(best avx2 base) turn=0
if [ -n "${GUARDED:-}" ]; then
    for t in $GUARDED; do in_sets "$t" "${sets[@]}"; done
else
    for t in chwn conv conv_random index jit layout linalg ops packed passes random reduce reduce_fused rng simd sort \
        special special_rows; do
        in_sets "$t" "${sets[turn++ % 3]}"
    done
fi
finish
