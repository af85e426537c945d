#!/bin/bash
# Each number that a public function takes stands in tests/unit/numbers.def: as data of a step's program, which
# test_number_options tries, or with what it is instead. Constructors settle theirs once and have no rows.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
python3 tools/entries.py table include/xtrain src/api/exceptions.txt src/base/handle.def src/api/unread.txt \
    >"$tmp/functions.json"
python3 - "$tmp/functions.json" tests/unit/numbers.def >"$tmp/differences" <<'P'
import json
import re
import sys

functions = json.load(open(sys.argv[1]))
listed = re.findall(r"^(?:NUMBER|ROUNDED|DRAWN|UPDATED|NO_DATA)\((\w+), (\w+),", open(sys.argv[2]).read(), flags=re.M)
there = [(f["name"], number) for f in functions if f["source"] and "*" not in f["returns"] for number in f["numbers"]]
for f, number in there:
    if (f, number) not in listed:
        print(f"{f}: the number {number} has no row")
for f, number in listed:
    if (f, number) not in there:
        print(f"{f}: {number} is no number that it takes")
print(len(there), "numbers")
P
grep -v ' numbers$' "$tmp/differences"
check "each number of the headers has its row" [ "$(wc -l <"$tmp/differences")" = 1 ]
check "they were found" [ "$(sed -n 's/ numbers$//p' "$tmp/differences")" -gt 120 ]
finish
