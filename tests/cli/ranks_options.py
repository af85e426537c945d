#!/usr/bin/env python3
"""Draws options of the Trainer and of its callbacks, some at a time, with a strategy and checkpoints within epochs, and
trains with them on two ranks: each rank makes the same collectives in the same order, whatever is combined. A run
either comes to its end, or is refused before its first step; none hangs, is ended by a signal, or has ranks that do not
meet. So does one in which an option is another on rank 1 than on rank 0, or is told with both values.

The options are the fields of the structs in the public headers: a new one is drawn by being there. Of a text the values
are in TEXTS.

usage: ranks_options.py XTRAIN PROGRAM INCLUDE_DIR WORK_DIR FIRST COUNT    so many seeds, from FIRST on, behind CASES
       COUNT < 0: one case, whose options are the rest of the arguments
"""
import os
import random
import re
import shutil
import subprocess
import sys

import options

# Callbacks that a command line adds, by the struct that has their options; none: it has none.
CALLBACKS = {"early_stopping": "xt_early_stopping_opts", "throughput_monitor": "xt_throughput_opts",
             "timer": "xt_timer_opts", "weight_averaging": "xt_weight_averaging_opts",
             "exception_checkpoint": "xt_exception_checkpoint_opts", "spike_detection": "xt_spike_detection_opts",
             "model_checkpoint": "xt_model_checkpoint_opts", "lr_monitor": None, "device_stats": None}
TEXTS = {"precision": ["bf16-mixed", "16-mixed", "bf16-true", "64-true"], "loggers": ["csv", "jsonl,tensorboard"],
         "gradient_clip_algorithm": ["norm", "value"], "val_every": ["2steps", "3batches", "0.5epochs", "1s"],
         "max_time": ["1min", "1s"], "signals": ["TERM,INT", ""], "monitor": ["val/loss", "train/loss"],
         "filename": ["{epoch}-{step}", "{step}-{val/loss:.2f}"], "every_time": ["1s"], "duration": ["1min", "1s"]}
# Drawn by the test itself, or of where files are.
ASIDE = {"struct_size", "strategy", "run_name", "runs_dir", "resume", "ckpt", "dirpath", "user", "items"}
NEEDED = {"early_stopping": {"monitor": "val/loss"}, "timer": {"duration": "1min"}}
STRATEGIES = ["ddp", "zero1", "zero2", "fsdp"]
# What has hung or has ended a fit in its middle.
CASES = ["--strategy ddp --callbacks model_checkpoint --callbacks.model_checkpoint.every_n_steps 1 "
         "--reinitialize_every_n_steps 3",
         "--strategy zero2 --callbacks model_checkpoint --callbacks.model_checkpoint.every_n_steps 2 "
         "--reinitialize_every_n_steps 3",
         "--strategy zero2 --offload_optimizer on",
         "--strategy fsdp --offload_optimizer on --callbacks model_checkpoint "
         "--callbacks.model_checkpoint.every_n_steps 1 --callbacks.model_checkpoint.sharded on",
         "--strategy fsdp --callbacks weight_averaging",
         "--strategy zero2 --model.with 31 --reinitialize_every_n_steps 1 --callbacks model_checkpoint "
         "--callbacks.model_checkpoint.background off --callbacks.model_checkpoint.every_n_steps 1"]
APART = re.compile(r"did not come|different collective calls|runs another program|has left the run|"
                   r"SIG(?!TERM)[A-Z]+ in step")
# A watched value that the program logs later than it is asked for: only the run can tell.
OWN = re.compile(r"was not logged|has not been logged")


def values(name, kind):
    """Texts that an option may be; none: it is not drawn."""
    if name in ASIDE or kind == "function":
        return []
    if kind == "xt_switch":
        return ["on", "on", "on", "off"]
    if kind == "xt_reduce":
        return ["min", "max"]
    if kind == "double":
        return ["0.5", "0.25", "1", "2"]
    if kind in ("int", "int64_t", "uint64_t"):
        return ["1", "2", "3", "4"]
    if kind == "const char *" and name in TEXTS:
        return TEXTS[name]
    sys.exit("%s %s: what may it be? It stands in no list of %s" % (kind, name, sys.argv[0]))


def all_options(folder):
    """[(the callback that has it or "", name, values)]"""
    out = []
    for _, _, struct, body in options.structs(folder):
        owners = [c for c, s in CALLBACKS.items() if s == struct] + [""] * (struct == "xt_trainer_opts")
        for kind, name, _, _ in options.fields(body) if owners else []:
            one = values(name, kind)
            if one:
                out.append((owners[0], name, one))
    return out + [(c, None, []) for c, s in CALLBACKS.items() if not s]


