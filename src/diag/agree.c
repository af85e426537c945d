/* A program and the library it runs with must belong together: headers of another version lay out option structs
 * differently, and a second copy of the library in the process has tensors of its own. Both are found when the objects
 * are loaded. Other headers refuse every call from the first on, before it reads a struct; a second copy is told as the
 * first error of whoever records. */
#include "diag/diag.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static char problem[900]; /* the first one found; written before main, or under dlopen's lock */

static const char *own_path(void) {
    Dl_info info;
    return dladdr((const void *)(uintptr_t)&own_path, &info) && info.dli_fname ? info.dli_fname : "libxtrain";
}

void xt_built_with(int version, const char *where) {
    enum { THIS = XT_VERSION_MAJOR * 10000 + XT_VERSION_MINOR * 100 + XT_VERSION_PATCH };
    /* of the text, which lies in the object that has the headers: a constructor that ends in this call is gone
     * from the stack */
    Dl_info info;
    if (version == THIS || problem[0]) return;
    const char *object = where && dladdr(where, &info) && info.dli_fname ? info.dli_fname : "the program";
    snprintf(problem, sizeof problem,
             "%s was built against the headers of xtrain %d.%d.%d (%s), but runs with %s of version %s: compile it "
             "with that library's headers, or let it find the library of its own",
             object, version / 10000, version / 100 % 100, version % 100, where ? where : "?", own_path(), XT_VERSION);
    lazy_refuses = true;
}

/* Copies of the library know of each other by the environment of the process: their symbols may be hidden. Each says
 * where it is when it is loaded, so the last one is found there, by those loaded before too. */
static const char loaded[] = "XT_LIBRARY_LOADED";

static void look_for_copies(void) {
    const char *other = getenv(loaded);
    char *end;
    long pid = other ? strtol(other, &end, 10) : 0;
    void *there = pid == (long)getpid() && *end == ':' ? (void *)(uintptr_t)strtoull(end + 1, &end, 16) : NULL;
    const char *path = there && *end == ':' ? end + 1 : NULL;
    Dl_info info; /* after an exec or a dlclose the address means nothing any more */
    bool real = path && there != (void *)problem && dladdr(there, &info) && info.dli_fname &&
                strncmp(info.dli_fname, path, strlen(info.dli_fname)) == 0;
    if (real && !problem[0])
        snprintf(problem, sizeof problem,
                 "two copies of libxtrain are in this process: %s and %s (version %s); link the program and its shared "
                 "libraries of models with one libxtrain, and load no copy by its path",
                 path, own_path(), XT_VERSION);
}

xt_status diag_disagreement(void) {
    look_for_copies();
    return problem[0] ? status_new(XT_FAILED_PRECONDITION, NULL, "%s", problem) : NULL;
}

__attribute__((constructor)) static void at_load(void) {
    char mine[600];
    snprintf(mine, sizeof mine, "%d:%p:%s (version %s)", (int)getpid(), (void *)problem, own_path(), XT_VERSION);
    look_for_copies();
    env_set(loaded, mine);
    lazy_refuse_when(diag_disagreement);
}
