#!/bin/bash
# Drawn fits that were resumed go on bit for bit: their weights and rows are those of the unbroken fit (resumes.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/resumes.py" "$BUILD" "$root/include" "$tmp/resumes" "${RESUMES_FIRST:-1}" "${RESUMES:-8}" "$@"
