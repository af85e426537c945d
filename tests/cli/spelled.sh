#!/bin/bash
# Names of PyTorch's as a C program spells them first (those that tools/torch_names.py makes of all of its public names,
# and spelled.txt): each is a function, or the compiler says which one is meant. A name that neither has is found, and
# so is a message that names what is not there.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
compilers=gcc
command -v clang >/dev/null && compilers="gcc clang"
{ python3 "$root/tools/torch_names.py" spellings && cat "$here/spelled.txt"; } >"$tmp/all"
check "there are thousands" [ "$(wc -l <"$tmp/all")" -gt 4000 ]
# shellcheck disable=SC2086
python3 "$here/spelled.py" "$root/include" "$tmp/all" $compilers >"$tmp/out" 2>&1
check "each name works or is told" [ $? = 0 ]
grep -v " work, " "$tmp/out" | head -n 10
echo no_such_name_of_theirs >"$tmp/names"
python3 "$here/spelled.py" "$root/include" "$tmp/names" gcc >"$tmp/out" 2>&1
check "a name that nothing is said of is found" grep -q "xt_no_such_name_of_theirs is no function" "$tmp/out"
cp -r "$root/include" "$tmp/include"
sed -i 's/xt_linear(m, /xt_linnear(m, /' "$tmp/include/xtrain/spelled.h"
python3 "$here/spelled.py" "$tmp/include" "$tmp/all" gcc >"$tmp/out" 2>&1
check "a message that names nothing of ours is found" grep -q "xt_Linear names xt_linnear" "$tmp/out"
cat >"$tmp/second.c" <<'TEXT'
#include <xtrain/xtrain.h>
xt_tensor second(xt_tensor x, xt_tensor y, xt_optimizer *o);
xt_tensor second(xt_tensor x, xt_tensor y, xt_optimizer *o) {
    xt_tensor q, r, s;
    xt_manual_seed(3);
    xt_clip_grad_norm_(o, 1);
    if (xt_get_rank() == 0 && xt_get_world_size() == 1 && xt_size(x, 0) == 2) x = xt_view(x, 2, -1);
    xt_svd(x, &q, &r, &s);
    xt_qr(xt_expand(x, 3, 2, 2), &q, &r);
    xt_eigh(x, &q, &s);
    x = xt_minus(xt_amax(x, XT_AXES(0)), xt_rsub(xt_amin(x, XT_AXES(0)), xt_nansum(y, XT_AXES(1))));
    y = xt_add(xt_add(xt_linalg_norm(x), xt_linalg_norm(x, 2)), xt_linalg_norm(x, 'f', XT_AXES(0, 1), .keepdim = true));
    y = xt_add(xt_add(xt_amax(x, 1), xt_amin(x)), xt_add(xt_nansum(x, 1), xt_add(xt_nanmean(x), xt_nansum(x))));
    return xt_binary_cross_entropy_with_logits(xt_matmul(xt_inv(y), xt_linalg_cholesky(y)), xt_nanmean(x, XT_AXES(0)));
}
TEXT
for c in $compilers; do
    check "second names compile ($c)" $c -std=c11 -Wall -Wextra -Werror -fsyntax-only -I "$root/include" "$tmp/second.c"
done
finish
