#!/usr/bin/env python3
"""The public names of PyTorch's modules beside ours, or the reason why there is none: doc/pytorch-names.md for readers,
include/xtrain/spelled.h for compilers.

usage: torch_names.py collect     names of the installed PyTorch -> tools/torch_names.txt (needs torch)
       torch_names.py write       that list, tools/torch_names.map, tools/torch_spelled.txt and the headers
                                  -> doc/pytorch-names.md, include/xtrain/spelled.h
       torch_names.py check       the same without writing: whether the two are what it would write, each of our names
                                  is in a header, each of PyTorch's has an answer, each line of the map is used, and
                                  doc/from-pytorch.md calls nothing absent that a header has
       torch_names.py spellings   what a program in C may spell: the names with xt_ in front, as they are, in snake case
                                  and behind the last word of their module; one a line

Answers come from the map, the first line that fits (its head says how it is written), else from the headers: xt_NAME,
and xt_class_name for ClassName. What the compiler says is that answer, or the line of torch_spelled.txt."""
import fnmatch
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LIST, MAP, WORDS = (os.path.join(ROOT, "tools", p) for p in ("torch_names.txt", "torch_names.map", "torch_spelled.txt"))
PAGE, GUIDE, HEADER = (os.path.join(ROOT, p) for p in ("doc/pytorch-names.md", "doc/from-pytorch.md",
                                                       "include/xtrain/spelled.h"))
SPACES = ("torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
          "torch.nn.utils.parametrizations", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler",
          "torch.distributions", "torch.linalg", "torch.fft", "torch.special", "torch.func", "torch.autograd",
          "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.optim.swa_utils", "torch.autograd.functional",
          "torch.amp", "torch.utils.data", "torch.utils.checkpoint")
HERE, OTHERWISE, MISSING = "=", "~", "-"


# Classes of torch that programs name.
CLASSES = r"\w+(Storage|Tensor)|Tensor|Size|device|dtype|layout|memory_format|finfo|iinfo|Generator|Event|Stream" \
          r"|autocast|GradScaler|no_grad|enable_grad|inference_mode|set_grad_enabled"


def is_value(torch, v):
    """dtypes, memory formats and numbers: torch.float32, torch.channels_last, torch.pi, torch.newaxis"""
    return v is None or isinstance(v, (torch.dtype, torch.layout, torch.memory_format, float, torch.Generator))


def collect():
    import importlib
    import types

    import torch
    lines = [f"# PyTorch {torch.__version__.split('+')[0]}"]
    for space in SPACES:
        if space == "torch.Tensor":
            names = dir(torch.Tensor)
        else:
            owner = importlib.import_module(space)
            names = set(getattr(owner, "__all__", None) or dir(owner))
            if space in ("torch", "torch.fft"):  # functions that __all__ forgets: unique, hfft2
                names |= {n for n in dir(owner) if callable(getattr(owner, n, None)) and n[0].islower()}
            # functional has no list: what it only imports is of typing or of other modules
            names = [n for n in names if callable(getattr(owner, n, None)) and
                     not isinstance(getattr(owner, n), types.ModuleType) and
                     getattr(getattr(owner, n), "__module__", None) not in ("typing", "torch.overrides",
                                                                           "torch._jit_internal")]
            if space == "torch":  # most of its classes are the compiler's, or stand in the other lists
                names = [n for n in names if not isinstance(getattr(owner, n), type)]
                names += [n for n in dir(owner) if is_value(torch, getattr(owner, n, 0)) or
                          isinstance(getattr(owner, n, 0), type) and re.fullmatch(CLASSES, n)]
            if space == "torch.nn.utils.prune":  # it has no list either
                names = [n for n in names if getattr(getattr(owner, n), "__module__", "") == space]
        lines += [f"{space} {n}" for n in sorted(set(names)) if not n.startswith("_")]
    with open(LIST, "w") as f:
        f.write("\n".join(lines) + "\n")


