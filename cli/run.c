/* xtrain run: runs a StableHLO program on a device or on the reference interpreter. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { MAX_ARRAYS = 256 };
static const char usage[] =
    "usage: xtrain run PROGRAM [--input F.npy ...] [options]\n\n"
    "Runs the function @main of a StableHLO program. A file without inputs to give may hold several modules between "
    "'// -----' lines, and\n"
    "functions of other names: without @main every public function without arguments runs. Assertions of the StableHLO "
    "project's tests\n"
    "(check.expect_eq, check.expect_almost_eq, ..., as ops or as custom calls) are checked; a failed one is exit 1.\n";

typedef struct run_opts {
    const char *program, *args, *output_dir, *device, *print, *dump, *emit, *emit_version;
    cli_list inputs, expects;
    double rtol, atol;
    bool json;
} run_opts;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* `--input a.npy b.npy` is read as `--input a.npy --input b.npy`; the list ends at the next option or at a program. */
static char **unfold_lists(int argc, char **argv, int *out_argc) {
    char **v = malloc((2 * (size_t)argc + 1) * sizeof *v);
    char *list = NULL;
    int n = 0, given = 0;
    for (int i = 0; v && i < argc; i++) {
        size_t len = strlen(argv[i]);
        bool option = argv[i][0] == '-', program = (len > 5 && !strcmp(argv[i] + len - 5, ".mlir")) ||
                                                   (len > 7 && !strcmp(argv[i] + len - 7, ".mlirbc"));
        if (option) {
            list = !strcmp(argv[i], "--input") || !strcmp(argv[i], "--expect") ? argv[i] : NULL;
            given = 0;
        } else if (list && program) {
            list = NULL;
        } else if (list && given++) {
            v[n++] = list;
        }
        v[n++] = argv[i];
    }
    *out_argc = n;
    return v;
}

/* What two correct compilers may differ by: sums in another order and approximations of 1 to 4 units in the last place
 * in f32 and f64; one rounding of the result in the narrow types. Integers and booleans are compared exactly. */
static double tolerance(xt_dtype t) {
    switch (t) {
    case XT_F64:
    case XT_C128: return 1e-12;
    case XT_F32:
    case XT_C64: return 1e-5;
    case XT_F16: return 2e-3;
    default: return 2e-2;
    }
}

static bool is_wide(xt_dtype t) {
    return t == XT_F64 || t == XT_C128 || t == XT_F32 || t == XT_C64;
}

/* An f64 result of f32 inputs has f32's roundings in it. Narrower inputs say little: programs widen them first. */
static double tolerance_with(xt_dtype out, const xt_array *in, int n_in) {
    double tol = tolerance(out);
    for (int i = 0; i < n_in; i++)
        if (is_wide(out) && is_wide(in[i].dtype) && tolerance(in[i].dtype) > tol) tol = tolerance(in[i].dtype);
    return tol;
}

static int compare_outputs(const run_opts *o, const xt_array *in, int n_in, const xt_array *out, int n_out) {
    if (o->expects.n && o->expects.n != n_out)
        return cli_fail("run", "%d files are given to --expect, but the program has %d outputs", o->expects.n, n_out);
    for (int i = 0; i < o->expects.n; i++) {
        xt_array want = {0};
        xt_status s = xt_npy_read(o->expects.items[i], &want);
        double tol = tolerance_with(out[i].dtype, in, n_in);
        if (!s) s = xt_array_compare(&out[i], &want, o->rtol >= 0 ? o->rtol : tol, o->atol >= 0 ? o->atol : tol);
        xt_array_free(&want);
        if (s) {
            cli_fail("run", "output %d against %s: %s", i, o->expects.items[i], xt_status_message(s));
            xt_status_free(s);
            return 1;
        }
    }
    return 0;
}

