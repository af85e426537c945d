#!/usr/bin/env python3
"""Columns of Parquet files as the arrays that xtrain's datasets read; needs pyarrow and numpy (pip install pyarrow).
Debian 12 has no library for Parquet that a C program could be linked with, so files are turned once, row group by row
group: memory holds one of them.

    tools/parquet.py train.parquet OUT --x rooms,age,income --y price     OUT/x.npy [rows,3], OUT/y.npy [rows]
        xt_npy_dataset("OUT/x.npy", "OUT/y.npy")
    tools/parquet.py 'part-*.parquet' OUT --tokens input_ids --vocab 50257     OUT/tokens.bin, OUT/tokens.bin.json
        xt_token_dataset("OUT/tokens.bin", 1024)

Columns hold numbers, booleans, or (alone) lists of one length. x is f32 or f64 where a column is, else i64; --x-dtype
and --y-dtype say otherwise. Rows with a missing value are an error that names file, row and column; --drop-missing
leaves them out. Tokens are all lists behind each other, 16 bits wide, or 32 where --vocab needs them; --end ID stands
behind each row. Files appear whole or not at all."""
import argparse
import glob
import json
import os
import sys

try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq
except ImportError as e:
    sys.exit(f"tools/parquet.py needs pyarrow and numpy, and {e.name} is not there: pip install pyarrow numpy")


UNFINISHED = []  # files under way, which go when something is refused


def fail(text):
    for path in UNFINISHED:
        if os.path.exists(path):
            os.remove(path)
    sys.exit(f"tools/parquet.py: {text}")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", help="Parquet files or patterns, and last the folder to write to")
    p.add_argument("--x", help="comma list of columns")
    p.add_argument("--y", help="comma list of columns")
    p.add_argument("--x-dtype", help="f32, f64, i32, i64, u8")
    p.add_argument("--y-dtype", help="likewise")
    p.add_argument("--tokens", help="the column of token lists (or of single tokens)")
    p.add_argument("--vocab", type=int, help="how many tokens there are; others are an error")
    p.add_argument("--end", type=int, help="a token to stand behind each row")
    p.add_argument("--drop-missing", action="store_true", help="leave out rows with a missing value")
    o = p.parse_args()
    if len(o.files) < 2:
        fail("files and a folder to write to are needed")
    if bool(o.tokens) == bool(o.x):
        fail("either --x or --tokens is needed")
    *patterns, o.out = o.files
    o.files = [f for p in patterns for f in (sorted(glob.glob(p)) or [p])]
    return o


def groups(o, columns):
    """(file, first row, table) of each row group, without rows that miss a value when that is asked for."""
    for path in o.files:
        try:
            f = pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as e:
            fail(f"{path}: {e}")
        there = f.schema_arrow.names
        for c in columns:
            if c not in there:
                fail(f"{path} has no column {c}; it has {', '.join(there)}")
        row = 0
        for k in range(f.num_row_groups):
            table = f.read_row_group(k, columns=columns)
            size = table.num_rows
            if o.drop_missing:
                for c in columns:
                    table = table.filter(pa.compute.is_valid(table[c]))
            for c in columns:
                if table[c].null_count:
                    at = table[c].is_null().to_pylist().index(True)
                    fail(f"{path}: row {row + at} has no value in column {c}; --drop-missing leaves such rows out")
            yield path, row, table
            row += size


NAMES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8}


def values(path, row, table, columns):
    """[rows] for one column of numbers, [rows,n] for several or for one of lists."""
    arrays = []
    for c in columns:
        column = table[c].combine_chunks()
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or \
                pa.types.is_fixed_size_list(column.type):
            lists = [np.asarray(v) for v in column.to_pylist()]
            lengths = {len(v) for v in lists}
            if len(columns) > 1 or len(lengths) > 1:
                fail(f"{path}: the lists of column {c} behind row {row} have {len(lengths)} lengths; lists of one "
                     "length, in a column alone, are needed")
            arrays.append(np.stack(lists) if lists else np.zeros((0, 0)))
            continue
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or
                pa.types.is_boolean(column.type)):
            fail(f"{path}: column {c} is of {column.type}; numbers, booleans or lists of them are needed")
        arrays.append(column.to_numpy(zero_copy_only=False))
    floats = [a.dtype for a in arrays if a.dtype.kind == "f"]
    if floats and len(arrays) > 1:  # whole numbers beside them do not make them wider
        arrays = [a.astype(max(floats)) for a in arrays]
    return arrays[0] if len(arrays) == 1 else np.stack(arrays, 1)


