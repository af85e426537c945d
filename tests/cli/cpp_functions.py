"""Every method of xt::tensor is a function too, with the same arguments behind x; and an argument of a method that
libtorch has means what it means there (libtorch_methods.txt, of PyTorch's TensorBody.h): reads the preprocessed header.

usage: g++ -E -P ... xtrain.hpp | cpp_functions.py libtorch_methods.txt
"""
import re
import sys

# What is asked of or done with a handle, in no function of libtorch's either.
HANDLE = """is_none is_error dtype scalar_type rank dim ndimension defined sizes element_size itemsize nbytes
    contiguous is_contiguous cpu keep drop assign read print backward grad requires_grad requires_grad_
    set_requires_grad retain_grad check_is check_pending parts_""".split()
# libtorch's order of arguments is another one: where(condition, x, y)
OTHER_ORDER = ["where"]
# Methods that say at compile time what stands in their place, and take a list or nothing.
ELSEWHERE = ["index", "accessor", "index_put_"]
DECLARED = (
    r"^(?:template\s*<.*?>>?\s*)?(?:inline |static |constexpr )*[\w:<>, *&]+?[ *&](\w+)\((.*)\)(?: const)?$"
)


def block(text, start):
    """From the brace at or behind `start` to the one that closes it, without them."""
    begin = text.index("{", start)
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1 : at]
    raise ValueError("no closing brace")


def flat(text):
    """Without what stands in braces that follow a head: bodies of functions and of classes."""
    out, depth, parens = [], 0, 0
    for c in text:
        if depth == 0:
            parens += {"(": 1, ")": -1}.get(c, 0)
        if parens == 0 and c == "{":
            depth += 1
        if depth == 0:
            out.append(c)
        if parens == 0 and c == "}":
            depth -= 1
            if depth == 0:
                out.append(";")
    return "".join(out)


def pieces(text):
    """Arguments, split at commas that are in no bracket."""
    out, depth, last = [], 0, ""
    for c in text:
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(c, 0)
        if c == "," and depth == 0:
            out.append(last.strip())
            last = ""
        else:
            last += c
    return out + [last.strip()] if last.strip() else out


def plain(argument):
    """Type and default; its name does not matter, unless it says what a flag is, nor whether a tensor is copied."""
    argument, _, default = (part.strip() for part in argument.partition("="))
    if not argument.startswith("bool "):
        argument = re.sub(r"(?<=[\w>&*])\s*\b\w+$", "", argument) if " " in argument else argument
    argument = argument.replace("const tensor &", "tensor").strip()
    return argument if argument in ("place", "") or not default else f"{argument} = {default}"


def heads(text):
    """(name, arguments) of each function that is declared there."""
    for head in re.split(r"[;]", flat(text)):
        head = re.sub(r"^\s*(public|private)\s*:", "", " ".join(head.split())).strip()
        m = re.match(DECLARED, head)
        if m and not re.search(r"\boperator\b|^struct|^using|^class|static_assert", head):
            yield m[1], [plain(a) for a in pieces(m[2])], head


def takes(function, wanted):
    """An operand is a tensor or a number."""
    return len(function) == len(wanted) and all(
        f == w or (f == "operand" and w in ("tensor", "double")) for f, w in zip(function, wanted)
    )


KINDS = {
    "Tensor": "tensor", "tensor": "tensor", "operand": "tensor or number",
    "Scalar": "number", "double": "number", "Number": "number", "Flag": "flag",
    "int64_t": "integer", "int": "integer", "T": "integer",
    "OptionalIntArrayRef": "list", "IntArrayRef": "list", "axes": "list", "shape": "list",
    "std::initializer_list<int>": "list",
    "bool": "flag", "ScalarType": "dtype", "xt_dtype": "dtype", "string_view": "text", "const char *": "text",
}  # fmt: skip
# What the one on the left takes for the one on the right: libtorch's callers write either.
ALSO = {("list", "integer"), ("integer", "list"), ("number", "flag"), ("tensor or number", "tensor"),
        ("tensor or number", "number")}  # fmt: skip


UNSAID = {"XT_DTYPE_NONE": "nullopt", "__builtin_inf()": "nullopt"}


def means(ours, theirs):
    """Each of our arguments, up to options, is of the kind and has the default of the one that stands there."""
    for k, argument in enumerate(ours):
        kind, _, default = argument.partition(" = ")
        if kind == "place" or kind.endswith("_opts"):
            return True
        if k >= len(theirs):
            return False
        other, _, its = theirs[k].partition("=")
        if kind.startswith("bool") and kind != other.strip():
            return False
        pair = KINDS[kind.split()[0] if kind.startswith("bool") else kind], KINDS.get(other.split()[0])
        if pair[0] != pair[1] and pair not in ALSO:
            return False
        flags = {"true": "1", "false": "0"} if pair == ("number", "flag") else {}
        if default and its and UNSAID.get(default, default.strip('"')) != flags.get(its, its):
            return False
    return True


def other_meanings(methods, lines):
    theirs = {}
    for line in lines:
        name, _, arguments = line.strip().rstrip(")").partition("(")
        theirs.setdefault(name, []).append(pieces(arguments))
    wrong = 0
    for name, arguments, head in methods:
        if name in HANDLE + ELSEWHERE or "A &&..." in head or name not in theirs or not arguments:
            continue
        if not any(means(arguments, t) for t in theirs[name]):
            print(f"{head}: libtorch's arguments are {' or '.join(', '.join(t) for t in theirs[name])}")
            wrong += 1
    return wrong


def main():
    text = sys.stdin.read()
    at = re.search(r"class tensor \{", text)
    methods = list(heads(block(text, at.start())))
    functions = {}
    for space in re.finditer(r"namespace xt \{", text):
        for name, arguments, _ in heads(block(text, space.start())):
            if arguments and arguments[0] in ("tensor", "operand"):
                functions.setdefault(name, []).append([a for a in arguments[1:] if a != "place"])
    missing = 0
    for name, arguments, head in methods:
        if name in ["tensor", *HANDLE, *OTHER_ORDER]:
            continue
        if "A &&..." in head or name in ELSEWHERE:  # it is not here, and says so
            continue
        wanted = [a for a in arguments if a != "place"]
        if not any(takes(f, wanted) for f in functions.get(name, [])):
            print(f"xt::{name}(x, ...) is missing: {head}")
            missing += 1
    print(f"{len(methods)} methods, {missing} are no functions")
    for name in HANDLE + OTHER_ORDER + ELSEWHERE:
        if name not in (m[0] for m in methods):
            print(f"{name} is listed here, and is no method")
            missing += 1
    with open(sys.argv[1]) as lines:
        wrong = other_meanings(methods, lines)
    print(f"{wrong} have other arguments than libtorch's")
    return 1 if missing or wrong or len(methods) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
