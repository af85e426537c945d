#!/usr/bin/env python3
"""Writes the entries of the public functions (src/api/entry.h says what they are for).

usage: entries.py names   HEADERS EXCEPTIONS KINDS UNREAD >names.h     what src/ is compiled with
       entries.py entries HEADERS EXCEPTIONS KINDS UNREAD >entries.c   the entries
       entries.py table   HEADERS EXCEPTIONS KINDS UNREAD              the functions as JSON, for tests
HEADERS is the folder of the public headers, KINDS is src/base/handle.def, EXCEPTIONS and UNREAD are the texts in
src/api.
"""
import fnmatch
import json
import pathlib
import re
import sys


class Parameter:
    def __init__(self, text):
        self.text = " ".join(text.split())
        name = re.search(r"\(\*\s*(\w+)\)|(\w+)\s*(?:\[[^]]*\])*$", self.text)
        self.name = name.group(1) or name.group(2)
        self.function = "(*" in self.text or re.search(r"\bxt_\w+_fn\b", self.text) is not None
        self.pointer = "*" in self.text or "[" in self.text or self.function
        kind = re.match(r"(?:const )?xt_(\w+) \*(const \*)?\s*\w+$", self.text)
        status = re.match(r"xt_status \w+$", self.text) is not None # a pointer, though not written as one
        self.pointer |= status
        self.kind = kind.group(1) if kind else "status" if status else None
        self.list = bool(kind and kind.group(2))
        self.options = re.match(r"xt_\w+_opts \w+$", self.text) is not None
        self.integer = re.match(r"(int|int64_t|size_t) \w+$", self.text) is not None
        self.words = [] # (enum, field) of options that are one of some words
        self.held = [] # (kind, field) of options that are handles
        self.sized = None # (condition, size, type): it says how large a struct of the caller's is
        self.unread = [] # Unread of its options


class Function:
    def __init__(self, header, text):
        text = " ".join(text.split())
        m = re.match(r"(.*?)\((xt_\w+)\)\s*\((.*)\)$", text) or re.match(r"(.*?)\b(xt_\w+)\s*\((.*)\)$", text)
        self.header, self.name, inside = header, m.group(2), m.group(3)
        self.returns = re.sub(r"^XT_CHECK ", "", m.group(1).strip())
        self.variadic = inside.endswith("...")
        parts, depth, part = [], 0, ""
        for c in inside + ",":
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(part)
                part = ""
            else:
                part += c
        self.parameters = [Parameter(p) for p in parts if p.strip() not in ("void", "...", "")]
        self.shown = re.sub(r"_(at|opt|opt_at)$", "", self.name)
        self.called = None # what programs call it by, an expression; None: that does not tell
        self.source = any(p.name == "src" for p in self.parameters)

    def count_of(self, at):
        """The parameter beside this one that says how many there are; a text or one number has none."""
        if re.match(r"(const char \*\w+|\w+ \*out_n)$", self.parameters[at].text):
            return None
        for k in (at - 1, at + 1):
            if 0 <= k < len(self.parameters):
                p = self.parameters[k]
                if p.integer and re.match(r"(n|n_\w+|count|max|size|bytes|rank)$", p.name):
                    return p
        return None


def split(text):
    """The arguments that text begins with, up to the bracket that closes them."""
    parts, depth, part = [], 0, ""
    for c in text:
        if depth == 0 and c in ",)":
            parts.append(part.strip())
            part = ""
            if c == ")":
                return parts
        else:
            depth += (c in "([{") - (c in ")]}")
            part += c
    return []


def given(function, macro, macros):
    """What the macro gives the function behind `src`; [] where that depends on how many arguments there are."""
    parameters, text = macros[macro]
    for _ in range(4):
        call = re.search(rf"\b{function}\(", text)
        if call:
            return split(text[call.end():])[1:]
        helper = next((m for m in re.finditer(r"\b(XT_\w+)\(", text) if m.group(1) in macros), None)
        if not helper:
            return []
        arguments = split(text[helper.end():])
        parameters, text = macros[helper.group(1)]
        named = dict(zip([p for p in parameters if p != "..."], arguments))
        text = re.sub(r"\b\w+\b", lambda m: named.get(m.group(0), m.group(0)), text)
    return []


