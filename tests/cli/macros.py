#!/usr/bin/env python3
"""Writes what tests/cli/macros.sh compiles: each public macro that is called like a function.

usage: macros.py INCLUDE_DIR right    a call of each with the fewest arguments it takes, with each number of those that
                                      may follow, with a number for each list, and with each option by its name
       macros.py INCLUDE_DIR wrong    a function for each call with fewer, a line each
       macros.py INCLUDE_DIR told     from stdin, what a compiler says of those: prints the calls that it takes, and
                                      those whose errors are not of the macro that the program has called
"""
import re
import sys
from pathlib import Path

import calls
import options

MOST = 9
# Macros that no call without its surroundings says something of: why.
OTHER = {
    "xt_scope": "a block stands behind it",
    "xt_get_rank": "as xt_rank, which takes nothing", "xt_get_world_size": "as xt_world_size, which takes nothing",
}
# A tensor or a number on either side: C chooses the function by the types.
GENERIC = set("""
xt_fmod xt_floor_divide xt_bitwise_and xt_bitwise_or xt_bitwise_xor xt_bitwise_left_shift xt_bitwise_right_shift xt_lerp
xt_divide xt_true_divide xt_multiply xt_subtract xt_greater xt_greater_equal xt_less xt_less_equal xt_not_equal xt_rsub
xt_add xt_sub_ xt_minus xt_mul xt_div xt_pow xt_maximum xt_minimum xt_remainder xt_eq xt_ne xt_lt xt_le xt_gt xt_ge
xt_where
""".split())
# Arguments that are no parameter of a function's, or more than its type says: (macro, place).
GIVEN = {
    ("xt_init_constant", 2): "1",
    ("xt_vector_norm", 1): "1", ("xt_norm", 1): "1", ("xt_vector_norm", "p"): "1", ("xt_norm", "p"): "1",
    ("xt_hamming_window", 2): "1", ("xt_kaiser_window", 2): "1",
}
# Lists in braces, whose commas are the macro's, too: the call as it is written, and the fewest arguments.
LISTS = {
    "xt_sequential": ('0, "", t, {0, 0}', 3), "xt_mesh_new": ('{"data", 2}', 0),
    "xt_from_array": ("&n, XT_F32", 2), "xt_call": ("0, t", 1), "xt_arange": ("1, XT_F32", 1),
    "xt_master_printf": ('"%d", 1', 1), "xt_status_new": ('XT_INTERNAL, "%d", 1', 2),
}

def public(folder):
    """{macro: how many parameters it has by name, and whether more may follow}"""
    out = {}
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S).replace("\\\n", " ")
        for name, inside in re.findall(r"^[ \t]*#define (xt_\w+)\(([^)]*)\)", text, flags=re.M):
            parameters = [p.strip() for p in inside.split(",") if p.strip()]
            out[name] = (len([p for p in parameters if p != "..."]), "..." in parameters)
    spelled = (Path(folder) / "spelled.h").read_text()
    return {n: v for n, v in out.items() if f"#define {n}(" not in spelled}


def prototypes(folder):
    """{function: its parameters as they stand}"""
    found = {}
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        for m in re.finditer(r"XT_API\s+[^;(]*?\(?\b(xt_\w+)\)?\s*\(([^;{]*)\);", text):
            found[m.group(1)] = [" ".join(p.split()) for p in calls.split(m.group(2) + ")") or []]
    return found


def argument(kind):
    """Something of a parameter's type, as a program writes it."""
    kind = re.sub(r"\[\w*\]$", "", kind)
    if "(*" in kind or re.search(r"\*\w+$|\* ?\w+$", kind) and "*" in kind:
        return "0"
    kind = kind.rsplit(" ", 1)[0]
    if kind == "xt_tensor":
        return "t"
    if kind == "xt_dtype":
        return "XT_F32"
    if kind in ("bool", "int", "int64_t", "uint64_t", "size_t", "double", "float"):
        return "1"
    if kind == "xt_list":
        return "XT_LIST(1)"
    if kind.endswith("_fn"):
        return "0"
    return f"(({kind}){{}})" if kind in STRUCTS else f"(({kind})0)"


STRUCTS = set()


