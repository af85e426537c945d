#!/usr/bin/env python3
"""The names of the public headers that have no word of their own: fields, values of enums, types, and functions that
have only their section's. tests/cli/words demands that there are none.

usage: words.py [count]     each name, with its header; or how many of each kind"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import filter as reference  # noqa: E402

KINDS = ("field", "value", "type", "function")


def wordless(headers):
    """(kind, header, name) of each."""
    for header, items in headers.items.items():
        for item in items:
            if item.kind != "code" or not item.text.startswith(("typedef", "enum")):
                continue
            name = reference.type_name(item)
            if name and not name.endswith("_") and not headers.doc(item):
                yield "type", header, name
            for member in item.type.members if item.type and not name.endswith("_") else []:
                if not headers.words(item, member):
                    yield ("value" if item.type.kind == "enum" else "field"), header, \
                        member.name if item.type.kind == "enum" else f"{name}.{member.name}"
    for item in headers.names.values():
        if item.name != "XT_API" and headers.wordless(item):  # which is no name of a program's
            yield "function", item.header, item.name


def main():
    found = list(wordless(reference.Headers(os.path.join(reference.torch_names.ROOT, "include/xtrain"))))
    if sys.argv[1:] == ["count"]:
        print(", ".join(f"{sum(k == kind for k, _, _ in found)} {kind}s" for kind in KINDS))
    else:
        sys.stdout.write("".join(f"{h}: {kind} {name}\n" for kind, h, name in found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
