#!/usr/bin/env python3
"""Writes what tests/cli/option_words.sh compiles: each public function with each of its options that is one of some
words, given as none of them; and each text among the options, given as no text that it may be.

usage: option_words.py numbers FUNCTIONS_JSON    FUNCTIONS_JSON is what tools/entries.py table prints
       option_words.py texts INCLUDE_DIR         on stderr: what is wrong with the lists below
"""
import json
import sys

import options

HEAD = """#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
static int bad, calls;
static void quiet(xt_status s, void *u) { (void)s, (void)u; }
static void look(const char *call, const char *given, xt_status s) {
    const char *e = s ? xt_status_message(s) : xt_error() ? xt_status_message(xt_error()) : "no error";
    calls++;
    if (!strstr(e, given)) bad = printf("%s with %s: %s\\n", call, given, e);
    xt_status_free(s);
    xt_clear_error();
}
"""

# Which texts are words, periods or rules, and a call that is given W; the errors name the option.
WORDS = {
    "xt_trainer_opts.precision": "xt_trainer_new(.precision = W)",
    "xt_trainer_opts.loggers": "xt_trainer_new(.loggers = W)",
    "xt_trainer_opts.gradient_clip_algorithm": "xt_trainer_new(.gradient_clip_algorithm = W)",
    "xt_trainer_opts.val_every": "xt_trainer_new(.val_every = W)",
    "xt_trainer_opts.max_time": "xt_trainer_new(.max_time = W)",
    "xt_trainer_opts.signals": "xt_trainer_new(.signals = W)",
    "xt_trainer_opts.strategy": "xt_trainer_new(.strategy = W)",
    "xt_model_checkpoint_opts.every_time": "xt_model_checkpoint(.every_time = W)",
    "xt_model_checkpoint_opts.filename": "xt_model_checkpoint(.filename = W)",
    "xt_timer_opts.duration": "xt_timer(.duration = W)",
    "xt_sample_writer_opts.every": "xt_sample_writer(.sample = sample, .every = W)",
    "xt_load_opts.rename": "s = xt_load_with(net(), \"none\", .rename = W)",
    "xt_convert_opts.rename": "s = xt_convert_weights(\"none\", \"out\", .rename = W)",
    "xt_collective_opts.groups": "xt_all_reduce(one(), .groups = W)",
    "xt_collective_opts.pairs": "xt_collective_permute(one(), .pairs = W)",
}
# Any text may be right: why.
ANY = {
    "path": "xt_save_opts.prefix xt_load_opts.prefix xt_lora_file_opts.prefix xt_trainer_opts.run_name "
            "xt_trainer_opts.runs_dir xt_trainer_opts.resume xt_trainer_opts.ckpt xt_model_checkpoint_opts.dirpath "
            "xt_exception_checkpoint_opts.dirpath xt_prediction_writer_opts.path xt_lr_find_opts.plot "
            "xt_launch_on_hosts_opts.hostfile xt_exception_checkpoint_opts.filename xt_convert_opts.merge",
    "extensions of files": "xt_tar_opts.image xt_tar_opts.label",
    "name of the user's": "xt_csv_opts.x xt_csv_opts.y xt_launch_opts.module xt_launch_opts.symbol "
                          "xt_launch_opts.arg_text xt_compile_opts.name xt_launch_on_hosts_opts.hosts "
                          "xt_remote_opts.hosts xt_launch_opts.device xt_lora_file_opts.base_model "
                          "xt_lora_file_opts.task_type",
    "name of a value that is logged later": "xt_plateau_schedule_opts.monitor xt_model_checkpoint_opts.monitor "
                                            "xt_early_stopping_opts.monitor",
    "list of ranks, looked at in a run of several": "xt_remote_opts.ranks",
    "pattern on names": "xt_save_opts.transposed xt_load_opts.transposed xt_convert_opts.keep "
                        "xt_convert_opts.leave_out xt_convert_opts.transposed "
                        "xt_convert_opts.unstacked",
}


def numbers(path):
    print(HEAD + "int main(void) {\n    xt_on_error(quiet, NULL);")
    for f in json.load(open(path)):
        for k, p in enumerate(f["parameters"]):
            kind = p["text"].split(" ")[0]
            for enum, field, count in p["words"]:
                for wrong in (count, count + 66, -1):
                    arguments = []
                    for i, q in enumerate(f["parameters"]):
                        one = ("XT_HERE" if q["name"] == "src" else "NULL" if q["pointer"] else
                               f"XT_OPTS({kind}, .{field} = ({enum})({wrong}))" if i == k else
                               f"({q['text'].rsplit(' ', 1)[0]}){{0}}")
                        arguments.append(one)
                    call = f"({f['name']})({', '.join(arguments)})"
                    status = f["returns"] == "xt_status"
                    print(f"    {{ xt_status s = NULL; {'s = ' if status else ''}{call};\n"
                          f"      look(\"{f['name']}\", \"{field} = {wrong} \", s); }}")
    print('    printf("%d calls\\n", calls);\n    xt_finish();\n    return bad != 0;\n}')


def texts(folder):
    there = {f"{name}.{f}" for _, _, name, body in options.structs(folder)
             for kind, f, _, _ in options.fields(body) if kind == "const char *"}
    any_text = {f for names in ANY.values() for f in names.split()}
    for f in sorted(there - any_text - set(WORDS)):
        print(f"{f}: is it a word, or any text? It stands in neither list", file=sys.stderr)
    for f in sorted((any_text | set(WORDS)) - there):
        print(f"{f}: there is no such option", file=sys.stderr)
    print(HEAD + '#define W "{no-such:word}"')
    print("static xt_tensor pass(xt_module *m, xt_tensor x, void *u) { (void)m, (void)u; return x; }")
    print("static xt_module *net(void) { return xt_module_new(pass, NULL); }")
    print("static xt_tensor one(void) { return xt_ones(XT_F32, 1); }")
    print("static void sample(xt_module *m, int64_t n, const char *p, void *u) { (void)m, (void)n, (void)p, (void)u; }")
    print("int main(void) {\n    (void)net, (void)one, (void)sample;\n    xt_on_error(quiet, NULL);")
    for f, call in WORDS.items():
        print(f'    {{ xt_status s = NULL; (void)({call}); look("{f}", W, s); }}')
        print(f'    {{ xt_status s = NULL; (void)({call}); look("{f}", "{f.split(".")[1]}", s); }}')
    print('    printf("%d calls\\n", calls);\n    xt_finish();\n    return bad != 0;\n}')


if sys.argv[1] == "numbers":
    numbers(sys.argv[2])
else:
    texts(sys.argv[2])
