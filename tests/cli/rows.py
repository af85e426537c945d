#!/usr/bin/env python3
"""Rows of drawn loops and fits beside a model of what they are to have.

rows.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each even seed draws a loop without a trainer, out of passes over
loaders, passes within a pass and left early, two loaders in turn, validations behind a pass, within one and left early,
updates every few batches, files, and log calls at every place of it, each in some of its turns only; another one in
which an optimizer steps several times a batch; and one over no loader that writes files in its iterations. Each odd one
draws a fit and a test whose hooks log, some behind a pass of their own. It is written as C and run, and walked through
here. Every row of its metrics.csv must have the step, the epoch, the batch, the samples and the value that the walk
has. What differs is printed with its seed, by which it is tried again; ROWS_SHOW=1 prints the C."""
import csv, glob, os, random, re, shutil, subprocess, sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
static int n; /* the value of the newest log call */
static xt_module *m;
static xt_optimizer *o, *second;
static xt_tensor net(xt_module *mm, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(mm, "w", "ones", 0, XT_F32, 1));
}
static xt_loader *data(int64_t samples, int64_t batch, bool pads) {
    static float rows[64];
    xt_dataset *d = xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, samples);
    return pads ? xt_loader_new(d, .batch = batch, .pad_last = XT_ON)
                : xt_loader_new(d, .batch = batch, .drop_last = XT_OFF);
}
static void train_alone(int steps) {
    xt_loader *l = steps ? data(20, 3, false) : NULL;
    for (xt_batch b; steps > 0 && xt_next(l, &b); steps--) {
        xt_backward(xt_mean(xt_forward(m, b.x)));
        xt_optimizer_step(o);
    }
}
static void save(void) {
    if (xt_save(m, "m.safetensors")) exit(6);
}
static xt_tensor one(int v) {
    float f = (float)v;
    return xt_from_array(&f, XT_F32, 1);
}
"""


class Name:
    def __init__(self, r, name, stage):
        self.name, self.stage = name, stage
        self.step, self.epoch = r.choice([(None, None), (True, True), (False, True), (True, False)])
        self.reduce = r.choice(["MEAN", "MEAN", "MEAN", "SUM", "MIN", "MAX", "LAST"])

        self.helper = r.random() < 0.2  # all its values are logged by one line

    def options(self, weight):
        o = ""
        if self.step is not None:
            o += ", .on_step = XT_%s, .on_epoch = XT_%s" % ("ON" if self.step else "OFF", "ON" if self.epoch else "OFF")
        if self.reduce != "MEAN":
            o += ", .reduce = XT_" + self.reduce
        return o + (", .batch_size = %d" % weight if weight else "")

    def levels(self):
        return (self.stage == 0, self.stage == 1) if self.step is None else (self.step, self.epoch)

    def column(self, level):
        return self.name + ("_" + level if all(self.levels()) else "")


class Set:
    """A stage's values: of the window under way, and since the epoch began."""

    def __init__(self):
        self.window, self.row_window, self.begins = 0, 0, True
        self.step, self.epoch = {}, {}  # by name: (window, values), values; a value is (number, weight)
        self.fresh, self.loader, self.first, self.noted = False, None, None, None


def reduced(name, values):
    numbers = [v for v, _ in values]
    if name.reduce == "MEAN":
        return sum(v * w for v, w in values) / sum(w for _, w in values)
    return {"SUM": sum, "MIN": min, "MAX": max, "LAST": lambda l: l[-1]}[name.reduce](numbers)


class Place:
    def __init__(self, loader=None, epoch=0, batch=0, size=1):
        self.loader, self.epoch, self.batch, self.size = loader, epoch, batch, size
        self.over = None  # the updates when its pass ended

    def leave(self, updates):
        if self.loader and self.over is None:
            self.over = updates


