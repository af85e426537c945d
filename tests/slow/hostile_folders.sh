#!/bin/bash
# Some thousands of models' folders that somebody damaged on purpose, over which the command runs: it ends, soon, by
# itself and within little memory, and a refusal names a file (tests/cli/hostile_folders.py, which says how a seed is
# tried again). FOLDERS: how many.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/tests/cli/hostile_folders.py" "$XTRAIN" "$root/tests/parity" "$tmp/work" 0 "${FOLDERS:-4000}" | tee "$tmp/out"
check "damaged folders" [ "${PIPESTATUS[0]}" = 0 ]
finish
