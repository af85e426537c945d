#!/usr/bin/env python3
"""The documents as pages of the reference: README.md is its first page, and a page for each file below doc/, in English
and in Chinese, hangs below it. Links between documents, to their headings, to headers and to pictures become links of
the reference; so do names of documents and of our functions in `code`. Other files of the source tree stay text.

usage: guides.py OUTPUT_DIR     after filter.py OUTPUT_DIR, whose names the links go to"""
import os
import re
import shutil
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
FENCE = re.compile(r"^ *(```+)(.*)$")


def documents():
    """Paths of the documents; the two first pages at the front."""
    found = ["README.md", "README.zh-CN.md"]
    for folder in ("doc", "doc/measurements"):
        found += sorted(f"{folder}/{f}" for f in os.listdir(os.path.join(ROOT, folder)) if f.endswith(".md"))
    return found


def page_of(path):
    name = path[:-3].replace("doc/", "", 1) if path.startswith("doc/") else path[:-3]
    return "page_" + re.sub(r"\W", "_", name.replace(".zh-CN", "_chinese"), flags=re.A).lower()


def slug(heading):
    """A heading's name in links, as GitHub and every other reader of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")


class Page:
    def __init__(self, path):
        self.path, self.id = path, page_of(path)
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            self.lines = f.read().split("\n")
        self.title, self.headings, fenced = path, {}, False
        for line in self.lines:
            fenced ^= bool(FENCE.match(line))
            m = re.match(r"(#+) (.*)", line)
            if m and not fenced and self.title == path and len(m.group(1)) == 1:
                self.title = m.group(2)
            elif m and not fenced:
                self.headings.setdefault(slug(m.group(2)), f"{self.id}_{len(self.headings) + 1}")


class Writer:
    def __init__(self, out):
        self.out = out
        self.pages = {p: Page(p) for p in documents()}
        self.names, folder = set(), os.path.join(out, "xtrain")
        self.headers = sorted(os.listdir(folder))
        for h in self.headers:
            with open(os.path.join(folder, h), encoding="utf-8") as f:
                text = f.read()
            self.names |= set(re.findall(r"^#define (xt_\w*[a-z0-9])\b", text, re.M))
            self.names |= set(re.findall(r"^XT_API [^;(]*?\(?\b(xt_\w*[a-z0-9])\)?\(", text, re.M))
        self.wrong = []

    def target(self, page, link):
        """What the reference calls the target of a link: a name for @ref, a URL, or nothing, when it stays text."""
        if re.match(r"[a-z]+:", link):
            return link
        path, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path else page.path
        there = self.pages.get(path)
        if there:
            if anchor and anchor not in there.headings:
                self.wrong.append(f"{page.path}: no heading of {path} is #{anchor}")
            return "@ref " + there.headings.get(anchor, there.id)
        if not os.path.exists(os.path.join(ROOT, path)):
            self.wrong.append(f"{page.path}: {path} is not there")
        if os.path.basename(path) in self.headers and path.startswith("include/xtrain/"):
            return f"{os.path.basename(path)[:-2].replace('_', '__')}_8h.html"
        return ""

    def code(self, page, text):
        """A span of code, as a link where it names a document or one of our functions."""
        inner = text.strip("`")
        path = inner if inner in self.pages else f"doc/{inner}"
        name = re.match(r"(xt_\w+)(?:$|\()", inner)
        if path in self.pages and self.pages[path] is not page:
            return f"[{inner}](@ref {self.pages[path].id})"
        if name and name.group(1) in self.names and not set("[]\\\"<>&%@$") & set(inner):
            return f'<code>@ref {name.group(1)} "{inner}"</code>'
        return text

    def text(self, page, line):
        """Links as links of the reference; what Doxygen takes for commands as text. Code stays as it is."""
        def link(m):
            picture, shown, to = m.groups()
            if picture:
                return f"![{shown}]({os.path.basename(to)})"
            target = self.target(page, to)
            return f"[{shown}]({target})" if target else shown

        done, at = [], 0
        for m in re.finditer(r"(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)|(`+)(?:.*?)\4", line, re.S):
            done += [plain(line[at:m.start()]), self.code(page, m.group(0)) if m.group(4) else link(re.match(
                r"(!?)\[(.*)\]\(([^)\s]+)\)$", m.group(0), re.S))]
            at = m.end()
        return "".join(done) + plain(line[at:])

    def lines(self, page):
        fenced, titled, paragraph = "", False, []
        for line in [*page.lines, ""]:
            fence = FENCE.match(line)
            if not fenced and line and not fence and not line.startswith("#"):
                # Doxygen loses the start of such code behind a letter that is not ASCII
                paragraph.append(re.sub(r"([^\x00-\x7f])(`\.)", r"\1 \2", line))
                continue
            if paragraph:
                yield self.text(page, "\n".join(paragraph))
                paragraph = []
            heading = None if fenced else re.match(r"(#+) (.*)", line)
            if fence:
                fenced = "" if fenced else fence.group(1)
                yield line
            elif fenced:
                yield line
            elif heading and heading.group(1) == "#" and not titled:
                titled = True
                yield f"# {plain(heading.group(2))} {{#{page.id}}}"
            elif heading:
                yield f"{heading.group(1)} {plain(heading.group(2))} {{#{page.headings[slug(heading.group(2))]}}}"
            else:
                yield line

    def contents(self, page):
        """The pages below a first page."""
        chinese = page.path.endswith("zh-CN.md")
        below = [p for p in self.pages.values() if p is not page and p.path.endswith("zh-CN.md") == chinese]
        yield from ["", "## 文档" if chinese else "## Documents", ""]
        for p in below + ([self.pages["README.zh-CN.md"]] if not chinese else []):
            yield f"- @subpage {p.id}"

    def write(self):
        os.makedirs(os.path.join(self.out, "pages"), exist_ok=True)
        for page in self.pages.values():
            text = list(self.lines(page)) + (list(self.contents(page)) if page.path.startswith("README") else [])
            with open(os.path.join(self.out, "pages", page.id + ".md"), "w", encoding="utf-8") as f:
                f.write("\n".join(text) + "\n")
        shutil.copytree(os.path.join(ROOT, "doc/pictures"), os.path.join(self.out, "pictures"), dirs_exist_ok=True)


def plain(text):
    return re.sub(r"(?<![\\])([@%$])", r"\\\1", text.replace("\\", "\\\\").replace("\\\\|", "\\|"))


if __name__ == "__main__":
    writer = Writer(sys.argv[1])
    writer.write()
    sys.exit("\n".join(writer.wrong) or 0)
