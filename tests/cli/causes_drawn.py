#!/usr/bin/env python3
"""Causes of compiles beside what is known to have changed.

causes_drawn.py PROGRAM SOURCE FIRST COUNT: each seed draws a loop or a fit (causes_drawn.c) out of things that some of
its iterations do otherwise: micro-batches, a short last batch, what is logged or printed, a state that is assigned, an
op, a number, a frozen parameter, layers that are left out or take turns, a tensor that is detached, another optimizer
that steps. What an iteration does is known here, so each program's report is judged by it:

 1. it compares with a known program from which this one differs in as few things as from any;
 2. its kind is that of one of these things, and it has that thing's line;
 3. it is `accumulation` only where nothing else alone tells them apart;
 4. beside a window's place or a shape it names what else is asked for;
 5. no program is made for an iteration that does what one before it did;
 6. it names the line where the ways through the forward pass part, and what follows from that (parameters that an
    optimizer counts apart) only where they do not;
 7. a layer is new only where none of the iterations up to that of the program compared with has had it.

What is wrong is printed with its seed."""
import os, random, re, subprocess, sys, tempfile

program, source, first, count = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
marks = {}
for at, line in enumerate(open(source), 1):
    for mark in re.findall(r"@(\w+)(?= [^/]*\*/)", line):
        marks.setdefault(mark, set()).add(at)
FORWARD = {"branch", "extra", "kept", "block", "depth", "head", "detach"}
LAYERS = {"block": ("block", True), "deep.2": ("depth", True), "one": ("head", True), "other": ("head", False),
          "out": ("turns", True)}
KINDS = {
    "shape change": {"shape", "slice"}, "accumulation": {"window"}, "new live tensor": {"asks"},
    "lost live tensor": {"asks"}, "print": {"asks"}, "other states": {"assign"},
    "other ops": FORWARD | {"apart"}, "new scalar constant": {"number"},
    "flag change": {"freeze", "cast", "mode"}, "another step": {"turns"},
}
OF_VALUES = FORWARD | {"shape", "slice", "number", "cast", "mode"}  # a loss that is read is of these
ALWAYS = ["always", "read", "adam", "built"]
ASKS = ["always", "log", "other", "value", "print"]


