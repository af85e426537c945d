#!/usr/bin/env python3
"""Writes a C program that calls every public function with each of its pointers wrong in turn: NULL, and a handle that
was freed, that is of another kind, that was never made, a tensor that is dead; with all of them NULL and counts above
0; and with lists of more numbers than a list has room for, or of fewer than none. Each call is in a process of its
own. Nobody looks at the statuses that come back: the step's end must tell of each. Each function that gives a status
is called with nothing wrong, too (it fails by itself then, most often), and whatever fails must name the line of the
call.

usage: tools/entries.py table ... | tests/every_function.py >program.c
"""
import json
import re
import sys

# A live handle of each kind, and how it is freed.
MAKE = {
    "module": ("xt_module_new(net, NULL)", "xt_module_free(h)"),
    "optimizer": ("xt_sgd(xt_module_new(net, NULL), .lr = 0.1)", "xt_optimizer_free(h)"),
    "scheduler": ("xt_step_schedule(owner = xt_sgd(xt_module_new(net, NULL), .lr = 0.1), .step_size = 1)",
                  "xt_optimizer_free(owner)"),
    "loss_scaler": ("xt_loss_scaler_new()", "xt_loss_scaler_free(h)"),
    "dataset": ("xt_drawn_digits(4, 0)", "xt_dataset_free(h)"),
    "sampler": ("xt_weighted_sampler(((double[]){1, 2}), 2)", "xt_sampler_free(h)"),
    "loader": ("xt_loader_new(xt_drawn_digits(4, 0), .batch = 1)", "xt_loader_free(h)"),
    "trainer": ("xt_trainer_new(.max_epochs = 1, .logger = XT_OFF)", "xt_trainer_free(h)"),
    "callback": ("xt_lr_monitor()",
                 "owner = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF); xt_trainer_add(owner, h); "
                 "xt_trainer_free(owner)"),
    "running": ("xt_running_new(4)", "xt_running_free(h)"),
    "step": ("xt_compile(step)", "xt_step_free(h)"),
    "mesh": ("xt_mesh_new_at(XT_HERE, axes)", "xt_mesh_free(h)"),
    "program": ("program()", "xt_program_free(h)"),
    "recording": ("recording()", "xt_recording_free(h)"),
    "plan": ("plan()", "xt_plan_free(h)"),
    "status": ('xt_status_new(XT_ABORTED, "one")', "xt_status_free(h)"),
}

HEAD = r"""
#include <xtrain/xtrain.h>
#include <xtrain/doctor.h>
#include <xtrain/plan.h>
#include <xtrain/plot.h>
#include <xtrain/program.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Alignas(64) char room[1 << 16]; /* what pointers that are not wrong point to */
static void *owner;
static long nothing(void) { return 0; }
static xt_tensor net(xt_module *m, xt_tensor x, void *u) { (void)u; return xt_linear(m, "fc", x, 2); }
static xt_tensor step(const xt_tensor *in, int n, void *u) { (void)n, (void)u; return in[0]; }
static const xt_axis axes[] = {{"data", 0}, {NULL, 0}};
static const char mlir[] = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }";
static xt_program *program(void) { xt_program *p = NULL; xt_program_parse(mlir, sizeof mlir - 1, "p", &p); return p; }
static xt_recording *recording(void) {
    xt_recording *r = NULL;
    FILE *f = fopen("one.mlir", "w");
    if (f) fputs(mlir, f), fclose(f);
    xt_recording_load("one.mlir", &r);
    return r;
}
static xt_plan *plan(void) {
    xt_plan *p = NULL;
    xt_plan_make(recording(), (xt_plan_opts){0}, &p);
    return p;
}
static xt_tensor tensor_for(int i) { (void)i; return xt_ones(XT_F32, 2, 2); }
static xt_tensor dead_tensor(void) { xt_tensor t = xt_ones(XT_F32, 2, 2); xt_mark_step(); return t; }
static int calls, bad, unseen, looks;
static void quiet(xt_status s, void *u) { (void)u; unseen += strstr(xt_status_message(s), "the status that") != NULL; }
/* The error counts when it says so. */
static void only_error(const char *text) {
    if (xt_error() && !strstr(xt_status_message(xt_error()), text)) xt_clear_error();
}
/* Not looked at, or with the line of the call; that it is the caller's, and none of the library's, the file says. */
static int status(xt_status s) {
    if (!s || !looks) return s ? 2 : 0;
    int has = strstr(xt_status_message(s), "every.c:") == xt_status_message(s);
    if (!has) printf("%s\n", xt_status_message(s)), fflush(stdout);
    xt_status_free(s);
    return has ? 1 : -2;
}
/* must_fail: with an error that is pending, or that the call has returned */
static void in_child(const char *what, int (*fn)(void), int must_fail) {
    int st = 0;
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
        alarm(20);
        xt_on_error(quiet, NULL);
        int failed = fn();
        if (failed == -2) _exit(6);
        if (failed < 0) _exit(3);
        if (failed == 2) xt_mark_step();
        if (failed == 2 && !unseen) _exit(5);
        _exit(must_fail && !failed && !xt_error() ? 4 : 0);
    }
    waitpid(p, &st, 0);
    calls++;
    if (WIFEXITED(st) && (WEXITSTATUS(st) < 3 || WEXITSTATUS(st) > 6)) return;
    bad++;
    printf("%s: %s\n", what, WIFSIGNALED(st) ? WTERMSIG(st) == SIGALRM ? "hangs" : strsignal(WTERMSIG(st))
           : WEXITSTATUS(st) == 3 ? "the test could not make its handles"
           : WEXITSTATUS(st) == 6 ? "its status has no line of the call"
           : WEXITSTATUS(st) == 5 ? "nobody is told of its status" : "no error");
}
"""


