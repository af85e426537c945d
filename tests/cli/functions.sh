#!/bin/bash
# Public functions are found by a search for their name: what libxtrain.so exports is declared under its name in a
# header of include/, and stands as a word in a source. A macro that pastes a name together (xt_##name##_at) would leave
# its function in neither.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
nm -D --defined-only "$BUILD/libxtrain.so" | awk '$2 == "T" && $3 ~ /^xt_/ { print $3 }' | sort -u >"$tmp/exported"
words() { find "$1" -name "$2" -print0 | xargs -0 grep -hE -A1 "${3:-}" | grep -owE "xt_[A-Za-z0-9_]+" | sort -u; }
words "$root/include/xtrain" "*.h" XT_API >"$tmp/declared"
words "$root/src" "*.c" >"$tmp/defined"
comm -23 "$tmp/exported" "$tmp/declared" >"$tmp/out"
check "each of the $(wc -l <"$tmp/exported") functions is declared in a header" [ ! -s "$tmp/out" ]
comm -23 "$tmp/exported" "$tmp/defined" >"$tmp/out"
check "each is named in a source" [ ! -s "$tmp/out" ]
check "there are functions" [ "$(wc -l <"$tmp/exported")" -gt 500 ]
finish
