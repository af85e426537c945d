"""Statements of a drawn loop. Each writes itself as C, and is walked."""
from drawn_rows.walk import Walk


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
    counter = "e"  # its name in C

    def __init__(self, times, body):
        self.times, self.body = times, body

    def c(self, deep):
        return deep + "for (int {0} = 0; {0} < {1}; {0}++) {{\n".format(self.counter, self.times) + "".join(
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
