#!/bin/sh
# clang-format over the sources until nothing changes, then which lines of any source are longer than 120 columns.
# usage: tools/format.sh [--check]      --check: changes nothing, and fails where a file would change or a line is too
# long
set -eu
cd "$(dirname "$0")/.."
limit=120
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format is missing: install 14, which formats these sources (Debian 12: DEV=1 make deps)" >&2
    exit 1
}
major=$("$format" --version | sed -E 's/.*version ([0-9]+).*/\1/')
[ "$major" = 14 ] || echo "clang-format $major: the sources are formatted with 14, others differ in details" >&2

# The files of the repository and those that will be (not added yet), also where the checkout belongs to another user;
# of an unpacked archive, all that are there.
all=$(git -c safe.directory="$PWD" ls-files --cached --others --exclude-standard 2>/dev/null) || all=
[ -n "$all" ] || all=$(find . -path './build*' -prune -o -path './.git' -prune -o -type f -print | sed 's|^\./||')
existing() { printf '%s\n' "$all" | grep -E "$1" | while IFS= read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done; }
sources=$(existing '\.(c|h|inc|hpp|cpp)$')
measured='\.(c|h|inc|hpp|cc|cpp|S|sh|py|def|html|in)$|(^|/)Makefile$|(^|/)meson\.build$|^\.ci/run$'
lines_of=$(existing "$measured")
[ -n "$sources" ] || { echo "no source in $PWD: run tools/format.sh of a checkout" >&2; exit 1; }

sums() { printf '%s\n' "$sources" | xargs cksum; }
if [ "${1-}" = --check ]; then
    told=$(printf '%s\n' "$sources" | xargs -P "$(nproc)" -n 64 "$format" --dry-run 2>&1) || {
        echo "$told" >&2
        exit 1
    }
    changed=$(printf '%s\n' "$told" | sed -nE 's/^([^ :]+):[0-9]+:.*/\1/p' | sort -u)
    [ -z "$changed" ] || { echo "make format would change:" $changed; }
else
    changed=
    # Some constructs reach their form in two or three steps.
    before=
    while now=$(sums) && [ "$now" != "$before" ]; do
        before=$now
        printf '%s\n' "$sources" | xargs -P "$(nproc)" -n 64 "$format" -i
    done
fi
# Characters are counted, not bytes: grep knows them in this locale, awk only in some versions.
long=$(printf '%s\n' "$lines_of" | LC_ALL=C.UTF-8 xargs grep -HnE "^.{$((limit + 1)),}" | cut -c 1-160) || true
[ -z "$long" ] || { echo "longer than $limit columns:"; printf '%s\n' "$long"; }
[ -z "$changed$long" ]
