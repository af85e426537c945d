"""Writes models/unicode_ranges.c: the code points of the general categories L and N, from the Unicode data of the
Python that runs it.
usage: python3 tools/unicode_ranges.py > models/unicode_ranges.c"""
import unicodedata


def ranges(category):
    inside = [unicodedata.category(chr(c)).startswith(category) for c in range(0x110000)] + [False]
    starts = [c for c in range(0x110000) if inside[c] and not (c and inside[c - 1])]
    for first in starts:
        last = first
        while inside[last + 1]:
            last += 1
        yield first, last


def table(name, category):
    items = ["{0x%x, 0x%x}" % r for r in ranges(category)]
    lines = ["    " + ", ".join(items[i : i + 8]) + "," for i in range(0, len(items), 8)]
    return (
        "const unicode_range unicode_%ss[] = {\n%s\n};\n"
        "const size_t unicode_%s_count = sizeof unicode_%ss / sizeof unicode_%ss[0];"
    ) % (
        name, "\n".join(lines), name, name, name)


print("/* Letters (L) and numbers (N) of Unicode %s. Made by tools/unicode_ranges.py. */" % unicodedata.unidata_version)
print('#include "models/unicode_ranges.h"\n')
print(table("letter", "L") + "\n\n" + table("number", "N"))
