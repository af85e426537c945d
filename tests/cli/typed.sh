#!/bin/bash
# Lines as somebody types them who knows PyTorch (typed.txt): each compiles, in C and C++, or the compiler says in words
# what is meant: "LINE ## WORDS" in C, "LINE ## both: WORDS" in C++ too.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
lines=$root/tests/cli/typed.txt
program() { # program: its body from stdin
    printf '#include <math.h>\n#include <xtrain/xtrain.h>\n'
    echo 'void typed(xt_tensor x, xt_tensor y, xt_module *m, xt_optimizer *opt);'
    echo 'void typed(xt_tensor x, xt_tensor y, xt_module *m, xt_optimizer *opt) {'
    sed 's/^/{ /; s/$/ }/'
    echo '(void)x, (void)y, (void)m, (void)opt; }'
}
grep -v ' ## ' "$lines" | program >"$tmp/typed.c"
compilers="gcc:-std=c11 g++:-std=c++20:-xc++"
command -v clang >/dev/null && compilers+=" clang:-std=c11 clang++:-std=c++17:-xc++"
for c in $compilers; do
    IFS=: read -r -a command <<<"$c"
    "${command[@]}" -Wall -Wextra -Wshadow -Wno-unused -Wno-missing-field-initializers -Werror -fsyntax-only \
        -I "$root/include" "$tmp/typed.c" >"$tmp/out" 2>&1
    check "$(grep -vc ' ## ' "$lines") lines compile (${command[0]})" [ $? = 0 ]
done
while IFS= read -r line; do
    echo "${line%% ## *}" | program >"$tmp/wrong.c"
    words=${line##* ## } compilers=gcc:-std=c11
    [ "$words" != "${words#both: }" ] && words=${words#both: } compilers+=" g++:-std=c++20:-xc++"
    for c in $compilers; do
        IFS=: read -r -a command <<<"$c"
        "${command[@]}" -fsyntax-only -I "$root/include" "$tmp/wrong.c" >"$tmp/out" 2>&1
        check "${line%% ## *} does not compile (${command[0]})" [ $? != 0 ]
        check "${line%% ## *} is told (${command[0]}): $words" grep -qF -- "$words" "$tmp/out"
    done
done < <(grep ' ## ' "$lines")
finish
