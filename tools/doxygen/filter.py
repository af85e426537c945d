#!/usr/bin/env python3
"""The public headers as Doxygen reads them: the comment in front of a declaration, and the one behind it on its line,
become documentation, as they stand; a header's first comment is about the file.

Structs and enums are taken apart, so that each of their names has its words (fields.py). Headers say things once, and a
reference asks for each name by itself. So a function or macro that has no comment of its own gets, the first that there
is: what its macro or function (xt_name for xt_name_at) has; what speaks of it by its name; what the name has that it
begins with, in the same paragraph; what it is made of, or the macro that calls it; its section's words. A macro in
front of options shares the paragraph with its struct. PyTorch's names for it stand at the end.

usage: filter.py OUTPUT_DIR"""
import functools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import torch_names  # noqa: E402

import fields  # noqa: E402

SUFFIX = r"(_opt_at|_opt|_at|_)$"


def plain(comment):
    """What Doxygen would take for markup or commands, as text; indented lines stay a block, `code` stays code."""
    lines = [re.sub(r"^ *\*(?: |$)", "", line) for line in comment.split("\n")]
    out = []
    for line in lines:
        spans = re.split(r"(`[^`]+`)", line)
        text = "".join(f"<code>{escaped(s[1:-1])}</code>" if i % 2 else escaped(s) for i, s in enumerate(spans))
        if "</code>" in text and "./" in line:  # which is an end of a sentence to Doxygen
            text = escaped(line)
        out.append("<br>&emsp;" + text.strip() if line.startswith("    ") else text)
    return "\n * ".join(out)


def escaped(text):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\@#%$\"*`])", r"\\\1", text).replace("::", r"\::").replace("](", r"]\(")


def comments(part, first):
    """The comments of a declaration and of what is in its braces."""
    def one(m):
        before = part[max(part.rfind(c, 0, m.start()) for c in ";{}") + 1:m.start()] + m.group(1)
        if before.count("(") > before.count(")"):
            return m.group(1)  # of a parameter: the text above tells of all
        if first and m.start() == 0:
            return f"/** \\file\n * {plain(m.group(2))} */"
        return f"{m.group(1)}/**{'<' if m.group(1).strip() else ''} {plain(m.group(2))} */"

    return re.sub(r"^([^\n]*?)/\* ?(.*?) ?\*/", one, part, flags=re.S | re.M)


class Item:
    """A comment, macro, declaration or blank line of a header; docs are texts of comments."""

    def __init__(self, kind, text):
        self.kind, self.text, self.docs, self.above, self.section = kind, text, [], None, ""
        code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.options = kind == "macro" and code.startswith("#define XT_DEFAULTS_")
        m = re.match(r"#define (\w+)", code) if kind == "macro" else \
            re.search(r"\(?\b(\w+)\)?\s*\((?!.*__attribute__\(\(error)", code) if "typedef" not in code else None
        self.name = m.group(1) if m and kind in ("macro", "code") else ""
        if kind == "code" and not code.startswith(("XT_API", "static inline")):
            self.name = ""
        m_struct = re.match(r"typedef (?:struct|enum|union)\b.*?\b(\w+);\s*$", code, flags=re.S)
        self.struct = m_struct.group(1) if kind == "code" and m_struct else ""
        self.type = fields.Type(text, bare) if kind == "code" and fields.TYPE.match(text) else None
        self.public = self.name.startswith(("xt_", "XT_")) and not self.name.endswith("_") and \
            not self.options and not self.name.endswith("_H")
        self.body = code[m.end():] if m else ""


def pieces(text):
    """(kind, text) of a header, from top to bottom."""
    lines, i = text.split("\n"), 0
    while i < len(lines):
        start = i
        line = lines[i]
        if not line.strip():
            kind = "blank"
        elif line.startswith("/*"):
            kind = "comment"
            while "*/" not in lines[i]:
                i += 1
        elif line.startswith("#"):
            kind = "macro"
            while lines[i].endswith("\\") or lines[i].count("/*") > lines[i].count("*/"):
                i += 1
                if lines[start:i + 1] and "*/" in lines[i] and not lines[i].endswith("\\"):
                    break
        else:
            kind = "code"
            while not whole("\n".join(lines[start:i + 1])) and i + 1 < len(lines) and \
                    not (lines[i + 1].startswith("#") and line.startswith("__attribute__")):
                i += 1
        i += 1
        yield kind, "\n".join(lines[start:i])