def ours():
    """Macros and functions of the headers."""
    names = set()
    folder = os.path.join(ROOT, "include/xtrain")
    for header in sorted(os.listdir(folder)):
        with open(os.path.join(folder, header)) as f:
            text = f.read()
        names |= set(re.findall(r"^#define (xt_\w+)\(", text, re.M))
        names |= set(re.findall(r"^XT_API [^;(]*?\(?\b(xt_\w+)\)?\(", text, re.M))
    return names


def rules():
    out = []
    with open(MAP) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            m = re.fullmatch(r"(\S+) (\S.*?) ([=~-])(?: (.*))?", line)
            if not m:
                sys.exit(f"{MAP}:{number}: not 'SPACES NAMES = TEXT': {line}")
            spaces, names, kind, text = m.groups()
            out.append([spaces.split(","), names.split(), kind, text or "", number, False])
    return out


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def answer(space, name, table, known):
    for rule in table:
        spaces, names, kind, text, _, _ = rule
        if not any(fnmatch.fnmatchcase(space, s) for s in spaces):
            continue
        if not any(fnmatch.fnmatchcase(name, n) for n in names):
            continue
        rule[5] = True
        return kind, text.replace("{}", name).replace("{_}", name.rstrip("_"))
    for guess in (name, snake(name), name.lower(), f"{space.split('.')[-1]}_{name}"):
        if "xt_" + guess in known:
            return HERE, f"`xt_{guess}`"
    if space == "torch.Tensor" and name.endswith("_") and not name.startswith("_"):
        kind, text = answer(space, name[:-1], table, known)
        if kind == HERE:
            return OTHERWISE, f"a value never changes: {text}"
        return kind, text
    return None, ""


def read_names():
    with open(LIST) as f:
        head, *lines = f.read().splitlines()
    return head[2:], [tuple(line.split(" ", 1)) for line in lines]


def table_of(rows):
    """Names that have the same answer share a row."""
    groups = {}
    same = [name for name, kind, text in rows if kind == HERE and text == f"`xt_{name}`"]
    if same:
        groups[(HERE, f"the same names: `xt_{same[0]}`" + (", ..." if len(same) > 1 else ""))] = same
        rows = [r for r in rows if r[0] not in same]
    for name, kind, text in rows:
        groups.setdefault((kind, text), []).append(name)
    own = [(n, t) for (k, t), names in groups.items() if k == HERE for n in [", ".join(f"`{x}`" for x in names)]]
    other = [(n, t) for (k, t), names in groups.items() if k == OTHERWISE for n in [", ".join(f"`{x}`" for x in names)]]
    none = [(n, t) for (k, t), names in groups.items() if k == MISSING for n in [", ".join(f"`{x}`" for x in names)]]
    lines = []
    for title, part in (("xtrain", own), ("done otherwise", other), ("not there, because", none)):
        if part:
            lines += [f"| PyTorch | {title} |", "|---|---|"] + [f"| {n} | {t} |" for n, t in sorted(part)] + [""]
    return lines


