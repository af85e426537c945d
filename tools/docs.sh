#!/bin/sh
# The reference of the public headers and the documents as HTML, with Doxygen. A warning of its, a name without a word
# and a link that leads nowhere are errors. (tools/doxygen/words.py also finds, without Doxygen, what only seems to have
# a word: its section's.)
# usage: tools/docs.sh OUTPUT_DIR
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v doxygen >/dev/null || {
    echo "doxygen is missing: apt-get install doxygen (Debian 12 has 1.9.4)" >&2
    exit 1
}
rm -rf "$out/source" "$out/html"
python3 tools/doxygen/filter.py "$out/source"
python3 tools/doxygen/guides.py "$out/source"
{
    cat tools/doxygen/Doxyfile
    cat <<END
OUTPUT_DIRECTORY = "$out"
INPUT = "$out/source"
STRIP_FROM_PATH = "$out/source"
STRIP_FROM_INC_PATH = "$out/source"
IMAGE_PATH = "$out/source/pictures"
USE_MDFILE_AS_MAINPAGE = "$out/source/pages/page_readme.md"
WARN_LOGFILE = "$out/warnings"
END
} | doxygen -
failed=0
without="is not documented"
if grep -v "$without" "$out/warnings" >&2; then failed=1; fi
grep "$without" "$out/warnings" >&2 && failed=1
python3 tools/doxygen/links.py "$out/html" >&2 || failed=1
echo "without a word: $(grep -c "$without" "$out/warnings" || true)"
[ "$failed" = 0 ] || exit 1
echo "$out/html/index.html"