class Walk:
    """The loop as the rows are to describe it."""

    def __init__(self, every):
        self.every, self.n, self.updates, self.samples = every, 0, 0, 0
        self.sets, self.places = (Set(), Set()), [Place(), Place()]
        self.stage, self.pending, self.updated, self.turned, self.rows = 0, [], False, False, []
        self.counts, self.open = {}, []  # passes that are not over: [loader, place, stage, what was newest before]
        # what the loop is at: a batch, or an iteration; and where a file ended the step of the newest update
        self.at, self.ended = None, None

    def visit(self, site):
        self.counts[site] = self.counts.get(site, 0) + 1
        return self.counts[site] - 1

    def is_late(self):
        return self.ended is not None and self.ended == self.at and not self.updated

    def log(self, name, weight):
        self.n += 1
        given = self.places[self.stage].size if weight is None else weight
        self.pending.append((name, self.n, given, self.updates))

    def update(self):
        self.updates += 1
        self.updated = True

    def row(self, stage, level, where):
        s, got = self.sets[stage], []
        if level == "step":
            got = [(k, v) for k, (w, v) in s.step.items() if w > s.row_window and k.levels()[0]]
            s.row_window = s.window
        else:
            got = [(k, v) for k, v in s.epoch.items() if v and k.levels()[1]]
        for name, values in got:
            self.rows.append(where + (("train", "validate")[stage], level, name.column(level), reduced(name, values)))

    def where(self, stage):
        if stage:
            return self.sets[1].noted
        p = self.places[0]
        return (self.updates, p.epoch, p.batch, self.samples)

    def end_pass(self, stage):
        s = self.sets[stage]
        if stage:
            self.row(1, "step", self.where(1))
        if s.fresh:
            self.row(stage, "epoch", self.where(stage))
        s.epoch, s.fresh, s.begins = {}, False, True

    def boundary(self, within=False):
        late = self.is_late() and any(p[0].stage == 0 for p in self.pending)
        for stage in 0, 1:
            s, took = self.sets[stage], [p for p in self.pending if p[0].stage == stage]
            if not took:
                continue
            if s.begins:
                s.window, s.begins = s.window + 1, False
            for name, value, weight, _ in took:
                window, values = s.step.get(name, (0, []))
                s.step[name] = (s.window, (values if window == s.window else []) + [(value, weight)])
                s.epoch.setdefault(name, []).append((value, weight))
            if not s.fresh:
                s.first = self.places[stage].loader
            s.fresh, s.loader = True, self.places[stage].loader
            s.noted = (took[-1][3], self.places[0].epoch if self.places[0].loader else self.places[1].epoch,
                       self.places[1 if self.places[1].loader else 0].batch, self.samples)
        self.pending = []
        self.sets[1].begins = True
        if late:
            self.sets[0].begins = True
        if self.updated:
            self.sets[0].begins, self.updated = True, False
            self.ended = self.at if within else None
            if self.updates % self.every == 0:
                self.row(0, "step", self.where(0))
        if self.turned:
            self.end_pass(1)
            self.turned = False
        if self.sets[0].fresh and self.places[0].over == self.updates:
            self.end_pass(0)

    def file(self):
        """Ends the step, but not the iteration."""
        self.boundary(True)

    def turn(self, stage):
        if self.stage == 1 and stage == 0:
            self.turned = True
        self.stage = stage

    def outer(self, i, stage):
        """What the open pass number i comes within, of a stage."""
        return next((p for _, p, s, _ in reversed(self.open[:i]) if s == stage and p.over is None), None)

    def goes_on(self, loader):
        """What came within its pass was left."""
        while any(o[0] is loader for o in self.open[:-1]):
            self.leave_innermost()

    def leave_innermost(self):
        loader, _, stage, _ = self.open[-1]
        outer, s = self.outer(-1, stage), self.sets[stage]
        if outer:
            s.loader = outer.loader if s.loader is loader else s.loader
            s.first = outer.loader if s.first is loader else s.first
        self.pop()

    def pop(self):
        loader, _, _, before = self.open.pop()
        for stage in 0, 1:
            if self.places[stage].loader is loader:
                outer = self.outer(len(self.open), stage)
                if outer and self.places[stage].over is None:
                    self.places[stage] = outer
                else:
                    self.places[stage].leave(self.updates)
        if self.open and self.at and self.at[0] is loader and before:
            self.at = before

    def next(self, loader):
        self.goes_on(loader)
        self.boundary()
        if loader.next < len(loader.sizes):
            size = loader.sizes[loader.next]
            if self.stage == 0:
                for p in [self.places[1]] + [p for _, p, s, _ in self.open if s == 1]:
                    p.leave(self.updates)
            self.places[self.stage] = Place(loader, loader.epoch, loader.next, size)
            if not self.open or self.open[-1][0] is not loader:
                self.open.append([loader, None, 0, self.at])
            self.open[-1][1:3] = [self.places[self.stage], self.stage]
            self.at = (loader, loader.epoch, loader.next)
            if self.stage == 0:
                self.samples += size
            loader.next += 1
            return True
        here = [i for i, o in enumerate(self.open) if o[0] is loader]
        for stage in 0, 1:
            s, outer = self.sets[stage], self.outer(here[0], stage) if here else None
            if s.fresh and self.places[stage].loader is loader and s.loader in (None, loader):
                s.noted = s.noted[:2] + (self.places[stage].batch,) + s.noted[3:]
                if outer and s.first not in (None, loader):
                    s.loader = outer.loader
                else:
                    self.end_pass(stage)
        self.leave(loader)
        loader.next, loader.epoch = 0, loader.epoch + 1
        return False

    def leave(self, loader):
        self.goes_on(loader)
        if self.open and self.open[-1][0] is loader:
            self.leave_innermost()
        for place in self.places:
            if place.loader is loader:
                place.leave(self.updates)

    def finish(self):
        if self.pending:
            self.boundary()
        for stage in 0, 1:
            where = self.where(stage)
            if where:
                self.row(stage, "step", where)
                if self.sets[stage].fresh:
                    self.row(stage, "epoch", where)