static void shape_text(const xt_array *a, char *buf, size_t n) {
    size_t k = (size_t)snprintf(buf, n, "%s[", xt_dtype_name(a->dtype));
    for (int d = 0; d < a->rank && k < n; d++)
        k += (size_t)snprintf(buf + k, n - k, "%s%lld", d ? "," : "", (long long)a->dims[d]);
    if (k < n) snprintf(buf + k, n - k, "]");
}

static int write_outputs(const run_opts *o, const xt_array *out, int n_out) {
    const char *dir = o->output_dir ? o->output_dir : ".";
    xt_status made = o->output_dir ? xt_make_folder(dir, NULL) : NULL;
    if (made) return cli_fail_status("run", made);
    for (int i = 0; i < n_out; i++) {
        char path[4096], shape[600];
        if (snprintf(path, sizeof path, "%s/out%d.npy", dir, i) >= (int)sizeof path)
            return cli_fail("run", "the name of the output folder is too long");
        xt_status s = xt_npy_write(path, &out[i]);
        if (s) return cli_fail_status("run", s);
        shape_text(&out[i], shape, sizeof shape);
        if (!o->json) cli_printf("%s  %s\n", path, shape);
    }
    return 0;
}

static void print_json(const run_opts *o, int inputs, const xt_array *out, int n_out, int entries, double ms) {
    cli_printf("{\"outputs\":[");
    for (int i = 0; i < n_out; i++) {
        cli_printf("%s{\"shape\":[", i ? "," : "");
        for (int d = 0; d < out[i].rank; d++) cli_printf("%s%lld", d ? "," : "", (long long)out[i].dims[d]);
        cli_printf("],\"dtype\":\"%s\"}", xt_dtype_name(out[i].dtype));
    }
    cli_printf("],\"program\":\"%s\",\"device\":\"%s\",\"entries\":%d,\"inputs\":%d,\"ms\":%.6g}\n", o->program,
               o->device ? o->device : "default", entries, inputs, ms);
}

static int read_inputs(const run_opts *o, xt_array *in, int *n_in) {
    *n_in = 0;
    if (o->args) {
        xt_status s = xt_arrays_parse(o->args, in, MAX_ARRAYS, n_in);
        if (s) return cli_fail_status("run", s);
    }
    for (int i = 0; i < o->inputs.n; i++) {
        xt_status s = xt_npy_read(o->inputs.items[i], &in[*n_in]);
        if (s) return cli_fail_status("run", s);
        ++*n_in;
    }
    return 0;
}

static int run_main(const run_opts *o, xt_program *p) {
    xt_array *in = calloc(2 * MAX_ARRAYS, sizeof *in), *out;
    int n_in = 0, n_out = xt_program_outputs(p), code;
    if (!in) return cli_fail("run", "out of memory");
    out = in + MAX_ARRAYS;
    code = n_out > MAX_ARRAYS
               ? cli_fail("run", "the program has %d outputs; at most %d can be written", n_out, MAX_ARRAYS)
               : read_inputs(o, in, &n_in);
    double began = now_ms();
    if (!code) {
        xt_status s = xt_program_run(p, o->device, in, n_in, out, n_out);
        if (s) code = cli_fail_status("run", s);
    }
    double ms = now_ms() - began;
    bool ran = !code;
    if (!code && (o->output_dir || !o->expects.n)) code = write_outputs(o, out, n_out);
    if (ran && !code) code = compare_outputs(o, in, n_in, out, n_out);
    if (!code && o->json) print_json(o, n_in, out, n_out, 1, ms);
    for (int i = 0; i < n_in; i++) xt_array_free(&in[i]);
    for (int i = 0; ran && i < n_out; i++) xt_array_free(&out[i]);
    free(in);
    return code;
}

