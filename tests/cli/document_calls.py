#!/usr/bin/env python3
"""Writes what tests/cli/document_calls.sh compiles: each call of the documents, and of the headers' comments, that
names options, with those options in the order they are written in, and each struct that is filled in by names.
Arguments are something of their types, since a document's `x` is no variable; values of options are {}, which is one of
every type.

usage: document_calls.py INCLUDE_DIR FILE...
"""
import re
import sys

import calls
import macros


def code(path, text):
    """What of a file is C, everything else as spaces: its lines stay where they are."""
    if path.endswith(".h"):
        kept = r"/\*.*?\*/"
    else:
        kept = r"^```c\n.*?^```|`[^`\n]+`"
    blank = list(re.sub(r"[^\n]", " ", text))
    for m in re.finditer(kept, text, re.S | re.M):
        part = m.group()
        if path.endswith(".h"):
            part = re.sub(r"^( *)\*", r"\1 ", part, flags=re.M)
        blank[m.start():m.end()] = part
    return "".join(blank).replace("\\|", "| ")


def named(given):
    return [m.group(1) for m in (re.match(r"\s*\.(\w+)", g) for g in given) if m]


def main(folder, paths):
    taking = {name: k for name, k, _ in calls.behind(folder)}
    _, found = macros.ways(folder)
    print("#include <xtrain/xtrain.h>\nvoid all(xt_tensor t);\nvoid all(xt_tensor t) {\n(void)t;")
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = code(path, f.read())
        for m in re.finditer(r"\b(xt_\w+)\(|\b(xt_\w+) \w+ = \{|\((xt_\w+)\)\{|\bXT_OPTS\((xt_\w+),", text):
            end = "}" if m.group().endswith("{") else ")"
            options = named(calls.split(text[m.end():]) or []) if end == ")" else named(fields(text[m.end():]))
            place = f'#line {text.count(chr(10), 0, m.start()) + 1} "{path}"'
            pairs = ", ".join(f".{o} = {{}}" for o in options)
            name = m.group(1)
            if not options:
                continue
            if name in taking and taking[name] in found[name]:
                print(f"{place}\n(void){macros.called(name, found[name][taking[name]][0], taking[name], pairs)};")
            elif name:
                print(f"{path}: {name} is no macro that takes options", file=sys.stderr)
            elif m.group(4):
                print(f"{place}\n(void)XT_OPTS({m.group(4)}, {pairs});")
            else:
                print(f"{place}\n{{ {m.group(2) or m.group(3)} filled = {{{pairs}}}; (void)filled; }}")
    print("}")


def fields(text):
    """The parts of a list in braces whose first brace has been read."""
    depth, parts, begin = 0, [], 0
    for i, c in enumerate(text):
        if c in "({[":
            depth += 1
        elif c in ")}]" and depth == 0:
            return parts + [text[begin:i]]
        elif c in ")}]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return []


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
