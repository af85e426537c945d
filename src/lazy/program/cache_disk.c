/* The compile cache on disk, shared by processes: one file a program, named by its key.
 *
 * It holds code that will be executed, so the folder must be ours alone: mode 0700, our owner, no parent that others
 * may write (sticky folders such as /tmp are fine). Files appear whole (temporary name, rename) and carry a checksum; a
 * damaged one is reported, removed, compiled again, so nobody waits until one is on the disk. XT_CACHE=readonly never
 * writes, XT_CACHE=off never looks. The total stays under XT_CACHE_BYTES: the files not used for longest go first. */
#include "base/file_place.h"
#include "base/private_file.h"
#include "lazy/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct header {
    char magic[8]; /* "xtcache1" */
    hash128 key, checksum;
    uint64_t size;
} header;
static const char MAGIC[8] = {'x', 't', 'c', 'a', 'c', 'h', 'e', '1'};

enum { CACHE_OFF, CACHE_READ, CACHE_WRITE };

static int mode(void) {
    const char *m = env_get("XT_CACHE");
    if (!m || strcmp(m, "on") == 0) return CACHE_WRITE;
    if (strcmp(m, "off") == 0) return CACHE_OFF;
    if (strcmp(m, "readonly") == 0) return CACHE_READ;
    log_once("XT_CACHE", XT_SEV_WARNING, "XT_CACHE=%s is not on, readonly or off; the cache stays off", m);
    return CACHE_OFF;
}

static char *folder(void) {
    const char *dir = env_get("XT_CACHE_DIR");
    if (dir) return base_strdup(dir);
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg) return path_join(xdg, "xtrain");
    return home && *home ? path_join(home, ".cache/xtrain") : NULL;
}

/* The folder without links, which are looked at once: *dir becomes that. NULL, or why it is not to be trusted. */
static const char *settle(char **dir) {
    char real[PATH_MAX];
    const char *why = private_path_problem(*dir, 077, real);
    char *settled = why ? NULL : base_strdup(real);
    if (!settled) return why ? why : "memory has run out";
    base_free(*dir);
    *dir = settled;
    return NULL;
}

char *lazy_cache_folder(char *why, size_t n) {
    char *dir = mode() == CACHE_OFF ? NULL : folder();
    const char *bad = mode() == CACHE_OFF ? "off (XT_CACHE)"
                      : !dir              ? "there is no home folder to put it into"
                      : file_exists(dir)  ? settle(&dir)
                                          : NULL;
    snprintf(why, n, "%s%s", bad ? bad : "", bad && dir ? ": it is not used" : "");
    return dir;
}

static bool make_and_settle(char **dir) {
    xt_status s = mode() == CACHE_WRITE ? file_make_dirs(*dir, 0700) : NULL;
    const char *why = s                                            ? status_message(s)
                      : mode() == CACHE_READ && !file_exists(*dir) ? "it does not exist"
                                                                   : settle(dir);
    if (why) log_msg(XT_SEV_WARNING, "the compile cache %s is not used: %s", *dir, why);
    bool safe = !why;
    xt_status_free(s);
    return safe;
}

/* The cache folder, made and checked once for each XT_CACHE_DIR; NULL when the cache is off or not to be trusted. */
static const char *checked_folder(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *asked, *dir;
    static bool bad;
    pthread_mutex_lock(&lock);
    char *now = mode() == CACHE_OFF ? NULL : folder();
    if (now && (!asked || strcmp(now, asked) != 0)) {
        base_free(asked);
        base_free(dir);
        asked = now;
        now = NULL;
        dir = base_strdup(asked);
        bad = !dir || !make_and_settle(&dir);
    }
    base_free(now);
    pthread_mutex_unlock(&lock);
    return mode() == CACHE_OFF || bad ? NULL : dir;
}

char *lazy_tuning_folder(void) {
    const char *dir = mode() == CACHE_WRITE ? checked_folder() : NULL;
    char *tuning = dir ? path_join(dir, "autotune") : NULL;
    xt_status s = tuning ? file_make_dirs(tuning, 0700) : NULL;
    if (s) {
        log_once("autotune", XT_SEV_WARNING, "what the compiler measures is not kept: %s", status_message(s));
        base_free(tuning);
        tuning = NULL;
    }
    xt_status_free(s);
    return tuning;
}

static char *file_of(hash128 key) {
    const char *dir = checked_folder();
    if (!dir) return NULL;
    char name[40];
    hash_hex(key, name);
    strcat(name, ".xtc");
    return path_join(dir, name);
}

const char *lazy_cache_damage(const char *data, size_t n, hash128 key) {
    header h;
    if (n < sizeof h) return "it is cut off";
    memcpy(&h, data, sizeof h);
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0) return "it is no cache file of this version";
    if (!hash_equal(h.key, key)) return "it holds another program";
    if (h.size != n - sizeof h) return "its size is wrong";
    if (!hash_equal(h.checksum, hash_bytes(data + sizeof h, h.size, key))) return "its checksum is wrong";
    return NULL;
}

xt_status lazy_disk_load(hash128 key, device_client *client, device_exec **out) {
    *out = NULL;
    char *path = file_of(key), *data = NULL;
    size_t n = 0;
    if (!path) return NULL;
    if (!file_exists(path)) {
        base_free(path);
        return NULL;
    }
    xt_status s = file_read_all(path, &data, &n);
    const char *why = s ? status_message(s) : lazy_cache_damage(data, n, key);
    if (!why) {
        s = device_deserialize(client, data + sizeof(header), n - sizeof(header), out);
        if (s) why = status_message(s);
    }
    if (why) {
        log_msg(XT_SEV_WARNING, "cache file %s is not usable: %s; the program is compiled again", path, why);
        if (mode() == CACHE_WRITE) unlink(path);
        *out = NULL;
    } else
        utimensat(AT_FDCWD, path, NULL, 0); /* used now: the size cap drops what was not used for longest */
    xt_status_free(s);
    base_free(data);
    base_free(path);
    return NULL;
}

void lazy_disk_store(hash128 key, device_exec *e) {
    if (mode() != CACHE_WRITE) return;
    char *path = file_of(key), *data = NULL;
    size_t n = 0;
    if (!path) return;
    xt_status s = device_serialize(e, &data, &n);
    if (!s) {
        header h = {.key = key, .checksum = hash_bytes(data, n, key), .size = n};
        memcpy(h.magic, MAGIC, sizeof h.magic);
        file_writer *w = NULL;
        s = file_writer_open(path, &w);
        if (!s) {
            s = file_writer_write(w, &h, sizeof h);
            if (!s) s = file_writer_write(w, data, n);
            if (s)
                file_writer_abandon(w);
            else
                s = file_writer_place(w);
        }
        if (!s) lazy_cache_enforce_cap(checked_folder(), (int64_t)(sizeof(header) + n));
    }
    /* A plugin without serialisation is no fault; a full disk is said once. */
    if (s && status_code(s) != XT_UNIMPLEMENTED)
        log_once("cache write", XT_SEV_WARNING, "the compile cache could not be written: %s", status_message(s));
    xt_status_free(s);
    base_free(data);
    base_free(path);
}