class Loader:
    def __init__(self, r, name):
        self.name, self.batch = name, 2
        samples = r.randint(1, 9)
        self.samples = samples
        self.sizes = [2] * (samples // 2) + [1] * (samples % 2)
        self.pads = r.random() < 0.3
        self.next = self.epoch = 0


# --- statements: each writes itself as C, and is walked ---
class Log:
    sites = 0

    def __init__(self, r, names, once=False):
        Log.sites += 1
        self.site, self.name = Log.sites, r.choice(names)
        self.every, self.at = r.choice([(1, 0), (1, 0), (2, 0), (2, 1), (3, 2), (4, 1)])
        self.weight = r.choice([None, None, 1, 3]) if self.name.reduce == "MEAN" and not self.name.helper else None
        self.times = r.choice([1, 1, 1, 2]) if not once else 1
        self.tensor = r.random() < 0.4

    def c(self, deep):
        call = 'xt_log("%s", one(++n)%s);' if self.tensor else 'xt_log_value("%s", ++n%s);'
        if self.name.helper:
            call = "log_%s_LOOP(); /* %s */"
        loop = "for (int k = 0; k < 2; k++) " if self.times == 2 else ""
        condition = "if (site[%d]++ %% %d == %d) " % (self.site, self.every, self.at) if self.every > 1 else ""
        return deep + condition + loop + call % (self.name.name, self.name.options(self.weight)) + "\n"

    def walk(self, w):
        if self.every == 1 or w.visit(self.site) % self.every == self.at:
            for _ in range(self.times):
                w.log(self.name, self.weight)


class Line:
    """A statement without parts: `walk` is what it does."""

    def __init__(self, text, walk):
        self.text, self.walk = text, walk

    def c(self, deep):
        return deep + self.text + "\n"


class Pass:
    """`left`: behind the batch of that number, and the next one begins anew; EACH: behind any, and the next goes on."""

    EACH = -1

    def __init__(self, loader, body, left=None):
        self.loader, self.body, self.left = loader, body, left

    def c(self, deep):
        b = "b%d" % len(deep)
        text = deep + "for (xt_batch %s; xt_next(%s, &%s);) {\n" % (b, self.loader.name, b)
        text += "".join(s.c(deep + "    ") for s in self.body)
        if self.left is not None:
            when = "" if self.left == Pass.EACH else "if (%s.index == %d) " % (b, self.left)
            text += deep + "    " + when + "break;\n"
        return text + deep + "}\n" + (
            deep + "xt_loader_set_epoch(%s, xt_loader_epoch(%s), 0);\n" % (self.loader.name, self.loader.name)
            if self.left not in (None, Pass.EACH) else "")

    def walk(self, w):
        while w.next(self.loader):
            for s in self.body:
                s.walk(w)
            if self.left in (Pass.EACH, self.loader.next - 1):
                break
        if self.left not in (None, Pass.EACH):
            w.leave(self.loader)
            self.loader.next = 0


class Some:
    """Statements in some turns only."""

    def __init__(self, r, body):
        Log.sites += 1
        self.site, self.body = Log.sites, body
        self.every, self.at = r.choice([(1, 0), (2, 0), (2, 1), (3, 1)])

    def c(self, deep):
        return deep + "if (site[%d]++ %% %d == %d) {\n" % (self.site, self.every, self.at) + "".join(
            s.c(deep + "    ") for s in self.body) + deep + "}\n"

    def walk(self, w):
        if w.visit(self.site) % self.every == self.at:
            for s in self.body:
                s.walk(w)


class Times:
    def __init__(self, times, body):
        self.times, self.body = times, body

    def c(self, deep):
        return deep + "for (int e = 0; e < %d; e++) {\n" % self.times + "".join(
            s.c(deep + "    ") for s in self.body) + deep + "}\n"

    def walk(self, w):
        for _ in range(self.times):
            for s in self.body:
                s.walk(w)


def files(r, body, share):
    """Files at some places of an iteration, in some turns only."""
    while r.random() < share:
        body.insert(r.randint(0, len(body)), Some(r, [Line("save();", Walk.file)]))
        share = 0.6


def draw(r):
    trained = [Name(r, "t%d" % k, 0) for k in range(3)]
    validated = [Name(r, "v%d" % k, 1) for k in range(3)]
    train, val, more, silent = (Loader(r, name) for name in ("train", "val", "more", "silent"))
    loaders = [train, val, more, silent]

    def logs(names, most=2, once=False):
        return [Log(r, names, once) for _ in range(r.choice([0, 0, 1, 1, most]))]

    def other():
        loaders.append(Loader(r, "other%d" % len(loaders)))
        return loaders[-1]

    forward = "xt_mean(xt_forward(m, b%d.x))"

    def evaluation():
        inner = [Line("xt_forward(m, b.x);", lambda w: None)]
        body = logs(validated) + logs(validated)
        if r.random() < 0.2:  # a silent pass within it: references, a gallery
            body += [Pass(silent, r.choice([[], logs(validated)]))] + logs(validated)
        over = r.choice([val, val, val, more])
        left = r.choice([None, None, None, 0, 1])
        left = left if left is not None and left < len(over.sizes) else None
        return ([Line("xt_eval(m);", lambda w: w.turn(1))] + logs(validated, 1, True) +
                [Pass(over, body, left)] + logs(validated, 1, True) + [Line("xt_train(m);", lambda w: w.turn(0))])

    accumulate = r.choice([1, 1, 2, 3])
    every = r.choice([1, 2, 3, 50])
    Log.sites += 1
    updates = Log.sites

    def update(w):
        if w.visit(updates) % accumulate == accumulate - 1:
            w.update()

    body = logs(trained) + [Line("xt_backward(xt_mean(xt_forward(m, b8.x)));", lambda w: None)] + logs(trained)
    body += [Line("if (site[%d]++ %% %d == %d) xt_optimizer_step(o);" % (updates, accumulate, accumulate - 1), update)]
    body += logs(trained)
    if r.random() < 0.2:
        body += [Line("xt_mark_step();", Walk.boundary)] + logs(trained, 1)
    if r.random() < 0.4:
        body += [Some(r, evaluation())] + logs(trained)
    if r.random() < 0.15:
        body += [Some(r, [Pass(silent, r.choice([[], logs(trained)]))])] + logs(trained)
    epoch = logs(trained, 1) + [Pass(train, body)] + logs(trained, 1)
    if r.random() < 0.8:
        epoch += [Some(r, evaluation())]
    epoch += logs(trained, 1)
    if r.random() < 0.15:  # a batch of another loader behind each update, be it of a validation in training mode
        behind = next(i for i, s in enumerate(body) if isinstance(s, Line) and "xt_optimizer_step" in s.text) + 1
        body.insert(r.randint(behind, len(body)), Pass(other(), r.choice([[], logs(trained)]), Pass.EACH))
    if r.random() < 0.1:  # two loaders in turn
        second = other()
        body.insert(0, Line("xt_batch b9; if (!xt_next(%s, &b9)) xt_next(%s, &b9);" % (second.name, second.name),
                            lambda w: w.next(second) or w.next(second)))
        for line in body:
            if isinstance(line, Line):
                line.text = line.text.replace("b8.x", "b9.x")
    files(r, body, 0.25)
    program = [Times(r.randint(1, 4), epoch)] + logs(trained, 1)
    return trained + validated, loaders, program, every


def helpers(names):
    return "".join('static void log_%s_LOOP(void) {\n    xt_log_value("%s", ++n%s);\n}\n' % (
        name.name, name.name, name.options(None)) for name in names if name.helper)


def write(seed, names, loaders, program, every):
    text = helpers(names)
    text += ("static void loop_%s(void) {\n    static int site[%d];\n    (void)site;\n"
             "    xt_log_every_n_steps(%d);\n") % (
        seed, Log.sites + 1, every)
    for l in loaders:
        text += "    xt_loader *%s = data(%d, %d, %d);\n    (void)%s;\n" % (l.name, l.samples, l.batch, l.pads, l.name)
    return (text + "".join(s.c("    ") for s in program) + "}\n").replace("LOOP", str(seed))


class Loop:
    def __init__(self, r):
        self.drawn = draw(r)

    def write(self, seed):
        return write(seed, *self.drawn)

    def walk(self):
        _, _, program, every = self.drawn
        walk = Walk(every)
        for s in program:
            s.walk(walk)
        walk.finish()
        return walk.rows


class Inner:
    """Updates of one optimizer, of which each but the first shows that the one before it has ended a step."""

    def __init__(self, times, body):
        self.times, self.body = times, body

    def c(self, deep):
        return deep + "for (int j = 0; j < %d; j++) {\n" % self.times + "".join(
            s.c(deep + "    ") for s in self.body) + deep + "}\n"

    def walk(self, w):
        for j in range(self.times):
            if j:
                w.boundary()
            for s in self.body:
                s.walk(w)


class Turns:
    """Iterations over no loader. Without a boundary of the program's own the next one's first update shows it."""

    def __init__(self, times, body):
        self.times, self.body = times, body

    def c(self, deep):
        return deep + "for (int i = 0; i < %d; i++) {\n" % self.times + "".join(
            s.c(deep + "    ") for s in self.body) + deep + "}\n"

    def walk(self, w):
        for i in range(self.times):
            if w.updated or (w.is_late() and w.pending):
                w.boundary()
            w.at = i
            for s in self.body:
                s.walk(w)


class Bare:
    """A loop over no loader that writes files within its iterations. Marks end its steps, or nothing else does."""

    def __init__(self, r):
        self.names, self.marks = [Name(r, "t%d" % k, 0) for k in range(4)], r.random() < 0.3
        self.every, accumulate = r.choice([1, 1, 2, 3]), r.choice([1, 1, 1, 2, 3])
        Log.sites += 1
        updates = Log.sites

        def update(w):
            if w.visit(updates) % accumulate == accumulate - 1:
                w.updates, w.updated = w.updates + 1, True

        body = self.logs(r) + [Line("xt_tensor loss = xt_mean(xt_forward(m, one(i)));", lambda w: None)] + self.logs(r)
        body += [Line("xt_backward(loss);", lambda w: None)] + self.logs(r)
        body += [Line("if (site[%d]++ %% %d == %d) xt_optimizer_step(o);" % (updates, accumulate, accumulate - 1),
                      update)] + self.logs(r)
        files(r, body, 1)
        self.program = [Turns(r.randint(4, 9), body + ([Line("xt_mark_step();", Walk.boundary)] if self.marks else []))]

    def logs(self, r):
        return [Log(r, self.names) for _ in range(r.choice([0, 1, 1, 2]))]

    def write(self, seed):
        return write(seed, self.names, [], self.program, self.every)

    def walk(self):
        walk = Walk(self.every)
        for s in self.program:
            s.walk(walk)
        walk.finish()
        return walk.rows


class Several:
    """A loop in which one optimizer steps several times a batch, be it before another one that steps once. Its steps
    are ended by a loader, by marks behind each batch or each update, or by nothing."""

    def __init__(self, r):
        self.names = [Name(r, "t%d" % k, 0) for k in range(4)]
        self.ends, self.two = r.choice(["loader", "marks", "inner marks", "nothing"]), r.random() < 0.5
        self.every, self.one_line = r.choice([1, 1, 2, 3]), not self.two and r.random() < 0.4
        for name in self.names if self.one_line else []:  # calls of one helper on one line are taken for one
            name.helper = False
        self.loaders = [Loader(r, "train")] if self.ends == "loader" else []
        x = "b8.x" if self.loaders else "one(i)"

        def update(w):
            w.updates += not w.updated
            w.updated = True

        def learn(o):
            # what stands beside another optimizer's update logs other names: in one step a name is one value
            names = self.names[:2] if o == "o" else self.names[2:]
            return (self.logs(r, names) + [Line("xt_backward(xt_mean(xt_forward(m, %s)));" % x, lambda w: None)] +
                    self.logs(r, names) + [Line("xt_optimizer_step(%s);" % o, update)] + self.logs(r, names))

        mark = [Line("xt_mark_step();", Walk.boundary)]
        body = [Inner(r.choice([2, 2, 3]), learn("o") + (mark if self.ends == "inner marks" else []))]
        if self.two:
            body += learn("second")
        if self.ends in ("marks", "inner marks"):
            body += mark
        self.program = ([Times(r.randint(1, 3), [Pass(self.loaders[0], body)])] if self.loaders else
                        [Turns(r.randint(3, 9), body)])

    def logs(self, r, names):
        made = [Log(r, names) for _ in range(r.choice([0, 1, 1, 2]))]
        for log in made if self.one_line else []:  # the order of such calls is that of the code, and `if`s move code
            log.every, log.at = 1, 0
        return made

    def write(self, seed):
        text = write(seed, self.names, self.loaders, self.program, self.every)
        head, _, body = text.partition("static void loop_")
        return head + "static void loop_" + (" ".join(body.split("\n")) + "\n" if self.one_line else body)

    def walk(self):
        walk = Walk(self.every)
        for s in self.program:
            s.walk(walk)
        walk.finish()
        return walk.rows


# --- fits ---
STEP = ["training_step", "on_after_backward", "on_before_optimizer_step", "on_train_batch_end"]
HOOKS = {  # stage, and the hook's C: its parameters but for the last, which is `void *user`
    "training_step": (0, "xt_module *net, xt_batch b"),
    "on_after_backward": (0, "xt_module *net"),
    "on_before_optimizer_step": (0, "xt_module *net"),
    "on_train_batch_end": (0, "xt_module *net, const xt_batch *b, xt_tensor loss"),
    "step_end": (0, "xt_trainer *t"),
    "validation_step": (1, "xt_module *net, xt_batch b"),
    "on_validation_batch_end": (1, "xt_module *net, const xt_batch *b"),
    "test_step": (2, "xt_module *net, xt_batch b"),
    "on_train_start": (3, "xt_module *net"),
    "on_train_epoch_start": (3, "xt_module *net, int64_t epoch"),
    "on_train_epoch_end": (3, "xt_module *net, int64_t epoch"),
    "on_validation_epoch_start": (4, "xt_module *net, int64_t epoch"),
    "on_validation_epoch_end": (4, "xt_module *net, int64_t epoch"),
    "on_test_start": (5, "xt_module *net"),
    "on_test_end": (5, "xt_module *net"),
}
WITHIN = ["training_step", "on_after_backward", "on_before_optimizer_step", "validation_step", "test_step"]
STAGES = ("train", "validate", "test")


class Fit:
    """A fit and a test behind it, whose hooks log."""

    def __init__(self, r):
        self.names = []
        for group, letter in enumerate("tvwabc"):  # of the steps of a stage, and of the hooks around its epochs
            self.names += [[Name(r, "%s%d" % (letter, k), min(group % 3, 1)) for k in range(2)]]
        for name in sum(self.names[3:], []):  # such values are of the epoch
            name.step = name.epoch = None
            name.stage = 1
        self.train, self.val, self.test = (Loader(r, name) for name in ("train", "val", "test"))
        self.epochs, self.accumulate = r.randint(1, 3), r.choice([1, 1, 2, 3])
        self.every, self.within = r.choice([1, 2, 3, 50]), r.choice([0, 0] + [1, 2][:len(self.train.sizes)])
        self.alone = r.choice([0, 0, 1, 3]), r.choice([0, 0, 2])  # steps of a loop, before the fit and behind it
        # epochs of a fit that another one resumes; 0: there is none
        self.first = r.choice([0, 0] + list(range(1, self.epochs)))
        self.hooks = {}
        for hook, (group, _) in HOOKS.items():
            self.hooks[hook] = [Log(r, self.names[group], group > 2) for _ in range(r.choice([0, 0, 1, 1, 2]))]
            for log in self.hooks[hook]:
                log.weight = None if group > 2 else log.weight
        # hooks that go over a loader of their own before they log, which is nothing to the fit
        self.own, passes = Loader(r, "own"), r.random() < 0.4
        self.passing = [hook for hook in HOOKS if hook not in WITHIN and passes and r.random() < 0.4]

    def write(self, seed):
        text = helpers(sum(self.names, []))
        text += "static int site_LOOP[%d];\nstatic xt_loader *own_LOOP;\n" % (Log.sites + 1)
        for hook, (_, parameters) in HOOKS.items():
            text += "static %s %s_LOOP(%s, void *user) {\n" % (
                "xt_tensor" if hook == "training_step" else "void", hook, parameters)
            if hook in self.passing:
                text += "    for (xt_batch own; xt_next(own_LOOP, &own);) {\n    }\n"
            text += "".join(log.c("    ").replace("site[", "site_LOOP[") for log in self.hooks[hook])
            if "step" in hook.split("_")[-1] and "b" in parameters.split():
                text += "    %sxt_forward(net, b.x)%s;\n" % (
                    ("return xt_mean(", ")") if hook == "training_step" else ("", ""))
            text += "}\n"
        text += """static xt_optimizer *sgd_LOOP(xt_module *net, void *user) {
    return xt_sgd(net, .lr = 0.01);
}
static void loop_LOOP(void) {
    xt_task task = {.net = net, .configure_optimizers = sgd_LOOP, %s};
    xt_callback_desc mine = {.struct_size = sizeof mine, .name = "mine", .step_end = step_end_LOOP};
""" % ", ".join(".%s = %s_LOOP" % (hook, hook) for hook in HOOKS if hook != "step_end")
        for l in (self.train, self.val, self.test):
            text += "    xt_loader *%s = data(%d, %d, %d);\n" % (l.name, l.samples, l.batch, l.pads)
        text += "    own_LOOP = data(%d, %d, %d);\n" % (self.own.samples, self.own.batch, self.own.pads)
        text += """    xt_trainer *t = NULL;
    for (int whole = %d; whole < 2; whole++) {
        t = xt_trainer_new(.max_epochs = whole ? %d : %d, .accumulate_grad_batches = %d, .log_every_n_steps = %d,
            .val_every_n_batches = %d, .num_sanity_val_steps = 0, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
            .resume = whole && %d ? "LOOP.ckpt" : NULL);
        xt_trainer_add(t, xt_callback_new(&mine, NULL));
        train_alone(%d);
        if (xt_fit(t, &task, train, val)) exit(3);
        if (!whole && xt_trainer_save(t, "LOOP.ckpt")) exit(5);
    }
    train_alone(%d);
    if (xt_test(t, &task, test)) exit(4);
}
""" % (not self.first, self.epochs, self.first, self.accumulate, self.every, self.within, self.first, *self.alone)
        return text.replace("LOOP", str(seed))

    def call(self, hook):
        """What the hook's calls log now: [name, value]."""
        self.got = []
        for log in self.hooks[hook]:
            log.walk(self)
        return self.got

    visit = Walk.visit

    def log(self, name, weight):
        self.n += 1
        self.got.append((name, self.n, self.size if weight is None else weight))

    def emit(self, stage, level, where, values):
        for name, v in values:
            if v:
                self.rows.append(where + (STAGES[stage], level, name.column(level), reduced(name, v)))

    def between(self, stage, hook, where):
        values, self.size = {}, 1
        for name, v, w in self.call(hook):
            values.setdefault(name, []).append((v, w))
        self.emit(stage, "epoch", where, values.items())

    def record(self, values):
        for name, v, w in values:
            window, old = self.step.get(name, (0, []))
            self.step[name] = (self.window, (old if window == self.window else []) + [(v, w)])
            self.sums.setdefault(name, []).append((v, w))

    def row(self, seen):
        self.emit(0, "step", self.where(), [(k, v) for k, (w, v) in self.step.items() if w > seen and k.levels()[0]])

    def where(self):
        return (self.updates, self.epoch, self.batch, self.samples)

    def behind(self, where, loader):
        """Behind a pass over it: at the pass's last batch, as the pass's own row."""
        return where[:2] + (len(loader.sizes) - 1,) + where[3:]

    def evaluate(self, stage, loader, hooks, epoch):
        newest, sums = {}, {}
        for i, self.size in enumerate(loader.sizes):
            window = {}
            for name, v, w in sum((self.call(hook) for hook in hooks), []):
                window.setdefault(name, []).append((v, w))
                sums.setdefault(name, []).append((v, w))
            newest.update(window)
        where = (self.updates, epoch, len(loader.sizes) - 1, self.samples)
        self.emit(stage, "step", where, [(k, v) for k, v in newest.items() if k.levels()[0]])
        self.emit(stage, "epoch", where, [(k, v) for k, v in sums.items() if k.levels()[1]])

    def validate(self):
        self.between(1, "on_validation_epoch_start", self.where())
        self.evaluate(1, self.val, ["validation_step", "on_validation_batch_end"], self.epoch)
        self.between(1, "on_validation_epoch_end", self.behind(self.where(), self.val))

    def walk(self):
        self.n = self.updates = self.samples = self.epoch = self.batch = self.window = 0
        self.rows, self.counts, self.step, behind, opened, row_window, row_step = [], {}, {}, [], False, 0, -1
        last = len(self.train.sizes) - 1
        for self.epoch in range(self.epochs):
            self.batch, self.sums = 0, {}
            fit_ends = self.epoch + 1 in (self.first, self.epochs)
            if self.epoch in (0, self.first):
                self.between(0, "on_train_start", self.where())
            self.between(0, "on_train_epoch_start", self.where())
            for i, size in enumerate(self.train.sizes):
                ends = (i + 1) % self.accumulate == 0 or i == last
                if i % self.accumulate == 0 and not opened:
                    self.window += 1
                opened, self.size = False, size
                values = behind
                for hook in STEP:
                    if ends or hook != "on_before_optimizer_step":
                        values = values + self.call(hook)
                self.record(values)
                behind, self.batch, self.samples = [], i, self.samples + size
                if ends:
                    self.updates += 1
                    if self.updates % self.every == 0:
                        self.row(row_window)
                        row_window, row_step = self.window, self.updates
                    behind = self.call("step_end")
                if self.within and (i + 1) % self.within == 0:
                    self.validate()
            if fit_ends and row_step != self.updates:
                self.row(row_window)
            if any(name.levels()[1] for name, _, _ in behind):
                self.window, opened = self.window + 1, True
                self.record(behind)
                behind = []
            self.emit(0, "epoch", self.where(), [(k, v) for k, v in self.sums.items() if k.levels()[1]])
            if not self.within:
                self.validate()
            self.between(0, "on_train_epoch_end", self.where())
            if fit_ends and opened:  # and the next step has it too, as that of the resumed fit
                self.row(self.window - 1)
            elif fit_ends:
                noted = {}
                for name, v, w in behind:
                    noted.setdefault(name, []).append((v, w))
                self.emit(0, "step", self.where(), noted.items())
                behind = []  # written, and not in what is saved behind the fit
        after = (self.updates, self.epochs, last, self.samples)
        self.between(2, "on_test_start", after)
        self.evaluate(2, self.test, ["test_step"], self.epochs)
        self.between(2, "on_test_end", self.behind(after, self.test))
        return self.rows


def number(v):
    return float("%.5g" % float(v))


def rows_of(folder):
    got = []
    for name in glob.glob(folder + "/*/*/metrics.csv"):
        for row in csv.DictReader(open(name)):
            if not re.match("[tvwabc][0-9]", row["name"]):
                continue  # the trainer's own
            got.append((int(row["step"]), int(row["epoch"]), int(row["batch"]), int(row["samples"]), row["stage"],
                        row["level"], row["name"], number(row["value"])))
    return got


def compile_all(source, program):
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, source, "-o", program, "-L" + build,
                    "-lxtrain", "-Wl,-rpath," + build], check=True)


