#!/bin/bash
# A mistake in a constructor's options names the line of the call, however the program was built: without debug
# information, stripped, in a shared object.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_CACHE=off
build() { # build OUT FLAGS...
    local out=$1
    shift
    # shellcheck disable=SC2086
    "${CC:-cc}" ${ASAN_BUILD:+-fsanitize=address,undefined} "$@" -I"$root/include" -o "$tmp/$out" \
        -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
}
cat >"$tmp/host.c" <<'C'
#include <dlfcn.h>
int main(void) {
    void *so = dlopen("./lines.so", RTLD_NOW);
    int (*run)(void) = so ? (int (*)(void))dlsym(so, "run") : 0;
    return run ? run() : 99;
}
C
build o2 -O2 "$root/tests/cli/lines.c"
build stripped -O2 -s "$root/tests/cli/lines.c"
build lines.so -O2 -s -fPIC -shared -Dmain=run "$root/tests/cli/lines.c"
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} "$tmp/host.c" -o "$tmp/dlopened" -ldl
for p in o2 stripped dlopened; do
    (cd "$tmp" && timeout 300 "./$p") >"$tmp/out" 2>&1
    check "$p: each mistake is told with its line" [ $? = 0 ]
    check "$p: all were made" grep -qE '^3[0-9] tried, 0 wrong$' "$tmp/out"
done
finish
