#!/usr/bin/env python3
"""What drawn loops without boundaries hold alive, beside what the same loops do with xt_mark_step.

loop_memory.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each seed draws a loop of one to four updates of one to three
optimizers in an order of its own, each in every iteration or under an `if`, once or several times in an inner loop,
written out or by a helper that several lines call, with losses of the batch alone, of another network's forward under
no_grad (of each update's own, or one for all updates, which then all read it) or of a detached one; a loop that makes
new optimizers in its iterations; one of several optimizers that are made anew by turns; and one of calls of compiled
steps (drawn_rows/tasks.py). Once every optimizer has stepped in every way, a loop holds as many buffers and tensors in
each period of its `if`s as in the one before, and few more than with an xt_mark_step at the end of each iteration; of
results of compiled steps a bounded number lives on, and what a loop has listed of them can be read behind it. What
differs is printed with its seed, by which it is tried again; LOOP_SHOW=1 prints the C."""
import os, random, sys

from drawn_rows.in_c import compile_loops, run_loop
from drawn_rows.tasks import Calls, Endless, Lists, Population, Tasks

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]
EARLY, LATE = 120, 240  # both a multiple of every period that an `if` has
ASYNC = 16  # values of logs that are under way; what is kept too long is one an iteration at least
MORE = 128  # what was there when a loop was met, and what lives until the next iteration has ended

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
enum { LATE = %d };
static int marks;
static float X[20][6];
static xt_module *m[3];
static xt_optimizer *o[3];
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_share(m, "*");
    return xt_linear(m, "b", xt_tanh(xt_linear(m, "a", x, 4)), 6);
}
static xt_tensor batch(int i) {
    return xt_from_array(X + 4 * (i %% 5), XT_F32, 4, 6);
}
static void update(int k, xt_tensor loss) {
    xt_zero_grad(o[k]);
    xt_backward(loss);
    xt_optimizer_step(o[k]);
    xt_log("loss", loss);
}
static xt_tensor teach(int k, xt_tensor x) {
    xt_no_grad_begin();
    xt_tensor t = xt_forward(m[k], x);
    xt_no_grad_end();
    return t;
}
static void make(int k) {
    o[k] = xt_sgd(m[k], .lr = 0.01);
}
static xt_step *st[3];
static xt_tensor train(const xt_tensor *in, int n, void *user) {
    xt_tensor l = xt_mse_loss(xt_forward(m[0], in[0]), in[0]);
    xt_backward(l);
    xt_optimizer_step(o[0]);
    return l;
}
static xt_tensor rate(const xt_tensor *in, int n, void *user) {
    xt_no_grad_begin();
    xt_tensor l = xt_mse_loss(xt_forward(m[1], in[0]), in[0]);
    xt_no_grad_end();
    return l;
}
static xt_tensor cell(const xt_tensor *in, int n, void *user) {
    return xt_tanh(xt_add(in[0], in[1]));
}
static void compile(void) {
    st[0] = xt_compile(train), st[1] = xt_compile(rate), st[2] = xt_compile(cell);
}
static xt_tensor list(xt_tensor t) {
    return marks ? xt_keep(t) : t;
}
static void held(void) {
    printf("%%lld %%lld\\n", (long long)xt_live_objects("buffer"), (long long)xt_live_objects("tensor"));
}
static void end(int i) {
    if (marks) xt_mark_step();
    if (i == %d || i == %d) held();
}
""" % (LATE, EARLY - 1, LATE - 1)
MAIN = """int main(int argc, char **argv) {
    (void)argc;
    marks = atoi(argv[2]);
    for (int i = 0; i < 120; i++) X[i / 6][i % 6] = (float)(i * 7 % 11) / 11;
    for (int k = 0; k < 3; k++) {
        m[k] = xt_module_new(net, NULL), o[k] = xt_sgd(m[k], .lr = 0.01);
        xt_status_free(xt_module_build(m[k], (xt_spec){XT_F32, {4, 6}}));
    }
    loops[atoi(argv[1])]();
    return xt_finish();
}
"""
LOSSES = ["xt_mse_loss(xt_forward(m[{k}], x), x)",
          "xt_minus(xt_mean(xt_forward(m[{k}], xt_detach(xt_forward(m[{j}], x)))), xt_mean(xt_forward(m[{k}], x)))",
          "xt_neg(xt_mean(xt_forward(m[{j}], xt_forward(m[{k}], x))))",
          "xt_mse_loss(xt_forward(m[{k}], x), teach({j}, x))", "xt_mean(xt_abs(xt_minus(xt_forward(m[{k}], x), t)))",
          "xt_mse_loss(xt_forward(m[{k}], xt_mul(batch(i + 1), 1.1)), x)"]
WHEN = ["", "", "", "", "if (i % 2 == 1) ", "if (i % 2 == 0) ", "if (i % 4 == 0) ", "if (i % 5 == 3) ", "if (i >= 7) "]


class Program:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed = seed
        order = [r.choice([0, 0, 1, 1, 2]) for _ in range(r.choice([1, 2, 2, 3, 3, 3, 4]))]
        self.helper, self.taught = r.random() < 0.3, r.random() < 0.4
        shared = r.choice(LOSSES) if r.random() < 0.5 else None
        updates = [self.update(k, shared or r.choice(LOSSES)) for k in order]
        if not any(u.startswith("{") for u in updates):
            updates[r.randrange(len(updates))] = self.update(order[0], shared or r.choice(LOSSES), "")
        head = ["xt_tensor x = batch(i), t = teach(2, x);"]
        if r.random() < 0.2:  # a pool, of which an iteration changes a part
            head = ["xt_tensor x = pool[i % 5] = batch(i), t = teach(2, x);"]
        body = "\n".join(head + updates + ["xt_log_value(\"i\", i);"] * (r.random() < 0.5))
        self.text = "xt_tensor pool[5];\nfor (int i = 0; i < %d; i++) {\n%s\nend(i);\n}" % (LATE, body)

    def update(self, k, loss, when=None):
        r = self.r
        again = "t = teach(2, x);\n" if self.taught else ""
        loss = loss.format(k=k, j=(k + r.choice([1, 2])) % 3)
        if self.helper:
            text = "%supdate(%d, %s);" % (again, k, loss)
        else:
            text = "%sxt_tensor l = %s;\nxt_zero_grad(o[%d]);\nxt_backward(l);\nxt_optimizer_step(o[%d]);" % (
                again, loss, k, k)
            text += '\nxt_log("loss", l);' if r.random() < 0.5 else ""
        times = r.choice(["", "", "", "for (int k = 0; k < 3; k++) "])
        return (r.choice(WHEN) if when is None else when) + times + "{\n" + text + "\n}"

    def write(self):
        return "static void loop_%s(void) {\n%s\n}\n" % (self.seed, self.text)


def held(at, marked):
    done = run_loop(build, work, work + "/runs", at, marked)
    lines = [[int(n) for n in line.split()] for line in done.stdout.splitlines() if line[:1].isdigit()]
    return (lines if not done.returncode and len(lines) == 2 else None), done


def lists():
    """What is read behind each epoch is what is read of results that were kept."""
    global bad
    for at, p in enumerate(listed, len(programs)):
        got, want = (run_loop(build, work, work + "/runs", at, marks) for marks in (0, 1))
        if not got.returncode and got.stdout == want.stdout and "epoch 4: " in got.stdout:
            continue
        bad += 1
        print("seed %s: exit %d %s" % (p.seed, got.returncode, got.stderr[-600:]))
        print("%s, kept: %s" % (got.stdout, want.stdout))
        print(p.write() if os.environ.get("LOOP_SHOW") else "", end="", flush=True)


programs = [kind(seed) for seed in range(first, first + count) for kind in (Program, Tasks, Population, Calls)]
programs += [Endless(seed) for seed in range(first, first + count, 20)]
listed = [Lists(seed) for seed in range(first, first + count)]
compile_loops(build, include, work, flags, HEAD, programs + listed, MAIN)
bad = 0
for at, p in enumerate(programs):
    (got, done), (want, marked) = held(at, 0), held(at, 1)
    results = getattr(p, "results", 0)  # of compiled steps, an iteration: they may be listed, and live on
    grown = ASYNC + (LATE - EARLY) * results
    most = MORE * getattr(p, "met", 1) + LATE * results
    if got and want and all(b <= a + grown for a, b in zip(*got)) and got[1][0] <= want[1][0] + most:
        continue
    bad += 1
    print("seed %s: buffers and tensors %s, with xt_mark_step %s" % (p.seed, got, want))
    for run in (done, marked):
        print("exit %d %s" % (run.returncode, run.stderr[-600:])) if run.returncode else None
    print(p.write() if os.environ.get("LOOP_SHOW") else "", end="", flush=True)
lists()
print("%d passed, %d failed" % (len(programs) + len(listed) - bad, bad))
sys.exit(bad > 0)
