#!/usr/bin/env python3
"""Writes tests/cli/libtorch_calls.txt: calls of libtorch's that compile in C++ here, and what libtorch gives. For each
name of the header that libtorch has, PyTorch's own schemas say what arguments there are: each number of them is tried,
with values of each of their types, and a pool of values of other types, which C++ converts as it likes. Both libraries
compile all of them; a call that only one has is left out, and one whose numbers differ here is a fault that
tests/cli/libtorch_calls.sh shows. Calls that the table has stay there.

usage: libtorch_calls.py BUILD [EXPRESSIONS]    by a Python that has torch; BUILD: where libxtrain.so is; EXPRESSIONS: a
                                                file of further calls, one a line
"""

import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import libtorch_calls as calls  # noqa: E402

TORCH = os.path.dirname(torch.__file__)
TABLE = os.path.join(ROOT, "tests", "cli", "libtorch_calls.txt")
HEAD = r"""#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <cstdio>
namespace xt = at;
typedef at::Tensor T;
static const char *name(at::ScalarType t) {
    return t == at::kDouble ? "f64" : t == at::kFloat ? "f32" : t == at::kLong ? "i64" : t == at::kBool ? "bool" : "?";
}
static void out(T t) {
    printf(" %s", name(t.scalar_type()));
    for (int64_t d : t.sizes()) printf(" %lld", (long long)d);
    printf(":");
    T f = t.to(at::kDouble).contiguous().reshape({-1});
    for (int64_t k = 0; k < f.numel(); k++) printf(" %.15g", f.data_ptr<double>()[k]);
}
static void begin() { at::set_num_threads(1); }
static void end() {}
static void keep(T) {}
static int last() { return 0; }
"""
# What a name's tensors are, in its own order; x and y otherwise.
TENSORS = {
    "mm": "s u", "bmm": "b c", "mv": "s v", "dot": "v w", "outer": "v w", "cross": "s u", "addmm": "s s u",
    "baddbmm": "b b c", "gather": "x j", "scatter": "x j y", "scatter_add": "x j y",
    "index_add": "x i x.index_select(0,i)", "index_select": "x i", "trace": "s", "logical_and": "m q",
    "inverse": "(s+v.diag())", "det": "(s+v.diag())", "logical_or": "m q", "logical_xor": "m q", "bitwise_not": "i",
    "masked_fill": "x m", "masked_select": "x m", "matmul": "s u", "diag": "v", "kron": "s u", "expand_as": "v s",
    "where": "m x y", "one_hot": "i", "mT": "s", "t": "s", "linear": "s u v", "nll_loss": "x k", "acosh": "(x+2)",
    "max_pool2d": "p", "avg_pool2d": "p", "adaptive_avg_pool2d": "p", "pad": "p", "expand": "v", "broadcast_to": "v",
    "binary_cross_entropy": "x.sigmoid() y.sigmoid()", "kl_div": "x y.sigmoid()", "nonzero": "m", "all": "m",
    "any": "m", "scaled_dot_product_attention": "b c b", "squeeze": "x.unsqueeze(1)",
}  # fmt: skip
# Values of an argument, by its function and name, its name, or its type, the first of these that is there.
VALUES = {
    "reshape.shape": ["{2, 6}", "-1"], "view.size": ["{2, 6}", "-1"], "expand.size": ["{2, 3}"],
    "broadcast_to.size": ["{2, 3}"], "unflatten.sizes": ["{3, 1}"], "permute.dims": ["{1, 0}"],
    "movedim.source": ["{0, 1}"], "movedim.destination": ["{1, 0}"], "repeat.repeats": ["{2, 1}"],
    "repeat_interleave.repeats": ["2"], "tile.dims": ["{2, 1}", "{2}"], "roll.shifts": ["1", "{1, 2}"],
    "roll.dims": ["1", "{0, 1}"], "split.split_size": ["2"], "squeeze.dim": ["1"], "unflatten.dim": ["0"],
    "kernel_size": ["2", "{2, 1}"], "stride": ["1", "{1, 2}"], "padding": ["0", "1"], "dilation": ["1"],
    "output_size": ["{2, 1}"], "pad": ["{1, 2}"], "size": ["{2, 3}", "2"], "indexing": ['"ij"', '"xy"'],
    "approximate": ['"tanh"', '"none"'], "equation": ['"ij,kj->ik"'], "p": ["1", "2", "3.5"], "start": ["1", "0.5"],
    "end": ["5", "2.5", "5.0"], "step": ["2", "0.5"], "fill_value": ["3", "1.5", "true"], "alpha": ["2", "0.5"],
    "base": ["2"], "dim": ["1", "-1", "{0}", "{-2, -1}"], "index": ["1"], "k": ["2"], "steps": ["4"], "n": ["3"],
    "m": ["2"], "length": ["2"], "chunks": ["2"], "num_classes": ["3"], "bins": ["4"], "split_size": ["2"],
    "reduction": ["1", "2"], "end_dim": ["1"], "dim0": ["0"], "dim1": ["1"], "dtype": ["xt::kDouble", "xt::kFloat"],
    "Tensor[]": ["{x, y}"], "bool": ["false", "true"], "str": ['"none"'], "number": ["1", "0.25"],
    "float": ["0.5", "1"], "int[]": ["1", "{0}", "{-2, -1}"], "int": ["1", "0"],
}  # fmt: skip
POOL = ["0", "1", "2", "0.5", "true", "false", "{0}", "{1, 0}", "xt::kFloat", "y"]
UNSAID = ["generator", "layout", "device", "pin_memory", "memory_format", "names", "implicit", "sparse_grad", "path"]