def draw(r, known):
    args = ["--strategy", r.choice(STRATEGIES), "--model.with", str(r.choice([0, r.randrange(64), r.randrange(64)]))]
    callbacks = {}
    if r.random() < 0.8:
        callbacks["model_checkpoint"] = {"every_n_steps": r.choice("123"), "background": r.choice(["on", "off"])}
        if r.random() < 0.3:
            callbacks["model_checkpoint"]["sharded"] = "on"
    for owner, name, words in r.sample(known, r.choice([2, 2, 3, 4])):
        if not owner:
            args += ["--" + name, r.choice(words)]
            continue
        mine = callbacks.setdefault(owner, dict(NEEDED.get(owner, {})))
        if name:
            mine[name] = r.choice(words)
    if callbacks:
        args += ["--callbacks", ",".join(sorted(callbacks))]
    for owner in sorted(callbacks):
        for name, value in sorted(callbacks[owner].items()):
            args += ["--callbacks.%s.%s" % (owner, name), value]
    return args


def other(r, known):
    """An option for rank 1 alone."""
    _, name, words = r.choice([k for k in known if not k[0]])
    return "--%s %s" % (name, r.choice(words))


def run(xtrain, program, work, args, on_rank_1="", limit=10):
    """What is wrong with the run, None: nothing; its exit code; what it was refused for."""
    try:
        done = subprocess.run([xtrain, "launch", "-n", "2", program, *args], cwd=work, text=True, timeout=6 * limit,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, XT_RUNS_DIR=work + "/runs", XT_TIMEOUT=str(limit), XT_SUMMARY="off",
                                       XT_POSTMORTEM="off", XT_STATUS_DIR=work + "/status", OTHER=on_rank_1))
    except subprocess.TimeoutExpired as e:
        return "it does not end\n%s" % ((e.stdout or b"")[-600:],), None, ""
    apart, said = APART.search(done.stdout), done.stdout[-900:]
    code, why = done.returncode, None
    if code < 0 or code > 128:
        why = "ended by a signal: exit code %d" % code
    elif apart:
        why = "the ranks do not meet: %s" % apart[0]
    elif code and re.search(r"^(\[rank 0\] )?epoch \d+/", done.stdout, re.M) and not OWN.search(done.stdout):
        why = "refused behind an epoch, exit code %d" % code
    if apart and limit < 60:  # a rank is late on a loaded machine; one that does not come at all, does not then either
        shutil.rmtree(work + "/runs", ignore_errors=True)
        return run(xtrain, program, work, args, on_rank_1, 60)
    errors = re.findall(r"^.*ranks_options\.c:\d+: .*", done.stdout, re.M)
    return why and why + "\n" + said, code, errors[0] if code and errors else ""


def main():
    xtrain, program, include, work = sys.argv[1:5]
    first, count = int(sys.argv[5]), int(sys.argv[6])
    known = all_options(include)
    seeds = [(s, random.Random(s)) for s in range(first, first + count)]
    cases = [("case %d" % i, c.split(), "") for i, c in enumerate(CASES)]
    cases += [("seed %d" % s, draw(r, known), "") for s, r in seeds]
    cases += [("case of rank 1", ["--strategy", "ddp"], "--log_every_n_steps 3"),
              ("case of rank 1", ["--strategy", "zero2"], "--limit_val_batches 1")]
    cases += [("seed %d, rank 1" % s, ["--strategy", r.choice(STRATEGIES)], other(r, known)) for s, r in seeds[::2]]
    if count < 0:
        cases = [("case", sys.argv[7:], os.environ.get("OTHER", ""))]
    bad = refused = 0
    for name, args, on_rank_1 in cases:
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        why, code, error = run(xtrain, program, work, args, on_rank_1)
        if not why and not code and "--callbacks.model_checkpoint.every_n_steps" in args:
            why, code, error = run(xtrain, program, work, args + ["--resume", "last", "--max_epochs", "3"])
        refused += bool(code) and not why and not on_rank_1
        if os.environ.get("RANKS_OPTIONS_TELL"):
            print(name, code, " ".join(args), on_rank_1, error, flush=True)
        if why:
            bad += 1
            print("%s: %s %s\n  %s" % (name, " ".join(args), on_rank_1, why.replace("\n", "\n  ")), flush=True)
    print("%d options, %d runs were refused" % (len(known), refused))
    if count > 0 and refused > count / 2:
        bad += 1
        print("more than half of the runs were refused: nothing is tried by them")
    print("%d passed, %d failed" % (len(cases) - bad, bad))
    sys.exit(bad > 0)


main()
