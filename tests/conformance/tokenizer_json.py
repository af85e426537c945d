"""Tokenizers of each kind, trained on generated text in ten scripts, and the ids that the tokenizers package gives for
lines of such text and for hostile ones, against `xtrain tokenize --lines`.

usage: tokenizer_json.py XTRAIN FOLDER [LINES]
       tokenizer_json.py --fixed FILE           small ones with their ids, for the unit test
"""
import json
import os
import random
import subprocess
import sys
import time

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "accents": "aeioucnsàéîöûçñšžåæøßœđłþÀÉÎÖÛİıſ",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωΑΒΓΔάέήίόύώϊ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёїґАБВГД",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأؤإئةىًٌٍَُِّْ",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשתךםןףץְִֵֶַָ",
    "devanagari": "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौं्",
    "thai": "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศษสหอฮะัาำิีึืุูเแโใไ่้๊๋",
    "han": "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么",
    "hangul": "가나다라마바사아자차카타파하거너더러머버서어저고노도로모보소오조구누두루무",
    "kana": "あいうえおかきくけこさしすせそたちつてとなにぬねのがぎぐげござアイウエオカキクケコパピプペポー",
}
JOINTS = [" ", " ", " ", " ", "  ", ", ", ". ", "! ", "? ", "-", "'", "'s ", "\t", " (", ") ", "/", "…", "\u3000",
          " 12 ", " 2026 ", "3.14", "٣٤", "½", "①", "_", " $5", "€ "]
HOSTILE = ["", " ", "   ", "\t\t", " a", "a ", "  a  b  ", "\u00a0x\u00a0", "\u200b", "\u180e", "a\u0300\u0301\u0302b",
           "\ufb01le \ufb03", "ＡＢＣ１２３", "①②③", "Ⅷ", "ｶﾞ", "각", "각", "\u1100\u1161\u11a8", "e\u0301", "é",
           "👍🏽👨‍👩‍👧‍👦🇩🇪", "👩🏽‍🚀" * 20, "\u202e abc", "x" * 300, "ab" * 500, " " * 200, "'" * 50, "İstanbul ıI",
           "ﷺ", "\ufdfa", "\U0001f600", "\U000e0001", "\U0010ffff", "\u0378", "<s>", "</s>x", "a<s>b", " <s> ",
           "[MASK]", "x [MASK] y", "<pad><pad>", "<0x41>", "<|end|>", "x<|end|>y", "<|end|><|end|>", "new  token",
           "newtokens", "newtoken", " newtoken ", "a-newtoken-b", "Newtoken",
           "can't we'll I'm THEY'RE", "1234567890", "3,000.50",
           "\u2028line", "\x7f\x1b[0m", "�", "ﬀ", "\u00ad", "a\u200db", "\u0e33", "ำ", "क्षि", "ﾊﾝｶｸ", "㍻", "℀",
           "\u0345", "ΣΊΣΥΦΟΣ", "ẞ", "ǅ", "\u1e9b\u0323", "Å", "Ω", "Å"]


def word(r, script):
    return "".join(r.choice(SCRIPTS[script]) for _ in range(int(r.paretovariate(1.2)) % 12 + 1))


def lines(seed, n, vocabulary):
    r = random.Random(seed)
    for _ in range(n):
        scripts = r.sample(list(SCRIPTS), r.choice([1, 1, 1, 2, 3]))
        text = ""
        for _ in range(r.randrange(1, 14)):
            script = r.choice(scripts)
            text += r.choice(vocabulary[script]) if r.random() < 0.8 else word(r, script)
            text += r.choice(JOINTS)
        yield text


def bert(vocab_size, corpus):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))])
    return t


def bert_cased(vocab_size, corpus):
    t = bert(vocab_size, corpus)
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def byte_bpe(vocab_size, corpus, splitter, prefix=False):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = splitter
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return t