def is_method(name):
    with open(f"{TORCH}/include/ATen/core/TensorBody.h") as body:
        return re.search(rf"[ >]{name}\(.*const", body.read()) is not None


def is_function(name):
    found = glob.glob(f"{TORCH}/include/ATen/ops/{name}.h")
    return bool(found) and re.search(rf"inline .* {name}\(", open(found[0]).read()) is not None


def values(function, argument, tensors):
    kind = str(argument.real_type)
    if kind in ("Tensor", "Optional[Tensor]", "Tensor?"):
        return [tensors.pop(0) if tensors else "y"]
    for key in (f"{function}.{argument.name}", argument.name):
        if key in VALUES:
            return VALUES[key]
    for key in ("Tensor[]", "bool", "str", "number", "float", "int[]", "int"):
        plain = kind.replace("List[Tensor]", "Tensor[]").replace("SymInt", "int")
        plain = re.sub(r"List\[int\]|int\[\d*\]", "int[]", plain).replace("Scalar", "number")
        if key in plain:
            return VALUES[key]
    return ["1"]


def written(names):
    """Calls of these names ("method" or "function", name), by the schemas and out of the pool."""
    kinds = {}
    for kind, name in names:
        kinds.setdefault(name, set()).add(kind)
    found = []
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name[6:]
        if name not in kinds or re.search(r"str(\[1\])? dim|!|\bt\[\]", str(schema)) or "names" in schema.overload_name:
            continue
        arguments = [a for a in schema.arguments if a.name not in UNSAID]
        tensors = TENSORS.get(name, "x y").split(" ")
        spelled = [values(name, a, tensors) for a in arguments]
        needed = max([k + 1 for k, a in enumerate(arguments) if not a.has_default_value()], default=1)
        of_tensor = bool(arguments) and str(arguments[0].real_type) == "Tensor"
        for count in range(max(needed, 1), len(arguments) + 1):
            for one in itertools.islice(itertools.product(*spelled[:count]), 24):
                if of_tensor and "method" in kinds[name] and is_method(name):
                    found.append(f"{one[0]}.{name}({', '.join(one[1:])})")
                if "function" in kinds[name] and is_function(name):
                    found.append(f"xt::{name}({', '.join(one)})")
    for name, of in kinds.items():
        first = TENSORS.get(name, "x").split(" ")[0]
        for value in POOL:
            found += [f"{first}.{name}({value})"] if "method" in of and is_method(name) else []
            found += [f"xt::{name}({first}, {value})"] if "function" in of and is_function(name) else []
    return list(dict.fromkeys(found))


def results(head, flags, expressions):
    """What a library gives; calls that do not compile, as those without a template's argument cannot, are left out."""
    expressions = list(expressions)
    with tempfile.TemporaryDirectory() as folder:
        source, run = f"{folder}/calls.cpp", f"{folder}/calls"
        while True:
            with open(source, "w") as out:
                out.write(calls.program(expressions, head))
            with open(source) as lines:
                text = lines.read().split("\n")
            compiler = ["g++", "-std=c++17", "-w", source, "-o", run]
            made = subprocess.run([*compiler, *flags], capture_output=True, text=True)
            if made.returncode == 0:
                break
            wrong = {text[int(n) - 1] for n in re.findall(r"calls\.cpp:(\d+):\d+: error", made.stderr)}
            wrong = {line[4:-1] for line in wrong if line.startswith("ROW(")}
            if not wrong:
                sys.exit(made.stderr[:4000])
            expressions = [e for e in expressions if e not in wrong]
        env = dict(os.environ, XT_SUMMARY="off", OMP_NUM_THREADS="1")
        told = subprocess.run([run], capture_output=True, text=True, env=env).stdout
    lines = (line.split(" ## ") for line in told.split("\n"))
    return {line[0]: line[1] for line in lines if len(line) == 2 and "!" not in line[1] and line[1].strip() != "-"}


def pattern(expression):
    """Calls whose arguments are alike have one pattern."""
    name, arguments = calls.call_of(expression)
    words = [re.sub(r"\{.*", lambda m: "{" + "," * m[0].count(","), a) for a in arguments]
    numbers = (re.sub(r"^-?[\d.]+$", lambda m: "." if "." in m[0] else "0", a) for a in words)
    return expression.startswith("xt::"), name, *numbers


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.NamedTemporaryFile("w+") as header:
        read = ["g++", "-std=c++17", "-E", "-P", f"-I{ROOT}/include", "-include", "xtrain.hpp"]
        read += ["-x", "c++", "/dev/null"]
        subprocess.run(read, stdout=header, check=True)
        expressions = written({(kind, name) for kind, name, *_ in calls.declared(header.name)})
    expressions = [expression for expression, _ in calls.rows_of(TABLE)] + expressions
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as more:
            expressions = more.read().split("\n") + expressions
    expressions = list(dict.fromkeys(expressions))
    expressions = [e for e in expressions if e and calls.call_of(e)[0] not in calls.ELSEWHERE]
    ours = ["-I", f"{ROOT}/include", f"-L{build}", "-lxtrain", f"-Wl,-rpath,{build}"]
    here = results(calls.HEAD, ours, expressions)
    theirs = [f"-I{TORCH}/include", f"-L{TORCH}/lib", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{TORCH}/lib"]
    there = results(HEAD, theirs, [e for e in expressions if e in here])
    taken = set()
    with open(TABLE, "w") as out:
        for expression, value in there.items():
            if pattern(expression) not in taken:
                taken.add(pattern(expression))
                out.write(f"{expression} ## {value.strip()}\n")


if __name__ == "__main__":
    main()
