#!/bin/bash
# The gallery's programs (doc/gallery.md): each begins as its PyTorch original does, whose losses are kept in
# tests/peers/gallery/losses.txt (tests/slow/gallery.sh runs the originals again), leaves a picture or a text, and is
# short enough to be read.
set -u
. "$(dirname "$0")/lib.sh"
[ -n "${ASAN_BUILD:-}" ] && { echo "LeakSanitizer dies in it; the plain build has run it"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
for p in "$root"/examples/gallery/*.c; do
    name=$(basename "$p" .c)
    check "$name is at most 120 lines" [ "$(wc -l <"$p")" -le 120 ]
    check "$name has its original" [ -f "$root/tests/peers/gallery/$name.py" ]
    check "doc/gallery.md tells of $name" grep -q "examples/gallery/$name.c" "$root/doc/gallery.md"
    text=()
    grep -q '"LICENSE"' "$p" && text=(--data "$root/LICENSE")
    "$BUILD/$name" --steps 10 "${text[@]}" >out 2>err
    check "$name runs" [ $? = 0 ]
    python3 "$root/tests/peers/gallery/compare.py" --kept "$name" 10 <out >told
    check "$name has PyTorch's losses" [ $? = 0 ]
    cat told
    "$BUILD/$name" --steps 0 --save begins "${text[@]}" >out 2>err && [ -s begins ] && [ ! -s err ]
    check "$name writes what it begins with, and no step follows" [ $? = 0 ]
    rm -f begins
    "$BUILD/$name" --step 3 "${text[@]}" >out 2>err
    check "$name refuses an option that it does not know" [ $? = 2 ]
    grep -q "$name.png" "$p" && check "$name draws its picture" [ -s "$name.png" ]
done
finish