def ways(folder):
    """{macro: {how many arguments: (the type of each place, whether that is enough)}}"""
    known, names = prototypes(folder), public(folder)
    for path in sorted(Path(folder).glob("*.h")):
        STRUCTS.update(re.findall(r"typedef struct (?:XT_OPTIONS_ )?(\w+)", path.read_text()))
    tries = [(n, k) for n in names for k in range(MOST + 1)]
    seen = calls.expanded(folder, [f"{n}({', '.join(f'arg{i}_' for i in range(k))})" for n, k in tries])
    found = {n: {} for n in names}
    for i, (name, k) in enumerate(tries):
        if k < names[name][0] or (k > names[name][0] and not names[name][1]):
            continue
        lacks = 'sizeof("") > 1' in seen.get(i, "")
        text = re.sub(r'"((?:[^"\\]|\\.)*)"', '""', seen.get(i, ""))
        text = re.sub(r"__builtin_(huge_val|inf)\(\)", "inf", text)
        if re.search(r"_opts\)\{\.struct_size = [^{}]*?, \s*arg\d+_", text):
            continue
        for m in re.finditer(r"\b(xt_\w+)\)*\(", text):
            given = calls.split(text[m.end():])
            if m.group(1) not in known or not given or len(given) != max(1, len(known[m.group(1)])):
                continue
            kinds, text = {}, text[m.end():]
            for kind, value in zip(known[m.group(1)], given):
                places = {int(place) for place in re.findall(r"\barg(\d+)_", value)}
                for place in places:
                    kinds[place] = "int64_t n" if len(places) > 1 and kind.startswith("xt_list ") else kind
            for place in range(k):
                if name in GENERIC:
                    kinds[place] = "xt_tensor x"
            if len(kinds) == k:
                found[name][k] = kinds, calls.whole(given) and not (lacks or re.search(r"\{\}|[(,]\s*,", text))
            break
    return names, found


def called(name, kinds, k, more=""):
    given = [GIVEN.get((name, i)) or argument(kinds[i]) for i in range(k)]
    return f"{name}({', '.join(given + ([more] if more else []))})"


def right(folder):
    names, found = ways(folder)
    taking = {name: (k, struct) for name, k, struct in calls.behind(folder)}
    fields = {}
    for _, _, struct, body in options.structs(folder):
        plain = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"*\1", body) # functions as pointers alone
        fields[struct] = [("pointer" if re.search(rf"\*(?:const )?{f}\b", plain) else kind, f, f"{f}[" in body)
                          for kind, f, _, _ in options.fields(body) if f != "struct_size"]
    for name in names:
        if name in LISTS:
            print(f"    (void){name}({LISTS[name][0]});")
            continue
        if name in OTHER:
            continue
        enough = [k for k, (_, whole) in found[name].items() if whole]
        if not enough:
            print(f"{name}: no call of it is found", file=sys.stderr)
        for k in enough:
            print(f"    (void){called(name, found[name][k][0], k)};")
            for place, kind in found[name][k][0].items():
                if kind.startswith("xt_list "):  # a number is a list of one
                    one = {**found[name][k][0], place: "int64_t n"}
                    print(f"    (void){called(name, one, k)};")
        if name in taking and taking[name][1] in fields:
            k, struct = taking[name]
            for kind, f, is_list in fields[struct]:
                if k in found[name] and (name, f) not in GIVEN:
                    given = "{}" if is_list else option(kind)
                    print(f"    (void){called(name, found[name][k][0], k, f'.{f} = {given}')};")


def option(kind):
    """Something that an option of the type may be."""
    if kind == "xt_tensor":
        return "t"
    if kind == "pointer" or kind.endswith("_fn"):
        return "0"
    if kind in STRUCTS:
        return "{XT_F32}" if kind == "xt_spec" else "{}"
    return "1" if kind in ("int", "int64_t", "uint64_t", "double", "char", "bool") else f"({kind})0"


def wrong(folder):
    """(macro, how many arguments, the call) of each that lacks some."""
    names, found = ways(folder)
    for name in names:
        enough = [k for k, (_, whole) in found[name].items() if whole]
        if enough and name not in OTHER and name not in LISTS:
            kinds = found[name][min(enough)][0]
            for k in range(min(enough)):
                yield name, k, called(name, kinds, k)


def told(folder, text):
    """A compiler shows an error's place, the macros that led there and the line of the call; what it says of several
    lines begins anew with each error."""
    said = {}
    for part in re.split(r"^(?=\S+:\d+:\d+: (?:fatal )?error: )", text, flags=re.M)[1:]:
        lines = re.findall(r"^wrong\.c:(\d+):\d+:", part, flags=re.M)
        for line in lines[-1:] + lines[:1]:
            said.setdefault(int(line), []).append(part)
    for i, (name, k, call) in enumerate(wrong(folder), 1):
        if i not in said:
            print(f"{call} compiles")
        elif not any(re.search(rf"\b{name}\b", part) for part in said[i]):
            print(f"{call} is told without its name: {said[i][0].splitlines()[0]}")


if __name__ == "__main__":
    if sys.argv[2] == "right":
        right(sys.argv[1])
    elif sys.argv[2] == "told":
        told(sys.argv[1], sys.stdin.read())
    else:
        for name, k, call in wrong(sys.argv[1]):
            head = f"void wrong_{name}_{k}(xt_tensor t)"
            print(f"{head}; {head} {{ (void)t; (void){call}; }}")