os.makedirs(work, exist_ok=True)
bad, drawn = 0, {}
text = HEAD
for seed in range(first, first + count):
    r = random.Random(seed)
    Log.sites = 0
    drawn[str(seed)] = Fit(r) if seed % 2 else Loop(r)
    text += drawn[str(seed)].write(seed)
    if seed % 2 == 0:
        for name, kind in ("several", Several), ("bare", Bare):
            Log.sites = 0
            drawn["%d_%s" % (seed, name)] = kind(random.Random(seed))
            text += drawn["%d_%s" % (seed, name)].write("%d_%s" % (seed, name))
text += "static void (*const loops[])(void) = {%s};\n" % ", ".join("loop_%s" % s for s in drawn)
text += """int main(int argc, char **argv) {
    (void)argc;
    m = xt_module_new(net, NULL);
    xt_status_free(xt_module_build(m, (xt_spec){XT_F32, {2, 1}}));
    o = xt_sgd(m, .lr = 0.01);
    second = xt_sgd(m, .lr = 0.02);
    loops[atoi(argv[1])]();
    return xt_finish();
}
"""
with open(work + "/p.c", "w") as f:
    f.write(text)
compile_all(work + "/p.c", work + "/p")
for at, (seed, case) in enumerate(drawn.items()):
    runs = "%s/runs%s" % (work, seed)
    shutil.rmtree(runs, ignore_errors=True)
    done = subprocess.run(["timeout", "60", work + "/p", str(at)], cwd=work, text=True, capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=runs, XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off"))
    want, got = sorted(r[:-1] + (number(r[-1]),) for r in case.walk()), sorted(rows_of(runs))
    if not done.returncode and want == got:
        shutil.rmtree(runs, ignore_errors=True)
        continue
    bad += 1
    print("seed %s: exit %d %s" % (seed, done.returncode, done.stderr[-600:]))
    left = list(got)
    for row in want:
        if row in left:
            left.remove(row)
        else:
            print("    missing", *row)
    for row in left:
        print("    instead", *row)
    print(case.write(seed) if os.environ.get("ROWS_SHOW") else "", end="", flush=True)
print("%d passed, %d failed" % (len(drawn) - bad, bad))
sys.exit(bad > 0)
