#!/bin/bash
# The C++ header: g++ and clang++, C++17 and C++20, without a warning; and the gallery's programs in C++, which have the
# losses that PyTorch has.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
# build COMPILER STANDARD SOURCE OUT
build() {
    "$1" -std="$2" -Wall -Wextra -Werror ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$3" -o "$4" \
        -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >out 2>&1
}
standards="c++17 c++20" levels="-O0 -O2" programs="vae nanogpt"
# What the compiler is asked for says nothing of the library, which the sanitizers are for.
[ -n "${ASAN_BUILD:-}" ] && standards=c++20 levels=-O0 programs=vae
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "skip $compiler is not installed" && continue; }
    case ${ASAN_BUILD:-}$compiler in 1clang*) continue ;; esac # the library's sanitizers are gcc's
    for standard in $standards; do
        build $compiler $standard "$root/tests/cli/cpp.cpp" test
        check "$compiler -std=$standard: no warning" [ $? = 0 ]
        ./test >out 2>&1
        check "$compiler -std=$standard: it is what C does" [ $? = 0 ]
        ./test throwing >out 2>&1 && [ ! -s out ]
        check "$compiler -std=$standard: of an exception no other cause is told" [ $? = 0 ]
        for name in $programs; do
            "$compiler" -std="$standard" -Wall -Wextra -Werror -fsyntax-only -I"$root/include" \
                "$root/examples/gallery/$name.cpp" >out 2>&1
            check "$compiler -std=$standard: the gallery's $name compiles" [ $? = 0 ]
        done
    done
    for optimize in $levels; do
        $compiler -std=c++17 -w -g $optimize -DWITH_LINES ${ASAN_BUILD:+-fsanitize=address,undefined} \
            -I"$root/include" "$root/tests/cli/cpp.cpp" -o test -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >out 2>&1
        check "$compiler -g $optimize" [ $? = 0 ]
        ./test >out 2>&1
        check "$compiler -g $optimize: lines are the program's" [ $? = 0 ]
    done
    [ $compiler = g++ ] && for name in $programs; do
        build $compiler c++17 "$root/examples/gallery/$name.cpp" $name
        check "$compiler: the gallery's $name" [ $? = 0 ]
        ./$name --steps 3 --data "$root/LICENSE" >out 2>err
        check "$name runs" [ $? = 0 ]
        python3 "$root/tests/peers/gallery/compare.py" --kept $name 3 <out >told
        check "$name in C++ has PyTorch's losses" [ $? = 0 ]
    done
done
finish