def gpt2(vocab_size, corpus):
    t = byte_bpe(vocab_size, corpus, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.add_special_tokens([AddedToken("<|end|>", special=True)])
    t.add_tokens([AddedToken("newtoken", single_word=True), AddedToken("new  token", lstrip=True, rstrip=True)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def roberta(vocab_size, corpus):
    t = byte_bpe(vocab_size, corpus, pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.add_special_tokens(["<s>", "</s>", AddedToken("[MASK]", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def llama3(vocab_size, corpus):
    t = byte_bpe(vocab_size, corpus, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    t.add_special_tokens(["<|begin|>", "<|end|>"])
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin|> $A",
                                      special_tokens=[("<|begin|>", t.token_to_id("<|begin|>"))])])
    j = json.loads(t.to_str())
    j["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(j))


def qwen(vocab_size, corpus):
    t = byte_bpe(vocab_size, corpus, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    t.normalizer = normalizers.NFC()
    t.add_special_tokens(["<|end|>"])
    return t


def piece_bpe(vocab_size, corpus, normalizer, splitter, train_splitter):
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizer
    t.pre_tokenizer = train_splitter
    bytes_ = ["<0x%02X>" % i for i in range(256)]
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, limit_alphabet=400,
        show_progress=False))
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(j))
    t.pre_tokenizer = splitter
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


def llama2(vocab_size, corpus):
    t = piece_bpe(vocab_size, corpus, None, None, pre_tokenizers.Metaspace())
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = None or pre_tokenizers.Sequence([])
    j = json.loads(t.to_str())
    j["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(j))


def mistral(vocab_size, corpus):
    return piece_bpe(vocab_size, corpus, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                     pre_tokenizers.Metaspace())


def t5(vocab_size, corpus):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(corpus, trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return t


def unigram_bytes(vocab_size, corpus):
    t = t5(vocab_size, corpus)
    j = json.loads(t.to_str())
    j["model"]["vocab"] += [["<0x%02X>" % i, -20.0 - i] for i in range(256)]
    j["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(j))


def mixture(vocab_size, corpus):
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="@@", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Lowercase(), normalizers.NFC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("merged_with_next"), pre_tokenizers.Split("a", "merged_with_previous")])
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=["<unk>"], continuing_subword_prefix="@@", end_of_word_suffix="</w>",
        limit_alphabet=500, show_progress=False))
    return t


def words(vocab_size, corpus):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.NFD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("contiguous"),
                                               pre_tokenizers.Digits()])
    t.train_from_iterator(corpus, trainers.WordLevelTrainer(
        vocab_size=vocab_size, special_tokens=["[UNK]"], show_progress=False))
    return t


KINDS = [gpt2, roberta, llama2, llama3, qwen, mistral, bert, bert_cased, t5, unigram_bytes, mixture, words]


def main(xtrain, folder, count):
    r = random.Random(1)
    vocabulary = {s: [word(r, s) for _ in range(300)] for s in SCRIPTS}
    corpus = list(lines(2, 4000, vocabulary))
    tests = [t for t in HOSTILE + list(lines(3, count, vocabulary)) if "\n" not in t]
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/lines.txt", "w", encoding="utf-8", newline="") as f:
        f.write("".join(t + "\n" for t in tests))
    failed = 0
    for kind in KINDS:
        t = kind(3000, corpus)
        where = folder + "/" + kind.__name__
        os.makedirs(where, exist_ok=True)
        t.save(where + "/tokenizer.json")
        begun = time.time()
        want = [t.encode(x).ids for x in tests]
        theirs = time.time() - begun
        begun = time.time()
        out = subprocess.run([xtrain, "tokenize", folder + "/lines.txt", "--tokenizer", where, "--lines", "--specials"],
                             capture_output=True, text=True)
        ours = time.time() - begun
        if out.returncode:
            print(kind.__name__, out.stderr)
            failed += 1
            continue
        got = [[int(i) for i in x.split()] for x in out.stdout.split("\n")[:-1]]
        wrong = [i for i in range(len(tests)) if i >= len(got) or got[i] != want[i]]
        print(f"{kind.__name__}: {len(tests) - len(wrong)} of {len(tests)} lines equal, {t.get_vocab_size()} tokens; "
              f"{theirs:.2f} s there, {ours:.2f} s here")
        for i in wrong[:4]:
            print("   ", ascii(tests[i])[:200])
            print("      want", [t.id_to_token(k) for k in want[i]][:40])
            print("      got ", [t.id_to_token(k) for k in (got[i] if i < len(got) else [])][:40])
        failed += bool(wrong)
    return failed


def fixed(path):
    """Two scripts, a few hundred tokens: what tests/unit/test_tokenizers.c reads."""
    for script in list(SCRIPTS):
        if script not in ("latin", "accents", "han", "devanagari"):
            del SCRIPTS[script]
    r = random.Random(1)
    vocabulary = {s: [word(r, s) for _ in range(40)] for s in SCRIPTS}
    corpus = list(lines(2, 200, vocabulary))
    tests = [x for x in HOSTILE if len(x) < 60] + list(lines(3, 12, vocabulary))
    out = []
    for kind in KINDS:
        t = kind(340, corpus)
        ids = [t.encode(x).ids for x in tests]
        out.append({"name": kind.__name__, "tokenizer": json.loads(t.to_str()), "ids": ids,
                    "texts": [t.decode(i) for i in ids]})
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"lines": ' + json.dumps(tests) + ', "kinds": [\n')
        f.write(",\n".join(json.dumps(o, separators=(",", ":")) for o in out) + "]}\n")


if __name__ == "__main__":
    if sys.argv[1] == "--fixed":
        sys.exit(fixed(sys.argv[2]))
    sys.exit(bool(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 10000)))
