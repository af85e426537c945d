#!/usr/bin/env python3
"""Reads the option structs of the public headers, and writes what tests/cli/options.sh compiles and compares.

usage: options.py INCLUDE_DIR check SRC_DIR     what is wrong with the headers and sources, a line each
       options.py INCLUDE_DIR program           a program in C and C++: each field, its default, and that 0 stays 0
       options.py INCLUDE_DIR zeros             a program in C: each number of a schedule, an optimizer or a callback
                                                given as 0 is taken, or refused as the 0 that it is
"""
import re
import sys
from pathlib import Path

NUMBERS = {"int", "int64_t", "uint64_t", "double", "char", "bool", "xt_switch", "xt_reduce", "xt_dtype", "xt_interval"}


def structs(folder):
    """(header, name, body) of each struct of options: those that begin with struct_size and are called so."""
    for path in sorted(Path(folder).glob("*.h")):
        text = path.read_text()
        for m in re.finditer(r"typedef struct (?:XT_OPTIONS_ )?(xt_\w+_opts) \{\n(.*?)\n\} \1;", text, re.S):
            if re.search(r"\bstruct_size\b", m.group(2)):
                yield path.name, text, m.group(1), m.group(2)


def fields(body):
    """(type, name, its XT_IS or None, whether it is an array) of each member."""
    code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    code = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"*\1", code)  # a function: its name alone
    for declaration in code.split(";"):
        function = re.search(r"\(\*(\w+)\)\(", declaration)
        if function:
            yield "function", function.group(1), None, True
            continue
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
        if f"typedef struct XT_OPTIONS_ {name} " not in text:
            print(f"{header}: {name} is not marked XT_OPTIONS_: gcc would take options without their names")
        members = list(fields(body))
        marked = [f for _, f, mark, _ in members if mark and f != "struct_size"]
        for kind, f, mark, _ in members:
            if f == "struct_size" and mark != name:
                print(f"{header}: {name}.struct_size is not marked XT_SIZE({name})")
            elif f != "struct_size" and mark and "".join(mark.split()) != f"{name}~{f}":
                print(f"{header}: {name}.{f} is marked for another field")
        initialised = len(re.findall(r"\bXT_(?:ZERO\b|IS\(|SIZE\()", body))
        if initialised != len(members):
            print(f"{header}: {name}: {initialised} of {len(members)} fields have XT_IS or XT_ZERO: g++ warns")
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


# What these need besides the number that is 0.
NEEDED = {
    "step_schedule": {"step_size": "2"}, "multistep_schedule": {"milestones": "{2}"},
    "exponential_schedule": {"gamma": "0.5"}, "cosine_schedule": {"t_max": "4"}, "warm_restarts_schedule": {"t_0": "4"},
    "one_cycle_schedule": {"max_lr": "0.1", "total_steps": "9"}, "cyclic_schedule": {"base_lr": "0.1", "max_lr": "1"},
    "early_stopping": {"monitor": '"a"'}, "model_checkpoint": {"monitor": '"a"'},
    "sgd": {"momentum": "0.9"},
}


def zeros(folder):
    """What says that a 0 is out of range names the field and the 0; "is needed" would be said of one left out. What the
    function does not read may not be 0 either."""
    print("#include <xtrain/xtrain.h>\n#include <stdio.h>\n#include <string.h>\nstatic int bad, calls;")
    print("static xt_tensor net(xt_module *m, xt_tensor x, void *u) { (void)u; return xt_linear(m, \"fc\", x, 2); }")
    print("static xt_optimizer *sgd(void) { return xt_sgd(xt_module_new(net, NULL), .lr = 1, .momentum = 0.9); }")
    print("static void quiet(xt_status s, void *u) { (void)s, (void)u; }")
    print("static void look(const char *call, const char *zero, const void *made) {\n"
          "    const char *e = xt_error() ? xt_status_message(xt_error()) : NULL;\n    calls++;\n"
          "    if (e ? !strstr(e, zero) && !strstr(e, \"would change nothing here\") : !made)\n"
          "        bad = printf(\"%s: %s\\n\", call, e ? e : \"no error\");\n"
          "    xt_clear_error();\n}")
    print("int main(void) {\n    xt_on_error(quiet, NULL);")
    for header, text, name, body in structs(folder):
        if header not in ("schedule.h", "optim.h", "train.h", "train_callbacks.h") or name == "xt_sequence_opts":
            continue # a sequence has its schedules, and an interval
        numbers = [f for kind, f, _, array in fields(body) if kind in NUMBERS and not array]
        makes = re.findall(rf"XT_API xt_\w+ \*?(xt_\w+)_opt\(const xt_src \*src,\s+"
                           rf"(xt_optimizer \*opt,\s+|xt_module \*net,\s+)?{name} o\)", text)
        for make, first in makes:
            make += "" if f"#define {make}(" in text else "_new"
            needed = NEEDED.get(make[3:], {})
            for f in numbers:
                given = [f".{k} = {v}" for k, v in needed.items() if k != f] + [f".{f} = 0"]
                over = ["sgd()" if "optimizer" in first else "xt_module_new(net, NULL)"] if first else []
                call = f"{make}({', '.join(over + given)})"
                shown = call.replace('"', "'")
                print(f'    look("{shown}", "{f} = 0", {call});')
    print('    printf("%d calls\\n", calls);\n    xt_finish();\n    return bad != 0;\n}')


if __name__ == "__main__":
    if sys.argv[2] == "zeros":
        zeros(sys.argv[1])
    elif sys.argv[2] == "check":
        check(sys.argv[1], sys.argv[3])
    else:
        program(sys.argv[1])
