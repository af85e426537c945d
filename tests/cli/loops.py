#!/usr/bin/env python3
"""Loops without boundaries beside the same loops with xt_mark_step.

loops.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each seed draws a program of a training loop: helpers that learn or
measure, as they are told, in other helpers; evaluations, logged values, norms of gradients and reads in front of the
update and behind it, in all iterations or in some; layers called without xt_forward; micro-batches, two optimizers,
loops in loops, two ways through a loop, a state that iterations hand on. It runs twice, once with xt_mark_step at the
end of each iteration; weights, all rows and the number of executions (but for what the first iterations need) must be
the same. What differs is printed with its seed, by which it is tried again."""
import csv, glob, os, random, re, shutil, subprocess, sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O2"]

HEAD = """#include <stdio.h>
#include <xtrain/xtrain.h>
static xt_module *m, *other;
static xt_optimizer *o, *second;
static volatile int rounds; /* a call in front of it is no tail call */
static xt_tensor net(xt_module *n, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(n, "out", xt_tanh(xt_linear(n, "in", x, 6)), 2);
}
static xt_tensor layers(xt_module *n, xt_tensor x) { /* without xt_forward */
    return xt_linear(n, "out", xt_tanh(xt_linear(n, "in", x, 6)), 2);
}
static xt_tensor batch(int i) {
    float d[20];
    for (int j = 0; j < 20; j++) d[j] = (float)((i * 31 + j * 17) % 23) * 0.1f - 1;
    return xt_from_array(d, XT_F32, 4, 5);
}
static xt_tensor labels(int i) {
    int64_t d[4];
    for (int j = 0; j < 4; j++) d[j] = (i + j * j) % 2;
    return xt_from_array(d, XT_I64, 4);
}
"""
MAIN = """int main(int argc, char **argv) {
    (void)argv;
    int marks = argc > 1;
    xt_seed(3);
    xt_log_every_n_steps(1);
    xt_spec spec = {XT_F32, {4, 5}};
    m = xt_module_new(net, NULL);
    xt_status_free(xt_module_build(m, spec));
    o = xt_sgd(m, .lr = 0.05, .momentum = 0.5);
    %s
    for (int i = 0; i < 20; i++) {
        %s
        if (marks) xt_mark_step();
    }
    double sum = xt_item(xt_sum(xt_module_find(m, "in.weight")));
    printf("sum %%.9g executions %%lld\\n", sum, (long long)xt_counter("executions"));
    return xt_finish();
}
"""
WHEN = ["", "", "if (i % 3 == 1) ", "if (i == 7) ", "if (i % 4 == 0) ", "if (i % 5 == 4) ",
        "for (int k = 0; k < 2; k++) "]


