#!/usr/bin/env python3
"""Reads the option structs of the public headers, and writes what tests/cli/options.sh compiles and compares.

usage: options.py INCLUDE_DIR check SRC_DIR     what is wrong with the headers and sources, a line each
       options.py INCLUDE_DIR program           a program in C and C++: each field, its default, and that 0 stays 0
"""
import re
import sys
from pathlib import Path

NUMBERS = {"int", "int64_t", "uint64_t", "double", "char", "bool", "xt_switch", "xt_reduce", "xt_dtype", "xt_interval"}


def structs(folder):
    """(header, name, body) of each struct of options: those that begin with struct_size and are called so."""
    for path in sorted(Path(folder).glob("*.h")):
        text = path.read_text()
        for m in re.finditer(r"typedef struct (xt_\w+_opts) \{\n(.*?)\n\} \1;", text, re.S):
            if re.search(r"\bstruct_size\b", m.group(2)):
                yield path.name, text, m.group(1), m.group(2)


def fields(body):
    """(type, name, its XT_IS or None, whether it is an array) of each member."""
    code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for declaration in code.split(";"):
        m = re.match(r"\s*(const \w+ \*?|\w+ )(.*)", declaration.strip(), re.S)
        if not m:
            continue
        names = re.sub(r"XT_(IS|SIZE)\(([^()]*)\)", lambda n: f"@{n.group(2).replace(',', '~')}@", m.group(2))
        for one in names.split(","):
            name = re.match(r"[\s*]*(\w+)", one)
            mark = re.search(r"@([^@]*)@", one)
            yield m.group(1).strip(), name.group(1), mark.group(1) if mark else None, "[" in one or "*" in one


def defaults(text, name):
    m = re.search(rf"#define XT_DEFAULTS_{name}\(is\)((?:[^\n]*\\\n)*[^\n]*)", text)
    return None if not m else re.findall(r"\bis\((\w+),", m.group(1).replace("\\\n", " "))


def check(folder, source):
    for header, text, name, body in structs(folder):
        listed = defaults(text, name)
        if listed is None:
            print(f"{header}: {name} has no list XT_DEFAULTS_{name}(is)")
            continue
        members = list(fields(body))
        marked = [f for _, f, mark, _ in members if mark and f != "struct_size"]
        for kind, f, mark, _ in members:
            if f == "struct_size" and mark != name:
                print(f"{header}: {name}.struct_size is not marked XT_SIZE({name})")
            elif f != "struct_size" and mark and "".join(mark.split()) != f"{name}~{f}":
                print(f"{header}: {name}.{f} is marked for another field")
        for f in sorted(set(listed) ^ set(marked)):
            print(f"{header}: {name}.{f} is in the list of defaults or marked XT_IS, but not both")
        for line in re.findall(r"[^\n]*\b0 = (?:-?[\d.]|the (?:default|run|dtype|optimizer))[^\n]*", body):
            print(f"{header}: {name}: a comment says that 0 means another number: {line.strip()}")
    listed = {f for _, text, name, _ in structs(folder) for f in defaults(text, name) or []}
    for path in sorted(Path(source).rglob("*.c")):
        for i, line in enumerate(path.read_text().splitlines(), 1):
            for m in re.finditer(r"(?<![\w.>])[op](?:\.|->)(\w+)(?: (?:!=|>) 0)? \? [op](?:\.|->)\1 : ", line):
                if m.group(1) in listed:
                    print(f"{path}:{i}: an option that is 0 becomes another number: {line.strip()}")


def program(folder):
    print("#include <xtrain/xtrain.h>\n#include <stdio.h>")
    print("static int bad;\nint main(void) {")
    for _, _, name, body in structs(folder):
        numbers = [f for kind, f, _, array in fields(body) if kind in NUMBERS and not array]
        print(f"    {{ {name} d = XT_OPTS({name}, );")
        print(f'      if (d.struct_size != sizeof d) bad = !puts("{name}.struct_size");')
        for f in numbers:
            print(f'        printf("{name}.{f} %.17g\\n", (double)d.{f});')
            zero = next(k for k, g, _, _ in fields(body) if g == f)
            print(f"        {{ {name} z = XT_OPTS({name}, .{f} = ({zero})0);")
            print(f'          if (z.{f} != ({zero})0) bad = !puts("{name}.{f}: 0 is not 0");')
            others = [g for g in numbers if g != f]
            if others:
                test = " || ".join(f"z.{g} != d.{g}" for g in others)
                print(f'          if ({test}) bad = !puts("{name}.{f} = 0 changes another field");')
            print("        }")
        print("    }")
    print("    return bad;\n}")


if __name__ == "__main__":
    if sys.argv[2] == "check":
        check(sys.argv[1], sys.argv[3])
    else:
        program(sys.argv[1])
