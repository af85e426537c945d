#!/usr/bin/env python3
"""Every public name of PyTorch beside ours, or the reason why there is none: doc/pytorch-names.md.

usage: torch_names.py collect     names of the installed PyTorch -> tools/torch_names.txt (needs torch)
       torch_names.py page        that list, tools/torch_names.map and the headers -> doc/pytorch-names.md
       torch_names.py check       the same without writing: whether the page is what it would write, each of our names
                                  is in a header, each of PyTorch's has an answer, each line of the map is used, and
                                  doc/from-pytorch.md calls nothing absent that a header has

Answers come from the map, the first line that fits (its head says how it is written), else from the headers: xt_NAME,
and xt_class_name for ClassName."""
import fnmatch
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LIST, MAP, PAGE, GUIDE = (os.path.join(ROOT, p) for p in ("tools/torch_names.txt", "tools/torch_names.map",
                                                          "doc/pytorch-names.md", "doc/from-pytorch.md"))
SPACES = ("torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
          "torch.nn.utils.parametrizations", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler",
          "torch.distributions", "torch.linalg", "torch.fft", "torch.special", "torch.func", "torch.autograd")
HERE, OTHERWISE, MISSING = "=", "~", "-"


def collect():
    import importlib
    import types

    import torch
    lines = [f"# PyTorch {torch.__version__.split('+')[0]}"]
    for space in SPACES:
        if space == "torch.Tensor":
            owner = torch.Tensor
            names = [n for n in dir(owner) if callable(getattr(owner, n, None))]
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
            if space == "torch":  # its classes are the compiler's, or stand in the other lists
                names = [n for n in names if not isinstance(getattr(owner, n), type)]
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
    lines = [f"# Every name of {version}", "",
             "Made by `tools/torch_names.py page` from the names of an installed PyTorch, the headers and",
             "`tools/torch_names.map`; a test compares the three. What functions need beside their names stands in",
             "[from-pytorch.md](from-pytorch.md). *Done otherwise*: something else does it, or there is nothing to do.",
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


def main(what):
    if what == "collect":
        return collect()
    page, errors = build()
    errors += denied()
    for e in errors:
        print(e)
    if what == "page":
        with open(PAGE, "w") as f:
            f.write(page)
    elif not os.path.exists(PAGE) or open(PAGE).read() != page:
        errors.append("page")
        print("doc/pytorch-names.md is not what tools/torch_names.py page writes")
    sys.exit(bool(errors))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("collect", "page", "check"):
        sys.exit(__doc__)
    main(sys.argv[1])
