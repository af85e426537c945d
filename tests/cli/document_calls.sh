#!/bin/bash
# What the documents and the headers' comments call with options by their names compiles in C++20, where the names have
# the order of their struct (document_calls.py; api-changes.md tells of calls that are no more, base.h of wrong ones).
set -u
[ -n "${ASAN_BUILD:-}" ] && { echo "it only compiles; the plain build has done that"; exit 77; }
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
files=()
for file in README*.md doc/*.md include/xtrain/*.h; do
    case $file in doc/api-changes.md | include/xtrain/base.h) ;; *) files+=("$file") ;; esac
done
python3 tests/cli/document_calls.py include/xtrain "${files[@]}" >"$tmp/calls.cpp" 2>"$tmp/out"
check "each of them is a call with options" [ ! -s "$tmp/out" ]
check "there are many" [ "$(grep -c '^#line' "$tmp/calls.cpp")" -gt 200 ]
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "skip $compiler is not installed" && continue; }
    $compiler -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-unused-result \
        -Iinclude "$tmp/calls.cpp" >"$tmp/out" 2>&1
    check "they compile ($compiler)" [ $? = 0 ]
done
finish