def whole(text):
    if text.count("/*") > text.count("*/"):
        return False
    code = re.sub(r"/\*.*?\*/|'.'|\"(?:[^\"\\]|\\.)*\"", "", text, flags=re.S).strip()
    if code.startswith('extern ') and code.endswith("{") or code == "}" or code.startswith("XT_DEFAULTS_OF("):
        return True
    if code.count("{") != code.count("}") or code.count("(") != code.count(")"):
        return False
    return code.endswith(";") or code.endswith("}") and not code.startswith("typedef")


def bare(comment):
    m = re.match(r"/\*+ ?(.*?) ?\*/$", comment.strip(), flags=re.S)
    return m.group(1)


def read(path):
    """The items of a header, each with the comments that are its own."""
    with open(path, encoding="utf-8") as f:
        items = [Item(k, t) for k, t in pieces(f.read())]
    section, paragraph, above, leading, of_options = "", [], None, [], None
    for number, item in enumerate(items):
        if item.kind == "blank":
            leading, above, of_options = [], None, None
        elif item.kind == "comment":
            text = bare(item.text)
            if text.startswith("---"):
                section = re.sub(r"^--- *(.*?) *---\n?", r"\1\n", text.replace("\n * ", "\n"), flags=re.S).strip()
                told = re.match(r"---.*?---+\n \* (.*)", text, flags=re.S)
                closed = re.match(r"---.*?---+ *(\n|$)", text, flags=re.S)  # else it is a text that begins as a heading
                leading = [told.group(1)] if told else [] if closed else [section]  # of what stands right below it
            elif number:
                leading = leading + [text]
        else:
            if item.options:
                of_options = leading or of_options
                continue
            own = list(leading)
            if item.kind == "macro":
                own += [bare(c) for c in re.findall(r"/\*.*?\*/", item.text, flags=re.S)]
            behind = item.kind == "code" and "}" not in item.text and \
                re.findall(r";\s*(/\*.*?\*/)", item.text, flags=re.S)
            item.trailing = bool(behind)
            own += [bare(c) for c in behind or []]
            if of_options and not item.name.endswith("_"):
                own = [t for t in of_options if t not in own] + own
            if item.type:
                own = list(leading) + [t for t in item.type.docs if t not in leading]
                if not item.type.name and len(item.type.members) == 1:
                    item.type.members[0].docs = own + item.type.members[0].docs
            item.docs, item.above, item.section = own, above, section
            if own and (item.public or item.kind == "code"):
                above = item
            if not (item.kind == "macro" and not item.public) and not item.text.startswith("XT_DEFAULTS_OF"):
                leading = []
    return items


@functools.lru_cache(None)
def pytorch():
    """xt_name -> PyTorch's names for it."""
    known, table, out = torch_names.ours(), torch_names.rules(), {}
    for space, name in torch_names.read_names()[1]:
        kind, text = torch_names.answer(space, name, table, known)
        m = re.match(r"`(xt_\w+)(\(\w+[^`]*\))?`(?: \(.*\))?$", text) if kind == torch_names.HERE else None
        if m:
            out.setdefault(m.group(1), []).append(f"{space}.{name}")
    return out


