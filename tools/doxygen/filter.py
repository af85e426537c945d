#!/usr/bin/env python3
"""A header as Doxygen reads it: the comment in front of a declaration, and the one behind it on its line, become
documentation, as they stand; a header's first comment is about the file.

usage: filter.py HEADER"""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()


def plain(comment):
    """What Doxygen would take for markup or commands, as text; indented lines stay a block of their own."""
    out = []
    for line in comment.split("\n"):
        line = re.sub(r"^ \*(?: |$)", "", line)
        code = line.startswith("    ")
        line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        line = re.sub(r"([\\@#%$\"])", r"\\\1", line).replace("::", r"\::")
        out.append("<br>&emsp;" + line.strip() if code else line)
    return "\n * ".join(out)


def comments(part, first):
    def one(m):
        before = part[max(part.rfind(c, 0, m.start()) for c in ";{}") + 1:m.start()] + m.group(1)
        if before.count("(") > before.count(")"):
            return m.group(1)  # of a parameter: the text above tells of all
        if first and m.start() == 0:
            return f"/** \\file\n * {plain(m.group(2))} */"
        return f"{m.group(1)}/**{'<' if m.group(1).strip() else ''} {plain(m.group(2))} */"

    return re.sub(r"^([^\n]*?)/\* ?(.*?) ?\*/", one, part, flags=re.S | re.M)


def documented(lines):
    """Lines without those of macros, whose comments are dropped."""
    first = True
    run, macro = [], False
    for line in [*lines, None]:
        is_macro = line is not None and (macro or line.startswith("#"))
        if line is not None and not is_macro:
            run.append(line)
            continue
        if run:
            yield comments("\n".join(run), first)
            first = False
        run = []
        if line is not None:
            yield re.sub(r"/\*.*?\*/", "", line)
        macro = is_macro and line.endswith("\\")


sys.stdout.write("\n".join(documented(text.split("\n"))))
