#!/bin/bash
# Every field, value of an enum and type of the public headers has words of its own, and every function and macro more
# than its section's (tools/doxygen/words.py, which make docs reads them with); each kind without is found.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it reads headers; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python3 "$root/tools/doxygen/words.py" >"$tmp/out" 2>&1
check "no name is without a word" [ $? = 0 ]
head -n 20 "$tmp/out"
mkdir "$tmp/copy"
cp -r "$root/tools" "$root/doc" "$root/include" "$tmp/copy"
cd "$tmp/copy" || exit 1

{
    printf '%s\n' '/* A thing. */' 'typedef struct xt_zz {' '    int told, both; /* each */' '    int bare;' '} xt_zz;'
    printf '%s\n' '/* A choice. */' 'typedef enum xt_yy {' '    XT_YY_TOLD, /* one */' '    XT_YY_BARE' '} xt_yy;'
    printf '%s\n' '' 'typedef struct xt_xx xt_xx;' '' 'typedef int (*xt_ww_fn)(void *user);'
    printf '%s\n' '' '/* --- Of zebras --- */' 'XT_API int xt_vv_bare(int a);' 'XT_API int xt_vv_told(int); /* n */'
} >>include/xtrain/plot.h
sed -i '/^ \*     \.maximize: /d' include/xtrain/optim.h
python3 tools/doxygen/words.py >"$tmp/out" 2>&1
check "a field without a word is found" grep -qx 'plot.h: field xt_zz.bare' "$tmp/out"
check "a value" grep -qx 'plot.h: value XT_YY_BARE' "$tmp/out"
check "a handle" grep -qx 'plot.h: type xt_xx' "$tmp/out"
check "a function's type" grep -qx 'plot.h: type xt_ww_fn' "$tmp/out"
check "and a function with its section's words alone" grep -qx 'plot.h: function xt_vv_bare' "$tmp/out"
check "nothing else is" [ "$(grep -c '^plot.h' "$tmp/out")" = 5 ]
check "what several structs share is missed in each" [ "$(grep -c '^optim.h: field .*\.maximize$' "$tmp/out")" -gt 10 ]
finish