def dtype_of(given, array):
    if given:
        if given not in NAMES:
            fail(f"{given} is no dtype of these: {', '.join(NAMES)}")
        return NAMES[given]
    return np.int64 if array.dtype.kind in "biu" else np.float64 if array.dtype == np.float64 else np.float32


class Npy:
    """A .npy file of rows whose number is known at the end: room is left for its header."""
    ROOM = 128

    def __init__(self, path, given):
        self.path, self.given, self.rows, self.shape, self.file = path, given, 0, None, open(path + ".tmp", "wb")
        UNFINISHED.append(path + ".tmp")
        self.file.write(b" " * self.ROOM)

    def add(self, array, path):
        if self.shape is None:
            self.shape, self.dtype = array.shape[1:], dtype_of(self.given, array)
        if array.shape[1:] != self.shape:
            fail(f"{path}: rows of {array.shape[1:]}, those before are of {self.shape}")
        as_kept = array.astype(self.dtype)
        if self.dtype is np.uint8 or self.dtype is np.int32 or self.dtype is np.int64:
            if not np.array_equal(as_kept, array):
                fail(f"{path}: values that {np.dtype(self.dtype).name} cannot hold; --x-dtype or --y-dtype f64 can")
        self.file.write(as_kept.tobytes())
        self.rows += len(array)

    def close(self):
        if not self.rows:
            fail("there are no rows")
        head = f"{{'descr': '{np.dtype(self.dtype).str}', 'fortran_order': False, " \
               f"'shape': {(self.rows, *self.shape)}, }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (self.ROOM - 10).to_bytes(2, "little") +
                        head.ljust(self.ROOM - 11).encode() + b"\n")
        self.file.close()
        os.replace(self.path + ".tmp", self.path)
        return f"{self.path}: {np.dtype(self.dtype).name} {[self.rows, *self.shape]}"


def write_arrays(o):
    columns = {"x": o.x.split(","), **({"y": o.y.split(",")} if o.y else {})}
    out = {k: Npy(os.path.join(o.out, k + ".npy"), getattr(o, k + "_dtype")) for k in columns}
    for path, row, table in groups(o, list(dict.fromkeys(sum(columns.values(), [])))):
        for k, names in columns.items():
            out[k].add(values(path, row, table, names), path)
    for npy in out.values():
        print(npy.close())


def write_tokens(o):
    path = os.path.join(o.out, "tokens.bin")
    wide = o.vocab is None or o.vocab > 1 << 16
    dtype, count, most = np.uint32 if wide else np.uint16, 0, o.vocab or 1 << 32
    UNFINISHED.append(path + ".tmp")
    with open(path + ".tmp", "wb") as f:
        for source, row, table in groups(o, [o.tokens]):
            for i, tokens in enumerate(table[o.tokens].to_pylist()):
                tokens = list(tokens if isinstance(tokens, list) else [tokens]) + ([] if o.end is None else [o.end])
                for t in tokens:
                    if not isinstance(t, int) or t < 0 or t >= most:
                        fail(f"{source}: row {row + i} has the token {t}; whole numbers from 0 to {most - 1} are "
                             "needed")
                f.write(np.asarray(tokens, dtype).tobytes())
                count += len(tokens)
    if not count:
        fail("there are no tokens")
    with open(path + ".json.tmp", "w") as f:
        json.dump({"dtype": "u32" if wide else "u16", "tokens": count, **({"vocab": o.vocab} if o.vocab else {})}, f)
    os.replace(path + ".json.tmp", path + ".json")
    os.replace(path + ".tmp", path)
    print(f"{path}: {count} tokens of {8 * np.dtype(dtype).itemsize} bits")


if __name__ == "__main__":
    options = arguments()
    try:
        os.makedirs(options.out, exist_ok=True)
    except OSError as e:
        fail(f"{options.out} cannot be a folder: {e.strerror}")
    write_tokens(options) if options.tokens else write_arrays(options)
