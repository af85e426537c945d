#!/bin/sh
# Writes a C file that holds the texts of files, each as a string of its own: the command carries what it writes for
# users and can stand anywhere. A file below cli/ is named by its path: new/model.c.in is embed_new_model_c_in.
# usage: tools/embed.sh OUT.c FILE ...
set -eu
out=$1
shift
for f in "$@"; do
    name=$(printf '%s' "${f##*/cli/}" | tr -c 'a-zA-Z0-9' _)
    echo "extern const char embed_$name[];"
    echo "const char embed_$name[] = {"
    od -An -v -t u1 "$f" | sed -E 's/ *([0-9]+)/\1,/g'
    echo '0};'
done >"$out.new"
mv "$out.new" "$out"
