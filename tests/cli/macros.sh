#!/bin/bash
# Each public macro that is called like a function, as macros.py finds them in the headers: with the fewest arguments
# that it takes, with each number of those that may follow, and with each option by its name it compiles, in C and C++,
# with gcc and clang, without a warning. With fewer arguments it does not, and the error is of the macro that was
# called.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
macros() { python3 "$root/tests/cli/macros.py" "$root/include/xtrain" "$@"; }
headers() { (cd "$root/include" && printf '#include <%s>\n' xtrain/*.h); }
macros right >calls 2>out
check "a call of each macro is found" [ ! -s out ]
check "there are many" [ "$(wc -l <calls)" -gt 2500 ]
{
    headers
    echo 'void all(xt_tensor t);'
    echo 'void all(xt_tensor t) {'
    echo 'float n = 0; (void)t, (void)n;'
    cat calls
    echo '}'
} >right.c
headers >all.h
macros wrong >wrong.c
check "there are many that lack something" [ "$(wc -l <wrong.c)" -gt 1500 ]
for compiler in "gcc -std=gnu11" "clang -std=gnu11" "g++ -std=c++20 -x c++" "clang++ -std=c++20 -x c++"; do
    name=${compiler%% *} limit=
    command -v "$name" >/dev/null || { echo "skip $name is not installed" && continue; }
    case $name in clang*) limit="-ferror-limit=0 -fmacro-backtrace-limit=0" ;; esac
    # shellcheck disable=SC2086
    $compiler -fsyntax-only -Wall -Wextra -Werror -Wno-unused-result $limit -I"$root/include" right.c >out 2>&1
    check "$name: each compiles" [ $? = 0 ]
    # shellcheck disable=SC2086
    $compiler -fsyntax-only -w $limit -I"$root/include" -include "$tmp/all.h" wrong.c >told 2>&1
    macros told <told >out 2>&1
    check "$name: none compiles that lacks an argument, and each error is of the macro that was called" [ ! -s out ]
done
finish
