#!/bin/bash
# A fit goes on with the network that it had, whatever options --resume is given with, or is refused (goes_on.py).
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "fits of the command alone: cli/resumes and cli/integers run them here"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
export XT_SUMMARY=off
cd "$tmp" || exit 1
"$here/small_folders.py" "$(dirname "$here")/parity/t5.json" &&
    "$here/goes_on.py" "$XTRAIN" "$(dirname "$here")/parity"
