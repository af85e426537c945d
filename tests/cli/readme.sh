#!/bin/bash
# The README is what a new user copies: its C program compiles and runs as the text says, and every file and command it
# names exists.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${ASAN_BUILD:-}" ] && exit 77
# block FILE LANGUAGE: the first fenced block of that language
block() { awk -v open='```'"$2" '$0 == open && !done {on = 1; next} /^```$/ {if (on) done = 1; on = 0} on' "$1"; }

for readme in README.md README.zh-CN.md; do
    dir=$tmp/${readme%.md}
    mkdir -p "$dir" && block "$root/$readme" c >"$dir/circle.c"
    check "$readme has a C program" grep -q 'int main(void)' "$dir/circle.c"
    check "$readme: it compiles" gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$root/include" "$dir/circle.c" \
        -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$dir/circle"
    (cd "$dir" && ./circle) >"$tmp/out" 2>&1
    check "$readme: it runs" [ $? = 0 ]
    check "$readme: the point is inside the circle" grep -qx 'inside: 1' "$tmp/out"
    check "$readme: the loss is printed three times" [ "$(grep -cE '^epoch (0|20|40) loss 0\.[0-9]+$' "$tmp/out")" = 3 ]
    check "$readme: weights have PyTorch's names" grep -aq '"fc1.weight"' "$dir/circle.safetensors"
    rm -f "$tmp/out"
    for path in $(grep -oE '`(doc|examples)/[A-Za-z./_-]*`|`(LICENSE|THIRD_PARTY\.md)`' "$root/$readme" | tr -d '`' |
        sort -u); do
        check "$readme names a file that exists" [ -e "$root/$path" ]
    done
done
check "both READMEs have the same program" cmp "$tmp/README/circle.c" "$tmp/README.zh-CN/circle.c"
check "both READMEs have the same commands" \
    [ "$(grep -oE '^(make|cc|YES=1) .*' "$root/README.md" | sed 's/ *#.*//')" \
    = "$(grep -oE '^(make|cc|YES=1) .*' "$root/README.zh-CN.md" | sed 's/ *#.*//')" ]
for command in $(grep -oE '^\| `xtrain --help`.*' "$root/README.md" | grep -oE '`(fit|bench|run|launch)`|`run`' |
    tr -d '`'); do
    "$XTRAIN" --help >"$tmp/out"
    check "xtrain --help lists $command" grep -qE "^ +$command " "$tmp/out"
done
finish