def draw(r):
    how = r.choice(["loop", "mark", "fit"])
    samples, window, given = r.choice([64, 72, 104, 160]), r.choice([1, 1, 2, 3]), {}
    for name, share in [("always", 0.5), ("log", 0.5), ("other", 0.25), ("value", 0.2), ("print", 0.4),
                        ("assign", 0.25), ("branch", 0.25), ("number", 0.25), ("freeze", 0.25), ("extra", 0.25),
                        ("kept", 0.2), ("slice", 0.2), ("cast", 0.2), ("mode", 0.2), ("read", 0.3), ("adam", 0.4),
                        ("built", 0.5), ("block", 0.25), ("depth", 0.2), ("head", 0.25), ("detach", 0.2),
                        ("turns", 0.2)]:
        if r.random() >= share:
            continue
        if name in ("block", "depth", "head", "detach", "turns") and window > 1:
            continue  # which gradients of a window's other micro-batches are there is one more thing
        if name == "turns" and (how == "fit" or "read" in given):
            continue
        p = 1 if name in ALWAYS else 0 if name in ("number", "freeze") else r.choice([2, 3, 4, 5])
        q = 0 if p == 1 else r.randrange(p) if p else r.randrange(1, 6)
        # a gradient of before the freezing is of its window's other micro-batches too
        given[name] = (p, q if name != "freeze" else q // window * window or window)
    return how, samples, window, given


def parted(counters, active):
    """Which of the parameters that get an update are counted together; `counters` has been that of each so far."""
    fresh = max(counters.values(), default=-1) + 1
    counters.update({n: fresh for n in active if n not in counters})
    for c in sorted(set(counters.values())):
        left = [n for n in counters if counters[n] == c and n not in active]
        if left and any(counters[n] == c for n in active):
            fresh = max(counters.values()) + 1
            counters.update({n: fresh for n in left})
    groups = {}
    for n in active:
        groups.setdefault(counters[n], set()).add(n)
    return frozenset(frozenset(g) for g in groups.values())


def does(how, samples, window, given):
    """What each iteration does: the things whose programs differ."""
    a_pass, counters = -(-samples // 16), {}
    for i in range(2 * a_pass):
        in_pass = i % a_pass
        holds = {n: i % p == q if p else i >= q for n, (p, q) in given.items()}
        at = in_pass if how == "fit" else i
        updates = at % window == window - 1 or (how == "fit" and in_pass == a_pass - 1)
        active = {"fc"} | {n for n in ("block", "depth") if holds.get(n)}
        active |= {"early"} if "detach" in given and not holds["detach"] else set()
        active |= {"one" if holds["head"] else "other"} if "head" in given else set()
        apart = None
        if "adam" in given and window == 1 and not holds.get("turns"):
            apart = parted(counters, active)
        yield {
            "shape": min(16, samples - 16 * in_pass),
            "window": (at % window > 0, updates),
            "asks": frozenset(n for n in ASKS if holds.get(n)),
            "apart": apart,
            **{n: holds.get(n, False)
               for n in FORWARD | {"assign", "number", "freeze", "slice", "cast", "mode", "turns"}},
        }


def differ(now, known, strict=False):
    """The things that differ. A program for all that steps ask for may serve those that ask for less; a step may also
    get a program of its own (strict)."""
    serves = known.get("serves")
    things = {n for n in now if now[n] != known[n] and not (n == "asks" and serves and now[n] <= known[n])}
    return things | {"asks"} if serves and strict else things


def weigh(things):
    """How many things a report counts: ops that come or go are one, and so is a length of whatever; which ops a mode
    or another optimizer takes away it does not know, nor which parameters a freezing parts from the others."""
    things = things - {"apart"} if "freeze" in things else things
    ops = things & KINDS["other ops"] and not things & {"cast", "mode", "turns"}
    return len(things - KINDS["other ops"] - {"slice"}) + bool(ops) + bool("slice" in things and "shape" not in things)


def lines_of(text):
    return {int(n) for n in re.findall(os.path.basename(source) + r":(\d+)", text)}


def lines_at(names):
    return set().union(*(marks[n] for n in names))


def is_told_new(text, built, before):
    """A layer that is told to be new and is not: all are built, or an iteration before had it."""
    layer = re.search(r"new: parameter (deep\.\d|\w+)", text)
    if not layer:
        return False
    name, held = LAYERS.get(layer[1], (None, None))
    return built or name is None or any(i[name] == held for i in before)


def judge(now, known, kind, text):
    """What is wrong with the report of a program for an iteration that does `now`; None: nothing."""
    compared = re.search(r"program (\d+)", text)
    kinds = KINDS.get(kind)
    if kinds is None:
        return "a kind that nothing here has"
    if "each step switches off the rest" in text or "another combination" in text:  # compared with none
        return None if any(differ(now, k, True) == {"asks"} for k in known.values()) else "no program asks for others"
    if not compared or int(compared[1]) not in known:
        return "it names no program that it compares with"
    other = known[int(compared[1])]
    things, least = differ(now, other), min(weigh(differ(now, k, True)) for k in known.values())
    if weigh(things) > least:
        return "program %s differs in %s; another one in %d things" % (compared[1], sorted(things), least)
    of_kind = kinds & differ(now, other, True)
    if not of_kind:
        return "what differs is %s" % sorted(things)
    nearest = [differ(now, k, True) for k in known.values() if weigh(differ(now, k, True)) == least]
    if kind == "accumulation" and weigh(things) == least and any("window" not in d for d in nearest):
        return "another program has the same place in its window and differs in as few things"
    asked = lines_at(now["asks"] ^ other["asks"]) if "asks" in things else set()
    if "asks" in kinds and asked and not asked & lines_of(text):
        return "it has none of the lines %s" % sorted(asked)
    if of_kind & {"window", "shape", "slice"} and asked and not asked & lines_of(text):
        return "it is silent about the lines %s" % sorted(asked)
    if of_kind & FORWARD:
        of_kind -= {"apart"}
    marked = lines_at(of_kind - {"window", "shape", "asks"})
    if marked and not of_kind & {"shape"} and not marked & lines_of(text):
        return "it has none of the lines %s" % sorted(marked)
    return None


def run(seed, work):
    r = random.Random(seed)
    how, samples, window, given = draw(r)
    words = [how, str(samples), str(window)] + ["%s=%d,%d" % (n, *pq) for n, pq in given.items()]
    p = subprocess.run([program] + words, cwd=work, capture_output=True, text=True, timeout=120)
    todo, steps, reads, at, compiles, faults = list(does(how, samples, window, given)), {}, {}, None, 0, []
    for line in p.stderr.splitlines():
        if line.startswith("iteration "):
            at = int(line.split()[1])
        m = re.match(r"compile \d+: program (\d+) for (.*?) \| why: ([a-z ]+)(.*)", line)
        if not m or at is None:
            continue
        compiles += 1
        now, wrong, known = todo[at], None, steps
        if m[2].startswith("value read"):  # a step is compared with steps, a read with reads
            now, known = {n: v for n, v in now.items() if n in OF_VALUES}, reads
        if known:
            wrong = judge(now, known, m[3], m[4])
        other = re.search(r"program (\d+)", m[4])
        before = todo[: known[int(other[1])]["at"] + 1] if other and int(other[1]) in known else []
        if is_told_new(m[4], "built" in given, before):
            wrong = "the layer is not new"
        if wrong is None and not all(differ(now, k, True) for k in known.values()):
            wrong = "an iteration before it did the same"
        if wrong:
            faults.append("iteration %d, %s: %s\n    %s" % (at, wrong, now, line[:600]))
        known[int(m[1])] = dict(now, at=at, serves=False)
        if re.search("each step switches off|one program serves both|all that steps ask for under an `if`", m[4]):
            alike = [k for k in todo[: at + 1] if not differ(now, k) - {"asks"}]
            known[int(m[1])] = dict(now, at=at, serves=True, asks=frozenset().union(*(k["asks"] for k in alike)))
    if p.returncode:
        faults.append("exit code %d: %s" % (p.returncode, p.stderr[-600:]))
    for f in faults:
        print("seed %d: %s: %s" % (seed, " ".join(words), f))
    return compiles, len(faults)


passed = failed = compiles = 0
with tempfile.TemporaryDirectory() as work:
    for seed in range(first, first + count):
        n, wrong = run(seed, work)
        compiles += n
        passed, failed = passed + (wrong == 0), failed + (wrong > 0)
if compiles < 3 * count:
    print("only %d programs were made" % compiles)
    failed += 1
print("%d passed, %d failed" % (passed, failed))
sys.exit(failed > 0)