def chosen_name(function, names, macros):
    """Of a function that several macros call, which of them it is, as an expression on its parameters; None where those
    do not tell them apart."""
    found = {name: given(function.name, name, macros) for name in sorted(names)}
    constants = []
    for at, p in enumerate(function.parameters[1:]):
        plain = re.match(r"(int|bool|xt_\w+_(kind|score)) \w+$", p.text) is not None
        if plain and all(len(v) > at and re.match(r"(\d+|true|false|XT_[A-Z0-9_]+)$", v[at]) for v in found.values()):
            constants.append((at, p.name))
    values = {tuple(v[at] for at, _ in constants) if constants else None for v in found.values()}
    if not constants or len(values) < len(names):
        return None
    out = f'"{min(names)}"'
    for name in sorted(names)[1:]:
        condition = " && ".join(f"{p} == {found[name][at]}" for at, p in constants)
        out = f'{condition} ? "{name}" : {out}'
    return out


def read_macros(text):
    """{macro: (parameters, body)}"""
    found = re.findall(r"^[ \t]*#define (\w+)\(([^)]*)\)(.*)$", text.replace("\\\n", " "), flags=re.M)
    return {name: ([p.strip() for p in parameters.split(",")], body) for name, parameters, body in found}


def shown_names(macros):
    """{function: the macros that programs call it by}"""
    bodies = {name: body for name, (_, body) in macros.items()}
    out = {}
    for macro in bodies:
        if not macro.startswith("xt_"):
            continue
        seen, todo = set(), [macro]
        while todo:
            for word in re.findall(r"\w+", bodies[todo.pop()]):
                if word in bodies and word not in seen and not word.startswith("xt_"):
                    todo.append(word)
                if word.startswith("xt_") and word != macro and word not in seen:
                    out.setdefault(word, set()).add(macro)
                seen.add(word)
    return out


def read_functions(folder):
    out = []
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        every = read_macros(text)
        shown = shown_names(every)
        text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", "", text, flags=re.M)
        for m in re.finditer(r"XT_API\s+([^;{}]*?);", text):
            declared = Function(header.name, m.group(1))
            macros = shown.get(declared.name, set())
            if len(macros) == 1:
                declared.shown, declared.called = min(macros), f'"{min(macros)}"'
            elif len(macros) > 1 and declared.source:
                declared.called = chosen_name(declared, macros, every)
            if not declared.called and declared.shown in macros and "kind" not in [p.name for p in declared.parameters]:
                declared.called = f'"{declared.shown}"'
            if declared.name not in [f.name for f in out]:
                out.append(declared)
    return out


def structs_of_options(folder):
    """(name, members without their defaults, text of the header) of each struct of options."""
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        structs = r"typedef struct (?:XT_OPTIONS_ )?(xt_\w+_opts) \{(.*?)\} xt_\w+_opts;"
        for name, body in re.findall(structs, text, flags=re.S):
            yield name, re.sub(r"\s*XT_(ZERO|(IS|SIZE)\([^)]*\))", "", body), text


def read_options(folder):
    """{struct of options: [(type, field)]}"""
    out = {}
    for name, body, _ in structs_of_options(folder):
        fields = re.findall(r"^\s*(double|float|int64_t|int)\s+(\w+(?:\s*,\s*\w+)*)\s*;", body, flags=re.M)
        out[name] = [(t, f.strip()) for t, names in fields for f in names.split(",")]
    return out


class Enum:
    def __init__(self, name, words):
        self.name, self.words = name, words


def read_words(folder):
    """{enum: its constants, the number of each its place}; each begins with 0 and leaves none out."""
    out = {}
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for name, body in re.findall(r"typedef enum (xt_\w+) \{(.*?)\} xt_\w+;", text, flags=re.S):
            constants, value = {}, -1
            for constant, given in re.findall(r"(\w+)\s*(?:=\s*(-?\w+))?", body):
                value = int(given, 0) if given else value + 1
                constants.setdefault(value, constant)
            known = [constants[v] for v in sorted(constants) if not re.search(r"_(COUNT|KINDS)$", constants[v])]
            if sorted(constants)[:len(known)] != list(range(len(known))):
                sys.exit(f"{header.name}: the constants of {name} are not 0, 1, 2, ...: options cannot be checked")
            out[name] = Enum(name, known)
    return out


