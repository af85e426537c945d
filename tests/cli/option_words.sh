#!/bin/bash
# Options that are one of some words: what is none of them is refused when the thing is made, by the option's name. All
# of the public headers: a new function, struct, option or word is in the test by being there.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
words() { PYTHONDONTWRITEBYTECODE=1 python3 "$root/tests/cli/option_words.py" "$@"; }
make() {
    cc -std=gnu11 -Wall -Wextra -Werror ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$tmp/$1.c" \
        -o "$tmp/$1" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
}
(cd "$root" && python3 tools/entries.py table include/xtrain src/api/exceptions.txt src/base/handle.def \
    src/api/unread.txt) \
    >"$tmp/functions.json"
words numbers "$tmp/functions.json" >"$tmp/numbers.c"
check "a program of numbers that are no words compiles" make numbers
(cd "$tmp" && ./numbers >out 2>&1)
check "each of them is refused by its name" [ $? = 0 ]
check "there are many" [ "$(sed -n 's/ calls$//p' "$tmp/out")" -gt 600 ]
words texts "$root/include/xtrain" >"$tmp/texts.c" 2>"$tmp/out"
check "each text among the options is known to be a word, or any text" [ ! -s "$tmp/out" ]
check "a program of texts that are no words compiles" make texts
(cd "$tmp" && ./texts >out 2>&1)
check "each of them is refused by its name" [ $? = 0 ]
finish
