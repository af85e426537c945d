#!/bin/bash
# make docs: Doxygen reads every public header and document without a warning, the comments become documentation, no
# name is without a word, and every link has its target.
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
    [ "$name" = spelled ] && continue # made of pytorch-names.md, which is a page
    check "$name.h has a page" [ -s "$tmp/docs/html/${name//_/__}_8h.html" ]
done
check "what stands above a declaration is its description" \
    grep -q 'A grid of n grey images' "$tmp/docs/html/plot_8h.html"
check "what stands behind a field is the field's" \
    grep -q 'samples of x, padding not counted' "$tmp/docs/html/structxt__batch.html"
check "what stands on a macro's own line is the macro's" \
    grep -q 'a gamma distribution' "$tmp/docs/html/distributions_8h.html"
grep -B14 '#define xt_sgd(' "$tmp/docs/source/xtrain/optim.h" >"$tmp/sgd"
check "a macro that puts defaults in front of options has its function's words" \
    grep -q 'Made over the parameters that net has' "$tmp/sgd"
check "an option ends with its default" grep -q 'Default: 1e-3' "$tmp/docs/html/structxt__sgd__opts.html"
check "what several structs share is each one's" grep -q 'climbs' "$tmp/docs/html/structxt__lion__opts.html"
check "no name is without a word" grep -qx 'without a word: 0' "$tmp/out"
for document in README doc/memory doc/memory.zh-CN doc/pytorch-names; do
    page=$(echo "${document#doc/}" | sed 's/[.-]/_/g; s/zh_CN/chinese/')
    [ $document = README ] && page=index || page=page_$page
    check "$document is a page" [ -s "$tmp/docs/html/$page.html" ]
done
check "documents lead to each other" grep -q 'href="page_training.html' "$tmp/docs/html/index.html"
check "and to functions" grep -q '<code><a [^>]*href="diag_8h.html#[a-z0-9]*">xt_memory_report()</a></code>' \
    "$tmp/docs/html/page_memory.html"
mkdir "$tmp/nowhere" && cp "$tmp/docs/html/index.html" "$tmp/nowhere"
"$root/tools/doxygen/links.py" "$tmp/nowhere" >"$tmp/missing"
check "a link that leads nowhere is an error" [ $? = 1 ]
check "and named" grep -q 'page_training.html: there is no such file' "$tmp/missing"
check "names without a word are found" bash -c '
    mkdir "$1/wordless" && cp -r "$2"/{tools,include,doc,README.md,README.zh-CN.md} "$1/wordless" &&
    cd "$1/wordless" &&
    printf "%s\n" "" "XT_API int xt_zz(int a);" "/* A. */" "typedef struct xt_yy {" "    int b;" "} xt_yy;" \
        >>include/xtrain/plot.h &&
    ! tools/docs.sh "$1/bad" >"$1/said" 2>&1 && grep -q "xt_zz.*is not documented" "$1/said" &&
    grep -q "b (variable) of struct xt_yy is not documented" "$1/said"' _ "$tmp" "$root"
check "a mistake in a header is found" bash -c '
    mkdir "$1/copy" && cp -r "$2"/{tools,include,doc,README.md,README.zh-CN.md} "$1/copy" && cd "$1/copy" &&
    printf "/* never closed\n" >include/xtrain/zz.h &&
    ! tools/docs.sh "$1/bad" >/dev/null 2>&1' _ "$tmp" "$root"
finish
