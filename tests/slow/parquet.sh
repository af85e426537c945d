#!/bin/bash
# tools/parquet.py: arrays and tokens out of Parquet files, read back by a program of ours, and its refusals.
# ARROW_PYTHON names a Python with pyarrow and numpy.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
python_with ARROW_PYTHON pyarrow numpy
tool="$python $root/tools/parquet.py"
cd "$tmp" || exit 1
"$python" - <<'PY'
import pyarrow as pa
import pyarrow.parquet as pq
n = 10
pq.write_table(pa.table({"a": pa.array([i / 4 for i in range(n)], pa.float32()), "b": [i * i for i in range(n)],
                         "label": [i % 3 for i in range(n)], "vec": [[i, i + 1] for i in range(n)],
                         "gap": [None if i == 7 else i for i in range(n)], "text": ["x"] * n,
                         "ids": [list(range(i)) for i in range(n)]}), "t.parquet", row_group_size=4)
PY
cat >read.c <<'C'
#include <inttypes.h>
#include <stdio.h>
#include <xtrain/xtrain.h>
int main(void) {
    xt_dataset *d = xt_npy_dataset("arrays/x.npy", "arrays/y.npy"), *t = xt_token_dataset("tok/tokens.bin", 4);
    float x[2];
    int64_t y, in[4], next[4];
    if (xt_dataset_get(d, 9, x, &y) || xt_dataset_get(t, 1, in, next)) return 1;
    printf("%" PRId64 " %g %g %" PRId64 " | %" PRId64 " %" PRId64 " %" PRId64 "\n", xt_dataset_count(d), x[0], x[1], y,
           xt_dataset_count(t), in[0], next[3]);
    return xt_finish();
}
C
check "columns become arrays" $tool t.parquet arrays --x a,b --y label
check "lists become tokens" $tool t.parquet tok --tokens ids --vocab 1000
check "two bytes a token" [ "$(stat -c %s tok/tokens.bin)" = 90 ]
cc -I "$root/include" read.c -L "$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o read
check "a program reads both" [ "$(./read)" = "10 2.25 81 0 | 11 1 2" ]
check "rows that miss a value may be left out" $tool t.parquet gaps --x a,gap --drop-missing
check "nine are left" [ "$("$python" -c 'import numpy; print(numpy.load("gaps/x.npy").shape)')" = "(9, 2)" ]
check "lists of one length are rows" $tool t.parquet lists --x vec --x-dtype i32 --y label
refused() { # NAME TEXT ARGUMENT...
    local name=$1 text=$2
    shift 2
    $tool "$@" >out.txt 2>&1
    check "$name" [ $? = 1 ] && check "$name: says why" grep -q -- "$text" out.txt
}
refused "a missing value" "row 7 has no value in column gap" t.parquet no --x gap
refused "a column that is not there" "has no column c; it has a, b," t.parquet no --x c
refused "a column of texts" "column text is of string" t.parquet no --x text
refused "lists of several lengths" "have 4 lengths" t.parquet no --x ids
refused "a token above the vocabulary" "has the token 5; whole numbers from 0 to 4" t.parquet no --tokens ids --vocab 5
refused "no Parquet file" "read.c: " read.c no --x a
check "nothing is left of what was refused" [ -z "$(ls no 2>/dev/null)" ]
mkdir bare && printf 'raise ImportError(name="pyarrow")\n' >bare/pyarrow.py
PYTHONPATH=bare $tool t.parquet no --x a >out.txt 2>&1
check "without pyarrow it says what is needed" grep -q "pip install pyarrow numpy" out.txt
finish
