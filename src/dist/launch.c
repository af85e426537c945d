/* xt_launch, the program launcher behind `xtrain launch`, and the process behind .module and .symbol. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpus.h"
#include "coll/coll.h"
#include "dist/dist_int.h"
#include "dist/restart.h"
#include "dist/supervise.h"
#include "lazy/lazy.h"

extern char **environ;

/* Says what went wrong, frees it, and gives the exit code of a refusal. */
static int refuse(const char *who, xt_status st) {
    log_msg(XT_SEV_ERROR, "%s", status_message(status_context(st, "%s", who)));
    xt_status_free(st);
    return 1;
}

int run_here(xt_rank_fn fn, void *arg) {
    xt_status st = rank_env_adopt();
    if (st) return refuse("xt_launch", st);
    restart_check();
    int code = fn(world_get()->rank, arg);
    xt_status pending = lazy_pending();
    if (code || !pending) return code;
    lazy_tell_pending();
    if (!lazy_error_handled())
        log_msg(XT_SEV_ERROR, "rank %d returned 0 with a pending error: %s", world_get()->rank,
                lazy_error_ends() ? "the one above" : status_message(pending));
    return 1;
}

static xt_status load_symbol(const char *module, const char *symbol, xt_rank_fn *out) {
    XT_TRY(symbol_check(module, symbol));
    str path = STR_INIT; /* a bare name in this folder is meant as a file, which dlopen would not look for */
    str_printf(&path, "%s%s", !strchr(module, '/') && file_exists(module) ? "./" : "", module);
    void *handle = dlopen(str_cstr(&path), RTLD_NOW | RTLD_GLOBAL);
    str_free(&path);
    if (!handle) return status_new(XT_NOT_FOUND, NULL, "loading module '%s': %s", module, dlerror());
    *(void **)out = dlsym(handle, symbol);
    return *out ? NULL
                : status_new(XT_NOT_FOUND, NULL, "module '%s' exports no function '%s': %s", module, symbol, dlerror());
}

/* The `xtrain` command that belongs to this library: in its build folder, in an installed tree, or in PATH. */
static xt_status find_command(char **out) {
    static const char *const beside[] = {"/xtrain", "/../bin/xtrain", "/../../bin/xtrain"};
    static const char here; /* any address inside this library or program */
    Dl_info info = {0};
    str path = STR_INIT, tried = STR_INIT;
    if (!dladdr(&here, &info) || !info.dli_fname) info.dli_fname = "";
    const char *slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; slash && i < BASE_COUNT(beside); i++) {
        str_clear(&path);
        str_printf(&path, "%.*s%s", (int)(slash - info.dli_fname), info.dli_fname, beside[i]);
        if (access(str_cstr(&path), X_OK) == 0) goto found;
        str_printf(&tried, "%s, ", str_cstr(&path));
    }
    const char *dirs = getenv("PATH");
    for (size_t n; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        str_clear(&path);
        str_printf(&path, "%.*s/xtrain", (int)n, dirs);
        if (n && access(str_cstr(&path), X_OK) == 0) goto found;
    }
    xt_status st = status_new(XT_NOT_FOUND, NULL,
                              "the xtrain command, which runs fresh ranks, was not found (looked at %sand in PATH); "
                              "install it beside the library",
                              str_cstr(&tried));
    str_free(&path);
    str_free(&tried);
    return st;
found:
    str_free(&tried);
    *out = path.data;
    return NULL;
}

static xt_status launch_module(const xt_launch_opts *o, const launch_plan *plan, int *out_code) {
    char *command = NULL;
    str name = STR_INIT;
    XT_TRY(find_command(&command));
    str_printf(&name, "%s:%s", o->module, o->symbol);
    char *argv[] = {command, "__rank", name.data, (char *)o->arg_text, NULL};
    spawn_job job = {
        .plan = plan, .who = "xt_launch", .timeout = o->timeout, .argv = argv, .max_restarts = o->max_restarts};
    xt_status st = name.failed ? status_oom(strlen(o->module), "a module's name") : spawn_ranks(&job, out_code);
    base_free(command);
    str_free(&name);
    return st;
}

