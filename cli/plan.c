/* xtrain plan: compiles a training step for a device that need not be here, and says what it would take. */
#include "cli/plan.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct plan_flags {
    const char *model, *precision, *sweep, *html, *limit;
    int64_t rows, jobs;
    bool json, max_batch, remedies, no_remedies, full, row;
} plan_flags;

static bool read_bytes(const char *text, int64_t *out) {
    static const char units[] = "KMGT";
    char *end;
    double v = strtod(text, &end);
    const char *u = *end ? strchr(units, *end >= 'a' ? *end - 32 : *end) : NULL;
    if (end == text || v <= 0 || (*end && !u)) return false;
    for (const char *p = units; u && p <= u; p++) v *= 1024;
    *out = (int64_t)v;
    return true;
}

/* --- programs of the user's own: run on the rehearsal device, which leaves its programs in a folder --- */
static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What comes for this process meanwhile goes on to the program; both end by it, the folder first. */
static volatile sig_atomic_t rehearsing, came;
static void pass_on(int sig) {
    came = sig;
    if (rehearsing > 0) kill((pid_t)rehearsing, sig);
}

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
static void set_handlers(void (*from)(int), void (*to)(int)) {
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        struct sigaction now, act = {.sa_handler = to};
        if (sigaction(passed_on[i], NULL, &now) == 0 && now.sa_handler == from) sigaction(passed_on[i], &act, NULL);
    }
}

static int wait_for(pid_t pid, int *status) {
    int rc;
    rehearsing = pid;
    if (came) kill(pid, came); /* it came before there was whom to pass it on to */
    do rc = waitpid(pid, status, 0);
    while (rc < 0 && errno == EINTR);
    rehearsing = 0;
    return rc;
}

static void remove_rehearsal(const char *dir, const char **files, int n) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." refuse */
    if (d) closedir(d);
    rmdir(dir);
    for (int i = 0; i < n; i++) free((char *)files[i]);
}

static int rehearse_program(char **argv, const char *topology, bool divided, char *dir, const char **files, int max) {
    xt_topology t = {.devices = 1};
    xt_status s = divided ? xt_topology_find(topology, &t) : NULL;
    if (s) return -cli_fail_status("plan", s);
    set_handlers(SIG_DFL, pass_on);
    if (!mkdtemp(dir)) return -cli_fail("plan", "cannot make the folder %s: %s", dir, strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        set_handlers(pass_on, SIG_DFL);
        if (came) raise(came); /* before it was a program */
        char device[32];
        snprintf(device, sizeof device, "dry:%d", t.devices);
        setenv("XT_DEVICE", device, 1);
        setenv("XT_DUMP", dir, 1);
        setenv("XT_SUMMARY", "off", 0);
        setenv("XT_PROGRESS", "off", 0);
        dup2(2, 1); /* its words are not the plan's */
        execvp(argv[0], argv);
        cli_fprintf(stderr, "xtrain plan: %s cannot be started\n", argv[0]);
        _exit(127);
    }
    int status = 0, n = 0;
    int waited = pid < 0 ? -1 : wait_for(pid, &status);
    set_handlers(pass_on, SIG_DFL);
    if (came) {
        remove_rehearsal(dir, files, 0);
        raise(came);
    }
    if (waited < 0) return -cli_fail("plan", "%s cannot be run", argv[0]);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && n < max && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (strncmp(e->d_name, "program_", 8) != 0 || len < 5 || strcmp(e->d_name + len - 5, ".mlir") != 0) continue;
        char *path = malloc(strlen(dir) + len + 2);
        if (path) sprintf(path, "%s/%s", dir, e->d_name), files[n++] = path;
    }
    if (d) closedir(d);
    qsort(files, (size_t)n, sizeof *files, by_name);
    char how[64];
    snprintf(how, sizeof how, "%s %d", WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (n == 0)
        return -cli_fail("plan",
                         status ? "%s ran no step on a device and ended with %s under rehearsal"
                                : "%s ran no step on a device",
                         argv[0], how);
    if (status)
        cli_fprintf(stderr,
                    "xtrain plan: %s ended with %s under rehearsal, where values it reads are zeros; what it ran until "
                    "then is planned\n",
                    argv[0], how);
    return n;
}

