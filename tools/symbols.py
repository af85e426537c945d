#!/usr/bin/env python3
"""Who needs whom, by linked symbols: reads the objects of a build with nm.

usage: tools/symbols.py BUILD            lines "FILE NEEDED_FILE SYMBOL", one a symbol
       tools/symbols.py BUILD --circles  lines "FOLDER N FILE ...": N files of a folder that all need each other

Objects of files that are gone (a build folder keeps them) are left out."""
import os
import subprocess
import sys


def objects(build):
    """Object file of each source: meson calls src/cpu/exec.c src_cpu_exec.c.o."""
    by_name = {}
    for folder, _, names in os.walk("src"):
        for n in names:
            if n.endswith(".c"):
                path = os.path.join(folder, n)
                name = path.replace("/", "_") + ".o"
                if name in by_name:
                    sys.exit(f"tools/symbols.py: {path} and {by_name[name]} have one object name")
                by_name[name] = path
    found = {}
    for folder in sorted(os.listdir(build)):
        if folder.startswith("libxtrain") and folder.endswith(".p"):
            for n in sorted(os.listdir(os.path.join(build, folder))):
                if n in by_name:
                    found[by_name[n]] = os.path.join(build, folder, n)
    return found


def needs(build):
    """{file: {needed file: [symbols]}}"""
    of_object = {o: f for f, o in objects(build).items()}
    if not of_object:
        sys.exit(f"tools/symbols.py: no objects in {build}: build it first")
    defined, wanted = {}, {f: set() for f in of_object.values()}
    out = subprocess.run(["nm", "-A", "-g", *of_object], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        where, rest = line.split(":", 1)
        words = rest.split()
        kind, symbol = words[-2], words[-1]
        if kind in "Uw":
            wanted[of_object[where]].add(symbol)
        else:
            defined.setdefault(symbol, of_object[where])
    graph = {}
    for f, symbols in wanted.items():
        graph[f] = {}
        for s in sorted(symbols):
            if s in defined and defined[s] != f:
                graph[f].setdefault(defined[s], []).append(s)
    return graph


def circles(graph):
    """Tarjan's strongly connected components of more than one file."""
    sys.setrecursionlimit(10000)
    order, low, stack, found = {}, {}, [], []

    def visit(f):
        order[f] = low[f] = len(order)
        stack.append(f)
        for g in graph[f]:
            if g not in order:
                visit(g)
                low[f] = min(low[f], low[g])
            elif g in stack:
                low[f] = min(low[f], order[g])
        if low[f] == order[f]:
            at = stack.index(f)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for f in sorted(graph):
        if f not in order:
            visit(f)
    return sorted(found, key=lambda c: (-len(c), c))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    graph = needs(sys.argv[1])
    if sys.argv[2:] != ["--circles"]:
        for f in sorted(graph):
            for g in sorted(graph[f]):
                for s in graph[f][g]:
                    print(f, g, s)
        return
    for folder in sorted({f.split("/")[1] for f in graph}):
        inside = {f: [g for g in graph[f] if g.split("/")[1] == folder] for f in graph if f.split("/")[1] == folder}
        for c in circles(inside):
            print("src/" + folder, len(c), *c)


main()
