#!/usr/bin/env python3
"""Whether each link of the reference's pages to another of its files, or to a place in one, has its target.

usage: links.py HTML_DIR     prints what is missing; the exit status is 1 then"""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.places, self.links = set(), set()
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or name == "name" and tag == "a":
                self.places.add(value)
            elif value and (name == "href" or name == "src"):
                self.links.add(value)


def missing(folder):
    pages = {f: Page(os.path.join(folder, f)) for f in sorted(os.listdir(folder)) if f.endswith(".html")}
    for name, page in pages.items():
        for link in sorted(page.links):
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            path, place = urllib.parse.unquote(url.path) or name, urllib.parse.unquote(url.fragment)
            if not os.path.exists(os.path.join(folder, path)):
                yield f"{name}: {link}: there is no such file"
            elif place and path in pages and place not in pages[path].places:
                yield f"{name}: {link}: there is no such place in it"


if __name__ == "__main__":
    found = list(missing(sys.argv[1]))
    sys.stdout.write("".join(line + "\n" for line in found))
    sys.exit(1 if found else 0)