class Headers:
    """What every name of the headers has to say."""

    def __init__(self, folder):
        # what does not compile is no part of the reference: pytorch-names.md is the page of those names
        names = [h for h in sorted(os.listdir(folder)) if h != os.path.basename(torch_names.HEADER)]
        self.items = {h: read(os.path.join(folder, h)) for h in names}
        self.speaks_of = {}  # name -> (index of the item, a comment of its that has the name), from top to bottom
        for h, items in self.items.items():
            for at, item in enumerate(items):
                for t in item.docs:
                    for name in set(re.findall(r"\bxt_\w+", t, re.I)):
                        self.speaks_of.setdefault((h, name), []).append((at, t))
        self.texts = {h: [bare(i.text) for i in items if i.kind == "comment"] for h, items in self.items.items()}
        for h, items in self.items.items():
            for i in items:
                i.header = h
        self.names, self.bodies, self.callers = {}, {}, {}
        for i in [i for items in self.items.values() for i in items if i.name]:
            self.bodies.setdefault(i.name, i.body)
            if i.public and (i.name not in self.names or not self.names[i.name].docs):
                self.names[i.name] = i
        for i in list(self.names.values()):
            for callee in self.made_of(i) if i.kind == "macro" else []:
                self.callers.setdefault(callee, i.name)
        self.everywhere = fields.shared(self.texts["base.h"])
        self.shared = {h: {**self.everywhere, **fields.shared(texts)} for h, texts in self.texts.items()}
        self.defaults = {}
        self.zero = {"xt_switch": "off"}
        self.values = {m.name: m.docs for items in self.items.values() for i in items
                       if i.type and i.type.kind == "enum" for m in i.type.members if m.docs}
        for i in [i for items in self.items.values() for i in items]:
            if i.options:
                self.defaults[i.name[len("XT_DEFAULTS_"):]] = fields.defaults(i.body.replace("\\\n", " "))
            elif i.type and i.type.kind == "enum" and i.type.name and i.type.name != "xt_dtype":
                self.zero.setdefault(i.type.name, i.type.members[0].name)
        self.options = {}
        for i in self.names.values():
            for struct in self.words_of(i) if i.kind == "macro" else []:
                if struct.endswith("_opts"):
                    self.options.setdefault(struct, []).append(i.name)

    def wordless(self, item):
        """Whether nobody speaks of a function itself: it has its section's words alone, or an example of its call. A
        name of PyTorch's is no word: it says where to look elsewhere."""
        name = re.sub(SUFFIX, "", item.name)
        example = re.compile(rf"{name}\((?:[^()]|\([^()]*\))*\)[.:]?\s*(?:PyTorch: .*)?$", re.S)
        said = [t for t in self.doc(item, sections=False) if not example.match(str(t).strip())]
        return not said

    def words_of(self, item):
        """Our names in a macro's text and in those of its private macros, in order."""
        out, todo = {}, [item.body]
        while todo:
            for word in re.findall(r"\b(?:xt|XT)_\w+", todo.pop()):
                if word not in out and word not in (item.name, "XT_HERE"):
                    out[word] = True
                    if word.endswith("_") and word in self.bodies:
                        todo.append(self.bodies[word])
        return list(out)

    def made_of(self, item):
        return [w for w in self.words_of(item) if w in self.names and w.startswith("xt_")]

    def mentioned(self, item):
        """The comment of its header that speaks of it by name, the last one above it first."""
        found = self.speaks_of.get((item.header, item.name), [])
        before = [t for at, t in found if at <= self.items[item.header].index(item)]
        return before[-1:] or [t for _, t in found[:1]]

    def doc(self, item, asked=(), sections=True):
        """Texts for an item; without `sections`, nothing where nobody speaks of it."""
        if item.struct and not item.docs and item.struct in self.options:
            return [f"Options of {', '.join(self.options[item.struct])}."]
        if item.docs or not item.public or item.name in asked:
            return item.docs
        if item.name in self.values:
            return self.values[item.name]
        asked = (*asked, item.name)
        stem = re.sub(SUFFIX, "", item.name)
        for other in (stem, stem + "_at", stem + "_opt", stem + "_opt_at"):
            found = self.names.get(other)
            if found and found is not item and found.docs:
                return found.docs
        number = re.match(r"(xt_\w+?)_{0,2}(?:_of)?_scalar$", stem)
        if number and number.group(1) in self.names:
            return [f"{number.group(1)} with a number.", *self.doc(self.names[number.group(1)], asked, sections)]
        other = re.match(r"(xt_\w+)_(logits|tril)_dist$", stem)
        if other and f"{other.group(1)}_dist" in self.names:
            said = {"logits": "of logits in place of probabilities", "tril": "of a Cholesky factor"}[other.group(2)]
            base = f"{other.group(1)}_dist"
            return [f"{base} {said}.", *self.doc(self.names[base], asked, sections)]
        if found := self.mentioned(item):
            return found
        above = item.above
        constants = above and item.kind == above.kind == "macro" and not item.body.startswith("(") and \
            not above.body.startswith("(")
        if above and above.name and (constants or stem.startswith(re.sub(SUFFIX, "", above.name))):
            return above.docs
        if item.kind == "macro":
            args = re.match(r"\([^)]*\)\s*(.*)$", item.body.replace("\\\n", " "), flags=re.S)
            made = self.made_of(item)
            if made and args:
                target = re.sub(SUFFIX, "", made[0])
                same = re.sub(r"\s+", " ", args.group(1)).strip().replace("__VA_ARGS__", "...")
                as_text = "As " + (same if same.startswith(made[0] + "(") and "XT_HERE" not in same else target) + "."
                rest = self.doc(self.names[made[0]], asked, sections)
                if not rest and not sections:
                    return [as_text] if target != item.name and pytorch().get(target) else []
                if target != item.name:
                    return [as_text, *rest]
                if rest:
                    return rest
        caller = self.callers.get(item.name)
        if caller and caller not in asked:
            rest = self.doc(self.names[caller], asked, sections)
            return [f"What {caller} calls.", *rest] if rest or sections else []
        return [] if not sections else [item.section] if item.section else above.docs if above else []

    def by_section(self, item):
        """Whether a function has only the words of its section, or of what stands above it."""
        docs = self.doc(item)
        return not item.docs and bool(docs) and (docs == [item.section] or item.above is not None and
                                                 docs is item.above.docs)

    def words(self, item, member):
        """What a field or a value has to say: nothing where nobody says anything."""
        docs = member.docs or [t for t in [self.shared[item.header].get(member.name)] if t]
        if docs and item.type.name in self.defaults and member.name != "struct_size":
            docs = docs + fields.default_text(member, docs, self.defaults[item.type.name], self.zero)
        return docs

    def text(self, item):
        docs = self.doc(item)
        if not item.public:
            return docs
        names = pytorch().get(re.sub(SUFFIX, "", item.name), [])
        return docs + ([f"PyTorch: {', '.join(names)}."] if names else [])


