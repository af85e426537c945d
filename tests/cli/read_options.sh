#!/bin/bash
# An option that a call gives has an effect, or is refused in words that name it: each option of each public function
# that takes any (read_options.py, from the headers; what a function does not read says src/api/unread.txt).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
(cd "$root" && python3 tools/entries.py table include/xtrain src/api/exceptions.txt src/base/handle.def \
    src/api/unread.txt) >"$tmp/functions.json"
python3 "$root/tests/cli/read_options.py" "$tmp/functions.json" "$root/include/xtrain" "$root/src" \
    >"$tmp/try.c" 2>"$tmp/out"
check "each function that takes options is called, or there is a reason" [ ! -s "$tmp/out" ]
check "the calls compile" "${CC:-cc}" -std=gnu11 -w ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" \
    "$tmp/try.c" -o "$tmp/try" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -lm
(cd "$tmp" && XT_SUMMARY=off ./try >out 2>err)
check "each option has an effect, or is refused by its name" [ $? = 0 ]
check "there are many" [ "$(sed -n 's/ calls$//p' "$tmp/out")" -gt 500 ]
finish
