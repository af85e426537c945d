/* See checkpoint_listed.h. A path is trusted up to the saver's folder, which the program chose; the rest is walked part
 * by part from that folder's descriptor, so neither ".." nor a symbolic link leads out of it, whatever is exchanged
 * while we look. */
#include "train/checkpoint_listed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/look.h"
#include "base/private_file.h"
#include "base/shown.h"
#include "train/checkpoint.h"
#include "train/checkpoint_name.h"
#include "train/checkpoint_shards.h"

static bool ends_in_ckpt(const char *path) {
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".ckpt") == 0 && path[n - 6] != '/';
}

/* What no saver ever wrote, wherever it points. */
static const char *malformed(const char *path) {
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        if (*c < 0x20 || *c == 0x7f) return "control characters are in its name";
    if (strlen(path) >= PATH_MAX) return "its name is longer than names are";
    return ends_in_ckpt(path) ? NULL : "its name does not end in .ckpt";
}

static bool leads_up(const char *below) {
    for (const char *p = below; *p;) {
        size_t n = strcspn(p, "/");
        if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.')) return true;
        p += n + (p[n] == '/');
    }
    return false;
}

/* How long NAME of NAME-v12 is; as a whole where it has no such ending of the saver's. */
static size_t without_version(const char *name, size_t n) {
    size_t digits = n;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
    bool is = digits < n && name[digits] != '0' && digits > 2 && strncmp(name + digits - 2, "-v", 2) == 0;
    return is ? digits - 2 : n;
}

/* NAME.ckpt, NAME-v1.ckpt, ... of the saver's pattern. */
static bool made_from(const char *pattern, bool keys, const char *below) {
    char *name = base_strndup(below, strlen(below) - strlen(".ckpt"));
    bool is = name && checkpoint_name_matches(pattern, keys, name);
    if (name && !is) {
        size_t n = strlen(name), shorter = without_version(name, n);
        name[shorter] = 0;
        is = shorter < n && checkpoint_name_matches(pattern, keys, name);
    }
    base_free(name);
    return is;
}

/* The folder in which path[root..] ends, for the *at calls; -1 with errno. *out_name: the last part. */
static int folder_of(const char *path, size_t root, const char **out_name) {
    char *top = root ? base_strndup(path, root) : base_strdup(path[0] == '/' ? "/" : ".");
    int fd = top ? open(top, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    base_free(top);
    const char *p = path + root;
    for (p += strspn(p, "/"); fd >= 0; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        char part[NAME_MAX + 1];
        if (!p[n]) break;
        if (n >= sizeof part) errno = ENAMETOOLONG;
        snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : 0), p);
        int inner = n < sizeof part ? openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        int error = errno;
        close(fd);
        fd = inner;
        errno = error;
        p += n;
    }
    *out_name = p;
    return fd;
}

/* A trainer's: with its position and its checksum. The header is read, not the data: it is about whose file this is,
 * not whether it is whole. */
static const char *not_ours(int folder, const char *name) {
    int fd = file_open_regular(folder, name, NULL);
    if (fd < 0) return file_open_problem(errno);
    st_file *f = NULL;
    xt_status s = st_open_fd(fd, name, &f);
    bool ours = !s && st_find(f, CHECKPOINT_CHECKSUM) && st_get_meta(f, "global_step") && st_get_meta(f, "position");
    bool damaged = !s || status_code(s) == XT_DATA_LOSS; /* else whatever it may be, it could not be read */
    xt_status_free(s);
    st_close(f);
    return ours ? NULL : damaged ? "it is no checkpoint of a trainer" : "it cannot be read";
}

static listed_kind own_kind(const char *path, size_t root, const char **out_why) {
    const char *name;
    int folder = folder_of(path, root, &name);
    int missing = folder < 0 ? errno : faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
    *out_why = folder < 0 ? file_open_problem(missing == ENOTDIR ? ELOOP : missing)
               : missing  ? strerror(missing)
                          : not_ours(folder, name);
    if (folder >= 0) close(folder);
    return missing == ENOENT ? LISTED_GONE : *out_why ? LISTED_REFUSED : LISTED_OWN;
}

listed_kind checkpoint_listed(const char *folder, const char *pattern, bool keys, const char *path,
                              const char **out_why) {
    size_t n = folder ? strlen(folder) : 0;
    bool below = n && strncmp(path, folder, n) == 0 && (path[n] == '/' || folder[n - 1] == '/');
    *out_why = malformed(path);
    if (*out_why) return LISTED_REFUSED;
    if (!below) {
        struct stat st; /* the user may have moved it behind a link: it is only ever read */
        if (stat(path, &st) != 0 && file_is_absent(errno)) return LISTED_GONE;
        if (stat(path, &st) != 0)
            *out_why = strerror(errno);
        else if (!S_ISREG(st.st_mode))
            *out_why = "it is no regular file";
        return *out_why ? LISTED_REFUSED : LISTED_ELSEWHERE;
    }
    if (leads_up(path + n))
        *out_why = "its name leads out of the folder";
    else if (!made_from(pattern, keys, path + n + strspn(path + n, "/")))
        *out_why = "it is no name that this xt_model_checkpoint gives";
    return *out_why ? LISTED_REFUSED : own_kind(path, n, out_why);
}

void checkpoint_listed_tell(const char *path, const char *why, int n) {
    enum { SHOWN = 3 };
    if (n > SHOWN || world_get()->rank != 0) return;
    str name = STR_INIT;
    str_append_name(&name, path);
    if (n == SHOWN)
        log_msg(XT_SEV_WARNING, "xt_model_checkpoint: further files that the checkpoint lists are not used either");
    else
        log_msg(XT_SEV_WARNING,
                "xt_model_checkpoint: the checkpoint lists the file \"%s\", which is not used: %s; it is left alone",
                str_cstr(&name), why);
    str_free(&name);
}

const char *checkpoint_remove(const char *path, size_t root) {
    const char *name, *why;
    int folder = folder_of(path, root, &name);
    if (folder < 0) return errno == ENOENT ? NULL : file_open_problem(errno);
    if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        why = NULL; /* the user was faster */
    else
        why = not_ours(folder, name);
    char *shards = why ? NULL : shards_of(folder, name);
    if (!why && unlinkat(folder, name, 0) != 0 && errno != ENOENT) why = strerror(errno);
    if (!why && shards) shards_remove(folder, shards);
    base_free(shards);
    close(folder);
    return why;
}