# What ends a tensor that may have ended, what hands it to a function of the program's, and what prints "no value".
ASKS = {"xt_drop_at", "xt_checkpoint_block_at", "xt_print_at"}


def declared(p, value):
    """The parameter as a variable with a value."""
    text = re.sub(r"\[\d*\]$", "", p["text"])
    if text != p["text"]:
        text = re.sub(r"(\w+)$", r"*\1", text)
    return f"{text} = {value};"


def value_of(p, wrong):
    if wrong:
        return wrong
    if p["name"] == "src":
        return "XT_HERE"
    if p["kind"] and not p["list"]:
        return f"make_{p['kind']}()"
    if p["function"]:
        return "(void *)nothing"
    if re.match(r"const char \*\w+$", p["text"]):
        return '"x"'
    if p["pointer"]:
        return "(void *)room"
    kind = p["text"].rsplit(" ", 1)[0]
    if re.match(r"(n|n_\w+|count|max|size|bytes|rank)$", p["name"]):
        return "2"
    return f"({kind}){{0}}"


def main():
    functions, out, calls = json.load(sys.stdin), [HEAD], []
    for kind, (make, free) in MAKE.items():
        handle = f"xt_{kind} " if kind == "status" else f"xt_{kind} *"
        out.append(f"static {handle}make_{kind}(void) {{ {handle}h = {make}; if (!h) _exit(3); return h; }}")
        out.append(f"static void *freed_{kind}(void) {{ {handle}h = make_{kind}(); {free}; return h; }}")
    for f in functions:
        pointers = [p for p in f["parameters"] if p["pointer"] and p["name"] != "src"]
        cases = [("all NULL", {p["name"]: "NULL" for p in pointers}, False)] if pointers else []
        for p in pointers:
            # A free of NULL does nothing, and what may be NULL may.
            must = p["kind"] and not p["null"] and not f["frees"] and not p["list"]
            cases.append((f"{p['name']} NULL", {p["name"]: "NULL"}, must))
            if p["kind"] and not p["list"]:
                other = "optimizer" if p["kind"] != "optimizer" else "module"
                cases.append((f"{p['name']} freed", {p["name"]: f"freed_{p['kind']}()"}, True))
                cases.append((f"{p['name']} of another kind", {p["name"]: f"(void *)make_{other}()"}, True))
                cases.append((f"{p['name']} never made", {p["name"]: "(void *)(room + 8)"}, True))
        gives = f["returns"] == "xt_status"
        if f["variadic"]:  # what stands in a text is the compiler's to check
            cases = [("its text NULL", {"fmt": "NULL"}, True)]
        elif gives:
            cases.append(("nothing wrong", {}, False))
        lists = [p for p in f["parameters"] if re.match(r"xt_list \w+$", p["text"])]
        for p, n in [(p, n) for p in lists for n in (-1, 17)]: # with tensors, or those would be the error
            tensors = [q["name"] for q in f["parameters"] if re.match(r"xt_tensor \w+$", q["text"])]
            given = dict.fromkeys(tensors, "xt_ones(XT_F32, 2, 3)")
            cases.append((f"{p['name']} of {n} numbers", {**given, p["name"]: f"(xt_list){{.n = {n}}}"}, True))
        # Queries of a handle, and what takes back one that may be gone, are no uses of the tensor.
        used = [p["name"] for p in f["parameters"] if re.match(r"xt_tensor \w+$", p["text"]) and f["source"] and
                f["name"] not in ASKS]
        others = {p["name"]: f"tensor_for({i})" for i, p in enumerate(f["parameters"])
                  if re.match(r"xt_tensor \w+$", p["text"])}
        for name in used:
            for what, wrong in (("dead", "dead_tensor()"), ("never made", "(xt_tensor){12345, 777}")):
                cases.append((f"{name} {what}", {**others, name: wrong}, True))
        if used:
            cases.append(("all tensors none", dict.fromkeys(used, "(xt_tensor){0}"), True))
        for what, wrong, must in cases:
            lines = [declared(p, value_of(p, wrong.get(p["name"]))) for p in f["parameters"]]
            call = f"({f['name']})({', '.join(p['name'] for p in f['parameters'])})"
            ends = f"return status({call});" if gives else f"(void){call}; return 0;"
            if gives and f["variadic"]:  # what it gives is a status with that text
                ends = f'return strstr(xt_status_message({call}), "no text") != NULL;'
            if what.endswith(" numbers"):
                ends = f"(void){call}; only_error(\"is a list of\"); return 0;"
            fn = f"case_{len(calls)}"
            out.append(f"static int {fn}(void) {{ {' '.join(lines)} {ends} }}")
            calls.append(f'    in_child("{f["name"]}, {what}", {fn}, {int(bool(must))});')
            if gives and not f["variadic"] and not what.endswith(" numbers"):
                calls.append(f'    looks = 1, in_child("{f["name"]}, {what}", {fn}, 0), looks = 0;')
    out.append("int main(void) {\n    setvbuf(stdout, NULL, _IOLBF, 0);\n" + "\n".join(calls))
    out.append('    printf("%d calls, %d bad\\n", calls, bad);\n    return bad != 0;\n}')
    print("\n".join(out))


main()