static xt_status check_arguments(const xt_src *src, xt_rank_fn fn, const void *arg, const xt_launch_opts *o) {
    if (!(o->timeout > 0 || o->timeout == -1))
        return status_new(XT_INVALID_ARGUMENT, src,
                          ".timeout = %g: seconds above 0 are expected (default -1: XT_TIMEOUT, else 300)", o->timeout);
    if (o->module && fn) return status_new(XT_INVALID_ARGUMENT, src, "both a function and .module are given; give one");
    if (o->max_restarts < 0)
        return status_new(XT_INVALID_ARGUMENT, src, ".max_restarts is %d: 0 or more is expected", o->max_restarts);
    if (!o->module && !fn)
        return status_new(XT_INVALID_ARGUMENT, src, "no function to run: give one, or .module and .symbol");
    if (!o->module && (o->symbol || o->arg_text))
        return status_new(XT_INVALID_ARGUMENT, src, ".symbol and .arg_text need .module");
    if (o->module && arg)
        return status_new(XT_INVALID_ARGUMENT, src,
                          "arg points into this process, which fresh processes cannot see; pass text by .arg_text");
    return o->module ? status_at(symbol_check(o->module, o->symbol), src) : NULL;
}

static xt_status launch(const xt_src *src, xt_rank_fn fn, void *arg, const xt_launch_opts *o, int *out_code) {
    const world *w = world_get();
    launch_plan plan = {.n = 1};
    XT_TRY(check_arguments(src, fn, arg, o));
    if (w->problem) return status_new(XT_INVALID_ARGUMENT, src, "%s", w->problem);
    if (!w->launched) XT_TRY(plan_ranks(src, o->nprocs, o->device, &plan));
    if (plan.n == 1) { /* also a started rank: it is one already, and starts no more */
        if (o->module) {
            XT_TRY(status_at(load_symbol(o->module, o->symbol, &fn), src));
            arg = (void *)o->arg_text;
        }
        if (o->device && !w->launched) env_set("XT_DEVICE", o->device);
        if (!w->launched && env_get("XT_LOG_DIR"))
            log_msg(XT_SEV_WARNING,
                    "xt_launch: XT_LOG_DIR keeps nothing here: the one rank is this process, which writes to its own "
                    "stdout; xtrain launch --log-dir DIR keeps what it prints");
        *out_code = run_here(fn, arg);
        return NULL;
    }
    if (o->module) return status_at(launch_module(o, &plan, out_code), src);
    XT_TRY(guard_fork(src, plan.n, fn));
    spawn_job job = {.plan = &plan,
                     .who = "xt_launch",
                     .timeout = o->timeout,
                     .fn = fn,
                     .arg = arg,
                     .max_restarts = o->max_restarts};
    return status_at(spawn_ranks(&job, out_code), src);
}

int xt_launch_opt(const xt_src *src, xt_rank_fn fn, void *arg, xt_launch_opts o) {
    int code = 0;
    xt_status st = launch(src, fn, arg, &o, &code);
    return st ? refuse("xt_launch", st) : code;
}

int xt_run_symbol(const char *module_symbol, const char *arg_text) {
    const char *colon = strrchr(module_symbol, ':');
    xt_rank_fn fn = NULL;
    if (!colon || colon == module_symbol || !colon[1])
        return refuse("xtrain __rank",
                      status_new(XT_INVALID_ARGUMENT, NULL, "'%s': MODULE:SYMBOL is expected", module_symbol));
    char *module = base_strndup(module_symbol, (size_t)(colon - module_symbol));
    xt_status st = module ? load_symbol(module, colon + 1, &fn) : status_oom(strlen(module_symbol), "a module's name");
    base_free(module);
    return st ? refuse("xtrain __rank", st) : run_here(fn, (void *)arg_text);
}

/* --- programs --- */

/* execvp's search, done before the fork so that a misspelt name is one error and not one per rank. */
xt_status launch_find_program(const char *name, char **out) {
    const char *dirs = getenv("PATH");
    if (strchr(name, '/')) {
        if (access(name, X_OK) != 0) return status_errno("running", name);
        *out = base_strdup(name);
        return *out ? NULL : status_oom(strlen(name), "a program's name");
    }
    for (size_t n; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        str path = STR_INIT;
        str_printf(&path, "%.*s/%s", (int)n, dirs, name);
        if (n && access(str_cstr(&path), X_OK) == 0) {
            *out = path.data;
            return NULL;
        }
        str_free(&path);
    }
    if (file_exists(name))
        return status_new(XT_NOT_FOUND, NULL, "running '%s': not in PATH; the file in this folder is ./%s", name, name);
    return status_new(XT_NOT_FOUND, NULL, "running '%s': not found in PATH", name);
}

/* In this process's place: a rank alone needs no launcher, unless its output is to be kept or it is to be started
 * again; and a started rank starts no more. */
