"""Loops of compiled steps and of plain ones: phases one behind the other, both in one iteration, or by turns."""
import random


class Mixed:
    """Each call and each plain update is a step. What is logged behind it is of it, as is what stands between a plain
    one's forward and its update; what an iteration that a boundary has begun logs first is of its first update. A row
    has of each name what was logged last since the row before."""

    def __init__(self, seed):
        r = self.r = random.Random("mixed %d" % seed)
        self.seed, self.every = "m%d" % seed, r.choice([1, 1, 3, 3, 4, 50])
        self.loops = [self.loop(self.body()) for _ in range(r.choice([1, 2, 2, 3]))]
        self.rounds = r.choice([1, 1, 2, 3])

    def body(self):
        """Of (kind, optimizer, condition, logs within or above, logs behind); one at least in each iteration."""
        r, n = self.r, self.r.choice([1, 1, 1, 2, 2, 3])
        turns = r.choice([2, 3, 5]) if n == 2 and r.random() < 0.6 else 0
        parts = []
        for k in range(n):
            kind, of = r.choice(["call", "plain"]), r.choice([0, 1, 2])
            if any(p[0] == kind == "plain" for p in parts):
                kind = "call"  # plain updates of two optimizers beside each other are one step
            when = ("i %% %d == %d" if k else "i %% %d != %d") % (turns, turns - 1) if turns else ""
            within = [("within%d" % of, "tensor")] if kind == "call" and of == 2 else \
                [("above%d" % of, r.choice(["value", "tensor"]))] * (kind == "plain" and r.random() < 0.3)
            drawn = [(r.choice([kind, "both"]) + str(j), r.choice(["value", "tensor", "made"])) for j in range(3)]
            behind = [(name + what[0], what) for name, what in r.sample(drawn, r.choice([0, 1, 1, 2, 2, 3]))]
            parts.append((kind, of, when, within, behind))
        top = [("top", "value")] * (r.random() < 0.3)
        return turns, top, parts

    def loop(self, body):
        """A plain update comes again, or nothing would say whose loop it is of."""
        turns, top, parts = body
        least = 2 * max(turns, 1) if any(p[0] == "plain" for p in parts) else 1
        return max(least, self.r.choice([1, 2, 3, 5, 8, 20])), top, parts

    def log(self, name, what):
        value = {"value": 'xt_log_value("%s", ++n);', "tensor": 'xt_log("%s", one(++n));',
                 "made": 'xt_log("%s", made(++n));'}[what]
        return value % name

    def c(self, times, top, parts):
        text = "".join("if (marks) %s\n" % self.log(*l) for l in top)
        for kind, of, when, within, behind in parts:
            text += ("if (%s) " % when if when else "") + "{\n"
            if kind == "call":
                text += "xt_call(compiled[%d], one(%s));\n" % (of, "++n" if within else "n")
            else:
                text += "xt_tensor loss = xt_mean(xt_forward(modules[%d], one(n)));\n" % of
                text += "".join(self.log(*l) + "\n" for l in within)
                text += "xt_backward(loss);\nxt_optimizer_step(optimizers[%d]);\n" % of
            text += "".join(self.log(*l) + "\n" for l in behind) + "}\n"
        return "for (int i = 0; i < %d; i++) {\n%send();\n}" % (times, text)

    def write(self):
        loops = "\n".join(self.c(*l) for l in self.loops)
        return ("static void loop_%s(void) {\nxt_log_every_n_steps(%d);\nfor (int round = 0; round < %d; round++) {\n"
                "%s\n}\n}\n" % (self.seed, self.every, self.rounds, loops))

    def rows(self, marked):
        n = step = 0
        newest, rows = {}, []

        def send(step):
            rows.extend((step, "train", "step", name, "0", "%.5g" % v) for name, v in newest.items())
            newest.clear()

        for times, top, parts in self.loops * self.rounds:
            for i in range(times):
                first = []
                for name, _ in top * marked:
                    n += 1
                    first.append((name, n))
                for kind, of, when, within, behind in parts:
                    if when and not eval(when):
                        continue
                    if step % self.every == 0:
                        send(step)
                    step += 1
                    newest.update(first)
                    first = []
                    for name, _ in within + behind:
                        n += 1
                        newest[name] = n
        send(step)
        return sorted(rows)