def build():
    version, names = read_names()
    known, table, errors = ours(), rules(), []
    spaces = {}
    for space, name in names:
        kind, text = answer(space, name, table, known)
        if kind is None:
            errors.append(f"{space}.{name} has no answer: add a line to tools/torch_names.map")
            kind, text = MISSING, "?"
        for mine in re.findall(r"\bxt_\w+", text):
            if mine not in known:
                errors.append(f"{space}.{name}: {mine} is in no header")
        spaces.setdefault(space, []).append((name, kind, text))
    errors += [f"{MAP}:{r[4]}: fits no name" for r in table if not r[5]]
    lines = [f"# The names of {version}", "",
             "Of each module below every public name: functions, classes, Tensor's methods and attributes, dtypes and",
             "constants. Of `torch` itself those classes that programs name, and not those of its compiler. Made by",
             "`tools/torch_names.py write` from the names of an installed PyTorch, the headers and",
             "`tools/torch_names.map`; a test compares the three. What functions need beside their names stands in",
             "[from-pytorch.md](from-pytorch.md). *Done otherwise*: something else does it, or there is nothing to do.",
             "Each name with `xt_` in front (`xt_Conv2d`, `xt_conv2d`, `xt_nn_Conv2d`) is a function, or the compiler",
             "says what stands here.",
             "",
             "| names of | here | done otherwise | not there | answered |", "|---|---:|---:|---:|---:|"]
    total = [0, 0, 0]
    for space in SPACES:
        rows = spaces.get(space, [])
        n = [sum(k == kind for _, k, _ in rows) for kind in (HERE, OTHERWISE, MISSING)]
        total = [a + b for a, b in zip(total, n)]
        lines.append(f"| `{space}` ({len(rows)}) | {n[0]} | {n[1]} | {n[2]} | "
                     f"{100 * (n[0] + n[1]) / len(rows):.0f} % |")
    lines.append(f"| all ({sum(total)}) | {total[0]} | {total[1]} | {total[2]} | "
                 f"{100 * (total[0] + total[1]) / sum(total):.0f} % |")
    for space in SPACES:
        lines += ["", f"## {space}", ""] + table_of(spaces.get(space, []))[:-1]
    return "\n".join(lines) + "\n", errors


def denied():
    """Names that the guide says are not there (a row whose answer is "-", or "`name`: -"), and that are."""
    known = ours()
    with open(GUIDE) as f:
        rows = [re.split(r"(?<!\\)\|", line) for line in f if line.startswith("|")]
    names = [n for row in rows if len(row) == 4 and re.match(r" -(:| |$)", row[2])
             for quoted in re.findall(r"`([^`]*)`", row[1]) for n in re.findall(r"[\w.]+", quoted)]
    names += [n for row in rows for n in re.findall(r"`(\w+)`: -", "|".join(row))]
    return [f"doc/from-pytorch.md: {n} is not there, and a header has xt_{n.split('.')[-1]}" for n in names
            if "xt_" + n.split(".")[-1] in known]


# --- include/xtrain/spelled.h ---
HEAD = """/* Names of PyTorch's, as somebody types them first with xt_ in front, whose function here has another name or
 * another form: the compiler says which, in place of "implicit declaration". Names that could simply be given a second
 * name are in names.h. Nothing here is part of any program that compiles. Made by tools/torch_names.py of the names
 * that doc/pytorch-names.md lists, and of tools/torch_spelled.txt.
 *
 *     x = xt_Linear(x, 10);   error: "xt_Linear: a layer is a call here: xt_linear(m, \\"fc\\", x, outputs)" */
#ifndef XTRAIN_SPELLED_H
#define XTRAIN_SPELLED_H

#include <xtrain/base.h>

/* One literal, on as many lines as it needs: gcc shows the first of several. */
#define XT_SPELLED_(text) XT_SPELLED_TEXT_(GCC error text) xt_has_another_name_here
#define XT_SPELLED_TEXT_(text) _Pragma(#text)

/* clang-format off */"""
# Whose answer a name that several modules have is given: the first of these that has it.
FIRST = ("torch.nn", "torch.nn.functional", "torch.optim", "torch.optim.lr_scheduler", "torch.distributions",
         "torch.utils.data", "torch.Tensor", "torch")
PREFIXES = {"torch": [""], "torch.nn.functional": ["", "functional_", "F_", "nn_functional_", "nn_"]}


def spellings(space, name):
    """As C programs write it: (whether it is the bare name, spelling)"""
    forms = list(dict.fromkeys((name, snake(name), name.lower())))
    last = space.split(".")[-1].lower()
    for prefix in PREFIXES.get(space, ["", last + "_"]):
        for form in forms:
            yield not prefix, prefix + form


