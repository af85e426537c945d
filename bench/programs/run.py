"""Times JAX programs on XLA's CPU compiler and on the plugin, in one process, in turns, and compares what they give.

usage: run.py [--family NAME] [--only TEXT] [--seconds S] [--check] [--json FILE]
--check: results only, no timing. The plugin is the one of the package xtrain_pjrt (PYTHONPATH), its device first in
JAX_PLATFORMS. Ratios are the plugin's time divided by XLA's: the fastest call of each,
    the fastest compilation of one.
Exit 1: results differ, or a program fails on one of the two.
"""
import argparse
import json
import math
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "xtrain,cpu")
os.environ.setdefault("XTRAIN_CACHE", "off")
os.environ.setdefault("XT_CACHE", "off")
import jax
import ml_dtypes
import numpy as np

import elementwise, integers, loops, networks, products, reductions, shapes  # noqa: E401, F401
from suite import programs

TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "bfloat16": 3e-2, "float16": 4e-3, "complex64": 2e-5}


def compiled(program, arguments, device):
    """The executable, its arguments on the device, and the seconds of the compiler."""
    there = [jax.device_put(a, device) for a in arguments]
    lowered = jax.jit(program.function).lower(*there)
    began = time.perf_counter()
    executable = lowered.compile()
    return executable, there, time.perf_counter() - began


def leaves(tree):
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def difference(program, want, got):
    """The largest, in units of what is allowed; and where."""
    worst, where = 0.0, ""
    for k, (w, g) in enumerate(zip(want, got, strict=True)):
        if w.dtype != g.dtype or w.shape != g.shape:
            return math.inf, f"result {k}: {g.dtype}{g.shape}, expected {w.dtype}{w.shape}"
        narrow = w.dtype == ml_dtypes.bfloat16
        tolerance = program.tolerance or TOLERANCE.get("bfloat16" if narrow else str(w.dtype), 0)
        if any(a.dtype == "bfloat16" for a in program.arguments):
            tolerance = max(tolerance, TOLERANCE["bfloat16"])
        wide = np.complex128 if w.dtype.kind == "c" else np.float64
        w, g = w.astype(wide), g.astype(wide)
        same = (w == g) | (np.isnan(w) & np.isnan(g))
        if same.all():
            continue
        scale = np.abs(w[np.isfinite(w)]).max(initial=0)
        off = np.abs(np.where(same, 0, w - g)).max()
        off = math.inf if math.isnan(off) or not tolerance else off / (tolerance * max(scale, 1e-30))
        if off > worst:
            worst, where = off, f"result {k}"
    return worst, where


def fastest(calls, seconds):
    """The fastest of each of the calls, which take turns of some milliseconds."""
    best, counts = [math.inf] * len(calls), []
    for call in calls:
        began = time.perf_counter()
        call()
        counts.append(max(1, min(200, int(0.005 / max(time.perf_counter() - began, 1e-6)))))
    end = time.perf_counter() + seconds
    while True:
        for k, call in enumerate(calls):
            for _ in range(counts[k]):
                began = time.perf_counter()
                call()
                best[k] = min(best[k], time.perf_counter() - began)
        if time.perf_counter() > end:
            return best


def measure(program, devices, seconds):
    with jax.enable_x64(program.double):
        arguments = program.draw()
        made = [compiled(program, arguments, d) for d in devices]
        results = [leaves(jax.block_until_ready(e(*a))) for e, a, _ in made]
        off, where = difference(program, results[1], results[0])
        row = {"family": program.family, "name": program.name, "difference": off, "where": where,
               "compile": [s for _, _, s in made]}
        if seconds:
            row["seconds"] = fastest([lambda e=e, a=a: jax.block_until_ready(e(*a)) for e, a, _ in made], seconds)
    return row


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def ratio(row, what):
    return row[what][0] / row[what][1]


def show(row):
    text = f"  {row['name']:42}"
    if "seconds" in row:
        ours, xlas = row["seconds"]
        text += f" {ours * 1e3:9.3f} {xlas * 1e3:9.3f} ms {ratio(row, 'seconds'):6.2f}"
    if "compile" in row:
        text += f"   compile {row['compile'][0] * 1e3:6.1f} {row['compile'][1] * 1e3:6.1f} ms"
    if row.get("error"):
        text += f"   FAILED: {row['error']}"
    elif row["difference"] > 1:
        text += f"   DIFFERS: {row['where']}, {row['difference']:.1f} times what is allowed"
    print(text, flush=True)


def summary(rows):
    timed = [r for r in rows if "seconds" in r]
    if not timed:
        return
    print(f"\n{'family':20} {'programs':>8} {'time':>6} {'compile':>8} {'slower':>7}")
    for family in sorted({r["family"] for r in timed}) + ["all"]:
        some = [r for r in timed if family in ("all", r["family"])]
        print(f"{family:20} {len(some):8} {mean([ratio(r, 'seconds') for r in some]):6.2f} "
              f"{mean([ratio(r, 'compile') for r in some]):8.2f} {sum(ratio(r, 'seconds') > 1 for r in some):7}")
    print("\nslowest:")
    for r in sorted(timed, key=lambda r: -ratio(r, "seconds"))[:25]:
        print(f"  {ratio(r, 'seconds'):6.2f}  {r['name']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family")
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--seconds", type=float, default=0.4, help="of each program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    devices = [jax.devices()[0], jax.devices("cpu")[0]]
    if devices[0].platform == "cpu":
        sys.exit("the first device is XLA's CPU itself: is xtrain_pjrt on PYTHONPATH?")
    rows, family = [], None
    for program in programs:
        if args.only not in program.name or args.family not in (None, program.family):
            continue
        if program.family != family:
            family = program.family
            print(f"{family}: {devices[0].platform}, xla, ratio", flush=True)
        try:
            row = measure(program, devices, 0 if args.check else args.seconds)
        except Exception as e:  # the others are still to be seen
            row = {"family": program.family, "name": program.name, "error": str(e).splitlines()[0][:200]}
        rows.append(row)
        if not args.check or row.get("error") or row["difference"] > 1:
            show(row)
    bad = [r for r in rows if r.get("error") or r["difference"] > 1]
    summary(rows)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    print(f"\n{len(rows) - len(bad)} passed, {len(bad)} failed")
    sys.exit(1 if bad or not rows else 0)


main()
