"""Regular expressions of tokenizer.json, which are Oniguruma's: what the tokenizers package matches with them, on
characters of every kind, against `xtrain tokenize --lines`. Each expression is a normalizer that puts a mark in the
place of what it matches. Written ones first, then random ones.

usage: tokenizer_regex.py XTRAIN FOLDER [RANDOM_ONES [SEED]]
"""
import json
import os
import random
import subprocess
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers

CODES = [0x9, 0xb, 0xc, 0xd, 0x20, 0x21, 0x23, 0x24, 0x26, 0x2b, 0x2d, 0x30, 0x39, 0x3c, 0x41, 0x5a, 0x5b,
         0x5d, 0x5e, 0x5f,
         0x60, 0x61, 0x62, 0x63, 0x64, 0x67, 0x7a, 0x7b, 0x7c, 0x7e, 0x7f, 0x85, 0x8, 0x1f, 0xa0, 0xaa, 0xab,
         0xad, 0xb2,
         0xbd, 0xd7, 0xe9, 0x1c5, 0x2b0, 0x2e80, 0x2160, 0x24b6, 0x2460, 0x300, 0x345, 0x3005, 0x3007, 0x3021, 0x3038,
         0x303b, 0x3041, 0x309b, 0x30a1, 0x30fc, 0x30fb, 0x3001, 0x3105, 0x4e00, 0xac00, 0x660, 0x661, 0x903, 0x905,
         0x16ee, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x2028, 0x2029, 0x202f, 0x203f, 0x2054, 0x20ac,
         0x2115, 0x378,
         0xe000, 0xfeff, 0xff10, 0xff3f, 0x1d7ce, 0x1f600, 0x1f1e6, 0xe0001, 0x10ffff, 0x33e0, 0x32ff, 0x3099, 0x1cd0,
         0x1d165, 0xfe0f, 0x23fb, 0x2139, 0x391, 0x3b1, 0x410, 0x430, 0x5d0, 0x627, 0xe01]
LINES = ["".join(map(chr, CODES)), "aaaa ab aab baac", "don't we'll I'M 12345 3,000.50", "a-b_c[d]e{f}",
         "x\u0903y \u2160z \u00b2w", "\u4e00\u3005\u3007\u30fc\u3041\u30a1\u4e8c", "a  b   c\t\td ",
         "\u00e9e\u0301E\u0301",
         "0123456789abcdefg", "kK\u212a sS\u017f",
         "xssx x\u00dfx x\u1e9ex ss\u00df STRASSE o\ufb03ce \ufb00i fix \ufb06 \u0149 \u02bcn"]
CLASSES = [r"\s", r"\S", r"\w", r"\W", r"\d", r"\D", r"\h", r"\H", r"\p{Han}", r"\p{Hiragana}", r"\p{Katakana}",
           r"\p{Latin}", r"\p{Greek}", r"\p{Cyrillic}", r"\p{Devanagari}", r"\p{Thai}", r"\p{Common}",
           r"\p{Inherited}",
           r"\p{L}", r"\p{^L}", r"\P{L}", r"\P{^L}", r"\p{Lu}", r"\p{N}", r"\p{M}", r"\p{P}", r"\p{S}",
           r"\p{Z}", r"\p{Cf}",
           r"\p{Alpha}", r"\p{Alnum}", r"\p{Punct}", r"\p{Space}", r"\p{Word}", r"\p{Graph}", r"\p{Print}",
           r"\p{Blank}",
           r"\p{Cntrl}", r"\p{Upper}", r"\p{Lower}", r"\p{XDigit}", r"\p{Digit}", r"\p{ASCII}", r"\p{Letter}",
           r"\p{Any}", r"\p{White_Space}", r"\p{Alphabetic}", r"\p{Emoji}", r"\p{uppercase letter}"]
BRACKETS = ["alpha", "alnum", "punct", "space", "upper", "lower", "digit", "word", "graph", "print", "cntrl", "blank",
            "xdigit", "ascii"]