static xt_status run_in_place(const char *program, char *const *argv, const launch_plan *plan) {
    env_list env = {0};
    char **merged = NULL;
    xt_status st = plan ? rank_env(plan, "", 0, 0, &env) : NULL;
    if (!st && !(merged = env_merge(&env))) st = status_oom(4096, "a rank's environment");
    if (!st) {
        fflush(NULL);
        cpus_unbind();
        execve(program, argv, merged);
        st = status_errno("running", program);
    }
    base_free(merged);
    env_free(&env);
    return st;
}

static xt_status check_hosts_options(char *const *argv, const xt_launch_on_hosts_opts *o) {
    if (!argv || !argv[0])
        return status_new(XT_INVALID_ARGUMENT, NULL, "no program to run: xtrain launch --hostfile F -- PROGRAM ARGS");
    if (o->max_restarts < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "--max-restarts %d: 0 or more is expected", o->max_restarts);
    if (o->n < 0) return status_new(XT_INVALID_ARGUMENT, NULL, "-n %d: a number of ranks is expected", o->n);
    if (!o->hosts == !o->hostfile)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s; a list of hosts comes from --host or from --hostfile",
                          o->hosts ? "--host and --hostfile are both given" : "no hosts are given");
    if (o->min_hosts < 0 || o->max_hosts < o->min_hosts)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "from %d to %d hosts: a least number, and a largest that is not below it, are expected",
                          o->min_hosts, o->max_hosts);
    return NULL;
}

static xt_status launch_on_hosts(char *const *argv, const xt_launch_on_hosts_opts *o, int *out_code) {
    host_list hosts = {0};
    XT_TRY(check_hosts_options(argv, o));
    xt_status st = o->hosts ? hosts_parse(o->hosts, &hosts) : hosts_read(o->hostfile, &hosts);
    supervise_job job = {.argv = argv,
                         .hosts = &hosts,
                         .choice = {o->n, o->min_hosts, o->max_hosts},
                         .elastic = o->min_hosts > 0,
                         .max_restarts = o->max_restarts};
    if (!st) st = supervise(&job, out_code);
    hosts_free(&hosts);
    return st;
}

static xt_status launch_program(int n, char *const *argv, const char *hosts, int max_restarts, int *out_code) {
    const world *w = world_get();
    launch_plan plan;
    char *program = NULL, **args = NULL;
    size_t argc = 0;
    if (!argv || !argv[0])
        return status_new(XT_INVALID_ARGUMENT, NULL, "no program to run: xtrain launch -n N -- PROGRAM ARGS");
    if (w->problem) return status_new(XT_INVALID_ARGUMENT, NULL, "%s", w->problem);
    if (max_restarts < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "--max-restarts %d: 0 or more is expected", max_restarts);
    if (hosts && !w->launched)
        return launch_on_hosts(argv, &(xt_launch_on_hosts_opts){.n = n, .hosts = hosts, .max_restarts = max_restarts},
                               out_code);
    XT_TRY(launch_find_program(argv[0], &program));
    xt_status st = w->launched ? NULL : plan_program(n, &plan);
    if (!st && (w->launched || (plan.n == 1 && !max_restarts && !env_get("XT_LOG_DIR"))))
        st = run_in_place(program, argv, w->launched ? NULL : &plan);
    else if (!st) {
        while (argv[argc]) argc++;
        args = base_calloc(argc + 1, sizeof *args);
        for (size_t i = 0; args && i < argc; i++) args[i] = i ? argv[i] : program;
        spawn_job job = {.plan = &plan, .who = "xtrain launch", .argv = args, .max_restarts = max_restarts};
        st = args ? spawn_ranks(&job, out_code) : status_oom(argc * sizeof *args, "a program's arguments");
    }
    base_free(args);
    base_free(program);
    return st;
}

int xt_launch_program(int n, char *const *argv, const char *hosts, int max_restarts) {
    int code = 0;
    xt_status st = launch_program(n, argv, hosts, max_restarts, &code);
    return st ? refuse("xtrain launch", st) : code;
}

int xt_launch_on_hosts_opt(char *const *argv, xt_launch_on_hosts_opts o) {
    const world *w = world_get();
    int code = 0;
    xt_status st = w->launched  ? launch_program(0, argv, NULL, 0, &code) /* a rank starts no more */
                   : w->problem ? status_new(XT_INVALID_ARGUMENT, NULL, "%s", w->problem)
                                : launch_on_hosts(argv, &o, &code);
    return st ? refuse("xtrain launch", st) : code;
}
