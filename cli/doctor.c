/* xtrain doctor: which plugins, devices and folders there are, what is missing and the command that gets it; --install
 * runs that command. */
#include "cli/cli.h"
#include "cli/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xtrain/doctor.h>

static const char *bytes(int64_t v, char *buf, size_t n) {
    if (v < 0)
        snprintf(buf, n, "unknown");
    else if (v >= 1 << 30)
        snprintf(buf, n, "%.1f GiB", (double)v / (1 << 30));
    else
        snprintf(buf, n, "%.1f MiB", (double)v / (1 << 20));
    return buf;
}

static void print_plugin(const xt_plugin_report *p) {
    char a[32], b[32];
    cli_printf("%-8s %s\n", p->device, p->found ? p->path : "no plugin");
    if (!p->found) {
        cli_printf("         %s\n", p->problem);
    } else if (!p->loads) {
        cli_printf("         does not load: %s\n", p->problem);
    } else {
        cli_printf("         PJRT %d.%d, StableHLO %lld.%lld.%lld", p->api_major, p->api_minor,
                   (long long)p->stablehlo[0], (long long)p->stablehlo[1], (long long)p->stablehlo[2]);
        if (p->opens) {
            cli_printf("; platform %s, %d device%s of kind %s", p->platform, p->devices, p->devices == 1 ? "" : "s",
                       p->kind);
            if (p->memory_limit > 0)
                cli_printf(", %s each (%s in use)", bytes(p->memory_limit, a, sizeof a),
                           bytes(p->memory_in_use, b, sizeof b));
            cli_printf("\n");
        } else
            cli_printf("\n         no device to run on: %s\n", p->problem);
        if (p->missing[0]) cli_printf("         libraries that were not found: %s\n", p->missing);
        if (!p->opens && strcasecmp(p->device, "TPU") == 0)
            cli_printf(
                "         xtrain plan can compile for TPUs all the same: xtrain plan gpt2 --topology v4:2x2x1\n");
        if (!p->opens && strcasecmp(p->device, "CUDA") == 0)
            cli_printf(
                "         xtrain plan can compile for GPUs all the same: xtrain plan gpt2 --topology cuda:h100\n");
    }
    if (!p->found && p->install[0])
        cli_printf("         to install: %s\n"
                   "         or: xtrain doctor --install %s\n",
                   p->install,
                   strcasecmp(p->device, "TPU") == 0    ? "tpu"
                   : strcasecmp(p->device, "CUDA") == 0 ? "cuda"
                                                        : "xla_cpu");
}

static void print_folders(const xt_doctor_folders *f) {
    char a[32];
    cli_printf("host     %lld cores, %s of memory\n", (long long)f->host_cores, bytes(f->host_memory, a, sizeof a));
    if (f->cache[0])
        cli_printf("cache    %s: %lld programs, %s\n", f->cache, (long long)f->cache_files,
                   bytes(f->cache_bytes, a, sizeof a));
    if (f->cache_problem[0]) cli_printf("cache    %s\n", f->cache_problem);
    cli_printf("plugins  %s (xtrain doctor --install puts packages there)\n", f->plugins);
}

static void print_gpus(void) {
    const char *why;
    gpu *g = calloc(GPUS_MOST, sizeof *g);
    int n = g ? gpus_look(g, &why) : 0;
    gpus_print(stdout, g, n, 0);
    if (g && !n && why) cli_printf("GPUs     none: %s\n", why);
    free(g);
}

static void key_text(const char *key, const char *value) {
    cli_printf(", \"%s\": \"%s\"", key, value);
}