def type_name(item):
    """What a typedef or an enum gives a name to; "" for an enum of values alone."""
    if item.type:
        return item.type.name
    m = re.match(r"typedef\b.*?(?:\(\*(\w+)\)\(|(\w+);)", re.sub(r"/\*.*?\*/", "", item.text, flags=re.S), re.S)
    return m.group(1) or m.group(2) if m else ""


def block(texts):
    return "/** " + "\n *\n * ".join(plain(t) for t in texts) + " */"


def header(headers, name):
    for number, item in enumerate(headers.items[name]):
        if item.kind == "comment":
            if number == 0:
                yield f"/** \\file\n * {plain(bare(item.text))} */"
        elif item.kind == "macro":
            if item.public and (texts := headers.text(item)):
                yield block(texts)
            yield re.sub(r"/\*.*?\*/", "", item.text, flags=re.S)
        elif item.kind == "code":
            if item.name:  # its comments are in front of it
                if texts := headers.text(item):
                    yield block(texts)
                yield re.sub(r"/\*.*?\*/", "", item.text, flags=re.S)
                continue
            if (texts := headers.doc(item)) and not (item.trailing and not item.type):
                yield block(texts)
            if item.type:
                yield from lines_of_type(headers, item)
            else:
                yield comments(item.text, False)
        else:
            yield item.text


def lines_of_type(headers, item):
    yield item.type.head
    for member in item.type.members:
        if texts := headers.words(item, member):
            yield block(texts)
        yield member.text + ("," if item.type.kind == "enum" else ";")
    yield item.type.tail


def lines_of_cpp(lines):
    """Of C++, whose classes have their functions inside: each comment where it stands, macros without theirs."""
    first, run, macro = True, [], False
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


def told_by_c(text):
    """Functions of C++ without a word get that of the C function that they call."""
    out, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        method = re.match(r"\s*XT_HPP_METHOD_\((\w+)\)", line)
        opens = re.match(r"(    |inline )(?!if|for|while|return|try|catch|else|switch|std::)[A-Za-z~][^;]*\(", line)
        head = "\n".join(lines[i:i + 6]) if opens and not line.endswith("\\") else ""
        body = re.match(r"[^;{]*\{(.*?)(?:\n(?:    )?\}|\Z)", head, flags=re.S)
        calls = re.search(r"\b(xt_\w+?)_*(?:_opt_at|_opt|_at)?\(", body.group(1)) if body else None
        same = re.search(r"\breturn x\.(\w+)\(", body.group(1)) if body and not calls else None
        before = out[-1] if out else ""
        named = ["xt_" + m.group(1) for m in (method, same) if m] + [m.group(1) for m in (calls,) if m]
        if named and "/**" not in line and not (before.endswith("*/") and "/**<" not in before):
            out.append(f"/** As {named[0]}. */")
        out.append(line)
    return "\n".join(out)


def main(out):
    folder = os.path.join(torch_names.ROOT, "include/xtrain")
    headers = Headers(folder)
    os.makedirs(os.path.join(out, "xtrain"), exist_ok=True)
    for name in headers.items:
        with open(os.path.join(out, "xtrain", name), "w", encoding="utf-8") as f:
            f.write("\n".join(header(headers, name)) + "\n")
    parts = sorted(name for name in os.listdir(folder) if name.endswith(".hpp"))
    for name in ["xtrain.hpp"] + [os.path.join("xtrain", name) for name in parts]:
        with open(os.path.join(folder, "..", name), encoding="utf-8") as f:
            text = re.sub(r"\n  private:\n.*?(?=\n\};)", "", f.read(), flags=re.S)
            cpp = told_by_c("\n".join(lines_of_cpp(text.split("\n"))))
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(cpp)


if __name__ == "__main__":
    main(sys.argv[1])
