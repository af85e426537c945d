#!/bin/bash
# The porting guide says what is true: each of its ```c blocks is part of a program in examples/porting/, and each of
# those compares its numbers with a plain computation and counts its programs. Both languages show the same blocks.
set -u
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off
flat() { sed -E 's/^[[:space:]]+//; /^$/d' "$1" | tr '\n' '\001'; }
blocks() {
    mkdir -p "$2" && awk -v dir="$2" '
        $0 == "```c" {on = 1; n++; next} /^```/ {on = 0} on {print > (dir "/" sprintf("%02d", n))}' "$1"
}
for guide in porting.md porting.zh-CN.md; do
    blocks "$root/doc/$guide" "$tmp/$guide"
    check "$guide is short enough to be read" [ "$(wc -l <"$root/doc/$guide")" -le 200 ]
    for p in "$root"/examples/porting/*.c; do
        check "$guide names ${p##*/}" grep -q "examples/porting/${p##*/}" "$root/doc/$guide"
    done
done
check "both languages show the same programs" diff -r "$tmp/porting.md" "$tmp/porting.zh-CN.md"
programs=$(for f in "$root"/examples/porting/*.c; do flat "$f"; done)
for b in "$tmp"/porting.md/*; do
    wanted=$(flat "$b")
    [[ $programs == *"$wanted"* ]]
    check "'$(head -n 1 "$b")' is part of a program that runs" [ $? = 0 ]
done
cd "$tmp" || exit 1
for p in "$root"/examples/porting/*.c; do
    name=$(basename "$p" .c)
    [ "$name" = resume ] && continue
    "$BUILD/$name" >"$tmp/out" 2>&1
    check "$name: its numbers and its programs are right" [ $? = 0 ]
done
"$BUILD/resume" 0 unbroken.safetensors >unbroken 2>&1
check "the unbroken run" [ $? = 0 ]
"$BUILD/resume" 1 resumed.safetensors >resumed 2>&1
check "the resumed run" [ $? = 0 ]
check "it begins where the other one saved" grep -q '^step 8 loss' resumed
check "the last weights are equal, bit for bit" cmp unbroken.safetensors resumed.safetensors
mkdir first && cd first || exit 1
"$BUILD/resume" 1 first.safetensors >../first.out 2>&1
check "where nothing was saved the run begins" [ $? = 0 ]
check "and is the unbroken one" cmp ../unbroken.safetensors first.safetensors
rm -f opt.safetensors
"$BUILD/resume" 1 broken.safetensors >../broken.out 2>&1
check "a save without its optimizer ends the run" [ $? = 1 ]
check "with the file's name" grep -q opt.safetensors ../broken.out
finish
