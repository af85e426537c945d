#!/bin/sh
# The reference of the public headers as HTML, with Doxygen; a warning of its is an error.
# usage: tools/docs.sh OUTPUT_DIR
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v doxygen >/dev/null || {
    echo "doxygen is missing: apt-get install doxygen (Debian 12 has 1.9.4)" >&2
    exit 1
}
{ cat tools/doxygen/Doxyfile && echo "OUTPUT_DIRECTORY = \"$out\""; } | doxygen -
echo "$out/html/index.html"
