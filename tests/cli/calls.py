#!/usr/bin/env python3
"""Writes calls of the public macros that are wrong in the same way, a line each, for tests/cli/arguments.sh.

usage: calls.py INCLUDE_DIR unnamed        each macro that takes options, with an option that has no name
       calls.py INCLUDE_DIR unnamed-later  the same behind one that has its name
       calls.py INCLUDE_DIR dtype          each macro that takes a dtype, with a number there
       calls.py INCLUDE_DIR number         each number that a macro takes (a dim, a count, an axis), with a dtype there
       calls.py INCLUDE_DIR named          each number, and each list of axes, with a name before it, as options have
       calls.py INCLUDE_DIR word           each option and argument that is one of an enum's words, with another enum's
       calls.py INCLUDE_DIR word-alone     the same without calls: clang looks at those without other errors
"""
import re
import subprocess
import sys
from pathlib import Path

import options

MOST_ARGUMENTS = 8


def macros(folder):
    for path in sorted(Path(folder).glob("*.h")):
        for m in re.finditer(r"^[ \t]*#define (xt_\w+)\(", path.read_text(), re.M):
            yield m.group(1)


def expanded(folder, calls):
    """Each call as the preprocessor leaves it."""
    headers = "".join(f"#include <xtrain/{p.name}>\n" for p in sorted(Path(folder).glob("*.h")))
    text = headers + "".join(f"CALL_{i} {c} CALL_END\n" for i, c in enumerate(calls))
    out = subprocess.run(["cc", "-E", "-P", "-xc", "-I", str(Path(folder).parent), "-"], input=text, text=True,
                         capture_output=True, check=False).stdout
    return {int(m.group(1)): m.group(2) for m in re.finditer(r"\bCALL_(\d+) (.*?) CALL_END", out, re.S)}


def first_field(folder, struct):
    for path in Path(folder).glob("*.h"):
        m = re.search(rf"struct XT_OPTIONS_ {struct} \{{(.*?)\n\}} {struct};", path.read_text(), re.S)
        if m:
            body = re.sub(r"/\*.*?\*/", "", m.group(1), flags=re.S).split(";")[1]
            return re.match(r"\s*(?:const )?\w+ \**(\w+)", body).group(1)
    sys.exit(f"{struct}: there is no such struct of options")


def behind(folder):
    """Of each macro that takes options: its name, how few arguments stand in front of them, and their struct."""
    names = sorted(set(macros(folder)))
    calls = [(n, k) for n in names for k in range(MOST_ARGUMENTS + 1)]
    seen, found = expanded(folder, [f"{n}({', '.join(['p'] * k + ['777'])})" for n, k in calls]), set()
    for i, (name, k) in enumerate(calls):
        m = re.search(r"\((xt_\w+_opts)\)\{\.struct_size = [^{}]*,\s*777\b[^{}]*\}", seen.get(i, ""))
        if m and name not in found:
            found.add(name)
            yield name, k, m.group(1)


def unnamed(folder, later):
    """The fewest arguments behind which a number lands in a struct of options."""
    for name, k, struct in behind(folder):
        named = f".{first_field(folder, struct)} = {{0}}, " if later else ""
        print(f"    (void){name}({', '.join(['p'] * k + [named + '777'])});")


def enums(folder):
    """{enum: a constant of it}"""
    text = "".join(re.sub(r"/\*.*?\*/", " ", p.read_text(), flags=re.S) for p in sorted(Path(folder).glob("*.h")))
    return {m.group(1): m.group(2) for m in re.finditer(r"typedef enum (xt_\w+[a-z]) \{\s*(\w+)", text)}


def word(folder, alone):
    """Each option and each argument of an enum is given another enum's constant, and each enum those of all others."""
    known, fields, places = enums(folder), {}, {}
    for _, _, struct, body in options.structs(folder):
        fields[struct] = [(f, kind) for kind, f, _, _ in options.fields(body) if kind in known]
    for name, k, struct in behind(folder):
        for f, kind in fields[struct]:
            call = f"XT_OPTS({struct}, .{f} = WORD)" if alone else f"{name}({', '.join(['p'] * k + [f'.{f} = WORD'])})"
            places.setdefault(kind, []).append(call)
    for kind, call in worded(folder, known.keys() - {"xt_dtype"}):
        places.setdefault(kind, []).append(f"XT_WORD_({kind}, WORD)" if alone else call)
    for kind, calls in places.items():
        others = [c for e, c in known.items() if e != kind]
        for i in range(max(len(calls), len(others))):
            call = re.sub(r"\bWORD\b", others[i % len(others)], calls[i % len(calls)])
            print(f"    (void){call};")


def whole(given):
    """Whether no argument is missing: nothing, or empty parentheses."""
    return all(given) and not re.search(r"\(\s*\)", "".join(given))


