#!/usr/bin/env python3
"""Every name of a list with xt_ in front is a function of the headers, or does not compile with a message that
names ours; and no name of a message is one that the headers do not have.

usage: spelled.py INCLUDE NAMES COMPILER...      prints what is wrong, and how many names work and are told"""
import os
import re
import subprocess
import sys
import tempfile


def run(compiler, text, *flags):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "spelled.c")
        with open(path, "w") as f:
            f.write(text)
        return subprocess.run([compiler, "-std=c11", "-I", include, *flags, path], capture_output=True, text=True)


def known_names(compiler):
    """Functions and types that are declared, macros that are called, and macros that only say something."""
    text = "#include <xtrain/xtrain.h>\n"
    macros = run(compiler, text, "-E", "-dM").stdout
    called = set(re.findall(r"^#define (xt_\w+)\(", macros, re.M))
    told = set(re.findall(r"^#define (xt_\w+) XT_SPELLED_\(", macros, re.M))
    return called | set(re.findall(r"\bxt_\w+", run(compiler, text, "-E").stdout)), told


def messages(compiler, names):
    """name -> what the compiler says of its line."""
    # What the message stands before is declared: for each name that is not, a compiler looks for one that is like it.
    text = "#include <xtrain/xtrain.h>\nint xt_has_another_name_here;\n"
    text += "".join(f"void f_{n}(void) {{ xt_{n}; }}\n" for n in names)
    limit = "-ferror-limit=0" if "clang" in compiler else "-fno-diagnostics-show-caret"
    said = {}
    for line in run(compiler, text, "-fsyntax-only", limit).stderr.splitlines():
        m = re.match(r".*spelled\.c:(\d+):\d+: error: (.*)", line)
        if m:
            said.setdefault(names[int(m[1]) - 3], []).append(m[2])
    return said


def check(compiler, names):
    known, told = known_names(compiler)
    wrong = []
    speaking = [n for n in names if "xt_" + n in told]
    said = messages(compiler, speaking)
    for n in names:
        if "xt_" + n not in known and n not in speaking:
            wrong.append(f"{compiler}: xt_{n} is no function and nothing is said of it")
    for n in speaking:
        first = (said.get(n) or [""])[0]
        ours = set(re.findall(r"\bxt_\w+", first)) - {"xt_" + n}
        if f"xt_{n}:" not in first:
            wrong.append(f"{compiler}: xt_{n} does not say its own name: {first}")
        wrong += [f"{compiler}: xt_{n} names {o}, which is in no header" for o in sorted(ours) if o not in known]
    silent = told - {"xt_" + n for n in speaking}
    wrong += [f"{compiler}: {n} is in spelled.h and not in the list" for n in sorted(silent)]
    print("\n".join(wrong + [f"{len(names) - len(speaking)} work, {len(speaking)} are told"]))
    return not wrong


include, path, *compilers = sys.argv[1:]
with open(path) as f:
    words = list(dict.fromkeys(w for line in f if not line.startswith("#") for w in line.split()))
sys.exit(0 if all([check(c, words) for c in compilers]) else 1)
