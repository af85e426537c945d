#!/bin/bash
# Methods and functions as somebody types them who knows libtorch (typed_cpp.txt): each compiles, or the compiler says
# in words what is meant ("LINE ## WORDS").
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
lines=$root/tests/cli/typed_cpp.txt
program() { # program: functions of lines from stdin
    printf '#include <iostream>\n#include <xtrain.hpp>\nextern float numbers[6];\n'
    awk '{ print "void typed" NR "(xt::tensor x, xt::tensor y, xt::tensor i);" }
        { print "void typed" NR "(xt::tensor x, xt::tensor y, xt::tensor i) { (void)x, (void)y, (void)i; " $0 " }" }'
}
grep -v ' ## ' "$lines" | program >"$tmp/typed.cpp"
for c in g++:c++17 g++:c++20 clang++:c++17; do
    command -v ${c%%:*} >/dev/null || continue
    ${c%%:*} -std=${c##*:} -Wall -Wextra -Wshadow -Wno-unused -Wno-unused-result -Werror -fsyntax-only \
        -I "$root/include" "$tmp/typed.cpp" >"$tmp/out" 2>&1
    compiled=$? # grep's own comes in between
    check "$(grep -vc ' ## ' "$lines") lines compile ($c)" [ $compiled = 0 ]
done
# Each is alone in its file, so that what is told is told of it.
while IFS= read -r line; do
    echo "${line%% ## *}" | program >"$tmp/wrong.cpp"
    g++ -std=c++17 -w -fsyntax-only -I "$root/include" "$tmp/wrong.cpp" >"$tmp/out" 2>&1
    check "${line%% ## *} does not compile" [ $? != 0 ]
    check "${line%% ## *} is told: ${line##* ## }" grep -qF -- "static assertion failed: " "$tmp/out"
    check "${line%% ## *} is told: ${line##* ## }" grep -qF -- "${line##* ## }" "$tmp/out"
done < <(grep ' ## ' "$lines")
finish