static void print_json(const xt_plugin_report *p, int n, const xt_doctor_folders *f) {
    cli_printf("{\"version\": \"%s\", \"plugins\": [", xt_version());
    for (int i = 0; i < n; i++, p++) {
        cli_printf("%s{\"device\": \"%s\", \"found\": %s, \"loads\": %s, \"usable\": %s, \"devices\": %d, \"pjrt\": "
                   "[%d, %d], \"stablehlo\": "
                   "[%lld, %lld, %lld], \"memory_limit\": %lld, \"memory_in_use\": %lld",
                   i ? ", " : "", p->device, p->found ? "true" : "false", p->loads ? "true" : "false",
                   p->opens ? "true" : "false", p->devices, p->api_major, p->api_minor, (long long)p->stablehlo[0],
                   (long long)p->stablehlo[1], (long long)p->stablehlo[2], (long long)p->memory_limit,
                   (long long)p->memory_in_use);
        key_text("path", p->path);
        key_text("platform", p->platform);
        key_text("kind", p->kind);
        key_text("problem", p->problem);
        key_text("missing", p->missing);
        key_text("install", p->found ? "" : p->install);
        cli_printf("}");
    }
    cli_printf("], \"cores\": %lld, \"host_memory\": %lld, \"cache_files\": %lld, \"cache_bytes\": %lld",
               (long long)f->host_cores, (long long)f->host_memory, (long long)f->cache_files,
               (long long)f->cache_bytes);
    key_text("cache", f->cache);
    key_text("cache_problem", f->cache_problem);
    key_text("plugins_folder", f->plugins);
    cli_printf("}\n");
}

/* Asks, then lets pip put the package into a folder of its own below xtrain's. */
static int install(const char *device, bool yes) {
    char package[64], folder[512], answer[16] = "";
    const char *all = getenv("YES");
    if (!xt_doctor_package(device, package, folder))
        return cli_fail("doctor", "there is nothing to install for '%s'; tpu, cuda and xla_cpu are known", device);
    cli_printf("This downloads the package %s with pip (hundreds of megabytes) into %s\n", package, folder);
    if (!yes && !(all && *all)) {
        cli_printf("Go on? [y/N] ");
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
            return cli_fail("doctor", "nothing was installed; --yes installs without asking");
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("python3", "python3", "-m", "pip", "install", "--upgrade", "--target", folder, package, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return cli_fail("doctor", "pip could not be run");
    if (WEXITSTATUS(status) == 127)
        return cli_fail("doctor",
                        "python3 was not found; it is needed to fetch packages (Debian: apt-get install python3-pip)");
    if (WEXITSTATUS(status) != 0)
        return cli_fail(
            "doctor",
            "pip failed with exit code %d; is there a network, and pip (Debian: apt-get install python3-pip)?",
            WEXITSTATUS(status));
    xt_plugin_report p;
    xt_doctor_plugin(device, &p);
    print_plugin(&p);
    return p.loads ? 0 : 1;
}

static int run(int argc, char **argv) {
    static const char *const usual[] = {"CPU", "TPU", "CUDA", "XLA_CPU"};
    const char *device = NULL, *package = NULL;
    bool json = false, yes = false;
    const cli_option table[] = {
        {"--device", CLI_STRING, &device, "D",
         "only this one: CPU, TPU, CUDA, XLA_CPU or the path of a PJRT plugin; exit 1 when it cannot be used"},
        {"--install", CLI_STRING, &package, "NAME",
         "tpu, cuda or xla_cpu: fetches the plugin into xtrain's own folder by pip, after asking"},
        {"--yes", CLI_FLAG, &yes, NULL, "install without asking (YES=1 does the same)"},
        {"--json", CLI_FLAG, &json, NULL, "one JSON object on the last line"},
    };
    int code = cli_parse(argc, argv,
                         "usage: xtrain doctor [options]\n\n"
                         "Says what this machine can train and plan on, what is missing and how to get it.\n",
                         table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    if (package) return install(package, yes);
    xt_plugin_report p[4];
    xt_doctor_folders f;
    int n = device ? 1 : 4;
    bool usable = false;
    if (!json && !device) cli_printf("xtrain %s\n", xt_version());
    for (int i = 0; i < n; i++) {
        xt_doctor_plugin(device ? device : usual[i], &p[i]);
        if (!json) print_plugin(&p[i]);
        usable |= p[i].opens;
    }
    xt_doctor_look(&f);
    if (json)
        print_json(p, n, &f);
    else if (!device) {
        print_gpus();
        print_folders(&f);
    }
    return usable ? 0 : 1;
}

const cli_command cli_doctor = {"doctor", "what this machine can train and plan on, and what is missing", run};