static int run_program(const run_opts *o, xt_program *p) {
    xt_status s;
    if (o->print) {
        char *text;
        s = xt_program_text(p, o->print, &text);
        if (s) return cli_fail_status("run", s);
        cli_text(stdout, text, strlen(text));
        xt_text_free(text);
        return 0;
    }
    if (o->emit) {
        s = xt_program_write(p, o->emit, o->emit_version);
        return s ? cli_fail_status("run", s) : 0;
    }
    if (xt_program_has_main(p)) return run_main(o, p);
    if (o->inputs.n || o->args)
        return cli_fail("run", "%s has no single function @main that could take inputs", o->program);
    int entries;
    double began = now_ms();
    s = xt_program_check(p, o->device, &entries);
    if (s) return cli_fail_status("run", s);
    if (o->json)
        print_json(o, 0, NULL, 0, entries, now_ms() - began);
    else
        cli_printf("%d functions ran\n", entries);
    return 0;
}

/* Switches of programs that record steps: whoever waits for their files is told that none comes. */
static void tell_unread(void) {
    static const char *const names[] = {"XT_EVENTS", "XT_METRICS", "XT_PROFILE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *given = getenv(names[i]);
        if (given && *given)
            cli_fprintf(stderr,
                        "xtrain run: %s=%s is not written: it is of programs that record steps, and a program from a "
                        "file has none; --json says how long it took\n",
                        names[i], given);
    }
}

static int run(int argc, char **argv) {
    run_opts o = {.rtol = -1, .atol = -1};
    const cli_option options[] = {
        {"PROGRAM", CLI_STRING, &o.program, NULL, "StableHLO: text, MLIR bytecode, or an HLO module"},
        {"--input", CLI_LIST, &o.inputs, "F.npy ...", "the arguments of @main, in order"},
        {"--args", CLI_STRING, &o.args, "LITERALS", "the same as '[dense<1> : tensor<i32>, ...]'"},
        {"--output-dir", CLI_STRING, &o.output_dir, "DIR", "where out0.npy ... go (default: here)"},
        {"--device", CLI_STRING, &o.device, "D",
         "CPU, TPU, CUDA, a plugin's path, or interpreter (default: XT_DEVICE, then CPU)"},
        {"--expect", CLI_LIST, &o.expects, "F.npy ...",
         "compare the outputs with these; exit 1 and the first difference otherwise"},
        {"--rtol", CLI_DOUBLE, &o.rtol, "X",
         "relative tolerance of --expect (default by type: f32 1e-5, f64 1e-12, the larger where inputs are f32)"},
        {"--atol", CLI_DOUBLE, &o.atol, "X", "absolute tolerance of --expect (the same defaults)"},
        {"--print", CLI_STRING, &o.print, "FORM", "print the program instead of running it: pretty or generic"},
        {"--emit", CLI_STRING, &o.emit, "FILE",
         "write the program instead of running it: text into a .mlir, else bytecode (a portable artefact)"},
        {"--emit-version", CLI_STRING, &o.emit_version, "V",
         "the artefact's version of StableHLO, 1.0.0 to 1.20.0 (default 1.13.0)"},
        {"--dump", CLI_STRING, &o.dump, "DIR",
         "write the program after each pass of the CPU compiler, and its plans, into DIR (as XT_DUMP=DIR)"},
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line"},
    };
    int n;
    char **v = unfold_lists(argc, argv, &n);
    if (!v) return cli_fail("run", "out of memory");
    int code = cli_parse(n, v, usage, options, sizeof options / sizeof options[0], NULL);
    if (!code && !o.program) {
        cli_fprintf(stderr, "xtrain run: which program? xtrain run --help says more\n");
        code = 3;
    }
    if (code) {
        free(v);
        return code - 1;
    }
    tell_unread();
    if (o.dump) setenv("XT_DUMP", o.dump, 1); /* before the plugin reads it */
    xt_program *p = NULL;
    xt_status s = xt_program_load(o.program, &p);
    code = s ? cli_fail_status("run", s) : run_program(&o, p);
    xt_program_free(p);
    free(v);
    return code;
}

const cli_command cli_run = {"run", "run a StableHLO program on a device or on the interpreter", run};
