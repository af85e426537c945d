/* xtrain new: a starting project. Its Makefile takes the tree or installation that this command belongs to while that
 * is there, and pkg-config's otherwise. */
#include "cli/cli.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of cli/new, which the build embeds: @NAME@, @LIB@, @INCLUDE@ and @XTRAIN@ are replaced. */
extern const char embed_new_model_c_in[], embed_new_main_c_in[], embed_new_Makefile_in[], embed_new_README_md_in[],
    embed_new_gitignore_in[];

/* --- where xtrain is --- */
typedef struct places {
    char name[128], lib[PATH_MAX], include[PATH_MAX], xtrain[PATH_MAX];
} places;

static void find_places(places *p) {
    Dl_info info;
    char real[PATH_MAX];
    void *in_library = dlsym(RTLD_DEFAULT, "xt_version");
    ssize_t n = readlink("/proc/self/exe", p->xtrain, sizeof p->xtrain - 1);
    p->xtrain[n > 0 ? n : 0] = '\0';
    if (!in_library || !dladdr(in_library, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return;
    char *slash = strrchr(real, '/');
    if (slash) *slash = '\0';
    snprintf(p->lib, sizeof p->lib, "%s", real);
    while ((slash = strrchr(real, '/'))) { /* build/ beside include/, PREFIX/lib/ARCH below PREFIX/include */
        *slash = '\0';
        char header[PATH_MAX + 32];
        snprintf(header, sizeof header, "%s/include/xtrain/xtrain.h", real);
        if (access(header, R_OK) != 0) continue;
        if (snprintf(p->include, sizeof p->include, "%s/include", real) >= (int)sizeof p->include) p->include[0] = '\0';
        return;
    }
}

/* --- files --- */
static void put_text(FILE *f, const char *text, const places *p) {
    const struct {
        const char *key, *value;
    } words[] = {{"@NAME@", p->name}, {"@LIB@", p->lib}, {"@INCLUDE@", p->include}, {"@XTRAIN@", p->xtrain}};
    while (*text) {
        size_t k = 0, n = sizeof words / sizeof words[0];
        while (k < n && strncmp(text, words[k].key, strlen(words[k].key)) != 0) k++;
        if (k < n) {
            cli_raw(f, words[k].value, strlen(words[k].value));
            text += strlen(words[k].key);
        } else
            cli_raw(f, text++, 1);
    }
}

static xt_status write_text(const char *path, const char *template, const places *p) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (f) put_text(f, template, p);
    bool whole = f && !ferror(f);
    if (f) whole = fclose(f) == 0 && whole;
    xt_status s = whole ? xt_write_file(path, text, n) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    free(text);
    return s;
}

enum { FILES = 5 };
typedef struct project {
    char dir[PATH_MAX], stage[PATH_MAX + 32]; /* where it goes, and where it is made */
    bool exists; /* an empty folder is there: it stays, with its owner and mode, whoever works in it */
    char own[160];
    const char *names[FILES];
} project;

static bool path_of(const char *dir, const char *name, char *out, size_t n) {
    return snprintf(out, n, "%s/%s", dir, name) < (int)n;
}

/* The first `moved` of its files are in the folder itself. */
static void remove_project(const project *r, int moved) {
    char path[2 * PATH_MAX];
    for (int i = 0; i < FILES; i++)
        if (path_of(i < moved ? r->dir : r->stage, r->names[i], path, sizeof path)) unlink(path);
    rmdir(r->stage);
}

static xt_status write_stage(const project *r, const places *p) {
    static const char *const texts[FILES] = {embed_new_model_c_in, embed_new_main_c_in, embed_new_Makefile_in,
                                             embed_new_README_md_in, embed_new_gitignore_in};
    char path[2 * PATH_MAX];
    for (int i = 0; i < FILES; i++) {
        if (!path_of(r->stage, r->names[i], path, sizeof path))
            return xt_status_new(XT_INVALID_ARGUMENT, "%s: the path is too long", r->dir);
        XT_TRY(write_text(path, texts[i], p));
    }
    return NULL;
}

/* A folder that was there is filled file by file: neither is one that is a mount point, or the working folder of the
 * user's shell, replaced by another. */
static int move_files(const project *r, int *moved) {
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    for (*moved = 0; *moved < FILES; ++*moved)
        if (!path_of(r->stage, r->names[*moved], from, sizeof from) ||
            !path_of(r->dir, r->names[*moved], to, sizeof to) || rename(from, to) != 0)
            return -1;
    return rmdir(r->stage);
}

/* The whole project or nothing of it: on a full disk half of one would stand in the way of the next attempt. */
static int write_project(project *r, const places *p) {
    const char *format = r->exists ? "%s/.new.%ld" : "%s.new.%ld";
    int moved = 0;
    snprintf(r->stage, sizeof r->stage, format, r->dir, (long)getpid());
    bool made = false;
    xt_status s = xt_make_folder(r->stage, &made);
    if (!s && !made) s = xt_status_new(XT_ALREADY_EXISTS, "%s cannot be made: %s is there", r->dir, r->stage);
    if (s) return cli_fail_status("new", s);
    s = write_stage(r, p);
    if (!s && (r->exists ? move_files(r, &moved) : rename(r->stage, r->dir)) != 0)
        s = xt_status_new(XT_UNAVAILABLE, "%s cannot be made: %s", r->dir, strerror(errno));
    if (!s) return 0;
    remove_project(r, moved);
    return cli_fail_status("new", s);
}

static bool is_empty(const char *dir) {
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));) empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (d) closedir(d);
    return empty;
}

