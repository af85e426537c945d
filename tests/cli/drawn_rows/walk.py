"""What rows are to be: the walk through a loop that says which rows it has, whatever the loop is."""


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
        of_steps = any(p[0].stage == 0 and p[0].levels()[0] for p in self.pending)
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
        if self.places[0].over == self.updates:  # behind a pass, before another update
            if of_steps:
                self.row(0, "step", self.where(0))
                self.sets[0].begins = True
            if self.sets[0].fresh:
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
