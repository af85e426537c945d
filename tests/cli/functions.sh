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
find "$root/include/xtrain" -name "*.h" -print0 | xargs -0 grep -h '^XT_API ' | sed -nE \
    -e 's/^XT_API [a-z0-9_ *]+\((xt_\w+)\).*/\1/p' -e 's/^XT_API [^(]*\<(xt_\w+)\([^)*].*/\1/p' |
    grep -vxE 'xt_(status|tensor)' | sort -u >"$tmp/promised"
comm -23 "$tmp/promised" "$tmp/exported" >"$tmp/out"
check "each of the $(wc -l <"$tmp/promised") functions that headers declare is in the library" [ ! -s "$tmp/out" ]
comm -23 "$tmp/exported" "$tmp/defined" >"$tmp/out"
check "each is named in a source" [ ! -s "$tmp/out" ]
check "there are functions" [ "$(wc -l <"$tmp/exported")" -gt 500 ]

# What is asked for by name is in a header, in the list for users of PyTorch, and compared with PyTorch's numbers or the
# paper's.
for name in $(sed -nE 's/^OPTIMIZER\((\w+),.*/\1/p' "$root/src/optim/optimizers.def"); do
    check "$name is in optim.h" grep -q "^#define xt_$name(" "$root/include/xtrain/optim.h"
    check "$name is in doc/from-pytorch.md" grep -q "\`xt_$name\`" "$root/doc/from-pytorch.md"
    check "$name has a row in test_parity_optim.c" grep -q "xt_$name(m" "$root/tests/unit/test_parity_optim.c"
done
for name in $(sed -nE 's/^SCHEDULE(_OF_WORDS)?\((\w+)[,)].*/\2/p' "$root/src/optim/schedules.def"); do
    check "$name is in schedule.h" grep -q "^#define xt_${name}_schedule(" "$root/include/xtrain/schedule.h"
done

# A fit whose result nobody looks at has failed unseen: the compiler says so.
for call in 'xt_fit(NULL, NULL, NULL)' 'xt_validate(NULL, NULL, NULL)' 'xt_test(NULL, NULL, NULL)' \
    'xt_predict(NULL, NULL, NULL, NULL, NULL)'; do
    printf '#include <xtrain/xtrain.h>\nint main(void) { %s; return 0; }\n' "$call" >"$tmp/ignores.c"
    cc -I"$root/include" -c "$tmp/ignores.c" -o "$tmp/ignores.o" >"$tmp/out" 2>&1
    check "$call ignored is a warning" grep -q 'unused.result' "$tmp/out"
    printf '#include <xtrain/xtrain.h>\nint main(void) { return %s; }\n' "$call" >"$tmp/looks.c"
    check "and looked at is none" cc -I"$root/include" -Werror -c "$tmp/looks.c" -o "$tmp/looks.o"
done
finish
