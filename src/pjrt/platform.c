/* What a client calls itself when nobody says so: the name under which PJRT_NAMES_AND_LIBRARY_PATHS
 * ("name:path,name:path") lists this library. JAX looks for its rules by that name, so as "cpu" the plugin gets what
 * JAX has for its own CPU (donation, LAPACK's calls) without a Python package. */
#include "pjrt/face.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

const char face_platform[] = "xtrain_cpu";

static bool same_file(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void face_own_platform(size_t n, char *out) {
    Dl_info info;
    snprintf(out, n, "%s", face_platform);
    const char *p = getenv("PJRT_NAMES_AND_LIBRARY_PATHS");
    if (!p || !dladdr((const void *)face_platform, &info) || !info.dli_fname) return;
    for (size_t len; *p; p += len + (p[len] == ',')) {
        len = strcspn(p, ",");
        const char *colon = memchr(p, ':', len);
        size_t name = colon ? (size_t)(colon - p) : 0;
        if (name == 0 || name >= n) continue;
        char *path = base_strndup(colon + 1, len - name - 1);
        bool ours = path && same_file(path, info.dli_fname);
        base_free(path);
        if (!ours) continue;
        snprintf(out, n, "%.*s", (int)name, p);
        return;
    }
}
