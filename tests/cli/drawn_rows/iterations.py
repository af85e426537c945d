"""Loops whose iterations are no batches, or more than one to a batch."""
from drawn_rows.statements import Line, Log, Pass, Times, files, write
from drawn_rows.walk import Loader, Name, Walk


class Inner(Times):
    """Updates of one optimizer, of which each but the first shows that the one before it has ended a step."""

    counter = "j"

    def walk(self, w):
        for j in range(self.times):
            if j:
                w.boundary()
            for s in self.body:
                s.walk(w)


class Turns(Times):
    """Iterations over no loader. Without a boundary of the program's own the next one's first update shows it."""

    counter = "i"

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
