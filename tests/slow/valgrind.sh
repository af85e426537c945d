#!/bin/bash
# The plugin's table under valgrind: what is wrong in a client's hands reads and writes nothing it must not, and nothing
# is lost at the end.
. "$(dirname "$0")/../examples/lib.sh"
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
export XT_SUMMARY=off XT_CACHE=off XT_THREADS=1
for t in test_pjrt_abuse test_pjrt_face test_pjrt_staged; do
    timeout 900 valgrind \
        --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        "$BUILD/$t" >"$tmp/out" 2>&1
    check "$t" [ $? = 0 ]
done
finish