/* "./train --batch 8": the command as it was typed. */
static void write_command(char **argv, char *buf, size_t n) {
    size_t at = 0;
    for (int i = 0; argv[i] && at < n; i++) at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? " " : "", argv[i]);
}

/* --- one plan --- */
static int show(const plan_case *c, const plan_flags *f) {
    enum { MOST_REMEDIES = 16 };
    plan_row remedies[MOST_REMEDIES] = {{{0}}};
    xt_plan *p = NULL;
    int n = 0, code = 0;
    xt_status s = plan_case_run(c, &p);
    if (s) return cli_fail_status("plan", s);
    const xt_plan_report *r = xt_plan_get(p);
    if (!f->json) plan_print(c, r, f->rows > 0 ? (int)f->rows : 20);
    fflush(stdout); /* each remedy is a compilation: the verdict does not wait for them */
    if ((!r->fits || f->remedies) && !f->no_remedies) n = plan_remedies(c, r, remedies, MOST_REMEDIES);
    if (f->html) code = plan_write_html(f->html, c, r, remedies, n);
    if (!code && f->json)
        plan_print_json(c, r, remedies, n);
    else if (!f->json)
        plan_print_remedies(c, r, remedies, n);
    xt_plan_free(p);
    return code;
}

static int choose(plan_case *c, const plan_flags *f) {
    if (f->row) return plan_row_print(c);
    bool several = f->max_batch || f->sweep || (c->mesh && strcmp(c->mesh, "auto") == 0);
    if (several && !c->model) {
        cli_fprintf(stderr,
                    "xtrain plan: --max-batch, --sweep and --mesh auto make the program anew, so they need a MODEL\n");
        return 2;
    }
    if (c->mesh && strcmp(c->mesh, "auto") == 0) return plan_mesh_auto(c, f->json);
    if (f->sweep) return plan_sweep(c, f->sweep, f->json);
    if (f->max_batch) return plan_max_batch(c, f->json);
    return show(c, f);
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A program or a shared object. */
static bool is_binary(const char *path) {
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    bool is = file && fread(magic, 1, 4, file) == 4 && memcmp(magic, "\177ELF", 4) == 0;
    if (file) fclose(file);
    return is;
}

static int wrong_value(const char *option, const char *given, const char *expected) {
    cli_fprintf(stderr, "xtrain plan: '%s' is no value for %s: %s; xtrain plan --help lists the options\n", given,
                option, expected);
    return 2;
}

static int run(int argc, char **argv) {
    plan_flags f = {.precision = "fp32"};
    plan_case c = {.topology = "cpu"};
    const cli_option table[] = {
        {"MODEL|PROGRAM", CLI_STRING, &f.model, NULL,
         "mnist, resnet18, resnet50, gpt2, gpt2-mini, gpt2-tiny, or a StableHLO file; after --: a program of yours "
         "with its "
         "arguments"},
        {"--topology", CLI_STRING, &c.topology, "NAME",
         "cpu, cpu:4, v4:2x2x1, v5e:2x2, v5p:2x2x2, v6e:4x4, tpu7x:2x2x1, cuda:h100, cuda:a100, ... (cpu)"},
        {"--mesh", CLI_STRING, &c.mesh, "AXES",
         "data=8,model=4: divides the step over the topology's devices; auto: compares meshes"},
        {"--fsdp", CLI_FLAG, &c.fsdp, NULL, "with --mesh: divides parameters and optimizer state over the data axis"},
        {"--batch", CLI_INT, &c.batch, "N", "samples a step and part of the data axis (default: the model's)"},
        {"--seq", CLI_INT, &c.seq, "N", "tokens a sample of a text model (64)"},
        {"--side", CLI_INT, &c.side, "N", "pixels a side of an image model (224)"},
        {"--experts", CLI_INT, &c.experts, "N", "feed-forward networks a block of a text model (1)"},
        {"--microbatches", CLI_INT, &c.microbatches, "N", "of a text model's batch, with an axis stage of --mesh (4)"},
        {"--pipeline", CLI_STRING, &c.pipeline, "NAME", "of micro-batches: gpipe or 1f1b (gpipe)"},
        {"--precision", CLI_STRING, &f.precision, "P", "fp32 or bf16"},
        {"--accumulate", CLI_INT, &c.accumulate, "K", "micro-batches an optimizer step (1)"},
        {"--checkpoint", CLI_FLAG, &c.checkpoint, NULL, "compute activations again in the backward pass (text models)"},
        {"--attention-tile", CLI_INT, &c.attention_tile, "N",
         "positions whose attention scores are in memory at a time, which divide --seq (all; text models)"},
        {"--offload", CLI_FLAG, &c.offload, NULL,
         "optimizer state in host memory (xt_optimizer_offload); a model's only"},
        {"--donate", CLI_FLAG, &c.donate, NULL, "a file's program: give inputs' memory to results of their type"},
        {"--limit", CLI_STRING, &f.limit, "BYTES", "memory of a device, as 15G (default: what the device has)"},
        {"--remedies", CLI_FLAG, &f.remedies, NULL, "try remedies even if it fits"},
        {"--no-remedies", CLI_FLAG, &f.no_remedies, NULL, "do not try remedies when it does not fit"},
        {"--max-batch", CLI_FLAG, &f.max_batch, NULL, "search the largest batch that fits"},
        {"--sweep", CLI_STRING, &f.sweep, "LISTS",
         "batch=8:64,topology=v4:2x2x1,v5e:2x2: one table of all combinations"},
        {"--full", CLI_FLAG, &f.full, NULL,
         "wait for the compiler to make code too (TPU: minutes for a large program): code size and flops are then its "
         "own"},
        {"--time-limit", CLI_DOUBLE, &c.time_limit, "SECONDS",
         "of one compilation by a foreign compiler: it is ended then, and what it said of memory is shown (300)"},
        {"--jobs", CLI_INT, &f.jobs, "N",
         "compilations at a time of remedies, meshes and sweeps (a core each, 4 at most)"},
        {"--row", CLI_FLAG, &f.row, NULL,
         "one line for scripts: row PEAK_BYTES COLLECTIVE_BYTES STEP_MS FITS, or failed WORDS"},
        {"--dump", CLI_STRING, &c.dump, "DIR", "keep the compiler's files there"},
        {"--html", CLI_STRING, &f.html, "FILE", "write a page with memory over the program's life"},
        {"--rows", CLI_INT, &f.rows, "N", "lines of buffers to print (20)"},
        {"--json", CLI_FLAG, &f.json, NULL, "one JSON object on the last line"},
    };
    int rest = argc;
    int code = cli_parse(
        argc, argv,
        "usage: xtrain plan MODEL|PROGRAM.mlir [options]\n"
        "       xtrain plan [options] -- ./train ARGS\n\n"
        "Says whether a training step fits a device that need not be here, what fills its memory and which line asked "
        "for it,\n"
        "how long a step may take, and what helps. TPU topologies need libtpu (xtrain doctor --install tpu), CUDA ones "
        "jax-cuda13-pjrt.\n",
        table, (int)(sizeof table / sizeof table[0]), &rest);
    if (code) return code - 1;
    const char *files[64] = {NULL};
    const char *tmp = getenv("TMPDIR");
    char dir[512], title[200] = "", names[256];
    xt_axis axes[XT_MESH_AXES + 1];
    snprintf(dir, sizeof dir, "%s/xtrain-rehearsal.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    c.files = files;
    c.title = title;
    c.bf16 = strcmp(f.precision, "bf16") == 0;
    c.quick = !f.full;
    c.jobs = f.jobs > 16 ? 16 : (int)f.jobs;
    c.model = f.model ? model_find(f.model) : NULL;
    if (!c.bf16 && strcmp(f.precision, "fp32") != 0)
        return wrong_value("--precision", f.precision, "a precision, fp32 or bf16, is expected");
    if (f.limit && !read_bytes(f.limit, &c.limit))
        return wrong_value("--limit", f.limit, "a size in bytes is expected, as 15G or 900M");
    if ((rest < argc || !c.model) &&
        (c.batch || c.seq || c.side || c.accumulate || c.experts || c.microbatches || c.pipeline || c.bf16 ||
         c.checkpoint || c.attention_tile || c.fsdp || c.offload)) {
        cli_fprintf(
            stderr,
            "xtrain plan: --batch, --seq, --side, --accumulate, --experts, --microbatches, --pipeline, "
            "--precision, --checkpoint, --attention-tile, --fsdp and --offload make a MODEL anew; a program has them "
            "from its own source and arguments\n");
        return 2;
    }
    if (rest < argc && f.model) {
        cli_fprintf(stderr, "xtrain plan: %s and a program of yours are two plans; give one of them\n", f.model);
        return 2;
    }
    if (c.mesh && strcmp(c.mesh, "auto") != 0 && !cli_mesh_parse(c.mesh, names, sizeof names, axes)) {
        cli_fprintf(
            stderr,
            "xtrain plan: --mesh %s: names and sizes are expected, as data=4,model=2 (a size of 0 takes what is "
            "left), or auto\n",
            c.mesh);
        return 2;
    }
    if (rest < argc) {
        write_command(argv + rest, title, sizeof title);
        int n = rehearse_program(argv + rest, c.topology, c.mesh != NULL, dir, files, 64);
        c.n_files = n > 0 ? n : 0;
        if (n < 0) code = -n;
    } else if (!c.model) {
        if (!f.model || !is_file(f.model)) {
            if (!f.model)
                cli_fprintf(
                    stderr,
                    "xtrain plan: plan what? a model (mnist, resnet18, resnet50, gpt2, gpt2-mini, gpt2-tiny), a "
                    "program's file, or -- ./train ARGS: xtrain plan mnist; --help lists the options\n");
            else
                cli_fprintf(stderr,
                            "xtrain plan: %s is neither a model (mnist, resnet18, resnet50, gpt2, gpt2-mini, "
                            "gpt2-tiny) nor a file; "
                            "xtrain plan --help\n",
                            f.model);
            return 2;
        }
        if (is_binary(f.model)) {
            bool object = cli_is_shared_object(f.model);
            cli_fprintf(
                stderr,
                "xtrain plan: %s is %s, not a StableHLO file; plan the program that trains: xtrain plan -- %s%s\n",
                f.model, object ? "a shared object" : "a program",
                object                 ? "xtrain fit "
                : strchr(f.model, '/') ? ""
                                       : "./",
                f.model);
            return 2;
        }
        snprintf(title, sizeof title, "%s", f.model);
        files[c.n_files++] = f.model;
    }
    if (c.model) {
        model_options asked = {.experts = c.experts,
                               .microbatches = c.microbatches,
                               .pipeline = c.pipeline,
                               .attention_tile = c.attention_tile,
                               .seq = plan_case_positions(&c)};
        char why[160];
        if (!model_settle(c.model, &asked, why, sizeof why)) {
            cli_fprintf(stderr, "xtrain plan: %s\n", why);
            return 2;
        }
    }
    if (c.checkpoint && c.model && !c.model->checkpointed) {
        cli_fprintf(stderr, "xtrain plan: %s has no blocks to checkpoint; gpt2, gpt2-mini and gpt2-tiny have\n",
                    c.model->name);
        return 2;
    }
    setenv("XT_SUMMARY", "off", 0);
    if (f.row) setenv("XT_POSTMORTEM", "off", 1); /* a worker of another plan, which may end it */
    if (!code) code = choose(&c, &f);
    if (rest < argc) remove_rehearsal(dir, files, c.n_files);
    return code;
}

const cli_command cli_plan = {"plan", "does a step fit a TPU, a GPU or this CPU, and what fills it", run};