def read_worded(folder, words):
    """{struct of options: [(enum, field)]}"""
    out = {}
    for name, body, _ in structs_of_options(folder):
        fields = re.findall(r"^\s*(xt_\w+)\s+(\w+(?:\s*,\s*\w+)*)\s*;", body, flags=re.M)
        out[name] = [(words[t], f.strip()) for t, names in fields if t in words for f in names.split(",")]
    return out


def read_held(folder, kinds):
    """{struct of options: [(kind, field)]}: options that are handles."""
    return {name: [(kind, field) for kind, field in re.findall(r"^\s*(?:const )?xt_(\w+) \*(\w+);", body, flags=re.M)
                   if kind in kinds] for name, body, _ in structs_of_options(folder)}


class Field:
    """One option: its type, how many there are of it (0: it is no list), and its default."""
    def __init__(self, kind, places, default):
        self.kind, self.places, self.default = kind, places, default

    def differs(self, at):
        """A condition of C: the option at `at` is not its default."""
        if self.kind == "xt_tensor":
            return f"!(xt_is_none)({at})"
        if self.kind == "xt_switch": # XT_DEFAULT says nothing
            return f"({at} != ({self.default}) && {at} != XT_DEFAULT)"
        return f"{at} != ({self.default})"


def read_sizes(folder, functions):
    """Which parameters say how large the caller's struct is, which may be of an older or newer header."""
    text = "".join(h.read_text() for h in pathlib.Path(folder).glob("*.h"))
    structs = set(re.findall(r"typedef struct (xt_\w+) \{\s*size_t struct_size\b", text))
    for p in (p for f in functions for p in f.parameters):
        described = re.match(r"const (xt_\w+) \*\w+$", p.text)
        if described and described.group(1) in structs:
            of, size = described.group(1), f"{p.name}->struct_size"
            p.sized = (f"{p.name} && {size} && api_bad_size({size}, _Alignof({of}))", size, of)
        elif p.text == "size_t task_size":
            p.sized = ("api_bad_size(task_size, _Alignof(xt_task))", "task_size", "xt_task")
        elif p.text == "xt_remote_opts given":
            size = f"{p.name}.struct_size"
            p.sized = (f"{size} && api_bad_size({size}, _Alignof(xt_remote_opts))", size, "xt_remote_opts")


def read_fields(folder):
    """{struct of options: {field: Field}}"""
    out = {}
    for name, body, text in structs_of_options(folder):
        listed = re.search(rf"#define XT_DEFAULTS_{name}\(is\)((?:[^\n]*\\\n)*[^\n]*)", text)
        given = dict(re.findall(r"\bis\((\w+), ((?:[^()]|\([^()]*\))*)\)", listed.group(1) if listed else ""))
        fields = out[name] = {}
        for declared in body.split(";"):
            function = re.search(r"\(\*(\w+)\)\(", declared)
            m = re.match(r"\s*(?:const )?(\w+)\s+(.*)", declared, flags=re.S)
            if function:
                fields[function.group(1)] = Field("function", 0, "NULL")
            elif m:
                for one in m.group(2).split(","):
                    field, places = re.match(r"\s*(?:\*\s*(?:const\s*)?)*(\w+)\s*(?:\[(\w+)\])?", one).groups()
                    pointer = "*" in one
                    kind = "pointer" if pointer else m.group(1)
                    fields[field] = Field(kind, int(places) if (places or "").isdigit() else 1 if places else 0,
                                          given.get(field, "NULL" if pointer else "0"))
    return out


class Unread:
    """A row of unread.txt for one function: what it does not read, where, and what is said of it."""
    def __init__(self, field, condition, text):
        self.field, self.condition, self.text = field, condition, text

    def check(self, p, fields):
        """(condition, status, option)"""
        name, place = re.match(r"(\w+)(?:\[(\d+)\])?$", self.field).groups()
        of = fields[name]
        at = f"{p.name}.{self.field}"
        differs = (" || ".join(of.differs(f"{at}[{i}]") for i in range(of.places)) if of.places and not place else
                   of.differs(at))
        condition = f"({differs}) && ({self.condition})" if self.condition else differs
        return condition, f'api_unread(call, "{self.field}", "{self.text}")', at