def all_spellings():
    """spelling -> (space, name), the bare ones first, and among those the exact ones"""
    _, names = read_names()
    order = {space: i for i, space in enumerate(FIRST)}
    names.sort(key=lambda n: order.get(n[0], len(FIRST)))
    chosen = {name: (space, name) for space, name in reversed(names)}
    for bare in (True, False):
        for space, name in names:
            for is_bare, spelled in spellings(space, name):
                if is_bare == bare:
                    chosen.setdefault(spelled, (space, name))
    return chosen


def code_of(header):
    """Its text without comments and strings."""
    with open(os.path.join(ROOT, "include/xtrain", header)) as f:
        return re.sub(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", " ", f.read(), flags=re.S)


def identifiers():
    """What the headers call xt_...: no macro may take it away."""
    folder = os.path.join(ROOT, "include/xtrain")
    headers = [h for h in sorted(os.listdir(folder)) if h != os.path.basename(HEADER)]
    return set(re.findall(r"\bxt_\w+", " ".join(code_of(h) for h in headers)))


def signatures():
    """function -> as a program calls it: xt_linear(m, name, x, out, ...)"""
    found = {}
    folder = os.path.join(ROOT, "include/xtrain")
    for header in sorted(os.listdir(folder)):
        with open(os.path.join(folder, header)) as f:
            text = f.read()
        for name, inside in re.findall(r"^#define (xt_\w+)\(([^)]*)\)", text, re.M):
            if "..." not in inside:
                found[name] = f"{name}({inside})"
        found.update({m[2]: m[1] for m in re.finditer(r'XT_GIVEN_\(#__VA_ARGS__,\s*"((xt_\w+)\([^"]*\)): ', text)})
    return found


def words():
    with open(WORDS) as f:
        return dict(line.rstrip("\n").split(" ", 1) for line in f if line.strip() and not line.startswith("#"))


def said(kind, text, calls):
    plain = text.replace("`", "").replace("\\|", "|")
    if kind == MISSING:
        return "not there: " + plain
    if kind == OTHERWISE:
        return "done otherwise: " + plain if re.match(r"xt_|XT_|\.", plain) else plain
    return ("it is called %s here" if re.fullmatch(r"xt_\w+", plain) else "here it is %s") % calls.get(plain, plain)


def header():
    known, table, calls, own, taken = ours(), rules(), signatures(), words(), identifiers()
    chosen = all_spellings()
    for spelled in own:
        chosen.setdefault(spelled, (None, spelled))
    lines = [HEAD]
    for spelled, (space, name) in sorted(chosen.items()):
        if "xt_" + spelled in taken:
            continue
        kind, text = answer(space, name, table, known) if space else (None, "")
        text = own.get(spelled) or (own.get(name) if chosen[name] == (space, name) else None) or said(kind, text, calls)
        literal = '"xt_%s: %s"' % (spelled, text.replace("\\", "\\\\").replace('"', '\\"'))
        line = f"#define xt_{spelled} XT_SPELLED_({literal})"
        while len(line) > 119:
            cut = line.rindex(" ", 0, 119) + 1
            lines.append(line[:cut] + "\\")
            line = line[cut:]
        lines.append(line)
    return "\n".join(lines + ["/* clang-format on */", "", "#endif"]) + "\n"


def main(what):
    if what == "collect":
        return collect()
    if what == "spellings":
        return print("\n".join(sorted(all_spellings())))
    page, errors = build()
    errors += denied()
    for path, text in ((PAGE, page), (HEADER, header())):
        if what == "write":
            with open(path, "w") as f:
                f.write(text)
        elif not os.path.exists(path) or open(path).read() != text:
            errors.append(f"{os.path.relpath(path, ROOT)} is not what tools/torch_names.py write writes")
    print("\n".join(errors), end="\n" * bool(errors))
    sys.exit(bool(errors))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("collect", "write", "check", "spellings"):
        sys.exit(__doc__)
    main(sys.argv[1])
