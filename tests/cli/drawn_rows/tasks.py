"""Loops each of whose iterations makes optimizers of its own (tasks, cycles, searches), and loops of calls of compiled
steps: what they hold alive, and what can be read behind them (loop_memory.py, in whose C they are written)."""
import random

TASK = "xt_mse_loss(xt_forward(m[{k}], x), x)"


class Tasks:
    """One to three optimizers a task, over networks of before or the task's own, freed or left, replaced in each task
    or in some; each steps once or several times, with what a task has behind it."""

    BEHIND = ["", "", "xt_log(\"task\", l);", "if (i % 10 == 0) xt_item(l);", "xt_item(l);",
              "xt_no_grad_begin();\nxt_item(xt_mse_loss(xt_forward(m[0], batch(7)), batch(7)));\nxt_no_grad_end();",
              "xt_eval(m[0]);\nxt_no_grad_begin();\nfor (int q = 0; q < 2; q++)\n"
              "xt_item(xt_mse_loss(xt_forward(m[0], batch(q)), batch(q)));\nxt_no_grad_end();\nxt_train(m[0]);",
              "xt_tensor y = batch(i);\nxt_backward(xt_mse_loss(xt_forward(m[2], y), y));\nxt_optimizer_step(o[2]);",
              "for (int q = 0; q < xt_module_tensors(m[0]); q++) {\nxt_tensor t = xt_module_tensor(m[2], q);\n"
              "xt_assign(t, xt_lerp_scalar(t, xt_module_tensor(m[0], q), 0.1));\n"
              "xt_assign(xt_module_tensor(m[0], q), t);\n}"]

    def __init__(self, seed):
        r, self.seed = random.Random("tasks %d" % seed), "t%d" % seed
        n, when = r.choice([1, 1, 1, 2]), r.choice(["", "", "", "if (i % 5 == 4) "])
        own, free = not when and r.random() < 0.2, r.random() < 0.6
        free = free or own
        kind = r.choice(["sgd", "adam"]) if free else "sgd"  # what is left keeps its states
        make = ["make(%d);" % k if r.random() < 0.3 else "o[%d] = xt_%s(m[%d], .lr = 0.01);" % (k, kind, k)
                for k in range(n)]
        drop = ["xt_optimizer_free(o[%d]);" % k for k in range(n)] if free else []
        if own:
            make.insert(0, "m[0] = xt_module_new(net, NULL);")
            drop.append("xt_module_free(m[0]);")
        times = r.choice([1, 1, 2, 3])
        update = lambda k: "xt_tensor x = batch(i + k);\nl = %s;\nxt_zero_grad(o[%d]);\nxt_backward(l);\n" \
            "xt_optimizer_step(o[%d]);\n" % (TASK.format(k=k), k, k)
        train = "".join("for (int k = 0; k < %d; k++) {\n%s}\n" % (times, update(k)) for k in range(n))
        behind = r.choice(self.BEHIND)
        if when:
            body = when + "{\n" + "\n".join(drop + make) + "\n}\n" + train + behind
        else:
            body = "\n".join(make) + "\n" + train + behind + "\n" + "\n".join(drop)
        self.text = "for (int i = 0; i < LATE; i++) {\nxt_tensor l = {0};\n%s\nend(i);\n}" % body

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)


class Population:
    """Two or three optimizers that all step in each iteration; every so many iterations one of them, always the same or
    by turns, goes on from another one's weights, by another optimizer, which is made before or after the old one is
    freed, or is left."""

    def __init__(self, seed):
        r, self.seed = random.Random("population %d" % seed), "p%d" % seed
        n, every = r.choice([2, 3, 3]), r.choice([1, 2, 4, 5, 10, 20])
        self.met = n + 1  # with the first one that is made anew for each optimizer another loop begins
        which = r.choice(["0", "i / %d %% %d" % (every, n), "i / %d %% %d" % (every, n), "i * 7 / 5 %% %d" % n])
        copy = "for (int q = 0; q < xt_module_tensors(m[w]); q++)\n" \
            "xt_assign(xt_module_tensor(m[w], q), xt_module_tensor(m[(w + 1) %% %d], q));" % n
        fresh = r.choice(["xt_sgd(m[w], .lr = 0.02)", "xt_adam(m[w], .lr = 0.02)"])
        new = r.choice(["xt_optimizer_free(o[w]);\no[w] = %s;", "xt_optimizer_free(o[w]);\no[w] = %s;",
                        "xt_optimizer *old = o[w];\no[w] = %s;\nxt_optimizer_free(old);",
                        "xt_optimizer_set_lr(o[w], 0.02);"])
        do = [copy] * (r.random() < 0.8) + [new % fresh if "%s" in new else new]
        r.shuffle(do)
        if r.random() < 0.2:
            do.append("xt_no_grad_begin();\nxt_item(xt_mse_loss(xt_forward(m[0], batch(7)), batch(7)));\n"
                      "xt_no_grad_end();")
        read = r.choice(["xt_item(l);\n", "xt_log(\"l\", l);\n", ""])
        call = "(void)xt_call(st[1], batch(i));\n" if r.random() < 0.2 else ""
        self.results = 1 if call else 0
        train = "for (int k = 0; k < %d; k++) {\nxt_tensor x = batch(i + k), l = %s;\nxt_zero_grad(o[k]);\n" \
            "xt_backward(l);\nxt_optimizer_step(o[k]);\n%s}\n" % (n, TASK.format(k="k"), read)
        self.text = "compile();\nfor (int i = 0; i < LATE; i++) {\n%s%sif (i %% %d == %d) {\nint w = %s;\n%s\n}\n" \
            "end(i);\n}" % (train, call, every, every - 1, which, "\n".join(do))

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)


