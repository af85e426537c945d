#!/usr/bin/env python3
"""Calls of tensor functions, losses, pools, transforms and distributions with drawn options and shapes (empty ones,
dims of 1, ties, negative axes, operands that broadcast), in f64, beside PyTorch: values and gradients.

usage: BUILD=build draws_torch.py [--first SEED] [--seeds N] [--each K] [--only NAME]    (a Python with PyTorch)

Each family in draws/ draws one call: C text, the same in PyTorch, inputs, and which of them want a gradient. K calls of
each family become one C program, which prints what it has; the gradient is that of the sum of the outputs times
cos(0), cos(1), ... A call that PyTorch refuses must be an error here, or is named in FREER with the reason; one that is
refused here alone is a difference."""
import argparse
import inspect
import os
import subprocess
import sys
import tempfile

import torch

import draws.distributions  # each of these adds its families
import draws.elements
import draws.fourier
import draws.images
import draws.linear_algebra
import draws.losses
import draws.reductions
import draws.shapes
from draws.calls import FAMILIES, num, r

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
# Families in which a call that PyTorch refuses may have a meaning here.
FREER = {"reductions": "the largest magnitude of no elements is 0", "padding": "a dim may become empty",
         "along": "slices of no elements are never looked at",
         "of_integers": "bools have a median, and what is below 0 is not counted",
         "distributions": "more of them have means, entropies and distribution functions"}
TYPES = {torch.float64: "XT_F64", torch.float32: "XT_F32", torch.int64: "XT_I64", torch.int32: "XT_I32",
         torch.bool: "XT_BOOL", torch.uint8: "XT_U8", torch.int16: "XT_I16"}
C_TYPES = {"XT_F64": "double", "XT_F32": "float", "XT_I64": "int64_t", "XT_I32": "int32_t", "XT_BOOL": "bool",
           "XT_U8": "uint8_t", "XT_I16": "int16_t"}
HEAD = r"""#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
#include <xtrain/distributions.h>
static void show(const char *what, xt_tensor t) {
    int rank = xt_rank_of(t);
    int64_t n = 1;
    printf("%s %s %d", what, xt_dtype_name(xt_dtype_of(t)), rank);
    for (int i = 0; i < rank; i++) printf(" %lld", (long long)xt_dim(t, i)), n *= xt_dim(t, i);
    printf(" :");
    double *v = calloc(n + 1, sizeof *v);
    if (!xt_read(xt_cast(t, XT_F64), v, n * sizeof *v)) printf(" unread");
    else for (int64_t i = 0; i < n; i++) printf(" %.17g", v[i]);
    printf("\n");
    free(v);
}
static xt_tensor weighed(xt_tensor t) {
    int rank = xt_rank_of(t);
    int64_t n = 1, dims[XT_MAX_RANK + 1] = {0};
    for (int i = 0; i < rank; i++) n *= dims[i] = xt_dim(t, i);
    double *v = calloc(n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = cos((double)i);
    xt_tensor w = xt_from_data(v, XT_F64, rank, dims);
    free(v);
    return xt_sum(xt_mul(xt_cast(t, XT_F64), w));
}
static void give(int number, xt_tensor *out, int n, const xt_tensor *in) {
    xt_status bad = xt_error();
    printf("call %d\n", number);
    for (int i = 0; i < 2 && !bad && !xt_is_none(out[i]); i++) {
        if (xt_is_error(out[i])) break;
        show("value", out[i]), bad = xt_error();
    }
    if (!bad && n) {
        xt_tensor loss = {0}, grads[8] = {{0}};
        for (int i = 0; i < 2; i++)
            if (!xt_is_none(out[i]) && xt_dtype_of(out[i]) == XT_F64)
                loss = xt_is_none(loss) ? weighed(out[i]) : xt_add(loss, weighed(out[i]));
        if (!xt_is_none(loss)) {
            xt_grad_of(loss, n, in, grads, .allow_unused = XT_ON);
            for (int i = 0; i < n && !(bad = xt_error()); i++)
                if (xt_is_none(grads[i])) printf("none\n");
                else show("grad", grads[i]);
        }
        bad = bad ? bad : xt_error();
    }
    if (bad) {
        printf("error ");
        for (const char *c = xt_status_message(bad); *c; c++) putchar(*c == '\n' ? ' ' : *c);
        printf("\n");
    }
    xt_clear_error();
    xt_mark_step();
}
"""


def program(calls, seen):
    text = [HEAD]
    for i, call in enumerate(calls):
        body = []
        for name, t in call.inputs.items():
            ty = TYPES[t.dtype]
            vals = ", ".join("NAN" if v != v else num(v) if isinstance(v, float) else str(v).lower()
                             for v in t.reshape(-1).tolist())
            body.append(f"    {C_TYPES[ty]} {name}_v[] = {{{vals or 0}}};")
            body.append(f"    int64_t {name}_d[] = {{{', '.join(map(str, t.shape)) or 0}}};")
            body.append(f"    xt_tensor {name} = xt_from_data({name}_v, {ty}, {t.dim()}, {name}_d);")
        c = call.c if call.c.rstrip().endswith(";") else f"out[0] = {call.c};"
        grads = ", ".join(call.grad)
        text.append(f"static void call_{i}(void) {{\n    xt_tensor out[2] = {{{{0}}, {{0}}}}, at;\n" + "\n".join(body) +
                    f"\n    {c}\n    give({i}, out, {len(call.grad)}, "
                    f"{'(xt_tensor[]){' + grads + '}' if grads else 'NULL'});\n}}\n")
    text.append("int main(void) {\n" + "".join(f"    call_{i}();\n" for i in range(len(calls))) +
                "    return xt_finish();\n}\n")
    return "\n".join(text)