def read_unread(path, functions, fields):
    """Gives each parameter of options its rows; a row that fits nothing is a mistake."""
    for line in re.sub(r"\n +", " ", pathlib.Path(path).read_text()).splitlines():
        if not line or line.startswith("#"):
            continue
        m = re.match(r"(xt_[\w* ]+) : ([\w\[\] ]+?)(?: if (.*?))? : (.*)$", line)
        if not m:
            sys.exit(f"{path}: this is no row: {line}")
        for pattern in m.group(1).split():
            fitting = [f for f in functions if fnmatch.fnmatchcase(f.name, pattern)]
            if not fitting:
                sys.exit(f"{path}: there is no function {pattern}")
            for f in fitting:
                p = next((p for p in f.parameters if p.options), None)
                for field in m.group(2).split():
                    if not p or field.split("[")[0] not in fields[p.text.split(" ")[0]]:
                        sys.exit(f"{path}: {f.name} has no option {field}")
                    # the sources may call the parameter of the options by another name than `o`
                    condition = re.sub(r"\bo\.", f"{p.name}.", m.group(3)) if m.group(3) else None
                    p.unread.append(Unread(field, condition, m.group(4)))


def numbers(function, options):
    """The fractions, and the labels that are left out, that a function takes."""
    out = [p.name for p in function.parameters if re.match(r"(double|float) \w+$", p.text)]
    for p in function.parameters:
        for kind, field in options.get(p.text.split(" ")[0], []) if p.options else []:
            if kind in ("double", "float") or field == "ignore_index":
                out.append(field)
    return out


class Exceptions:
    def __init__(self, path):
        self.null, self.gives, self.ends, self.plain, self.steps, self.always = [], {}, set(), {}, set(), set()
        self.calls, self.takes, self.programs = set(), set(), set()
        for line in pathlib.Path(path).read_text().splitlines():
            words = line.split("#")[0].split() if not line.startswith("plain") else line.split()
            if not words:
                continue
            if words[0] == "null":
                self.null += [(words[1], name) for name in words[2:]]
            elif words[0] == "gives":
                self.gives[words[1]] = " ".join(words[2:])
            elif words[0] == "ends":
                self.ends.update(words[1:])
            elif words[0] == "steps":
                self.steps.update(words[1:])
            elif words[0] == "calls":
                self.calls.update(words[1:])
            elif words[0] == "programs":
                self.programs.update(words[1:])
            elif words[0] == "takes":
                self.takes.update(words[1:])
            elif words[0] == "always":
                self.always.update(words[1:])
            elif words[0] == "plain":
                self.plain[words[1]] = " ".join(words[2:])
            else:
                sys.exit(f"{path}: unknown word {words[0]}")

    def may_be_null(self, function, parameter):
        return any(fnmatch.fnmatchcase(function, f) and parameter == p for f, p in self.null)

    def check(self, functions):
        """A line that fits nothing is a mistake, or of a function that is gone."""
        names = {f.name: {p.name for p in f.parameters} for f in functions}
        for f, p in self.null:
            fitting = [n for n in names if fnmatch.fnmatchcase(n, f)]
            if not any(p in names[n] for n in fitting) and f != "*":
                sys.exit(f"exceptions: null {f} {p}: there is no such function or parameter")
        for f in [*self.gives, *self.ends, *self.steps, *self.always, *self.plain, *self.calls, *self.takes,
                  *self.programs]:
            if not any(fnmatch.fnmatchcase(n, f) for n in names):
                sys.exit(f"exceptions: {f}: there is no such function")


def option_checks(function, fields):
    """(condition, status, option) for each option that is one of some words, or a handle, or that the function does not
    read."""
    out = []
    for p in function.parameters:
        for enum, field in p.words:
            known = enum.words if len(enum.words) < 12 else [f"{enum.words[0]} to {enum.words[-1]}"]
            out.append((f"(unsigned){p.name}.{field} > {enum.words[-1]}",
                        f'api_bad_word(call, "{field}", (int){p.name}.{field}, "{", ".join(known)}")',
                        f"{p.name}.{field}"))
        for kind, field in p.held:
            at = f"{p.name}.{field}"
            out.append((f"api_bad_unless_null(HANDLE_{kind}, {at})",
                        f'api_bad_handle(call, HANDLE_{kind}, {at}, ".{field}")', at))
        out += [row.check(p, fields[p.text.split(" ")[0]]) for row in p.unread]
    return out


