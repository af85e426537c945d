"""Structs and enums of the public headers: each field and value with its own words, one a line.

A field's words are the comment above it, or behind it on its line; several names in one declaration share them. A field
that has none gets those that its header gives for its name wherever it stands, in a list of a comment's indented lines:
     *     .clip_value: largest absolute value of ...
The list of base.h counts for all headers. Fields of options end with their default, from XT_DEFAULTS_."""
import re

TYPE = re.compile(r"typedef\s+(struct|enum|union)\b[^{;(]*\{|enum\s*\{")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


class Member:
    def __init__(self, name, text, docs):
        self.name, self.text, self.docs = name, text, docs


class Type:
    """A struct or enum: what stands before and behind its members, and these."""

    def __init__(self, text, bare):
        self.kind = TYPE.match(text).group(1) or "enum"
        begin, end = text.index("{") + 1, text.rindex("}")
        inside, rest = text[begin:end], COMMENT.sub("", text[end:])
        self.docs, first = [], re.match(r"[ \t]*(/\*.*?\*/)[ \t]*\n", inside, re.S)
        if first:  # behind the brace: of the type
            self.docs, inside = [bare(first.group(1))], inside[first.end():]
        self.docs += [bare(c) for c in COMMENT.findall(text[end:])]
        self.head, self.tail = COMMENT.sub("", text[:begin]), rest
        self.name = re.sub(r"[\s};]", "", rest)
        self.members = list(members(inside, "," if self.kind == "enum" else ";", bare))
        if not self.name and len(self.members) == 1:  # enum { XT_N = 4 }; /* its words */
            self.members[0].docs += self.docs


def members(text, separator, bare):
    docs, start, at, depth = [], 0, 0, 0
    while at < len(text):
        comment = COMMENT.match(text, at)
        if comment and not COMMENT.sub("", text[start:at]).strip():
            docs.append(bare(comment.group(0)))
            start = at = comment.end()
        elif comment:
            at = comment.end()
        elif text[at] == separator and depth == 0 or at + 1 == len(text):
            inside = COMMENT.findall(text[start:at])
            code = COMMENT.sub(" ", text[start:at + 1]).strip().rstrip(separator)
            behind = re.compile(r"[ \t]*(/\*.*?\*/)[ \t]*(?=\n|$)", re.S).match(text, at + 1)
            own = docs + [bare(c) for c in inside] + ([bare(behind.group(1))] if behind else [])
            for name, one in declared(re.sub(r"\s+", " ", code).strip(), separator):
                yield Member(name, one, own)
            at = start = behind.end() if behind else at + 1
            docs = []
        else:
            depth += text[at] in "([{"
            depth -= text[at] in ")]}"
            at += 1


def declared(code, separator):
    """(name, declaration) of each name of a declaration."""
    code = re.sub(r" ?\bXT_(ZERO\b|(IS|SIZE)\([^)]*\))", "", code)
    if separator == "," or not code:
        return [(code.split("=")[0].strip(), code)] if code else []
    function = re.search(r"\(\*(\w+)\)\s*\(", code)
    if function:
        return [(function.group(1), code)]
    parts = [p.strip() for p in code.split(",")]
    base = re.match(r"(.*?)\s*(\**\w+(?:\[[^\]]*\])*)$", parts[0])
    return [(re.search(r"\w+", p).group(0), f"{base.group(1)} {p}") for p in [base.group(2), *parts[1:]]]


def shared(comments):
    """name -> words, of the lists `.name: words` in comments."""
    found = {}
    for text in comments:
        name = None
        for line in text.split("\n"):
            line = re.sub(r"^ *\*(?: |$)", "", line)
            m = re.match(r"    ((?:\.\w+(?:, )?)+): (.*)", line)
            if m:
                name = re.findall(r"\w+", m.group(1))
                for n in name:
                    found[n] = m.group(2)
            elif name and line.startswith("      "):
                for n in name:
                    found[n] += " " + line.strip()
            else:
                name = None
    return found


def defaults(macro):
    """field -> its default, of an XT_DEFAULTS_ macro's text."""
    return dict(re.findall(r"\bis\((\w+), ([^()]*(?:\([^()]*\))?[^()]*)\)", macro))


NUMBER = re.compile(r"(const )?(double|float|int|int64_t|uint64_t|size_t|bool|char) ?$")


def default_text(member, docs, known, zero):
    """What a field of options is when it is not named; nothing where its words say so or it is needed."""
    if re.search(r"\bdefaults?\b|\bneeded\b", " ".join(docs), re.I):
        return []
    kind = member.text[:member.text.rindex(member.name)].strip()
    nothing = "NULL" if "*" in kind else "0" if NUMBER.match(kind) and "[" not in member.text else zero.get(kind, "")
    value = known.get(member.name, nothing)
    if value in ("", "XT_UNSET"):
        return []
    return [f"Default: {({'XT_ON': 'on', 'XT_OFF': 'off'}).get(value, value.strip('()'))}."]
