#!/bin/bash
# Programs outside the tree, in C and in C++ by g++ and clang++, against the installed tree: by pkg-config, by CMake,
# and after the tree was moved.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${ASAN_BUILD:-}" ] && { echo "a sanitizer build is not what is installed"; exit 77; }
DESTDIR=$tmp/first meson install -C "$BUILD" --no-rebuild >"$tmp/out" 2>&1
check "make install" [ $? = 0 ]
mv "$tmp/first" "$tmp/inst"
pc=$(find "$tmp/inst" -name xtrain.pc | head -n 1)
lib=$(dirname "$(find "$tmp/inst" -name libxtrain.so | head -n 1)")
prefix=$(dirname "$(dirname "$(find "$tmp/inst" -path '*/bin/xtrain')")")
check "the plugin is installed" [ -f "$lib/xtrain/pjrt_plugin_xtrain_cpu.so" ]
check "the man page is installed" [ -n "$(find "$tmp/inst" -name 'xtrain.1*')" ]
check "the command starts where it lies" \
    env -u LD_LIBRARY_PATH -u LD_PRELOAD "$prefix/bin/xtrain" --version
export PKG_CONFIG_PATH=${pc%/*}
for way in '' --define-prefix; do
    # shellcheck disable=SC2086
    include=$(pkg-config $way --variable=includedir xtrain) libdir=$(pkg-config $way --variable=libdir xtrain)
    check "pkg-config $way knows where it lies" \
        [ "$(realpath "$include")" = "$prefix/include" -a "$(realpath "$libdir")" = "$lib" ]
done
flags=$(pkg-config --cflags --libs xtrain)
unset XT_PLUGIN_DIR
cp "$root/examples/mnist_single.c" "$tmp/p.c"
sed -i 's|60000 / 128|3|' "$tmp/p.c"
# shellcheck disable=SC2086
cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$tmp/p.c" $flags -Wl,-rpath,"$lib" -o "$tmp/p" >"$tmp/out" 2>&1 &&
    "$tmp/p" >"$tmp/out" 2>&1
check "a C program against the installed tree" [ $? = 0 ]
cp "$tmp/p.c" "$tmp/p.cc"
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || { echo "skip a C++ program by $cxx: $cxx is not installed"; continue; }
    # shellcheck disable=SC2086
    $cxx -std=c++20 -Wall -Wpedantic -Werror "$tmp/p.cc" $flags -Wl,-rpath,"$lib" -o "$tmp/pp" >"$tmp/out" 2>&1 &&
        "$tmp/pp" >"$tmp/out" 2>&1
    check "a C++ program by $cxx" [ $? = 0 ]
done
cp "$root/tests/cli/headers.c" "$tmp/h.c" && cp "$tmp/h.c" "$tmp/h.cc"
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -c "$tmp/h.c" -o "$tmp/h.o" >"$tmp/out" 2>&1
check "the macros of ops.h and layers.h in C" [ $? = 0 ]
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    $cxx -std=c++20 -Wall -Wpedantic -Werror -I"$prefix/include" -c "$tmp/h.cc" -o "$tmp/h.o" >"$tmp/out" 2>&1
    check "the macros of ops.h and layers.h by $cxx" [ $? = 0 ]
done
check "the C++ header is installed" [ -f "$prefix/include/xtrain.hpp" ]
if command -v cmake >/dev/null; then
    mkdir "$tmp/cm" && cp "$tmp/p.c" "$tmp/cm/"
    cat >"$tmp/cm/CMakeLists.txt" <<'CM'
cmake_minimum_required(VERSION 3.16)
project(p C)
find_package(xtrain 0.1 REQUIRED)
add_executable(p p.c)
target_link_libraries(p xtrain::xtrain)
CM
    (cmake -S "$tmp/cm" -B "$tmp/cm/b" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$tmp/cm/b" && "$tmp/cm/b/p") \
        >"$tmp/out" 2>&1
    check "a CMake project" [ $? = 0 ]
else
    echo "skip a CMake project: cmake is not installed"
fi
finish