def run_theirs(call, got):
    """(values, gradients), or why PyTorch refuses. A function of `drawn` takes our first value for its draw."""
    t = {k: v.clone().requires_grad_(k in call.grad) for k, v in call.inputs.items()}
    own = (getattr(call.f, "__module__", None) or "").startswith("draws.")
    if own and got and got["value"] and "drawn" in inspect.signature(call.f).parameters:
        t["drawn"] = got["value"][0][1]
    torch.set_default_dtype(torch.float32)  # what a program of theirs has
    try:
        # PyTorch's own functions have other names for their arguments.
        out = call.f(**t) if own else call.f(*t.values())
        out = [o for o in (out if isinstance(out, (tuple, list)) else [out])]
        loss = sum((o * torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape)).sum()
                   for o in out if o.dtype == torch.float64)
        grads = []
        if call.grad and isinstance(loss, torch.Tensor):
            got = torch.autograd.grad(loss, [t[k] for k in call.grad], allow_unused=True) if loss.requires_grad else \
                [None] * len(call.grad)
            grads = [torch.zeros_like(t[k]) if g is None else g for g, k in zip(got, call.grad)]
        return [o.detach() for o in out], grads
    except Exception as e:  # whatever PyTorch raises is its refusal
        return f"{type(e).__name__}: {e}".splitlines()[0]
    finally:
        torch.set_default_dtype(torch.float64)


def parse(text):
    out = {}
    for line in text.splitlines():
        w = line.split()
        if line.startswith("call "):
            at = out[int(w[1])] = {"value": [], "grad": [], "error": None}
        elif line.startswith("error ") and out:
            at["error"] = line[6:]
        elif line == "none" and out:
            at["grad"].append(None)
        elif w and w[0] in ("value", "grad") and out:
            rank = int(w[2])
            dims = [int(v) for v in w[3:3 + rank]]
            if "unread" in w:
                at["error"] = at["error"] or "unread"
                continue
            at[w[0]].append((w[1], torch.tensor([float(v) for v in w[4 + rank:]]).reshape(dims)))
    return out


def apart(ours, theirs, tol):
    dtype, ours = ours
    if TYPES.get(theirs.dtype) not in ("XT_" + dtype.upper(), None):
        return f"dtype {dtype}, PyTorch has {theirs.dtype}"
    theirs = theirs.double()
    if list(ours.shape) != list(theirs.shape):
        return f"shape {list(ours.shape)}, PyTorch has {list(theirs.shape)}"
    if torch.allclose(ours, theirs, tol, tol, equal_nan=True):
        return None
    bad = ~torch.isclose(ours, theirs, tol, tol, equal_nan=True)
    i = tuple(bad.nonzero()[0].tolist())
    found = f"{ours[i].item()}, PyTorch has {theirs[i].item()}"
    return f"{int(bad.sum())} of {ours.numel()} differ, first at {list(i)}: {found}"


def compare(call, got, freer):
    want = run_theirs(call, got)
    if got is None:
        return "nothing was printed"
    if isinstance(want, str):
        return None if got["error"] or freer else f"ACCEPTED, PyTorch says {want}"
    if got["error"]:
        return f"REFUSED: {got['error']}"
    values, grads = want
    if len(got["value"]) != len(values):
        return f"{len(got['value'])} values, PyTorch has {len(values)}"
    for i, (a, b) in enumerate(zip(got["value"], values)):
        bad = apart(a, b, call.tol)
        if bad:
            return f"value {i}: {bad}"
    for name, a, b in zip(call.grad, got["grad"], grads):
        bad = apart(("f64", torch.zeros_like(b)) if a is None else a, b, call.tol * 10)
        if bad:
            return f"gradient of {name}: {bad}"
    return None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--first", type=int, default=1)
    ap.add_argument("--seeds", type=int, default=1)
    ap.add_argument("--each", type=int, default=20)
    ap.add_argument("--only")
    ap.add_argument("--keep")
    a = ap.parse_args()
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    differ = total = 0
    for seed in range(a.first, a.first + a.seeds):
        for name, draw in FAMILIES.items():
            if a.only and name not in a.only.split(","):
                continue
            r.seed(f"{seed} {name}")
            calls = [draw() for _ in range(a.each)]
            with tempfile.TemporaryDirectory() as tmp:
                tmp = a.keep or tmp
                src, exe = os.path.join(tmp, "draws.c"), os.path.join(tmp, "draws")
                with open(src, "w") as f:
                    f.write(program(calls, None))
                subprocess.run(["gcc", "-std=gnu11", "-O0", "-w", "-I", os.path.join(ROOT, "include"), src, "-o", exe,
                                "-L", build, "-lxtrain", "-lm", f"-Wl,-rpath,{build}"], check=True)
                p = subprocess.run([exe], capture_output=True, text=True, timeout=900,
                                   env={**os.environ, "XT_SUMMARY": "off"})
            got = parse(p.stdout)
            for i, call in enumerate(calls):
                total += 1
                bad = compare(call, got.get(i), name in FREER)
                if bad:
                    differ += 1
                    dims = ", ".join(f"{k} {list(v.shape)}" for k, v in call.inputs.items())
                    print(f"{name} {seed}.{i}: {call.c}\n    {dims}\n    {bad}", flush=True)
            if p.returncode not in (0, 1):
                print(f"{name} {seed}: the program ended with {p.returncode}: {p.stderr[-300:]}")
                differ += 1
    print(f"{total} calls, {differ} differ")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