def checks(function, exceptions, kinds, fields):
    """(condition, status) for each check, in the order of the parameters, options first."""
    out = []
    if function.name in exceptions.ends:
        out.append(("(refused = api_inside(call)) != NULL", "refused"))
    if uses(function, exceptions, kinds) is not None:
        out.append(("(refused = api_too_deep(call)) != NULL", "refused"))
    if function.name not in exceptions.takes:
        out += [(condition, status) for condition, status, _ in option_checks(function, fields)]
    for at, p in enumerate(function.parameters):
        null, count = exceptions.may_be_null(function.name, p.name), function.count_of(at)
        if p.kind in kinds and p.list and null:
            continue
        if p.kind in kinds and p.list:
            out.append((f"!{p.name} && {count.name} > 0", f'api_null_list(call, "{p.name}", {count.name})'))
            out.append((f"{count.name} > API_MOST", f'api_too_many(call, "{count.name}", {count.name})'))
            out.append((f"api_bad_list(HANDLE_{p.kind}, (const void *const *){p.name}, {count.name}, &bad)",
                        f'api_bad_handle(call, HANDLE_{p.kind}, bad, "{p.name}")'))
        elif p.kind in kinds:
            out.append((f"api_bad{'_unless_null' if null else ''}(HANDLE_{p.kind}, {p.name})",
                        f'api_bad_handle(call, HANDLE_{p.kind}, {p.name}, "{p.name}")'))
        elif p.pointer and not null and count and not p.function:
            out.append((f"!{p.name} && {count.name} > 0",
                        f'api_null_list(call, "{p.name}", (int64_t){count.name})'))
        elif p.pointer and not null:
            out.append((f"!{p.name}", f'api_null(call, "{p.name}")'))
        if re.match(r"const xt_array \*\w+$", p.text):
            if not count: # of a list the function knows how many there are
                out.append((f'(refused = npy_whole({p.name}, "{function.shown}: {p.name}")) != NULL', "refused"))
        if p.sized:
            out.append((p.sized[0], f'api_bad_struct(call, "{p.sized[1]}", {p.sized[1]}, sizeof({p.sized[2]}))'))
        if re.match(r"int (n|n_\w+|parts)$", p.text) and any(re.match(r"(const )?xt_tensor \*", q.text)
                                                              for q in function.parameters):
            out.append((f"{p.name} > API_MOST", f'api_too_many(call, "{p.name}", {p.name})'))
        if re.match(r"xt_list \w+$", p.text):
            out.append((f"(size_t){p.name}.n > sizeof {p.name}.v / sizeof *{p.name}.v",
                        f'api_bad_length(call, "{p.name}", {p.name}.n)'))
    return out


def tensors(function):
    """(numbers, lists) of tensors that the function takes: arguments of api_tell_tensors, and how it is seen that the
    call came to nothing, an expression; None where it takes none, or gives none."""
    one = [p.name for p in function.parameters if re.match(r"xt_tensor \w+$", p.text)]
    lists = [(p.name, function.count_of(at).name) for at, p in enumerate(function.parameters)
             if re.match(r"const xt_tensor \*\w+$", p.text) and function.count_of(at)]
    outs = [p.name for p in function.parameters if re.match(r"xt_tensor \*\w+$", p.text)]
    if not (one or lists) or not function.source:
        return None
    if function.returns == "xt_tensor":
        return one, lists, "api_silent(given)"
    if function.returns in ("void", "bool") and outs:
        return one, lists, " || ".join(f"({o} && api_silent(*{o}))" for o in outs)
    if one and re.match(r"xt_(metric|sparse|dist|\w+_out)$", function.returns): # some of theirs may be left out
        return one, [], None
    return None


def frees(function, kinds):
    return function.name.endswith("_free") and len(function.parameters) == 1 and function.parameters[0].kind in kinds


def uses(function, exceptions, kinds):
    """The handles that functions of the user's may not free while this one calls them; None: it calls none."""
    called = function.name not in exceptions.programs and (function.name in exceptions.calls or any(
        p.function or re.search(r"\bxt_(fn|task|data_module)\b", p.text) for p in function.parameters))
    return [p.name for p in function.parameters if p.kind in kinds and not p.list] if called else None


