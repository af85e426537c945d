#!/bin/bash
# make docs: Doxygen reads every public header without a warning, and the comments become documentation.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v doxygen >/dev/null; then
    echo "doxygen is not installed"
    exit 77
fi
"$root/tools/docs.sh" "$tmp/docs" >"$tmp/out" 2>&1
check "no warning" [ $? = 0 ]
for h in "$root"/include/xtrain/*.h; do
    name=$(basename "$h" .h)
    check "$name.h has a page" [ -s "$tmp/docs/html/${name//_/__}_8h.html" ]
done
check "what stands above a declaration is its description" \
    grep -q 'A grid of n grey images' "$tmp/docs/html/plot_8h.html"
check "what stands behind a field is the field's" \
    grep -q 'samples in this batch on this rank' "$tmp/docs/html/structxt__batch.html"
check "a mistake in a header is found" bash -c '
    mkdir "$1/copy" && cp -r "$2/tools" "$2/include" "$1/copy" && cd "$1/copy" &&
    printf "/* never closed\n" >include/xtrain/zz.h &&
    ! tools/docs.sh "$1/bad" >/dev/null 2>&1' _ "$tmp" "$root"
finish