class Calls:
    """One or two compiled steps an iteration, in an inner loop or in some iterations; their results are read, logged,
    handed on or left, and ops of the program's own stand around them; some loops compile their steps anew in each
    iteration."""

    BEHIND = ["", "xt_log(\"l\", xt_mean(a));", "if (i % 10 == 0) xt_item(xt_mean(a));",
              "xt_item(xt_mul_scalar(xt_mean(a), 2));",
              "xt_log(\"l\", xt_mean(xt_add(a, e)));", "xt_log(\"x\", xt_mean(x));"]

    def __init__(self, seed):
        r, self.seed = random.Random("calls %d" % seed), "c%d" % seed
        inner = r.choice(["", "", "for (int k = 0; k < 3; k++) "])
        self.results = 3 if inner else 1  # of an iteration, at most: older ones live on as results that may be listed
        given = r.choice(["x", "batch(i)", "xt_mul_scalar(x, 0.5)", "xt_detach(x)"])
        body = inner + "a = xt_call(st[0], %s);\n" % given
        if r.random() < 0.4:
            self.results += 1
            body += r.choice(["", "if (i % 5 == 0) "]) + "e = xt_call(st[1], %s);\n" % r.choice(["x", "batch(i + 1)"])
        head = "xt_tensor x = batch(i);\n"
        if r.random() < 0.3:
            head += "xt_tensor f = batch(i + 2);\n"
            body += "xt_item(xt_mean(f));\n"
        behind = r.choice(self.BEHIND)
        if r.random() < 0.3:
            self.results += 1
            body += "h = xt_call(st[2], h, x);\n"
        anew = r.choice(["", "", "", "compile();\n", "for (int k = 0; k < 3; k++) xt_step_free(st[k]);\ncompile();\n"])
        self.text = ("xt_tensor a = {0}, e = batch(1), h = batch(2);\ncompile();\nmarks = 0; /* of h and e, too */\n"
                     "for (int i = 0; i < LATE; i++) {\n%s%s%s%s\nend(i);\n}" % (anew, head, body, behind))

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)


class Lists:
    """Results of a compiled step that an epoch collects in an array and reads behind its loop, 10 to 1,000 of them, for
    several epochs; other steps are called before the loop, in it or behind it, and losses of training are collected,
    too. With `marks` each result is kept until it has been read: what is read must be the same."""

    READ = ["s += xt_item(v[i]);", "s += xt_item(v[n - 1 - i]);", "s += xt_item(xt_mul_scalar(v[i], 2));",
            "t = i ? xt_add(t, v[i]) : v[i];", "t = xt_call(st[2], i ? t : v[i], v[i]);"]

    def __init__(self, seed):
        r, self.seed = random.Random("lists %d" % seed), "l%d" % seed
        n = [10, 65, 66, 200, 1000][seed % 5]
        read = r.choice(self.READ[:3] if n == 1000 else self.READ)
        between = r.choice(["", "", "(void)xt_call(st[2], batch(i), batch(i + 1));", "h = xt_call(st[2], h, batch(i));",
                            "if (i % 7 == 3) (void)xt_call(st[0], batch(i));", "xt_log(\"v\", v[i]);",
                            "xt_item(xt_mean(batch(i)));"])
        train = r.choice([0, 5, 100])
        losses = "for (int i = 0; i < %d; i++) s += xt_item(u[i]);\n" % train if r.random() < 0.5 else ""
        first = "for (int i = 0; i < %d; i++) u[i] = list(xt_call(st[0], batch(i)));\n" % train
        drops = "if (marks) for (int i = 0; i < %d; i++) xt_drop(%s[i]);\n"
        self.text = ("static xt_tensor u[100], v[1000];\nenum { n = %d };\n"
                     "xt_tensor h = xt_keep(batch(2));\ncompile();\n"
                     "for (int e = 0; e < %d; e++) {\ndouble s = 0;\nxt_tensor t = {0};\n%s"
                     "for (int i = 0; i < n; i++) {\nv[i] = list(xt_call(st[1], batch(i)));\n%s\n}\n"
                     "for (int i = 0; i < n; i++) {\n%s\n}\n%sif (t.slot) s += xt_item(t);\n%s%s"
                     "printf(\"epoch %%d: %%.9g\\n\", e, s);\n}" % (
                         n, 12 if n < 100 else 5, first, between, read, losses, drops % (train, "u"), drops % (n, "v")))

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)


class Endless:
    """Calls without end whose results nobody reads: some live on, as many as there are at most."""

    def __init__(self, seed):
        r, self.seed = random.Random("endless %d" % seed), "e%d" % seed
        call = "(void)xt_call(st[%d], %s);" % r.choice([(1, "x"), (2, "x, x"), (2, "y, y")])
        self.text = ("compile();\nxt_tensor x = batch(1), y = xt_concat(2, XT_TENSORS(x, x), 0);\n"
                     "for (int i = 1; i <= 40000; i++) {\n%s\n"
                     "if (i %% 20000 == 0) held();\n}" % call)

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)