def program(r):
    kind = r.choice(["plain", "plain", "micro-batches", "two", "state", "nested"])
    source = []
    loss = "xt_cross_entropy(xt_forward(m, batch(i)), labels(i))"
    if r.random() < 0.5:
        source.append("static xt_tensor loss_of(int i) {\nxt_tensor l = %s;\nrounds++;\nreturn l;\n}" % loss)
        loss = "loss_of(i)"
    head = r.choice(["", 'if (learn) xt_log_value("head", i);',
                     'if (i % 3 == 1 && learn) xt_log_value("head", i, .on_epoch = XT_ON);'])
    tail = r.choice(['if (learn)\nxt_log("loss", loss);\nelse\nxt_log("val", loss);',
                     'xt_log(learn ? "loss" : "val", loss);', ""])
    source.append("static void pass(int i, int learn) {\n%s\nxt_tensor loss = %s;\nif (learn) {\nxt_backward(loss);\n"
                  "xt_optimizer_step(o);\n}\n%s\nrounds++;\n}" % (head, loss, tail))
    run = "pass"
    if r.random() < 0.3:
        source.append("static void outer(int i, int learn) {\npass(i, learn);\nrounds++;\n}")
        run = "outer"
    around = r.choice([("", ""), ("xt_no_grad_begin();", "xt_no_grad_end();"), ("xt_eval(m);", "xt_train(m);")])
    source.append("static void measure(int i) {\n%s\n%s(i, 0);\n%s\nrounds++;\n}" % (around[0], run, around[1]))

    def beside(name):
        what = r.choice(['xt_log_value("%s", i);' % name, "measure(100 + i);",
                         'xt_log("%s", xt_mean(xt_square(xt_module_find(m, "in.weight"))));' % name])
        return r.choice(WHEN) + what

    learn = "%s(i, 1);" % run
    before = ""
    if r.random() < 0.2:
        learn = ("{\nxt_tensor loss = xt_cross_entropy(xt_forward(m, batch(i)), labels(i));\nxt_backward(loss);\n"
                 'xt_optimizer_step(o);\nxt_log("loss", loss);\n}')
    if kind == "plain" and r.random() < 0.3:  # two ways through the loop, each with its update
        losses = ["xt_cross_entropy(xt_forward(m, batch(i)), labels(i))", "xt_mean(xt_square(xt_forward(m, batch(i))))"]
        way = "xt_tensor l = %s;\nxt_backward(l);\nxt_tensor g = xt_mul_scalar(l, 2);\nxt_optimizer_step(o);\n%s"
        log = ['xt_log("g", g);', 'xt_log("l", l);', 'xt_log_value("i", i);']
        ways = [way % (l, "\n".join(r.sample(log, r.choice([1, 2, 3])))) for l in losses]
        learn = "if (%s) {\n%s\n} else {\n%s\n}" % (r.choice(["i % 2", "i % 3 == 1", "i % 4 < 2"]), ways[0], ways[1])
    if kind == "micro-batches":
        learn = ("for (int k = 0; k < 2; k++) {\nxt_tensor l = xt_cross_entropy(xt_forward(m, batch(i + k)), "
                 'labels(i));\nxt_backward(l);\nxt_log("micro", l);\n}\nxt_optimizer_step(o);')
    elif kind == "two":
        before = ("other = xt_module_new(net, NULL);\nxt_status_free(xt_module_build(other, spec));\n"
                  "second = xt_adam(other, .lr = 0.01);")
        learn += ("\n{\nxt_tensor l = xt_mean(xt_square(xt_forward(other, batch(i + 5))));\nxt_backward(l);\n"
                  'xt_optimizer_step(second);\nxt_log("second", l);\n}')
    elif kind == "state":
        before = "xt_tensor h = xt_zeros(XT_F32, 4, 2);"
        learn = ("h = xt_detach(xt_tanh(xt_add(h, xt_forward(m, batch(i)))));\nif (marks) h = xt_keep(h);\n{\n"
                 "xt_tensor l = xt_mean(xt_square(xt_minus(xt_forward(m, batch(i + 1)), h)));\nxt_backward(l);\n"
                 'xt_optimizer_step(o);\nxt_log("loss", l);\n}')
    elif kind == "nested":
        learn = "for (int k = 0; k < 2; k++) {\n%s(i + k, 1);\nif (marks && !k) xt_mark_step();\n}" % run
    above = 0 if "} else {" in learn else r.choice([0, 0, 1, 1, 2])
    lines = [beside("above%d" % k) for k in range(above)] + [learn]
    lines += [beside("below%d" % k) for k in range(r.choice([0, 0, 1, 1, 2]))]
    text = "\n".join(source) + "\n" + MAIN % (before, "\n".join(lines))
    norm, step = 'xt_log("norm", xt_grad_norm(o));', "xt_optimizer_step(o);"
    if "} else {\nxt_tensor" not in text:
        text = text.replace(step, r.choice([step, step, norm + "\n" + step, step + "\n" + norm]))
    text = text.replace(".momentum = 0.5", ".momentum = 0.5" + r.choice(["", ", .clip_norm = 0.5"]))
    if kind != "state" and "measure(1" not in text and r.random() < 0.5:
        text = text.replace("xt_forward(m, ", "layers(m, ")
    return HEAD + text


def rows_of(folder):
    rows = {}
    for name in glob.glob(folder + "/*/*/metrics.csv"):
        for row in csv.DictReader(open(name)):
            rows.setdefault((int(row["step"]), row["stage"], row["level"], row["name"]), []).append(row["value"])
    return rows


def run(folder, marks):
    runs = "%s/runs%d" % (folder, marks)
    shutil.rmtree(runs, ignore_errors=True)
    done = subprocess.run(["timeout", "60", folder + "/program"] + ["marks"] * marks, cwd=folder, text=True,
                          capture_output=True, env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=runs,
                                                        XT_SUMMARY="off", XT_PROGRESS="off", XT_POSTMORTEM="off"))
    said = re.search(r"sum (\S+) executions (\d+)", done.stdout)
    return done, rows_of(runs), said and said[1], int(said[2]) if said else -1


bad = 0
for seed in range(first, first + count):
    folder = "%s/%d" % (work, seed)
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/p.c", "w") as f:
        f.write(program(random.Random(seed)))
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, "p.c", "-o", "program",
                    "-L" + build, "-lxtrain", "-Wl,-rpath," + build], cwd=folder, check=True)
    (done, rows, sum_, executions), (_, its_rows, its_sum, its_executions) = run(folder, False), run(folder, True)
    why = []
    if done.returncode or sum_ != its_sum or not its_sum:
        why.append("exit %d, sum %s instead of %s: %s" % (done.returncode, sum_, its_sum, done.stderr[-400:]))
    differ = [k for k in sorted(set(rows) | set(its_rows)) if rows.get(k) != its_rows.get(k)]
    if differ or not its_rows and "xt_log" in open(folder + "/p.c").read().split("for (int i = 0; i < 20")[1]:
        why.append("%d rows, the first %s: %s instead of %s" % (
            len(differ), differ and differ[0], differ and rows.get(differ[0]), differ and its_rows.get(differ[0])))
    if abs(executions - its_executions) > 6:
        why.append("%d executions instead of %d" % (executions, its_executions))
    if why:
        bad += 1
        print("seed %d (%s/p.c): %s" % (seed, folder, "; ".join(why)), flush=True)
    else:
        shutil.rmtree(folder)
print("%d passed, %d failed" % (count - bad, bad))
sys.exit(bad > 0)
