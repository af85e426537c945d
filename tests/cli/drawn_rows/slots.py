"""Loops one behind the other whose iterations step two optimizers, each in every iteration or in some, and the first of
them once or more. An optimizer that steps again behind the other one, two inner loops in one body, and loops with an
inner one or with two updates of one optimizer beside other loops are not drawn: nothing tells such a part of a body
from a loop behind another. Nor is a last iteration that leaves an update out where another loop follows."""


class Slot:
    """Updates of one optimizer in an iteration: in those that `when` names, `times` of them."""

    WHEN = ["i % 2 == 1", "i % 2 == 0", "i % 3 == 0", "i % 3 == 2", "i >= 2", "i < 2"]

    def __init__(self, r, of, times, may):
        self.of, self.times = of, times
        self.when = r.choice(self.WHEN) if may and times == 1 and r.random() < 0.5 else ""

    def c(self, deep):
        text = deep + "xt_backward(xt_mean(xt_forward(m, one(n))));\n"
        text += deep + "xt_optimizer_step(%s);\n" % {"a": "o", "b": "second"}[self.of]
        text += deep + "xt_log_value(\"%s0\", ++n);\n" % self.of
        if self.times == 1:
            return text if not self.when else deep + "if (%s) {\n%s%s}\n" % (self.when, text, deep)
        return deep + "for (int k = 0; k < %d; k++) {\n%s%s}\n" % (self.times, text, deep)

    def turns(self, i):
        return self.times if not self.when or eval(self.when, {"i": i}) else 0


class Slots:
    """A step begins with an iteration's first update, and with each of an optimizer that has stepped in the newest one.
    What is logged is of the step of the update before it."""

    def __init__(self, r):
        self.marks, nests = r.random() < 0.3, r.random() < 0.4
        nests = nests and not self.marks
        self.phases = []
        loops = 1 if nests else r.choice([1, 1, 2, 2, 3])
        for loop in range(loops):
            of = r.choice(["a", "b", "ab", "ba", "ab", "ba"])
            inner = r.choice([1, 2, 3]) if nests else 1
            always = 0 if nests else r.randrange(len(of))
            slots = [Slot(r, o, 1 if k else inner, k != always) for k, o in enumerate(of)]
            if not nests and loops == 1 and r.random() < 0.3:  # the first one again, at a place of its own
                slots.insert(1, Slot(r, of[0], 1, True))
            self.phases.append((r.randint(3, 6), slots))
            for s in slots if loop + 1 < loops else []:
                s.when = s.when if s.turns(self.phases[-1][0] - 1) else ""

    def write(self, seed):
        text = "static void loop_%s(void) {\n    xt_log_every_n_steps(1);\n" % seed
        for times, slots in self.phases:
            text += "    for (int i = 0; i < %d; i++) {\n" % times + "".join(s.c("        ") for s in slots)
            text += '        xt_log_value("t0", ++n);\n' + "        xt_mark_step();\n" * self.marks + "    }\n"
        return text + "}\n"

    def walk(self):
        step, n, logged = 0, 0, {}

        def log(name):
            nonlocal n
            n += 1
            logged.setdefault((step, name), []).append(n)

        for times, slots in self.phases:
            for i in range(times):
                stepped = None
                for s in slots:
                    for _ in range(s.turns(i)):
                        begins = stepped is None or s.of in stepped
                        step += begins
                        stepped = {s.of} if begins else stepped | {s.of}
                        log(s.of + "0")
                log("t0")
        return [(step, 0, 0, 0, "train", "step", name, sum(v) / len(v)) for (step, name), v in logged.items()]
