#!/bin/bash
# doc/pytorch-names.md is what tools/torch_names.py makes of PyTorch's names, the map and the headers: each of our names
# in it is in a header, each of PyTorch's has an answer, and each line of the map is used.
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python3 "$root/tools/torch_names.py" check >"$tmp/out" 2>&1
check "the page of PyTorch's names is up to date" [ ! -s "$tmp/out" ]
head -n 5 "$tmp/out"
mkdir "$tmp/copy"
cp -r "$root/tools" "$root/doc" "$root/include" "$tmp/copy"
sed -i 's/xt_optimizer_step/xt_optimizer_walk/' "$tmp/copy/tools/torch_names.map"
python3 "$tmp/copy/tools/torch_names.py" check >"$tmp/out" 2>&1
check "a name of ours that is in no header is found" grep -q "xt_optimizer_walk is in no header" "$tmp/out"
cp "$root/tools/torch_names.map" "$tmp/copy/tools"
echo "torch a_new_name" >>"$tmp/copy/tools/torch_names.txt"
python3 "$tmp/copy/tools/torch_names.py" check >"$tmp/out" 2>&1
check "a name of theirs without an answer is found" grep -q "torch.a_new_name has no answer" "$tmp/out"
cp "$root/tools/torch_names.txt" "$tmp/copy/tools"
echo "torch no_such_name - because" >>"$tmp/copy/tools/torch_names.map"
python3 "$tmp/copy/tools/torch_names.py" check >"$tmp/out" 2>&1
check "a line of the map that fits no name is found" grep -q "fits no name" "$tmp/out"
cp "$root/tools/torch_names.map" "$tmp/copy/tools"
printf '%s\n' '| `lobpcg`, `linalg.eig` | - |' '| `F.prelu` | `xt_prelu_fn`; `rrelu`: - |' \
    >>"$tmp/copy/doc/from-pytorch.md"
python3 "$tmp/copy/tools/torch_names.py" check >"$tmp/out" 2>&1
for name in eig rrelu; do
    check "the guide denies $name, which is there" grep -q "$name is not there, and a header has" "$tmp/out"
done
check "and no other" [ "$(grep -c 'is not there' "$tmp/out")" = 2 ]
finish