WRITTEN = CLASSES + ["[[:%s:]]" % b for b in BRACKETS] + ["[[:^%s:]]" % b for b in BRACKETS] + [
    "[^%s]" % c for c in CLASSES] + [
    r"[]a]", r"[a[bc]]", r"[^a[bc]]", r"[a-d&&b-z]", r"[\p{L}&&[^a-z]]", r"[^\p{L}&&\p{Latin}]", r"[\w&&[^\d_]]",
    r"[a&&]", r"[\s-z]", r"[a\-\]]", r"[\w-]", r"[a-c-]", r"[\S]", r"[^\S]", r"[\W\d]", r"[^\W\d]", r"[[:alpha:]\-_]",
    r"[^[:alpha:][:digit:]\s]", r"a{1,2}+", r"(?:ab?){,2}b", r"a{2}", r"a{2,}?", r"a++b", r"(?>a+)b", r"a?+a",
    r"{a", r"a{x}",
    r"^a", r"a$", r"\Aa", r"c\z", r"c\Z", r"(?m).", r"(?m:.)b", r"(?i)k", r"(?i:[k])", r"(?i)[^k]",
    "(?i)\u00df", "(?i)ss", "(?i)stra\u00dfe", "(?i)ffi", "(?i)fi", "(?i)sss", "(?i)ss+", "(?i)\u00df+", "(?i)st",
    "(?i)\u0149", "(?i)\u02bcn", "(?x)a(?i) k # c",
    "a(?i)ss|\u00df", "((?i)ss|x)s", "(?i)(?-i)ss", "(?i)s{2}", r"\b",
    r"\B", r"\ba",
    r"a\b", r"\v", r"\f", r"\e", r"\t", r"\x{41}", r"\u0041", r"\u4e00", r"\Qa", r"\O", r"\N", r"\R",
    r"(?<=a|bc)d", r"(?<!a)b",
    r"(?=b)b", r"a(?!b)", r"(a)\1", r"(?<x>a)\k<x>", r"a#b", r"(?x)a b # c", r"'(?:[sdmt]|ll|ve|re)",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+", r"[一-龥぀-ゟ゠-ヿ]+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"]
MARK = "\u2603"


def some_class(r, depth=0):
    pick = r.randrange(9)
    if pick < 3:
        return r.choice(CLASSES)
    if pick < 4:
        return "[:%s%s:]" % (r.choice(["", "^"]), r.choice(BRACKETS)) if depth else "[[:%s:]]" % r.choice(BRACKETS)
    if pick < 6 and depth:
        return r.choice(["a-f", "0-9", "x", "_", "一-龥", "\\-", "\\]"])
    if depth > 2:
        return "a"
    body = "".join(some_class(r, depth + 1) for _ in range(r.randrange(1, 4)))
    if r.randrange(4) == 0:
        body += "&&" + "".join(some_class(r, depth + 1) for _ in range(r.randrange(1, 3)))
    return "[%s%s]" % (r.choice(["", "^"]), body)


def some_pattern(r, depth=0):
    parts = []
    for _ in range(r.randrange(1, 4)):
        pick = r.randrange(8)
        one = (some_class(r) if pick < 5 else r.choice(["a", "b", " ", "\u4e00", "."]) if pick < 6 else
               "(?:%s|%s)" % (some_pattern(r, depth + 1), some_pattern(r, depth + 1)) if depth < 2 else "c")
        # Nothing in a group may be empty: how often an empty turn of a loop counts is each matcher's own.
        one += r.choice(["", "", "", "+", "{1,2}", "{2}", "{1,2}+", "++"] + ["?", "*"] * (depth == 0))
        parts.append(one)
    return "".join(parts)


def build(pattern, folder):
    t = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(sorted(set("".join(LINES)) | {MARK}))}, merges=[]))
    t.normalizer = normalizers.Replace(Regex(pattern), MARK)
    t.decoder = decoders.Fuse()
    os.makedirs(folder, exist_ok=True)
    t.save(os.path.join(folder, "tokenizer.json"))
    return t


def main():
    xtrain, folder = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    r = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    lines = os.path.join(folder, "lines.txt")
    with open(lines, "w", newline="") as f:
        f.write("\n".join(LINES) + "\n")
    wrong = none = 0
    for pattern in WRITTEN + [some_pattern(r) for _ in range(n)]:
        try:
            t = build(pattern, folder)
            want = [" ".join(map(str, t.encode(line).ids)) for line in LINES]
        except KeyboardInterrupt:
            raise
        except BaseException:  # Oniguruma refuses it, or gives up at a line (a panic, which is no Exception)
            none += 1
            continue
        p = subprocess.run([xtrain, "tokenize", lines, "--tokenizer", folder, "--lines"], capture_output=True)
        got = p.stdout.decode().split("\n")[:-1]
        if b"takes too long" in p.stderr:  # neither matcher is sure to end
            none += 1
        elif p.returncode or got != want:
            wrong += 1
            at = next((i for i in range(len(want)) if i >= len(got) or got[i] != want[i]), 0)
            back = [[chr(0)] + sorted(set("".join(LINES)) | {MARK})]
            show = lambda ids: ascii("".join(back[0][int(i) + 1] for i in ids.split()))
            print("not so: %s on line %d: %s, Oniguruma %s %s" % (
                ascii(pattern), at, show(got[at]) if at < len(got) else "-", show(want[at]), p.stderr.decode()[:200]))
    print("%d expressions compared, %d that one of the two refuses" % (len(WRITTEN) + n - none, none))
    print("%d passed, %d failed" % (len(WRITTEN) + n - none - wrong, wrong))
    sys.exit(wrong > 0)


main()