static int run(int argc, char **argv) {
    const char *given = NULL;
    const cli_option options[] = {
        {"NAME", CLI_STRING, &given, NULL, "folder to make; its last part names the model (letters, digits, - and _)"}};
    int code = cli_parse(
        argc, argv,
        "usage: xtrain new NAME\n\n"
        "Makes a folder with a small model, a program around it, a Makefile and a README that say how to go on.\n",
        options, 1, NULL);
    if (code) return code - 1;
    if (!given) {
        cli_fprintf(stderr, "xtrain new: which name? `xtrain new mymodel` makes a folder mymodel\n");
        return 2;
    }
    project r = {.exists = false};
    char *dir = r.dir;
    snprintf(dir, sizeof r.dir, "%s", given);
    while (strlen(dir) > 1 && dir[strlen(dir) - 1] == '/') dir[strlen(dir) - 1] = '\0';
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    places p = {.name = ""};
    if (!*name || strspn(name, allowed) != strlen(name) || *name == '-' || strlen(name) >= sizeof p.name ||
        strcmp(name, "main") == 0) {
        cli_fprintf(stderr,
                    "xtrain new: '%s' cannot name a model: letters, digits, - and _ are expected, not - first, and not "
                    "main, the program's file\n",
                    name);
        return 2;
    }
    snprintf(p.name, sizeof p.name, "%s", name);
    find_places(&p);
    struct stat st;
    r.exists = lstat(dir, &st) == 0;
    if (r.exists && !is_empty(dir))
        return cli_fail("new", "%s exists already and is no empty folder; choose another name", dir);
    snprintf(r.own, sizeof r.own, "%s.c", name);
    memcpy(r.names, (const char *[FILES]){r.own, "main.c", "Makefile", "README.md", ".gitignore"}, sizeof r.names);
    if ((code = write_project(&r, &p))) return code;
    cli_printf("%s has a model (%s.c), a program (main.c), a Makefile and a README.\n"
               "  cd %s && make && ./%s\n"
               "  xtrain fit ./%s.so --max_epochs 3\n",
               dir, name, dir, name, name);
    return 0;
}

const cli_command cli_new = {"new", "a starting project: model, program, Makefile", run};
