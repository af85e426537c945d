/* xtrain cache: the compile cache on disk. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xtrain/doctor.h>

static const char usage[] = "usage: xtrain cache ls | verify | prune [options]\n\n"
                            "The programs that were compiled lie in a folder (XT_CACHE_DIR, default ~/.cache/xtrain), "
                            "one file each, and are loaded by later starts.\n"
                            "ls lists them, the last used first; verify reads each and checks it; prune removes "
                            "damaged files and those that the options name.\n";

typedef struct listing {
    bool json, verify;
    int64_t files, bytes, damaged;
} listing;

static void when(int64_t unix_s, char *out, size_t n) {
    time_t t = (time_t)unix_s;
    struct tm tm;
    if (!localtime_r(&t, &tm) || !strftime(out, n, "%Y-%m-%d %H:%M:%S", &tm)) snprintf(out, n, "?");
}

static bool show(void *user, const xt_cache_file *f) {
    listing *l = user;
    char used[32];
    when(f->used, used, sizeof used);
    l->bytes += f->bytes;
    l->damaged += f->problem != NULL;
    if (l->json) {
        cli_printf("%s{\"name\": \"%s\", \"bytes\": %lld, \"used\": %lld", l->files ? ", " : "{\"files\": [", f->name,
                   (long long)f->bytes, (long long)f->used);
        if (l->verify) cli_printf(f->problem ? ", \"problem\": \"%s\"" : ", \"problem\": null", f->problem);
        cli_printf("}");
    } else if (!l->verify || f->problem)
        cli_printf("%-40s %12lld  %s%s%s\n", f->name, (long long)f->bytes, used, f->problem ? "  " : "",
                   f->problem ? f->problem : "");
    l->files++;
    return true;
}

static int list(bool verify, bool json) {
    listing l = {.json = json, .verify = verify};
    xt_doctor_folders where;
    xt_doctor_look(&where);
    xt_status s = xt_cache_each(verify, show, &l);
    if (s && xt_status_code(s) == XT_NOT_FOUND && where.cache[0]) { /* nothing was compiled yet: an empty list */
        if (!json) cli_text(stdout, xt_status_message(s), strlen(xt_status_message(s)));
        if (!json) cli_printf("\n");
        xt_status_free(s);
        s = NULL;
    } else if (!s && !json) {
        cli_printf("%lld programs, %.1f MiB in %s", (long long)l.files, (double)l.bytes / 1048576, where.cache);
        if (!verify) cli_printf("\n");
    }
    if (s) return cli_fail_status("cache", s);
    if (json)
        cli_printf("%s], \"folder\": \"%s\", \"bytes\": %lld, \"damaged\": %lld}\n", l.files ? "" : "{\"files\": [",
                   where.cache, (long long)l.bytes, (long long)l.damaged);
    else if (verify && l.damaged)
        cli_printf(
            ": %lld damaged; `xtrain cache prune` removes them, and they are compiled again when they are needed\n",
            (long long)l.damaged);
    else if (verify && l.files)
        cli_printf(": all sound\n");
    else if (verify)
        cli_printf("\n");
    return l.damaged > 0;
}

static int prune(bool json, const char *max, double days, bool all) {
    xt_cache_prune_opts o = XT_OPTS(xt_cache_prune_opts, .older_days = days, .damaged = true);
    int64_t files, bytes;
    if (all)
        o.max_bytes = XT_CACHE_NONE;
    else if (max) {
        char *end;
        double v = strtod(max, &end), unit = 1;
        static const char units[] = "KMGT";
        const char *u = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
        for (const char *k = units; u && k <= u; k++) unit *= 1024;
        if (end == max || !(v >= 0) || (*end && !u)) {
            cli_fprintf(stderr, "xtrain cache: --max %s: a size is expected (300M, 2G)\n", max);
            return 2;
        }
        o.max_bytes = v * unit >= 1 ? (int64_t)(v * unit) : XT_CACHE_NONE;
    }
    xt_status s = xt_cache_prune_opt(&files, &bytes, o);
    if (s && xt_status_code(s) == XT_NOT_FOUND) { /* nothing there, nothing to remove */
        xt_status_free(s);
        s = NULL;
    }
    if (s) return cli_fail_status("cache", s);
    if (json)
        cli_printf("{\"removed\": %lld, \"bytes\": %lld}\n", (long long)files, (long long)bytes);
    else
        cli_printf("%lld files removed, %.1f MiB\n", (long long)files, (double)bytes / 1048576);
    return 0;
}

static int run(int argc, char **argv) {
    const char *what = NULL, *max = NULL;
    double days = -1;
    bool json = false, all = false;
    const cli_option options[] = {
        {"ACTION", CLI_STRING, &what, NULL, "ls, verify or prune"},
        {"--max", CLI_STRING, &max, "SIZE",
         "prune: the files not used for longest go until so much is left (300M, 2G)"},
        {"--older-than", CLI_DOUBLE, &days, "DAYS", "prune: files not used for so many days go"},
        {"--all", CLI_FLAG, &all, NULL, "prune: everything goes"},
        {"--json", CLI_FLAG, &json, NULL, "one JSON object"}};
    int code = cli_parse(argc, argv, usage, options, (int)(sizeof options / sizeof options[0]), NULL);
    if (code) return code - 1;
    bool is_prune = what && strcmp(what, "prune") == 0, is_ls = what && strcmp(what, "ls") == 0,
         is_verify = what && strcmp(what, "verify") == 0;
    if (!is_prune && !is_ls && !is_verify) {
        cli_fprintf(stderr, "xtrain cache: %s%s%s; ls, verify or prune is expected\n", what ? "'" : "no action",
                    what ? what : "", what ? "' is no action" : "");
        return 2;
    }
    if (!is_prune && (max || all || days >= 0)) {
        cli_fprintf(stderr, "xtrain cache %s: --max, --older-than and --all belong to prune\n", what);
        return 2;
    }
    if (days < 0 && days != -1) {
        cli_fprintf(stderr, "xtrain cache: --older-than %g: not negative\n", days);
        return 2;
    }
    return is_prune ? prune(json, max, days, all) : list(is_verify, json);
}

const cli_command cli_cache = {"cache", "compiled programs on disk: ls, verify, prune", run};
