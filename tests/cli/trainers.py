#!/usr/bin/env python3
"""The Trainer beside a loop of one's own.

trainers.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each seed draws a training: layers with states or random draws,
data, optimizer, schedule, accumulation, clipping, precision, averaged weights, values logged in all steps or in some,
validations. One program trains it three times: with the Trainer; in a plain loop that spells out what the Trainer
does; and with the Trainer in two processes, the second of which resumes what the first one left. Weights, rates and
rows of metrics must be the same. What differs is printed with its seed, by which it is tried again."""
import csv
import glob
import os
import random
import re
import shutil
import subprocess
import sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

PROGRAM = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
enum { N = @samples@, BATCH = @batch@, K = @accumulate@, EPOCHS = @epochs@, VAL_BATCHES = @val_batches@ };
static float x[N][5];
static int64_t y[N];
static xt_tensor net(xt_module *m, xt_tensor t, void *user) {
    (void)user;
    t = xt_linear(m, "in", t, 6);
    @layers@
    return xt_linear(m, "out", t, 3);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    @train_logs@
    return loss;
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);
    xt_log("val/loss", loss);
    @val_logs@
}
static xt_scheduler *schedule;
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = @optimizer@;
    @groups@
    schedule = @schedule@;
    return o;
}
static xt_loader *loader(bool training) {
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {5}}, y, (xt_spec){XT_I64, {0}}, N);
    if (training) return xt_loader_new(d, .batch = BATCH, @loader@);
    return xt_loader_new(d, .batch = 3, .limit = VAL_BATCHES);
}
static void tell(xt_module *m, double lr) {
    for (int i = 0; i < xt_module_tensors(m); i++) {
        double sum = xt_item(xt_sum(xt_cast(xt_module_tensor(m, i), XT_F64))),
               squares = xt_item(xt_sum(xt_square(xt_cast(xt_module_tensor(m, i), XT_F64))));
        printf("%s %.9g %.9g\\n", xt_module_tensor_name(m, i), sum, squares);
    }
    printf("lr %.9g\\n", lr);
}
static int with_trainer(int64_t max_steps, const char *resume) {
    xt_trainer *t = xt_trainer_new(.max_epochs = EPOCHS, .max_steps = max_steps, .resume = resume, .seed = 7,
                                   .accumulate_grad_batches = K, .log_every_n_steps = @every@, @options@);
    xt_task task = {.net = net, .training_step = training_step, .validation_step = validation_step,
                    .configure_optimizers = configure};
    @callbacks@
    int rc = xt_fit(t, &task, loader(true), loader(false));
    if (rc == 0) tell(xt_trainer_module(t), xt_optimizer_lr(xt_trainer_optimizer(t)));
    return rc;
}
static void validate(xt_module *m, xt_loader *val) {
    xt_eval(m);
    xt_no_grad_begin();
    for (xt_batch b; xt_next(val, &b);) {
        @cast_in@
        validation_step(m, b, NULL);
        @cast_out@
    }
    xt_no_grad_end();
    xt_train(m);
}
static xt_tensor average[16];
static void averages(xt_module *m, bool swap) {
    for (int i = 0; i < xt_module_tensors(m); i++) {
        xt_tensor now = xt_module_tensor(m, i);
        if (!xt_module_tensor_is_param(m, i) || (swap && xt_is_none(average[i]))) continue;
        if (swap) {
            xt_tensor was = xt_keep(xt_add(now, 0));
            xt_assign(now, average[i]);
            average[i] = was;
        } else
            average[i] = xt_keep(@average@);
    }
}
static void plain(void) {
    xt_seed(7);
    xt_log_every_n_steps(@every@);
    xt_loader *train = loader(true), *val = loader(false);
    int64_t batches = xt_loader_batches(train);
    xt_module *m = xt_module_new(net, NULL);
    @scaler@
    @dtype@
    xt_optimizer *o = configure(m, NULL);
    for (int64_t e = 0; e < EPOCHS; e++) {
        for (xt_batch b; xt_next(train, &b);) {
            int64_t begin = b.index / K * K, window = begin + K > batches ? batches - begin : K;
            @cast_in@
            xt_tensor loss = training_step(m, b, NULL);
            @cast_out@
            xt_log("loss", loss);
            xt_log("loss_epoch", loss, .on_step = XT_OFF, .on_epoch = XT_ON);
            xt_tensor part = xt_div(loss, window);
            @backward@
            if (b.index + 1 == begin + window) {
                @step@
                @each_step@
                @after_step@
            }
            @val_within@
        }
        @val_at_end@
        @each_epoch@
    }
    @at_end@
    tell(m, xt_optimizer_lr(o));
}
int main(int argc, char **argv) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 5; j++) x[i][j] = sinf((float)(i * 7 + j * 3));
        y[i] = (int64_t)(i * i) % 3;
    }
    int rc = 0;
    if (argc < 2) return 2;
    if (!strcmp(argv[1], "plain"))
        plain();
    else
        rc = with_trainer(argc > 2 ? atoi(argv[2]) : -1, strcmp(argv[1], "resume") ? NULL : "last");
    return xt_finish() || rc;
}
"""
LOGS = ['xt_log("%s", loss);', 'xt_log("%s", loss, .on_step = XT_ON, .on_epoch = XT_ON);',
        'xt_log("%s", loss, .on_step = XT_OFF, .on_epoch = XT_ON, .reduce = XT_MAX);',
        'xt_log_metric("%s", xt_accuracy(out, b.y), .on_epoch = XT_ON);', 'xt_log_metric("%s", xt_accuracy(out, b.y));',
        'xt_log_value("%s", (double)b.index, .on_epoch = XT_ON);', 'xt_log_value("%s", (double)(3 * b.index - 1));',
        'xt_log("%s", loss, .on_epoch = XT_ON, .batch_size = b.index + 1);',
        'xt_log("%s", xt_max(out), .on_epoch = XT_ON, .reduce = XT_LAST);',
        'xt_log("%s", xt_mean(out), .reduce = XT_SUM, .on_epoch = XT_ON);',
        'xt_log("%s", xt_min(out), .reduce = XT_MIN, .on_epoch = XT_ON);',
        'xt_log_metric("%s", xt_f1_avg(out, b.y, XT_MACRO), .on_epoch = XT_ON);']
WHEN = ["", "", "", "if (b.index % 3 == 1) ", "if (b.index == 2) "]
OPTIMIZERS = ["xt_sgd(m, .lr = 0.1, .momentum = 0.9)", "xt_sgd(m, .lr = 0.2)", "xt_adamw(m, .lr = 0.02)",
              "xt_adam(m, .lr = 0.02, .amsgrad = XT_ON)", "xt_rmsprop(m, .lr = 0.01)", "xt_adagrad(m, .lr = 0.05)",
              "xt_lion(m, .lr = 0.003)", "xt_nadam(m)", "xt_radam(m)", "xt_adafactor(m)", "xt_lamb(m)"]
SCHEDULES = ["xt_step_schedule(o, .step_size = 2, .gamma = 0.5@each@)", "xt_cosine_schedule(o, .t_max = 9@each@)",
             "xt_warmup_schedule(o, 3, xt_cosine_schedule(o, .t_max = 12)@each@)",
             "xt_exponential_schedule(o, .gamma = 0.9@each@)", "xt_multistep_schedule(o, .milestones = {1, 3}@each@)",
             "xt_warm_restarts_schedule(o, .t_0 = 3@each@)", "xt_polynomial_schedule(o, .total_iters = 7@each@)"]


def logs(r, letter, n):
    lines = [(r.choice(WHEN), log) for log in r.sample(LOGS, n)]
    return "\n".join(when + log % (letter + str(i)) for i, (when, log) in enumerate(lines))


def draw(r):
    p = dict.fromkeys(re.findall(r"@(\w+)@", PROGRAM), "")
    k = r.choice([1, 1, 1, 2, 3])
    p.update(samples=r.choice([23, 24, 30, 41]), batch=r.choice([2, 4, 5]), accumulate=k, epochs=r.choice([1, 2, 3]),
             val_batches=r.choice([1, 2, 3]), every=r.choice([1, 2, 3, 5, 50]))
    layers = ["xt_tanh(t)", "xt_relu(t)", 'xt_batch_norm(m, "bn", t)', 'xt_layer_norm(m, "ln", t)', "xt_gelu(t)"]
    if k == 1:  # draws of a fit are counted by micro-batches, those of a loop by optimizer steps
        layers += ["xt_dropout(m, t, 0.3)"] * 2
    p["layers"] = "\n".join("t = %s;" % l for l in r.sample(sorted(set(layers)), 2))
    p["loader"] = ", ".join(r.sample([".shuffle = XT_ON", ".workers = 2", ".drop_last = XT_OFF", ".prefetch = 1",
                                      ".seed = 5"], r.choice([1, 2, 3])))
    if "DROP" in p["loader"].upper() and "batch_norm" in p["layers"]:  # which a last batch of one sample has no use for
        p["loader"] = ".shuffle = XT_ON"
    p["train_logs"] = logs(r, "t", r.choice([0, 1, 2, 3]))
    p["val_logs"] = logs(r, "v", r.choice([0, 1, 2]))
    options, each = [".model_summary = XT_OFF"], r.choice([None, "step", "epoch"])
    clip = r.choice(["", "", "norm", "value"])
    p["optimizer"] = r.choice(OPTIMIZERS)
    p["step"] = "xt_optimizer_step(o);"
    if clip:
        options.append(".gradient_clip_val = 0.05" + ', .gradient_clip_algorithm = "value"' * (clip == "value"))
        p["step"] = "xt_clip_grad_%s(o, 0.05);\n" % clip + p["step"]
    if r.random() < 0.3:
        p["groups"] = 'xt_optimizer_group(o, "*.bias", .lr_scale = 0.5, .weight_decay = 0);'
    p["schedule"] = "NULL"
    if each:
        p["schedule"] = r.choice(SCHEDULES).replace("@each@", ", .interval = XT_EACH_STEP" if each == "step" else "")
        p["each_" + each] = "xt_schedule_step(schedule);"
    p["backward"] = "xt_backward(part);"
    precision = r.choice(["", "", "", "bf16-mixed", "16-mixed", "bf16-true", "64-true"])
    if precision:
        options.append('.precision = "%s"' % precision)
    if precision in ("bf16-mixed", "16-mixed"):
        p["cast_in"] = "xt_autocast_begin(%s);" % ("XT_BF16" if precision == "bf16-mixed" else "XT_F16")
        p["cast_out"] = "xt_autocast_end();"
    if precision == "16-mixed":
        p["scaler"] = "xt_loss_scaler *s = xt_loss_scaler_new();"
        p["backward"] = "xt_backward(xt_scale_loss(s, part));"
        p["step"] = ("xt_scaler_unscale(s, o);\n" * bool(clip) +
                     p["step"].replace("xt_optimizer_step(o);", "xt_scaler_step(s, o);\nxt_scaler_update(s);"))
    if precision.endswith("true"):
        dtype = "XT_BF16" if precision == "bf16-true" else "XT_F64"
        p["dtype"] = "xt_status_free(xt_module_set_dtype(m, %s));" % dtype
        p["cast_in"] = "b.x = xt_cast(b.x, %s);" % dtype
    within = r.choice([0, 0, 2, 3])
    validate = "validate(m, val);"
    if r.random() < 0.25 and not precision.endswith("true"):
        decay, every = r.choice([0.5, 0.9]), r.choice([1, 2])
        p["callbacks"] = "xt_trainer_add(t, xt_weight_averaging(.decay = %s, .every_n_steps = %d));" % (decay, every)
        p["average"] = ("xt_is_none(average[i]) ? xt_add(now, 0) : xt_add(xt_mul(average[i], %s), xt_mul(now, 1 - %s))"
                        % (decay, decay))
        p["after_step"] = ("if (xt_optimizer_steps(o) == 1 || xt_optimizer_steps(o) %% %d == 0) averages(m, false);"
                           % every)
        p["at_end"] = "averages(m, true);"
        validate = "averages(m, true);\nvalidate(m, val);\naverages(m, true);"
    else:
        p["average"] = "xt_add(now, 0)"
    if within:
        options.append(".val_every_n_batches = %d" % within)
        p["val_within"] = "if ((b.index + 1) %% %d == 0) {\n%s\n}" % (within, validate)
    else:
        n = r.choice([1, 1, 2])
        options.append(".val_every_n_epochs = %d" % n)
        p["val_at_end"] = "if ((e + 1) %% %d == 0) {\n%s\n}" % (n, validate)
    if r.random() < 0.5:
        p["callbacks"] += "\nxt_trainer_add(t, xt_model_checkpoint(.every_n_steps = %d));" % r.choice([1, 2])
    p["options"] = ", ".join(options)
    return re.sub(r"@(\w+)@", lambda m: str(p[m[1]]), PROGRAM)


def rows_of(folder):
    rows = {}
    for name in sorted(glob.glob(folder + "/*/*/metrics.csv")):
        for row in csv.DictReader(open(name)):
            epoch = -1 if row["stage"] == "validate" else int(row["epoch"])  # a loop's loaders count their own passes
            rows[(int(row["step"]), epoch, int(row["batch"]), int(row["samples"]), row["stage"],
                  row["level"], row["name"])] = float(row["value"])
    return rows


def run(folder, runs, *words):
    done = subprocess.run(["timeout", "60", folder + "/program", *words], cwd=folder, text=True, capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=folder + "/" + runs, XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off"))
    told = dict((l.split(" ")[0], [float(v) for v in l.split(" ")[1:]]) for l in done.stdout.splitlines()
                if re.match(r"[\w.]+( -?[\d.e+-]+| -?nan| -?inf){1,2}$", l))
    return done, told


def near(a, b, tolerance):
    return a == b or a != a and b != b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-3)


def compare(what, one, other, tolerance):
    out = []
    for k in sorted(set(one) | set(other), key=str):
        a, b = one.get(k), other.get(k)
        if a is None or b is None or not all(near(u, v, tolerance) for u, v in
                                             zip(a if isinstance(a, list) else [a], b if isinstance(b, list) else [b])):
            out.append("%s %s: %s, %s" % (what, k, a, b))
    return out[:3] + (["%d more" % (len(out) - 3)] if len(out) > 3 else [])


def main():
    bad = 0
    for seed in range(first, first + count):
        folder = "%s/%d" % (work, seed)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        r = random.Random(seed)
        with open(folder + "/p.c", "w") as f:
            f.write(draw(r))
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, "p.c", "-o", "program",
                        "-L" + build, "-lxtrain", "-lm", "-Wl,-rpath," + build], cwd=folder, check=True)
        fit, its = run(folder, "fit", "trainer")
        loop, its_loop = run(folder, "loop", "plain")
        why = []
        for name, done, told in ("fit", fit, its), ("loop", loop, its_loop):
            if done.returncode or not told:
                why.append("%s: exit %d: %s" % (name, done.returncode, done.stderr[-600:]))
        if not why:
            exact = 1e-5
            why += compare("weights", its, its_loop, exact)
            why += compare("rows", rows_of(folder + "/fit"), rows_of(folder + "/loop"), exact)
            stop, _ = run(folder, "two", "trainer", str(r.choice([1, 2, 3, 4])))
            go, its_two = run(folder, "two", "resume")
            if stop.returncode or go.returncode:
                why.append("resume: exit %d %d: %s" % (stop.returncode, go.returncode,
                                                       (stop.stderr + go.stderr)[-600:]))
            why += compare("resumed weights", its, its_two, 0)
            one, two = rows_of(folder + "/fit"), rows_of(folder + "/two")
            why += compare("resumed rows", one, {k: v for k, v in two.items() if k in one}, 1e-6)
        if why:
            bad += 1
            print("seed %d (%s/p.c):\n  %s" % (seed, folder, "\n  ".join(why)), flush=True)
        else:
            shutil.rmtree(folder)
    print("%d passed, %d failed" % (count - bad, bad))
    sys.exit(bad > 0)


main()