def has_entry(function, exceptions, kinds, fields):
    if any(fnmatch.fnmatchcase(function.name, f) for f in exceptions.plain):
        return False
    if function.variadic and checks(function, exceptions, kinds, fields):
        sys.exit(f"{function.name}: an entry cannot hand on '...'; give it its checks by hand and a 'plain' line")
    makes = re.match(r"xt_(\w+) \*$", function.returns)
    return (bool(checks(function, exceptions, kinds, fields)) or any(p.options for p in function.parameters) or
            bool(makes and makes.group(1) in kinds) or function.returns == "xt_status" or
            begins_iterations(function, exceptions))


def begins_iterations(function, exceptions):
    """A loop without step boundaries may begin its iterations with this call (src/lazy/step/iteration.c)."""
    return function.source and not function.variadic and function.name not in exceptions.ends


def leave(function, exceptions, status):
    value = exceptions.gives.get(function.name)
    if function.returns == "xt_status":
        return f"return api_given(call, {status});"
    if function.returns == "xt_tensor":
        return f"return api_failed_tensor(call, {status});"
    if function.returns == "void":
        return f"{{ lazy_fail({status}); return; }}"
    if not value:
        value = ('""' if function.returns == "const char *" else "NULL" if "*" in function.returns else
                 f"({function.returns}){{0}}" if function.returns.startswith("xt_") else
                 "false" if function.returns == "bool" else "0")
    return f"{{ lazy_fail({status}); return {value}; }}"


def entry(function, exceptions, kinds, fields):
    text = ", ".join(p.text for p in function.parameters) or "void"
    names = ", ".join(p.name for p in function.parameters)
    source = "src" if function.source else "NULL"
    space = "" if function.returns.endswith("*") else " "
    lines = [f"XT_API {function.returns}{space}checked_{function.name}({text}) __asm__(\"{function.name}\");",
             f"{function.returns}{space}checked_{function.name}({text}) {{"]
    if function.returns != "xt_tensor":
        lines.append("    ENDING_CANCEL_LATER;")
    lines += ["    ending_check();", "    LAZY_FORGET_LEFT();"]
    name = function.called or f'"{function.shown}"'
    call = f"    const api_call *call = API_CALL({name}, {source});"
    if frees(function, kinds):
        p = function.parameters[0]
        lines += [call, f"    if (!api_may_free(call, HANDLE_{p.kind}, {p.name})) return;",
                  "    const void *before = handle_frees_from(call->returns_to);",
                  f"    int mark = lazy_uses(\"{function.shown}\", __builtin_frame_address(0));",
                  f"    lazy_use({p.name});",
                  f"    ({function.name})({p.name});", "    lazy_used(mark);", "    handle_frees_from(before);", "}"]
        return "\n".join(lines)
    found = checks(function, exceptions, kinds, fields)
    gives = function.returns == "xt_status" # which the program is to look at
    makes = function.returns == "xt_tensor"
    taken = tensors(function)
    looks = bool(found or gives or makes or taken or any(p.options for p in function.parameters) or
                 not begins_iterations(function, exceptions))
    if looks:
        lines.append(call)
    if makes:
        lines.append("    const uint64_t failed_before = api_failed_allocations();")
    if looks and not any(fnmatch.fnmatchcase(function.name, f) for f in exceptions.always):
        found.insert(0, ("lazy_refuses && (refused = api_refused(call)) != NULL", "refused"))
    if any(s == "refused" for _, s in found):
        lines.append("    xt_status refused;")
    if any("&bad" in c for c, _ in found):
        lines.append("    const void *bad;")
    taking = option_checks(function, fields) if function.name in exceptions.takes else []
    if taking:
        lines.append("    bool worded = false;")
        for condition, status, option in taking: # 0 in its place: what is made is freed again
            condition = f"({condition}) && !lazy_refuses"
            lines.append(f"    if (__builtin_expect({condition}, false)) {{ lazy_fail({status}); {option} = 0; "
                         "worded = true; }")
    for condition, status in found:
        out = leave(function, exceptions, status)
        if function.name in exceptions.steps and status != "refused":
            out = f"{{ lazy_end_if_unseen(\"{function.shown}\", {source}); {out} }}"
        lines.append(f"    if (__builtin_expect({condition}, false)) {out}")
    if begins_iterations(function, exceptions):
        lines.append("    if (__builtin_expect(atomic_load_explicit(&lazy_calls_watched, memory_order_relaxed), false))"
                     f"\n        lazy_call_begins(\"{function.shown}\", src, "
                     "__builtin_extract_return_addr(__builtin_return_address(0)));")
    result, void = f"({function.name})({names})", function.returns == "void"
    used, named = uses(function, exceptions, kinds), begins_iterations(function, exceptions)
    if used is not None:
        lines.append(f"    int mark = lazy_uses(\"{function.shown}\", __builtin_frame_address(0));")
        lines += [f"    lazy_use({name});" for name in used]
    if named:
        lines.append(f"    const lazy_calling outer = lazy_calling_begin({function.called or 'NULL'}, src);")
    if used is not None or taking or named or taken:
        lines.append(f"    {'' if void else function.returns + ' given = '}{result};")
        result = "" if void else "given"
    if named:
        lines.append("    lazy_calling_end(outer);")
    if used is not None:
        lines.append("    lazy_used(mark);")
    if taking:
        kind = re.match(r"xt_(\w+) \*$", function.returns).group(1)
        lines.append(f"    if (__builtin_expect(worded, false)) {{ (xt_{kind}_free)(given); return NULL; }}")
    if gives:
        result = f"api_given(call, {result})"
    if taken:
        one, lists, silent = taken
        lenient = "true" if silent is None else "false"
        silent = silent or "!lazy_pending()"
        all_of_one = f"{len(one)}, (const xt_tensor[]){{{', '.join(one)}}}"
        told = [f"api_tell_tensors(call, {all_of_one}, {lenient})"] if one else []
        told = " || ".join(told + [f"api_tell_tensors(call, {n}, {name}, false)" for name, n in lists])
        seldom = f"__builtin_expect({silent}, false)" if lenient == "false" else silent
        lines.append(f"    if ({seldom}) (void)({told});")
    if makes:
        result = f"api_made(call, failed_before, {result})"
    if result:
        lines.append(f"    {'' if function.returns == 'void' else 'return '}{result};")
    return "\n".join(lines + ["}"])


