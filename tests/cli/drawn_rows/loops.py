"""Loops over loaders: passes within a pass and left early, two loaders in turn, validations, files."""
from drawn_rows.statements import Line, Log, Pass, Some, Times, files, write
from drawn_rows.walk import Loader, Name, Walk


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
