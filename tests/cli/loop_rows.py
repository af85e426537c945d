#!/usr/bin/env python3
"""Rows of drawn programs of loops without boundaries beside those of the same programs with xt_mark_step.

loop_rows.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each seed draws one to three loops one behind the other, of one
optimizer or of their own, whose bodies log above the update, between forward and update, and below it, in all
iterations or in some, by lines of their own or by functions that other places call too; that accumulate over one to
three iterations and some left over; that evaluate; that are `for` loops, a function that calls itself, a function that
all loops call, or turns of two bodies; and another program of phases (pN), loops that step some of the optimizers each.
Some are sweeps: a function that trains is called several times, with an optimizer of its own or the same one, or loops
take turns in rounds, and what ends a step without being a boundary (a save, a read, a wait, an evaluation) stands in
front of the loop, behind it or in its iterations. Every log call logs another number. The program runs twice, once with
an xt_mark_step at the end of each iteration, and its rows must be the same. A third one of orders (oN) has the rows
that the definition of a step gives, with boundaries and without, and so has a fourth of compiled steps and plain ones
(mN). What differs is printed with its seed, by which it is tried again; ROWS_SHOW=1 prints the C."""
import csv, glob, os, random, shutil, sys

from drawn_rows.in_c import compile_loops, run_loop
from drawn_rows.mixed import Mixed

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
static int n, marks; /* n: the value of the newest log call */
static xt_module *modules[3];
static xt_optimizer *optimizers[3];
static volatile int rounds; /* a call in front of it is no tail call */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor one(int v) {
    float f = (float)v;
    return xt_from_array(&f, XT_F32, 1);
}
static xt_tensor made(int v) { /* by the step's program */
    return xt_add(one(v), xt_mul_scalar(xt_module_find(modules[0], "w"), 0));
}
static void end(void) {
    if (marks) xt_mark_step();
}
static void renew(void) { /* the old ones live on, or are freed by `release` */
    modules[0] = xt_module_new(net, NULL);
    xt_status_free(xt_module_build(modules[0], (xt_spec){XT_F32, {1}}));
    optimizers[0] = xt_sgd(modules[0], .lr = 0.01);
}
static void release(void) {
    xt_optimizer_free(optimizers[0]);
    xt_module_free(modules[0]);
    renew();
}
static xt_tensor weight(void) {
    return xt_module_find(modules[0], "w");
}
static void evaluate(void) {
    xt_eval(modules[0]);
    xt_item(xt_sum(xt_forward(modules[0], one(3))));
    xt_train(modules[0]);
}
static xt_step *compiled[3];
static xt_tensor compile(const xt_tensor *in, int n_in, void *user) {
    int k = *(int *)user;
    (void)n_in;
    xt_tensor loss = xt_mean(xt_forward(modules[k], in[0]));
    if (k == 2) xt_log("within2", in[0]);
    xt_backward(loss);
    xt_optimizer_step(optimizers[k]);
    return loss;
}
static void learn(xt_optimizer *o) {
    xt_optimizer_step(o);
    rounds++;
}
"""
MAIN = """int main(int argc, char **argv) {
    (void)argc;
    marks = atoi(argv[2]);
    for (int k = 0; k < 3; k++) {
        modules[k] = xt_module_new(net, NULL);
        xt_status_free(xt_module_build(modules[k], (xt_spec){XT_F32, {1}}));
        optimizers[k] = xt_sgd(modules[k], .lr = 0.01);
        static int number[3] = {0, 1, 2};
        compiled[k] = xt_compile(compile, .user = &number[k]);
    }
    loops[atoi(argv[1])]();
    return xt_finish();
}
"""
ENDERS = ['xt_status_free(xt_save(modules[0], "s.net"));', 'xt_status_free(xt_optimizer_save(optimizers[0], "s.opt"));',
          "xt_wait();", "xt_item(weight());", "xt_item(xt_sum(weight()));",
          "xt_read(weight(), &(float){0}, sizeof(float));", "evaluate();", "xt_rng_state_load(xt_rng_state_save());"]
LOADERS = ['xt_status_free(xt_save(modules[0], "s.net"));\nxt_status_free(xt_load(modules[0], "s.net"));',
           'xt_status_free(xt_optimizer_save(optimizers[0], "s.opt"));\n'
           'xt_status_free(xt_optimizer_load(optimizers[0], "s.opt"));', "xt_reinitialize();"]
OPTIONS = ["", "", "", ", .reduce = XT_SUM", ", .reduce = XT_LAST", ", .on_epoch = XT_ON", ", .reduce = XT_MAX"]


class Program:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed, self.functions = seed, []
        self.options = {"t%d" % k: r.choice(OPTIONS) for k in range(4)}
        self.options["v"] = ""
        # of whatever name: one line logs above the update and below it
        self.putters = [name for name, given in self.options.items() if not given and r.random() < 0.5]
        self.functions.append('static void put_%s(const char *name) {\nxt_log_value(name, ++n);\nrounds++;\n}' % seed)
        self.window = 1
        shared, self.one_optimizer = r.random() < 0.25, r.random() < 0.6
        self.loops = r.choice([1, 1, 2, 2, 3])
        self.every = r.choice([1, 1, 2, 3])
        if shared:
            self.functions.append("static void body_%s(int i) {\n%s\n}" % (seed, self.body(0)))
        if r.random() < 0.5:
            self.text = self.sweep()
        else:
            self.text = "\n".join(self.loop(k, shared) for k in range(self.loops))

    def call(self, name):
        what = self.r.choice(['xt_log("%s", one(++n)%s);', 'xt_log("%s", made(++n)%s);', 'xt_log_value("%s", ++n%s);',
                              'xt_log_value("%s", ++n%s);'])
        return what % (name, self.options[name])

    def log(self, names=("t0", "t1", "t2", "t3")):
        name = self.r.choice(names)
        when = self.r.choice(["", "", "if (i % 2 == 0) ", "if (i % 2 == 1) ", "if (i % 3 == 1) "])
        return when + ('put_%s("%s");' % (self.seed, name) if name in self.putters else self.call(name))

    def logs(self):
        return [self.log() for _ in range(self.r.choice([0, 0, 1, 1, 2]))]

    def evaluation(self, of):
        if self.r.random() < 0.8:
            return []
        return ["if (i %% 2 == 1) {\nxt_eval(modules[%d]);\nxt_forward(modules[%d], one(i));" % (of, of),
                self.log(("v",)), "xt_train(modules[%d]);\n}" % of]

    def body(self, of, one_way=True):
        """Where a loop goes two ways, each logs behind its update alone, which is in each of its iterations."""
        r = self.r
        window = r.choice([1, 1, 1, 2, 3]) if one_way else 1
        step = r.choice(["xt_optimizer_step(optimizers[%d]);", "learn(optimizers[%d]);"]) % of
        self.window = max(self.window, window)
        if window > 1:
            step = "if (i %% %d == %d) %s" % (window, window - 1, step)
        ahead = self.logs if one_way else list
        lines = ahead() + ["xt_tensor loss = xt_mean(xt_forward(modules[%d], one(i)));" % of] + ahead()
        lines += ["xt_backward(loss);"] + ahead() + [step] + self.logs() + (self.evaluation(of) if window == 1 else [])
        lines += self.logs()
        return "\n".join(lines)

    def enders(self, also=()):
        return [self.r.choice(ENDERS + list(also)) for _ in range(self.r.choice([0, 1, 1, 2]))]

    def sweep(self):
        """Nothing of it is under an `if` in the last iteration, as in a loop that others follow."""
        r = self.r
        self.loops, runs = 2, r.choice([2, 3, 3])
        if r.random() < 0.3:
            self.one_optimizer = False
            rounds = "\n".join("\n".join([self.loop(k, False)] + self.enders()) for k in range(r.choice([2, 2, 3])))
            return "for (int round = 0; round < %d; round++) {\n%s\n}" % (runs, rounds)
        self.one_optimizer, anew = True, r.random() < 0.7
        head = ["renew();"] * anew + (self.enders(LOADERS) if r.random() < 0.4 else [])
        loop = self.loop(0, False)
        if r.random() < 0.3:
            when = r.choice(["", "if (i % 2 == 1) ", "if (i == 2) "])
            loop = loop.replace("end();", "%s{\n%s\n}\nend();" % (when, r.choice(ENDERS)))
        tail = self.enders(LOADERS) if r.random() < 0.8 else []
        tail += ["release();"] * (r.random() < 0.3)
        self.functions.append("static void train_%s(void) {\n%s\nrounds++;\n}" %
                              (self.seed, "\n".join(head + [loop] + tail)))
        call = "train_%s();" % self.seed
        if r.random() < 0.5:
            return "for (int run = 0; run < %d; run++) %s" % (runs, call)
        return "\n".join([call] * runs)

    def loop(self, k, shared):
        r, of = self.r, 0 if self.one_optimizer else k
        form = r.choice(["for", "for", "recursion"] + ["turns"] * (self.one_optimizer or not k))
        if shared:
            body = "body_%s(i);\nend();" % self.seed
        elif form == "turns":
            by = r.choice([2, 2, 3])
            body = "if (i %% %d) {\n%s\n} else {\n%s\n}\nend();" % (by, self.body(of, False), self.body(of, False))
        else:
            body = self.body(of) + "\nend();"
        # what is under an `if` comes before the last iteration, where nothing says whose it is
        times = r.randint(3, 7) * self.window + r.randint(0, self.window - 1)
        if self.loops == 1:
            times = r.randint(1, 7)
        if form != "recursion":
            return "for (int i = 0; i < %d; i++) {\n%s\n}" % (times, body)
        name = "turn_%s_%d" % (self.seed, k)
        self.functions.append("static void %s(int i) {\nif (i == %d) return;\n%s\n%s(i + 1);\nrounds++;\n}" %
                              (name, times, body, name))
        return "%s(0);" % name

    def write(self):
        text = "\n".join(self.functions) + "\nstatic void loop_%s(void) {\n" % self.seed
        return text + "xt_log_every_n_steps(%d);\n%s\n}\n" % (self.every, self.text)


class Phases(Program):
    """Loops one behind the other of optimizers that were all made beforehand (a warm-up, then all of them; one alone,
    then another): each loop steps some of them, in an order of its own, each with a backward pass of its own."""

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed, self.functions, self.every = "p%d" % seed, [], r.choice([1, 1, 2])
        loops = "\n".join(self.loop(k) for k in range(r.choice([2, 2, 3])))
        rounds = r.choice([1, 1, 1, 2, 3])
        self.text = loops if rounds == 1 else "for (int round = 0; round < %d; round++) {\n%s\n}" % (rounds, loops)

    def loop(self, k):
        """Two iterations are what shows that a loop has no boundary."""
        r = self.r
        of = r.sample(range(3), r.choice([1, 1, 2, 2, 3]))
        lines = [line for o in of for line in self.update(o)]
        lines += ['xt_log("t%d", one(++n));' % o for o in of if r.random() < 0.7] + ['xt_log_value("at", ++n);']
        body = "\n".join(lines)
        if r.random() < 0.3:
            self.functions.append("static void phase_%s_%d(void) {\n%s\nrounds++;\n}" % (self.seed, k, body))
            body = "phase_%s_%d();" % (self.seed, k)
        behind = r.choice(["", "", "", "\nevaluate();", "\nxt_item(xt_sum(weight()));"])
        return "for (int i = 0; i < %d; i++) {\n%s\nend();\n}%s" % (r.choice([2, 2, 3, 4, 5]), body, behind)

    def update(self, of):
        above = ['xt_log_value("above%d", ++n);' % of] if self.r.random() < 0.3 else []
        return above + ["xt_backward(xt_mean(xt_forward(modules[%d], one(n))));" % of,
                        self.r.choice(["xt_optimizer_step(optimizers[%d]);", "learn(optimizers[%d]);"]) % of]


class Orders(Program):
    """Loops one behind the other, each of updates in an order of its own: an optimizer may step several times in an
    iteration, under an `if` or in an inner loop. Its rows are counted: an iteration begins a step of the loop, and so
    does an optimizer that has stepped in it before. Each update comes before the last iteration: one that first comes
    there may as well be the next loop's."""
    WHEN = ["i % 2 == 1", "i % 3 == 0", "i % 3 == 2", "i >= 2"]

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed, self.functions, self.every = "o%d" % seed, [], 1
        self.loops = [(r.choice([4, 5, 6]), self.updates()) for _ in range(r.choice([1, 1, 2, 2, 3]))]
        one = len(self.loops) == 1 and len(self.loops[0][1]) == 1  # an `if` on one line has its code moved
        self.text = "\n".join(self.loop(times, updates, one) for times, updates in self.loops)

    def updates(self):
        """Of (optimizer, times, condition), one at least in each iteration. Two inner loops behind each other are two
        loops, not one iteration's."""
        r, drawn = self.r, []
        for _ in range(r.choice([1, 1, 2, 2, 3, 4])):
            times = 1 if any(n > 1 for _, n, _ in drawn) else r.choice([1, 1, 1, 2, 3])
            when = r.choice(self.WHEN) if times == 1 and r.random() < 0.4 else ""
            drawn.append((r.choice([0, 0, 1, 1, 2]), times, when))
        if all(when for _, _, when in drawn):
            drawn.append((r.choice([0, 1]), 1, ""))
        return drawn

    def loop(self, times, updates, one):
        body = "xt_tensor x = one(n);\n"
        for of, repeats, when in updates:
            body += ("if (%s) " % when if when else "") + ("for (int k = 0; k < %d; k++) " % repeats) * (repeats > 1)
            body += "{\nxt_tensor loss = xt_mean(xt_forward(modules[%d], x));\nxt_backward(loss);\n" % of
            body += 'xt_optimizer_step(optimizers[%d]);\nxt_log_value("u%d", ++n);\n}\n' % (of, of)
        body += 'xt_log_value("at", ++n);\nend();'
        if one:
            body = body.replace("xt_log_value", 'if (i == 0) puts("first");\nxt_log_value').replace("\n", " ")
        return "for (int i = 0; i < %d; i++) {\n%s\n}" % (times, body)

    def rows(self):
        n = step = 0
        rows = []
        for times, updates in self.loops:
            for i in range(times):
                stepped = set()
                for of, repeats, when in updates:
                    for _ in range(repeats if not when or eval(when) else 0):
                        if not stepped or of in stepped:
                            step, stepped = step + 1, set()
                        stepped.add(of)
                        n += 1
                        rows.append((step, "train", "step", "u%d" % of, "0", "%.5g" % n))
                n += 1
                rows.append((step, "train", "step", "at", "0", "%.5g" % n))
        return sorted(rows)