def worded(folder, known):
    """Each argument that is all of a parameter of an enum: (enum, the call); a function without a macro as it is."""
    kinds, names = {}, sorted(set(macros(folder)))
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        for m in re.finditer(r"XT_API[^;(]*?\b(xt_\w+)\(([^;{]*?)\);", text):
            kinds[m.group(1)] = [" ".join(p.split()).rsplit(" ", 1)[0] for p in m.group(2).split(",")]
    kinds = {f: given for f, given in kinds.items() if known & set(given)}
    for f in sorted(kinds.keys() - set(names)):
        if not re.search("_(at|opt)$", f):
            for kind in known & set(kinds[f]):
                yield kind, f"{f}({', '.join('WORD' if k == kind else 'p' for k in kinds[f])})"
    calls = [(n, k) for n in names for k in range(1, MOST_ARGUMENTS + 1)]
    seen, found = expanded(folder, [f"{n}({', '.join(f'arg{i}_' for i in range(k))})" for n, k in calls]), set()
    for i, (name, k) in enumerate(calls):
        for m in re.finditer(r"\b(xt_\w+)\)?\(", seen.get(i, "")):
            given = split(seen[i][m.end():])
            for kind, text in zip(kinds.get(m.group(1), []), given or []):
                places = sorted({int(n) for n in re.findall(r"arg(\d+)_", text)})
                if kind in known and len(places) == 1 and (name, places[0]) not in found and whole(given):
                    found.add((name, places[0]))
                    yield kind, f"{name}({', '.join('WORD' if a == places[0] else 'p' for a in range(k))})"


def dtype(folder):
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        shown = set(re.findall(r"^[ \t]*#define (xt_\w+)\(", text, re.M))
        for m in re.finditer(r"XT_API xt_tensor (xt_\w+)_at\(const xt_src \*src,([^;]*)\);", text):
            parameters = [" ".join(p.split()) for p in m.group(2).split(",")]
            # xt_from_array takes a list of data in place, whose commas hide the dtype: it has a check of its own
            if "xt_dtype dtype" in parameters and m.group(1) in shown - {"xt_from_array"}:
                given = ["7" if p == "xt_dtype dtype" else "p" for p in parameters]
                given = given[:-1] if parameters[-1] == "const int64_t *dims" and "rank" not in m.group(2) else given
                print(f"    (void){m.group(1)}({', '.join(given)});")


def split(text):
    """The arguments of a call, whose text begins behind its bracket; None if it does not end."""
    depth, parts, current = 0, [], ""
    for c in text:
        if depth == 0 and c in ",)":
            parts.append(current.strip())
            current = ""
            if c == ")":
                return parts
            continue
        depth += (c in "([{") - (c in ")]}")
        current += c
    return None


def parameters(folder):
    """Of each function that is told a line: its other parameters."""
    found = {}
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        for m in re.finditer(r"\b(xt_\w+)\(const xt_src \*src,([^;{]*?)\);", text):
            found[m.group(1)] = [" ".join(p.split()) for p in m.group(2).split(",")]
    return found


def number(folder, wrong):
    """Each argument that is all of a parameter that is a number, and the last of a list of dims, or where it is named
    the only argument of a list of axes."""
    named = wrong.startswith(".")
    known, names = parameters(folder), sorted(set(macros(folder)))
    calls = [(n, k) for n in names for k in range(1, MOST_ARGUMENTS + 1)]
    seen, found = expanded(folder, [f"{n}({', '.join(f'arg{i}_' for i in range(k))})" for n, k in calls]), set()
    for i, (name, k) in enumerate(calls):
        for m in re.finditer(r"\b(xt_\w+)\(", seen.get(i, "")):
            given = split(seen[i][m.end():])
            if m.group(1) not in known or not given or len(given) != len(known[m.group(1)]) + 1:
                continue
            if "int rank" in known[m.group(1)] or any("const char *const" in g for g in given):
                continue  # an array of dims, and lists of names
            if named and name == "xt_array_dataset":
                continue  # its list in place may be of structs, whose fields have names
            dtypes = [set(re.findall(r"arg(\d+)_", text)) for kind, text in zip(known[m.group(1)], given[1:])
                      if named and kind.startswith("xt_dtype ")]
            dtypes = [int(n) for places in dtypes if len(places) == 1 for n in places]
            for kind, text in zip(known[m.group(1)], given[1:]):
                places = sorted({int(n) for n in re.findall(r"arg(\d+)_", text)})
                scalar = re.fullmatch(r"(int|int64_t|uint64_t|size_t|double) \w+", kind) and len(places) == 1
                dims = re.fullmatch(r"const int(64_t)? \*(dims|perm)", kind) and places and places[-1] == k - 1
                if named:  # (axes of several arguments are their list)
                    dims = kind == "xt_list axes" and len(places) == 1
                if (scalar or dims) and whole(given) and (name, places[-1]) not in found:
                    found.add((name, places[-1]))
                    arguments = [wrong if a == places[-1] else "XT_F32" if a in dtypes else "p" for a in range(k)]
                    print(f"    (void){name}({', '.join(arguments)});")
    if not named:
        print("    (void)XT_LIST(p, XT_F32);")
        print("    (void)xt_from_array(&p, (xt_dtype)1, 3, XT_F32);")


if __name__ == "__main__":
    if sys.argv[2] == "number":
        number(sys.argv[1], "XT_F32")
    elif sys.argv[2] == "named":
        number(sys.argv[1], ".dim = 1")
    elif sys.argv[2] == "dtype":
        dtype(sys.argv[1])
    elif sys.argv[2] in ("word", "word-alone"):
        word(sys.argv[1], sys.argv[2] == "word-alone")
    else:
        unnamed(sys.argv[1], sys.argv[2] == "unnamed-later")