def main():
    what, headers, exceptions, kinds = sys.argv[1], sys.argv[2], Exceptions(sys.argv[3]), sys.argv[4]
    kinds = re.findall(r"^HANDLE\((\w+),", pathlib.Path(kinds).read_text(), flags=re.M)
    functions = read_functions(headers)
    worded, held = read_worded(headers, read_words(headers)), read_held(headers, kinds)
    for p in (p for f in functions for p in f.parameters if p.options):
        p.words, p.held = worded.get(p.text.split(" ")[0], []), held.get(p.text.split(" ")[0], [])
    exceptions.check(functions)
    read_sizes(headers, functions)
    fields = read_fields(headers)
    read_unread(sys.argv[5], functions, fields)
    entered = [f for f in functions if has_entry(f, exceptions, kinds, fields)]
    if what == "names":
        print("/* Written by tools/entries.py: what src/ defines is linked under other names than the entries. */")
        print("#define XT_INSIDE 1") # src/base/base.h: lines of the library's own are no user's
        for f in entered:
            print(f"#pragma redefine_extname {f.name} unchecked_{f.name}")
    elif what == "entries":
        print('#line 1 "src/api/entries.c"\n/* Written by tools/entries.py. */')
        for header in sorted({f.header for f in functions}):
            print(f"#include <xtrain/{header}>")
        print('#include <stdatomic.h>\n#include "api/entry.h"\n#include "format/npy.h"\n#include "lazy/lazy.h"')
        for f in entered:
            print("\n" + entry(f, exceptions, kinds, fields))
    else:
        options = read_options(headers)
        print(json.dumps([{
            "name": f.name, "source": f.source, "numbers": numbers(f, options),
            "header": f.header, "returns": f.returns, "variadic": f.variadic, "frees": frees(f, kinds),
            "parameters": [{
                "name": p.name, "text": p.text, "pointer": p.pointer, "function": p.function, "list": p.list,
                "words": [[enum.name, field, len(enum.words)] for enum, field in p.words],
                "unread": [[row.field, row.condition] for row in p.unread],
                "kind": p.kind if p.kind in kinds else None, "null": exceptions.may_be_null(f.name, p.name),
            } for p in f.parameters]} for f in functions]))


main()
