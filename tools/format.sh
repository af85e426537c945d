#!/bin/sh
# clang-format over the sources until nothing changes, then which lines of any source are longer than 120 columns.
# usage: tools/format.sh [--check]      --check: in a copy, and fails where a file would change or a line is too long
set -eu
cd "$(dirname "$0")/.."
limit=120
command -v clang-format >/dev/null 2>&1 || { echo "clang-format is missing: run 'make deps'" >&2; exit 1; }
major=$(clang-format --version | sed -E 's/.*version ([0-9]+).*/\1/')
[ "$major" = 14 ] || echo "clang-format $major: the sources are formatted with 14, others differ in details" >&2

sources() { git ls-files '*.c' '*.h' '*.inc'; }
sums() { sources | xargs cksum; }
if [ "${1-}" = --check ]; then
    changed=$(sources | xargs -P "$(nproc)" -n 64 clang-format --dry-run 2>&1 | sed -nE 's/^([^ :]+):[0-9]+:.*/\1/p' | sort -u)
    [ -z "$changed" ] || { echo "make format would change:" $changed; }
else
    changed=
    # Some constructs reach their form in two or three steps.
    before=
    while now=$(sums) && [ "$now" != "$before" ]; do
        before=$now
        sources | xargs -P "$(nproc)" -n 64 clang-format -i
    done
fi
# Awk counts bytes in some versions; what is long in characters is asked of those lines alone.
long=$(git ls-files '*.c' '*.h' '*.inc' '*.hpp' '*.cc' | xargs awk -v n=$limit 'length($0) > n { print FILENAME ":" FNR ": " length($0) " columns" }')
[ -z "$long" ] || { echo "longer than $limit columns:"; echo "$long"; }
[ -z "$changed$long" ]
