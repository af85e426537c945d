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
static bool put_text(FILE *f, const char *text, const places *p) {
    const struct {
        const char *key, *value;
    } words[] = {{"@NAME@", p->name}, {"@LIB@", p->lib}, {"@INCLUDE@", p->include}, {"@XTRAIN@", p->xtrain}};
    while (*text) {
        size_t k = 0, n = sizeof words / sizeof words[0];
        while (k < n && strncmp(text, words[k].key, strlen(words[k].key)) != 0) k++;
        if (k < n) {
            fputs(words[k].value, f);
            text += strlen(words[k].key);
        } else
            fputc(*text++, f);
    }
    return !ferror(f);
}

static int write_project(const char *dir, const places *p) {
    char own[160];
    snprintf(own, sizeof own, "%s.c", p->name);
    const struct {
        const char *file, *text;
    } files[] = {{own, embed_new_model_c_in},
                 {"main.c", embed_new_main_c_in},
                 {"Makefile", embed_new_Makefile_in},
                 {"README.md", embed_new_README_md_in},
                 {".gitignore", embed_new_gitignore_in}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", dir, files[i].file) >= (int)sizeof path)
            return cli_fail("new", "%s: the path is too long", dir);
        FILE *f = fopen(path, "wx");
        bool ok = f && put_text(f, files[i].text, p);
        if (f) ok = fclose(f) == 0 && ok;
        if (!ok) return cli_fail("new", "%s cannot be written: %s", path, strerror(errno));
    }
    return 0;
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
        fprintf(stderr, "xtrain new: which name? `xtrain new mymodel` makes a folder mymodel\n");
        return 2;
    }
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", given);
    while (strlen(dir) > 1 && dir[strlen(dir) - 1] == '/') dir[strlen(dir) - 1] = '\0';
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    places p = {.name = ""};
    if (!*name || strspn(name, allowed) != strlen(name) || *name == '-' || strlen(name) >= sizeof p.name ||
        strcmp(name, "main") == 0) {
        fprintf(stderr,
                "xtrain new: '%s' cannot name a model: letters, digits, - and _ are expected, not - first, and not "
                "main, the program's file\n",
                name);
        return 2;
    }
    snprintf(p.name, sizeof p.name, "%s", name);
    find_places(&p);
    if (mkdir(dir, 0777) != 0) {
        if (errno != EEXIST) return cli_fail("new", "%s cannot be made: %s", dir, strerror(errno));
        if (!is_empty(dir))
            return cli_fail("new", "%s exists already and is no empty folder; choose another name", dir);
    }
    if ((code = write_project(dir, &p))) return code;
    printf("%s has a model (%s.c), a program (main.c), a Makefile and a README.\n"
           "  cd %s && make && ./%s\n"
           "  xtrain fit ./%s.so --max_epochs 3\n",
           dir, name, dir, name, name);
    return 0;
}

const cli_command cli_new = {"new", "a starting project: model, program, Makefile", run};