def rows_of(runs):
    got = []
    for name in glob.glob(runs + "/*/*/metrics.csv"):
        for row in csv.DictReader(open(name)):
            got.append((int(row["step"]), row["stage"], row["level"], row["name"], row["batch"],
                        "%.5g" % float(row["value"])))
    return sorted(got)


def run(at, seed, marked):
    runs = "%s/runs%s_%d" % (work, seed, marked)
    shutil.rmtree(runs, ignore_errors=True)
    done = run_loop(build, work, runs, at, marked)
    return done, rows_of(runs)


programs = [kind(seed) for seed in range(first, first + count) for kind in (Program, Phases, Orders, Mixed)]
compile_loops(build, include, work, flags, HEAD, programs, MAIN)
bad = 0
for at, p in enumerate(programs):
    (done, rows), (marked, want) = run(at, p.seed, 0), run(at, p.seed, 1)
    if isinstance(p, Orders):
        rows, want = (rows if rows != p.rows() else want), p.rows()
    if isinstance(p, Mixed):
        rows, want = [(*r, m) for m, rs in ((0, rows), (1, want)) for r in rs], \
            [(*r, m) for m in (0, 1) for r in p.rows(m)]
    if done.returncode or marked.returncode or rows != want:
        bad += 1
        print("seed %s: exit %d, marked %d %s" % (p.seed, done.returncode, marked.returncode, done.stderr[-600:]))
        for row in want:
            print("    missing", *row) if row not in rows else None
        for row in rows:
            print("    instead", *row) if row not in want else None
        print(p.write() if os.environ.get("ROWS_SHOW") else "", end="", flush=True)
print("%d passed, %d failed" % (len(programs) - bad, bad))
sys.exit(bad > 0)
