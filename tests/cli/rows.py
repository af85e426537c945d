#!/usr/bin/env python3
"""Rows of drawn loops and fits beside a model of what they are to have.

rows.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each even seed draws a loop without a trainer, out of passes over
loaders, passes within a pass and left early, two loaders in turn, validations behind a pass, within one and left early,
updates every few batches, files, and log calls at every place of it, each in some of its turns only; another one in
which an optimizer steps several times a batch; one over no loader that writes files in its iterations; and loops one
behind the other that step two optimizers, in some iterations or all. Each odd one draws a fit and a test whose hooks
log, some behind a pass of their own. It is written as C and run, and walked through here (`drawn_rows/`, a file a
family). Every row of its metrics.csv must have the step, the epoch, the batch, the samples and the value that the walk
has. What differs is printed with its seed, by which it is tried again; ROWS_SHOW=1 prints the C."""
import csv, glob, os, random, re, shutil, subprocess, sys

sys.dont_write_bytecode = True
from drawn_rows.fits import Fit
from drawn_rows.iterations import Bare, Several
from drawn_rows.loops import Loop
from drawn_rows.slots import Slots
from drawn_rows.statements import Log

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
static int n; /* the value of the newest log call */
static xt_module *m;
static xt_optimizer *o, *second;
static xt_tensor net(xt_module *mm, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(mm, "w", "ones", 0, XT_F32, 1));
}
static xt_loader *data(int64_t samples, int64_t batch, bool pads) {
    static float rows[64];
    xt_dataset *d = xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, samples);
    return pads ? xt_loader_new(d, .batch = batch, .pad_last = XT_ON)
                : xt_loader_new(d, .batch = batch, .drop_last = XT_OFF);
}
static void train_alone(int steps) {
    xt_loader *l = steps ? data(20, 3, false) : NULL;
    for (xt_batch b; steps > 0 && xt_next(l, &b); steps--) {
        xt_backward(xt_mean(xt_forward(m, b.x)));
        xt_optimizer_step(o);
    }
}
static void save(void) {
    if (xt_save(m, "m.safetensors")) exit(6);
}
static xt_tensor one(int v) {
    float f = (float)v;
    return xt_from_array(&f, XT_F32, 1);
}
"""


def number(v):
    return float("%.5g" % float(v))


def rows_of(folder):
    got = []
    for name in glob.glob(folder + "/*/*/metrics.csv"):
        for row in csv.DictReader(open(name)):
            if not re.match("[tvwabc][0-9]", row["name"]):
                continue  # the trainer's own
            got.append((int(row["step"]), int(row["epoch"]), int(row["batch"]), int(row["samples"]), row["stage"],
                        row["level"], row["name"], number(row["value"])))
    return got


def compile_all(source, program):
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, source, "-o", program, "-L" + build,
                    "-lxtrain", "-Wl,-rpath," + build], check=True)


os.makedirs(work, exist_ok=True)
bad, drawn = 0, {}
text = HEAD
for seed in range(first, first + count):
    r = random.Random(seed)
    Log.sites = 0
    drawn[str(seed)] = Fit(r) if seed % 2 else Loop(r)
    text += drawn[str(seed)].write(seed)
    if seed % 2 == 0:
        for name, kind in ("several", Several), ("bare", Bare):
            Log.sites = 0
            drawn["%d_%s" % (seed, name)] = kind(random.Random(seed))
            text += drawn["%d_%s" % (seed, name)].write("%d_%s" % (seed, name))
    for k in range(2):
        name = "%d_slots%d" % (seed, k)
        drawn[name] = Slots(random.Random(name))
        text += drawn[name].write(name)
text += "static void (*const loops[])(void) = {%s};\n" % ", ".join("loop_%s" % s for s in drawn)
text += """int main(int argc, char **argv) {
    (void)argc;
    m = xt_module_new(net, NULL);
    xt_status_free(xt_module_build(m, (xt_spec){XT_F32, {2, 1}}));
    o = xt_sgd(m, .lr = 0.01);
    second = xt_sgd(m, .lr = 0.02);
    loops[atoi(argv[1])]();
    return xt_finish();
}
"""
with open(work + "/p.c", "w") as f:
    f.write(text)
compile_all(work + "/p.c", work + "/p")
for at, (seed, case) in enumerate(drawn.items()):
    runs = "%s/runs%s" % (work, seed)
    shutil.rmtree(runs, ignore_errors=True)
    done = subprocess.run(["timeout", "60", work + "/p", str(at)], cwd=work, text=True, capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=runs, XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off"))
    want, got = sorted(r[:-1] + (number(r[-1]),) for r in case.walk()), sorted(rows_of(runs))
    if not done.returncode and want == got:
        shutil.rmtree(runs, ignore_errors=True)
        continue
    bad += 1
    print("seed %s: exit %d %s" % (seed, done.returncode, done.stderr[-600:]))
    left = list(got)
    for row in want:
        if row in left:
            left.remove(row)
        else:
            print("    missing", *row)
    for row in left:
        print("    instead", *row)
    print(case.write(seed) if os.environ.get("ROWS_SHOW") else "", end="", flush=True)
print("%d passed, %d failed" % (len(drawn) - bad, bad))
sys.exit(bad > 0)
