#!/usr/bin/env python3
"""Fits that are resumed, beside the unbroken ones.

resumes.py BUILD INCLUDE WORK FIRST COUNT [FLAGS]: each seed draws a fit whose state is more than weights: layers that
are frozen, unfrozen or put into another mode in the hooks of some epoch; optimizers that the step steps itself, each
every few batches, while the others' gradients wait, and are clipped by their norm; layers that only some batches or
later epochs call; norms and adapters that are said once; averages of the weights, and layers of validations alone;
schedules, early stopping and checkpoints that watch a validation's value, which may be long ago; one rank or two. It
writes a checkpoint behind every step and epoch. From some of them, and from checkpoints of a run that was resumed
itself, the fit goes on: weights, rows and the tensors of the last checkpoint must be the unbroken one's to the bit. On
another number of ranks, with the same batch for all of them together, steps, epochs and samples of the rows are, and
the weights nearly. What differs is printed with its seed, by which it is tried again."""
import csv
import fnmatch
import glob
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

build, include, work = (os.path.abspath(p) for p in sys.argv[1:4])
first, count, flags = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or ["-O1"]

PROGRAM = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>
enum { N = @samples@ };
static float x[N][5];
static int64_t y[N];
static xt_optimizer *o[4];
static xt_module *m;
/* Hooks say that they are called, and what they draw and log is in the rows. */
static long long calls; /* of hooks, those of the run that is resumed too: in checkpoints */
static size_t save_calls(char *buf, size_t n, void *user) {
    (void)user;
    return (size_t)snprintf(buf, n, "{\\"calls\\": %lld}", calls);
}
static xt_status load_calls(const char *json, void *user) {
    (void)user;
    sscanf(json, "{\\"calls\\": %lld", &calls);
    if (xt_rank() == 0) printf("loaded %lld\\n", calls);
    return NULL;
}
static void called(const char *name, int64_t at) {
    calls++;
    if (xt_rank() == 0) printf("event %s %lld\\n", name, (long long)at);
}
static void drawn(const char *name) {
    if (!strstr("@draws@", name)) return;
    xt_log(name, xt_mean(xt_rand(XT_F32, 4)));
    if (name[1] == 'e') xt_log("more", xt_mean(xt_randn(XT_F32, 2)));
}
static xt_tensor part(xt_module *in, const char *name, xt_tensor t) {
    xt_module *c = xt_sub(in, name, -1);
    t = xt_linear(c, "fc", t, 5);
    @layer@
    return xt_tanh(t);
}
static xt_tensor net(xt_module *in, xt_tensor t, void *user) {
    (void)user;
    t = part(in, "a", t);
    t = part(in, "b", t);
    return xt_linear(xt_sub(in, "c", -1), "out", t, 3);
}
static xt_tensor step(xt_module *in, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(in, b.x);
    @beside@
    xt_tensor loss = xt_cross_entropy(out, b.y);
    @alternating@
    xt_log("t", loss, .on_epoch = XT_ON);
    drawn("(step)");
    @manual@
    return loss;
}
static void validation(xt_module *in, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(in, b.x);
    @beside_validation@
    @alone@
    xt_log("v", xt_cross_entropy(out, b.y), .sync_dist = XT_ON);
    drawn("(validation)");
}
static xt_batch augment(xt_module *in, xt_batch b, void *user) {
    (void)in, (void)user;
    if (strstr("@draws@", "(augment)")) b.x = xt_add(b.x, xt_mul(xt_randn_like(b.x), 0.05));
    return b;
}
#define EPOCH_HOOK(name)                                              \\
    static void task_##name(xt_module *in, int64_t epoch, void *user) { \\
        (void)in, (void)user;                                         \\
        called("task_" #name, epoch);                                 \\
        drawn("(" #name ")");                                         \\
    }
EPOCH_HOOK(epoch_end)
EPOCH_HOOK(validation_start)
EPOCH_HOOK(validation_end)
#define BATCH_HOOK(name, ...)                 \\
    static void name(xt_module *in, ##__VA_ARGS__) { \\
        (void)in;                             \\
        drawn("(" #name ")");                 \\
    }
BATCH_HOOK(before_step, void *user)
BATCH_HOOK(after_backward, void *user)
BATCH_HOOK(batch_end, const xt_batch *b, xt_tensor loss, void *user)
BATCH_HOOK(val_batch_end, const xt_batch *b, void *user)
#define CALLBACK(name)                                 \\
    static void of_##name(xt_trainer *t, void *user) { \\
        (void)user;                                    \\
        called(#name, xt_trainer_global_step(t));      \\
        drawn("(of_" #name ")");                       \\
    }
CALLBACK(epoch_start)
CALLBACK(epoch_end)
CALLBACK(validation_start)
CALLBACK(validation_end)
static void of_step(xt_trainer *t, void *user) {
    (void)user;
    called("step", xt_trainer_global_step(t));
}
static int optimizers(xt_module *in, xt_optimizer **out, int max, void *user) {
    (void)user;
    (void)max;
    m = in;
    @optimizers@
    @schedule@
    @in_configure@
    for (int i = 0; i < @n@; i++) out[i] = o[i];
    return @n@;
}
static void fit_start(xt_module *in, void *user) {
    (void)user;
    (void)in;
    @in_fit_start@
}
static void epoch_start(xt_module *in, int64_t epoch, void *user) {
    (void)user;
    (void)in;
    called("task_epoch_start", epoch);
    drawn("(epoch_start)");
    @epoch_start@
}
int main(int argc, char **argv) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 5; j++) x[i][j] = sinf((float)(i * 7 + j * 3));
        y[i] = (int64_t)(i * i) % 3;
    }
    xt_trainer *t = xt_trainer_new(.max_epochs = @epochs@, .seed = 7, .model_summary = XT_OFF, .loggers = "csv",
                                   .log_every_n_steps = @every@, .num_sanity_val_steps = 0, @options@);
    xt_trainer_args(t, argc, argv);
    int64_t batch = (int64_t)xt_trainer_number(t, "model.batch", @batch@);
    xt_task task = {.net = net, .training_step = step, .validation_step = validation, .configure_several = optimizers,
                    .on_fit_start = fit_start, .on_train_epoch_start = epoch_start, .manual_optimization = @is_manual@,
                    .save_state = save_calls, .load_state = load_calls,
                    .on_train_epoch_end = task_epoch_end, .on_validation_epoch_start = task_validation_start,
                    .on_validation_epoch_end = task_validation_end, .on_after_batch_transfer = augment,
                    .on_before_optimizer_step = before_step, .on_after_backward = after_backward,
                    .on_train_batch_end = batch_end, .on_validation_batch_end = val_batch_end};
    static const xt_callback_desc own = {.struct_size = sizeof own, .name = "own", .epoch_start = of_epoch_start,
                                         .epoch_end = of_epoch_end, .validation_start = of_validation_start,
                                         .validation_end = of_validation_end, .step_end = of_step};
    @before@
    xt_trainer_add(t, xt_model_checkpoint(.every_n_steps = 1, .save_top_k = -1, .filename = "s{step:d}",
                                          .auto_insert_metric_name = XT_OFF@monitored@));
    xt_trainer_add(t, xt_model_checkpoint(.every_n_epochs = 1, .save_top_k = -1, .filename = "e{epoch:d}",
                                          .auto_insert_metric_name = XT_OFF, .save_last = XT_OFF));
    xt_trainer_add(t, xt_callback_new(&own, NULL));
    @callbacks@
    @averaging@
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {5}}, y, (xt_spec){XT_I64, {0}}, N);
    int rc = xt_fit(t, &task, xt_loader_new(d, .batch = batch@loader@), xt_loader_new(d, .batch = batch, .limit = 2));
    char path[1000];
    snprintf(path, sizeof path, "%s/weights.safetensors", getenv("XT_RUNS_DIR"));
    if (rc == 0 && xt_save(m, path)) rc = 1; /* with layers that were loaded and not called since */
    return xt_finish() || rc;
}
"""
OPTIMIZERS = ["xt_sgd(@, .lr = 0.1, .momentum = 0.9, .dampening = 0.5)", "xt_sgd(@, .lr = 0.2)",
              "xt_adamw(@, .lr = 0.02)", "xt_adam(@, .lr = 0.02, .amsgrad = XT_ON)", "xt_rmsprop(@, .lr = 0.01)",
              "xt_nadam(@)", "xt_radam(@)", "xt_adagrad(@, .lr = 0.05, .lr_decay = 0.1)", "xt_asgd(@, .lr = 0.05)",
              "xt_muon(@)", "xt_adafactor(@)"]

DRAWS = ["step", "validation", "augment", "epoch_start", "epoch_end", "validation_start", "validation_end",
         "before_step", "after_backward", "batch_end", "val_batch_end", "of_epoch_start", "of_epoch_end",
         "of_validation_start", "of_validation_end"]


def drawn_hooks(r, p, epochs):
    """What is frozen where; each hook of an epoch speaks once, in that epoch, or again in each from there on."""
    said, patterns = [], ["a.*", "b.*", "*.bias", "a.fc.weight", "c.head.*", "c.alt?.*", "?.alone.*"]
    prebuilt = r.random() < 0.5
    if prebuilt:
        p["before"] = ("task.module = m = xt_module_new(net, NULL);\n"
                       "xt_status_free(xt_module_build(m, (xt_spec){XT_F32, {4, 5}}));\n")
    for _ in range(r.choice([0, 1, 2, 3])):
        pattern = r.choice(patterns)
        place = r.choice(["before" if prebuilt else "in_configure", "in_configure", "in_fit_start"])
        p[place] += 'xt_freeze(m, "%s");\n' % pattern
        said.append(pattern)
    if r.random() < 0.3:
        p["in_fit_start"] += 'xt_eval(xt_sub(m, "a", -1));\n'
    for _ in range(r.choice([0, 1, 2, 3])):
        what = r.choice(['xt_unfreeze(m, "%s");' % r.choice(said or patterns),
                         'xt_freeze(m, "%s");' % r.choice(patterns), 'xt_eval(xt_sub(m, "b", -1));',
                         'xt_train(xt_sub(m, "a", -1));'])
        p["epoch_start"] += "if (epoch %s %d) %s\n" % (r.choice(["==", "==", ">="]), r.randint(0, epochs - 1), what)


SOMETIMES = """if (%s) {
        xt_module *c = xt_sub(in, "%s", -1);
        xt_tensor t = xt_tanh(out);
        %s
        loss = xt_add(loss, xt_mean(xt_square(xt_minus(xt_linear(c, "%s", t, 2), 1.))));
    }
    """


def drawn_layers(r, p):
    """Layers that no pass of the network calls, in some batches or from some epoch on."""
    layers = ["", "", 't = xt_batch_norm(c, "bn_%s", t);', "t = xt_dropout(c, t, 0.3);"]
    for k in range(r.choice([0, 0, 1, 1, 2, 3])):
        window = r.choice([2, 2, 3, 5])
        when = r.choice(["b.index %% %d == %d" % (window, r.randrange(window)), "b.epoch >= %d" % r.choice([1, 2])])
        layer = r.choice(layers)
        p["alternating"] += SOMETIMES % (when, r.choice(["c", "c", "e"]), layer.replace("%s", str(k)), "alt%d" % k)


def drawn_makers(r, p, manual):
    """What makes weights of others: said before the first pass, and adapters in the hook of an epoch."""
    makers = ['xt_weight_norm(in, "c.alt*.weight");', 'xt_spectral_norm(in, "c.alt*.weight");',
              'xt_orthogonal(in, "c.alt*.weight");']
    if not p["before"]:
        makers += ['xt_spectral_norm(in, "a.fc.weight");', 'xt_weight_norm(in, "b.fc.weight");']
    if r.random() < 0.3:
        p["in_configure"] += r.choice(makers)
    if r.random() < 0.2 and not manual:
        said = 'if (epoch == %d) xt_lora(m, "b.fc.weight", .r = 2), xt_unfreeze(m, "c.*");'
        p["epoch_start"] += said % r.choice([1, 2])


def drawn_averages(r, p):
    """Of the weights, and a layer that nothing but some validations calls."""
    averaged = r.choice(["", "", ".decay = 0.8", ".decay = 0.5, .every_n_steps = %d" % r.choice([2, 3]),
                         ".swa = XT_ON, .start_epoch = %d" % r.choice([0, 1]),
                         ".swa = XT_ON, .start_epoch = 1, .swa_lr = 0.01, .anneal_epochs = 2"])
    if averaged:
        p["averaging"] = "xt_trainer_add(t, xt_weight_averaging(%s));" % averaged
    if r.random() < 0.4:
        when = r.choice(["1", "1", "b.epoch >= 1", "b.epoch != 1"])
        p["alone"] = ('if (%s) xt_log("alone", xt_mean(xt_linear(xt_sub(in, "%s", -1), "alone", xt_tanh(out), 2)));'
                      % (when, r.choice(["c", "e"])))
    if r.random() < 0.3:  # reads end no step, and change nothing
        p["epoch_start"] += 'if (epoch) xt_item(xt_sum(xt_module_find(m, "c.out.bias")));\n'


def step_of_one(r, i, when):
    clip = "xt_clip_grad_norm(o[%d], %s); " % (i, r.choice(["0.05", "0.3"])) if r.random() < 0.4 else ""
    return "if (%s) { %sxt_optimizer_step(o[%d]); }\n" % (when, clip, i)


def draw(r):
    p = dict.fromkeys(re.findall(r"@(\w+)@", PROGRAM), "")
    epochs = r.choice([3, 4])
    p.update(samples=r.choice([24, 32, 40]), batch=4, epochs=epochs, every=r.choice([1, 2, 5]))
    ranks = r.choice([1, 1, 1, 2])
    p["layer"] = r.choice(["", "", 't = xt_batch_norm(c, "bn", t);', "t = xt_dropout(c, t, 0.3);"])
    p["loader"] = r.choice(["", ", .shuffle = XT_ON"])
    beside = 'out = xt_add(out, xt_linear(xt_sub(in, "c", -1), "%s", xt_tanh(out), 3));'  # no layer of net's
    p["beside"], p["beside_validation"] = r.choice(
        [("", ""), ("", ""), (beside % "head", beside % "head"), (beside % "head", ""), ("", beside % "judge"),
         (beside % "head", beside % "judge")])
    options = []
    drawn_layers(r, p)
    manual = r.random() < 0.5
    p["is_manual"] = "true" if manual else "false"
    if manual:
        p["n"] = 3
        p["manual"] = "xt_backward(loss);\n"
        for i, child in enumerate("abc"):
            p["optimizers"] += "o[%d] = %s;\n" % (i, r.choice(OPTIMIZERS).replace("@", 'xt_sub(in, "%s", -1)' % child))
            window = r.choice([1, 2, 3, 4])
            p["manual"] += step_of_one(r, i, "b.index %% %d == %d" % (window, r.randrange(window)))
        if r.random() < 0.5:  # whose layer is called once in each window, some batches before its step
            p["n"] = 4
            p["optimizers"] += "o[3] = %s;\n" % r.choice(OPTIMIZERS).replace("@", 'xt_sub(in, "d", -1)')
            window = r.choice([2, 3, 4])
            call, step = sorted(r.sample(range(window), 2))
            p["alternating"] += SOMETIMES % ("b.index %% %d == %d" % (window, call), "d", "", "only")
            p["manual"] += step_of_one(r, 3, "b.index %% %d == %d" % (window, step))
    else:
        p["n"] = 1
        p["optimizers"] = "o[0] = %s;\n" % r.choice(OPTIMIZERS).replace("@", "in")
        options.append(".accumulate_grad_batches = %d" % r.choice([1, 1, 2]))
        options.append(".gradient_clip_val = %s" % r.choice(["0", "0.05", "0.3"]))
    drawn_hooks(r, p, epochs)
    drawn_makers(r, p, manual)
    drawn_averages(r, p)
    if manual:  # an optimizer of parameters that are all frozen has no gradient to step with
        for place in "before", "in_configure", "in_fit_start", "epoch_start":
            p[place] = re.sub(r'freeze\(m, "([ab])\.(\*|fc\.weight)"\)', r'freeze(m, "\1.fc.bias")', p[place])
    options.append(".val_every = \"%s\"" % r.choice(["1epochs", "2epochs", "3batches", "0.5epochs"]))
    if r.random() < 0.5:
        p["schedule"] = 'xt_plateau_schedule(o[0], .monitor = "v", .patience = 0, .factor = 0.5);'
    if "2epochs" in options[-1]:
        p["schedule"] = ""  # whose first look comes before the first validation
    elif r.random() < 0.5:
        p["callbacks"] += ('xt_trainer_add(t, xt_early_stopping(.monitor = "v", .patience = %d, '
                           '.on_train_epoch_end = XT_%s));\n' % (r.choice([1, 2]), r.choice(["ON", "OFF"])))
    if r.random() < 0.5:
        p["monitored"] = ', .monitor = "v"'
    p["options"] = ", ".join(options)
    p["draws"] = " ".join("(%s)" % name for name in DRAWS if r.random() < 0.5)
    return re.sub(r"@(\w+)@", lambda m: str(p[m[1]]), PROGRAM), ranks, p


def rows_of(folder):
    rows = {}
    for name in glob.glob(folder + "/default/*/metrics.csv"):
        for row in csv.DictReader(open(name)):
            if not row["name"].startswith("lr"):
                rows[(int(row["step"]), int(row["epoch"]), int(row["batch"]), int(row["samples"]), row["stage"],
                      row["level"], row["name"])] = row["value"]
    return rows


def weights_of(path):
    """(a hash of all tensors, the sum of their squares); None: there are none."""
    if not os.path.exists(path):
        return None
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    head, all_bytes, squares = json.loads(data[8:8 + size]), hashlib.sha256(), 0.0
    for name in sorted(n for n in head if n != "__metadata__" and not n.startswith("xtrain:")):
        begin, end = head[name]["data_offsets"]
        value = data[8 + size + begin:8 + size + end]
        all_bytes.update(name.encode() + b"\0" + value)
        if head[name]["dtype"] == "F32":
            squares += sum(v * v for v in struct.unpack("<%df" % (len(value) // 4), value))
    return all_bytes.hexdigest()[:16], squares


def run(folder, runs, ranks, *words):
    shutil.rmtree(folder + "/" + runs, ignore_errors=True)
    launch = [build + "/xtrain", "launch", "-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run(["timeout", "120", *launch, folder + "/program", *words], cwd=folder, text=True,
                          capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=folder + "/" + runs, XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off", XT_CACHE="on", XT_TIMEOUT="60",
                                   XT_CACHE_DIR=work + "/cache"))
    done.events = re.findall(r"event (\S+ \d+)", done.stdout)
    kept = folder + "/" + runs + "/"
    last = kept + "default/version_0/checkpoints/last.ckpt"
    done.last = (weights_of(last), meta_of(last, "position")) if os.path.exists(last) else None
    return done, weights_of(kept + "weights.safetensors"), rows_of(folder + "/" + runs)


def checkpoints(folder, runs):
    return sorted(glob.glob(folder + "/" + runs + "/default/version_0/checkpoints/[se][0-9]*.ckpt"))


def within(files, p):
    """From the last file of a fit that early stopping has ended a run trains on."""
    ended = [e.split()[1] for e in p["events"] if e.startswith("step ")][-1:]
    return [path for path in files if "early_stopping" not in p["callbacks"] or [step_of(path)] != ended]


def differs(whole, rows, got, step):
    """Rows behind the step; those of the step itself may be on either side of the checkpoint."""
    out = []
    for k in sorted(set(k for k in rows if k[0] > step) | set(got)):
        if rows.get(k) != got.get(k) and not (k not in rows and k[0] == step):
            out.append("row %s: %s, resumed %s" % (k, rows.get(k), got.get(k)))
    return out[:3] + (["%d more" % (len(out) - 3)] if len(out) > 3 else [])


def calls_differ(whole, done):
    """A resumed run calls the hooks that the unbroken one called behind the file, which says how many came before."""
    behind = whole[int(re.search(r"loaded (\d+)", done.stdout)[1]):]
    return [] if done.events == behind else ["hooks %s ..., resumed %s ..." % (behind[:8], done.events[:8])]


def resume(folder, runs, ranks, whole, rows, path, p):
    done, weights, got = run(folder, runs, ranks, "--resume", path)
    name, step = os.path.basename(path), int(step_of(path))
    if done.returncode or (got and not weights):
        return ["%s: exit %d: %s" % (name, done.returncode, done.stderr[-600:])]
    why = [] if weights is None or weights[0] == whole[0] else ["weights %s, %s" % (whole, weights)]
    if done.last and p["last"] and done.last[1] == p["last"][1] and done.last[0] != p["last"][0]:
        why.append("last.ckpt %s, %s" % (p["last"], done.last))
    why += ["told: " + what for what in told_wrongly(p["said"], done.stdout + done.stderr, path)]
    why += calls_differ(p["events"], done)
    return ["%s: %s" % (name, w) for w in why + differs(whole, rows, got, step)]


def told_wrongly(whole, said, path):
    """Patterns that fit a name of the file, which the unbroken run has not told; layers that wait, where none may be
    one of them with another name."""
    names = [re.sub(r"parametrizations\.(\w+)\.original\d?$", r"\1", name) for name in head_of(path)]
    out = [pattern for pattern in re.findall(r"no parameter's name fits \"(\S+)\"", said)
           if fnmatch.filter(names, pattern) and 'no parameter\'s name fits "%s"' % pattern not in whole]
    left = re.findall(r".* tensors that no layer of the module has taken", said)
    return out if " is not in " in said else out + left


def head_of(path):
    with open(path, "rb") as f:
        return json.loads(f.read(int.from_bytes(f.read(8), "little")))


def meta_of(path, key):
    return head_of(path)["__metadata__"][key]


def step_of(path):
    return meta_of(path, "global_step")


def other_ranks(folder, ranks, whole, rows, path, p):
    """The same samples in each batch of all ranks: the same steps, and sums in another order."""
    other = 3 - ranks
    done, weights, got = run(folder, "other", other, "--resume", path,
                             "--model.batch", str(p["batch"] * ranks // other))
    name, step = os.path.basename(path), int(step_of(path))
    if done.returncode:
        return ["%s on %d ranks: exit %d: %s" % (name, other, done.returncode, done.stderr[-600:])]
    places = lambda rows: sorted(k for k in rows if k[0] > step and k[4] == "train" and k[5] == "step")
    why = [] if places(rows) == places(got) else ["rows at %s, resumed %s" % (places(rows)[:4], places(got)[:4])]
    if weights and abs(weights[1] - whole[1]) > 1e-3 * whole[1]:
        why.append("weights %s, %s" % (whole, weights))
    return ["%s on %d ranks: %s" % (name, other, w) for w in why]


def main():
    bad = resumed = 0
    for seed in range(first, first + count):
        folder = "%s/%d" % (work, seed)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        r = random.Random(seed)
        text, ranks, p = draw(r)
        with open(folder + "/p.c", "w") as f:
            f.write(text)
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, "p.c", "-o", "program",
                        "-L" + build, "-lxtrain", "-lm", "-Wl,-rpath," + build], cwd=folder, check=True)
        done, whole, rows = run(folder, "whole", ranks)
        p["events"], p["last"], p["said"] = done.events, done.last, done.stdout + done.stderr
        why = []
        if done.returncode or not whole:
            why.append("exit %d: %s" % (done.returncode, done.stderr[-600:]))
        files = within(checkpoints(folder, "whole"), p)
        for path in r.sample(files, min(3, len(files))) if not why else []:
            why += resume(folder, "two", ranks, whole, rows, path, p)
            resumed += 1
            again = within(checkpoints(folder, "two"), p)  # of the run that was resumed
            if again and not why:
                why += resume(folder, "three", ranks, whole, rows, r.choice(again), p)
                resumed += 1
        alike = "(augment)" not in p["draws"]  # other ranks draw other numbers
        plain = not p["layer"] and not p["alternating"] and not p["callbacks"] and not p["schedule"]
        plain = plain and not p["averaging"] and alike
        if not why and plain and files and r.random() < 0.8:
            why += other_ranks(folder, ranks, whole, rows, r.choice(files), p)
            resumed += 1
        if why:
            bad += 1
            print("seed %d, %d ranks (%s/p.c):\n  %s" % (seed, ranks, folder, "\n  ".join(why)), flush=True)
        else:
            shutil.rmtree(folder)
    print("%d passed, %d failed (%d resumes)" % (count - bad, bad, resumed))
    sys.exit(bad > 0)


main()
