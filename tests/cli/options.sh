#!/bin/bash
# An explicit 0 is 0: every field of every option struct of the public headers, in C and C++, with gcc and clang, and
# without a warning. The defaults of C (in front of the caller's fields) and of C++ (of the members) are one list a
# struct, and no source makes another number of an option that is 0.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
options() { python3 "$root/tests/cli/options.py" "$root/include/xtrain" "$@"; }
options check "$root/src" >"$tmp/out" 2>&1
check "headers and sources agree" [ ! -s "$tmp/out" ]
options program >"$tmp/all.c"
for compiler in "gcc -std=gnu11" "clang -std=gnu11" "g++ -std=c++20 -x c++" "clang++ -std=c++20 -x c++"; do
    name=${compiler%% *}
    command -v "$name" >/dev/null || { echo "skip $name is not installed" && continue; }
    case ${ASAN_BUILD:-}$name in 1clang*) continue ;; esac # the library's sanitizers are gcc's
    rm -f "$tmp/all"
    # shellcheck disable=SC2086
    $compiler ${ASAN_BUILD:+-fsanitize=address,undefined} -Wall -Wextra -Werror -I"$root/include" "$tmp/all.c" \
        -o "$tmp/all" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
    check "$name: each field can be given 0 without a warning" [ -x "$tmp/all" ]
    "$tmp/all" >"$tmp/$name.txt" 2>"$tmp/out"
    check "$name: each 0 is 0, and changes nothing else" [ $? = 0 ]
    check "$name: the fields were there" [ "$(grep -c '^xt_' "$tmp/$name.txt")" -gt 350 ]
    [ -f "$tmp/first.txt" ] || cp "$tmp/$name.txt" "$tmp/first.txt"
    check "$name: the defaults are those of the first compiler" cmp -s "$tmp/first.txt" "$tmp/$name.txt"
done

# A 0 is taken or refused as what it is, whatever else the option has for a default.
options zeros >"$tmp/zeros.c"
check "a program of zeros compiles" cc -std=gnu11 -Wall -Wextra -Werror ${ASAN_BUILD:+-fsanitize=address,undefined} \
    -I"$root/include" "$tmp/zeros.c" -o "$tmp/zeros" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
(cd "$tmp" && XT_SUMMARY=off ./zeros >out 2>&1)
check "each 0 of a schedule, an optimizer and a callback is taken or refused by its name" [ $? = 0 ]
check "there are many" [ "$(sed -n 's/ calls$//p' "$tmp/out")" -gt 150 ]
finish
