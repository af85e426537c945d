#!/usr/bin/env python3
"""Writes what tests/cli/called.sh compiles: each public macro that takes a tensor, called with tensors and numbers
drawn at random, most of which fit nothing. An error that such a call leaves has the name that the program has written.

usage: called.py INCLUDE_DIR
"""
import re
import sys
from pathlib import Path

import macros

# What a macro gives on to by a name that is pasted together.
PASTED = {"xt_sub_": {"xt_minus"}}

HEAD = r"""
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
enum { DRAWS = 60 };
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
static xt_module *m;
static xt_tensor out[64]; /* more than any call gives */
static uint64_t state;
static int bad, refusing;
static uint32_t draw(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}
static void quiet(xt_status s, void *u) { (void)s, (void)u; }
static xt_tensor nothing(xt_module *n, xt_tensor x, void *u) { (void)n, (void)u; return x; }
static xt_tensor T(void) {
    static const xt_dtype types[] = {XT_F32, XT_F32, XT_F32, XT_F32, XT_F32, XT_I64, XT_BOOL, XT_C64};
    static const int64_t shapes[][6] = {{2, 3}, {2, 3}, {3, 3}, {4}, {3}, {2, 3, 4}, {2, 3, 6, 6}, {1, 2, 4, 4, 4},
                                        {5, 2}};
    return xt_ones_like(xt_full_at(XT_HERE, 1, types[draw(8)], shapes[draw(9)]));
}
static int N(void) {
    static const int numbers[] = {1, 1, 1, 2, 2, 0, 3, -1, 7, -5};
    return numbers[draw(10)];
}
/* A name that stands for another (xt_cat for xt_concat) is told by that one. */
static bool told(const char *name, const char *others) {
    const char *text = xt_status_message(xt_error());
    size_t n = strlen(name);
    for (const char *found = text; (found = strstr(found, name)); found += n)
        if (!strspn(found + n, NAME)) return true;
    char first[64];
    const char *at = strstr(text, ": ");
    at = at ? at + 2 : text;
    snprintf(first, sizeof first, " %.*s ", (int)strspn(at, NAME), at);
    return strstr(others, first) != NULL;
}
static void try(const char *name, const char *others, void (*call)(void)) {
    char said[8][400];
    int n = 0;
    bool refused = false;
    for (int i = 0; i < DRAWS; i++) {
        m = xt_module_new(nothing, NULL);
        memset(out, 0, sizeof out);
        call();
        if (xt_error()) {
            refused = true;
            if (!told(name, others)) {
                bool known = false;
                for (int k = 0; k < n; k++) known = known || strncmp(said[k], xt_status_message(xt_error()), 12) == 0;
                if (!known && n < 8) {
                    snprintf(said[n++], sizeof said[0], "%s", xt_status_message(xt_error()));
                    printf("%s: %.300s\n", name, xt_status_message(xt_error()));
                    bad++;
                }
            }
        }
        xt_clear_error();
        xt_mark_step();
        xt_clear_error();
        xt_module_free(m);
    }
    refusing += refused;
}
"""


def argument(kind, place):
    """What is drawn for a parameter, or stands there."""
    if re.match(r"(const )?xt_tensor \w+$", kind):
        return "T()"
    if re.match(r"const xt_tensor \*", kind):
        return "((xt_tensor[]){T(), T(), T(), T(), T(), T(), T(), T()})"
    if re.match(r"xt_tensor \*", kind):
        return f"&out[{place}]"
    if re.match(r"xt_module \*", kind):
        return "m"
    if re.match(r"const char \*", kind):
        return '"l"'
    if re.match(r"(int|int64_t|double|size_t) \w+$", kind):
        return "N()"
    return macros.argument(kind)


def stands_for(folder):
    """{macro: the names that it gives on to}"""
    bodies = {}
    for path in sorted(Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S).replace("\\\n", " ")
        bodies.update(re.findall(r"^[ \t]*#define (\w+)\([^)]*\)(.*)$", text, flags=re.M))
    out = {}
    for name in bodies:
        seen, todo = set(), [name]
        while todo:
            for word in re.findall(r"\w+", bodies.get(todo.pop(), "")):
                if word not in seen:
                    seen.add(word)
                    todo.append(word)
        out[name] = {re.sub(r"_(at|opt|opt_at)$", "", word) for word in seen if word.startswith("xt_")}
    return out


def main():
    folder = sys.argv[1]
    names, found = macros.ways(folder)
    others, rows = stands_for(folder), []
    for name in names:
        enough = [k for k, (_, whole) in found[name].items() if whole]
        if not enough or name in macros.OTHER or name in macros.LISTS:
            continue
        kinds = found[name][min(enough)][0]
        if not any("xt_tensor" in kind for kind in kinds.values()):
            continue
        given = [macros.GIVEN.get((name, i)) or argument(kinds[i], i) for i in range(min(enough))]
        rows.append((name, f"{name}({', '.join(given)})"))
    print(HEAD)
    for i, (name, call) in enumerate(rows):
        print(f"static void call_{i}(void) {{ (void){call}; }}")
    print("int main(void) {\n    xt_on_error(quiet, NULL);\n    setvbuf(stdout, NULL, _IOLBF, 0);")
    for i, (name, _) in enumerate(rows):
        told_as = sorted(others[name] - {name} | PASTED.get(name, set()))
        print(f'    try("{name}", " {" ".join(told_as)} ", call_{i});')
    print('    fprintf(stderr, "%d functions with errors\\n", refusing);\n    xt_finish();\n    return bad != 0;\n}')


if __name__ == "__main__":
    main()
