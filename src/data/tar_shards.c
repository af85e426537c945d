/* Tar shards as a dataset: opening reads the headers of all members, which are grouped into samples by basename as
 * WebDataset groups them; sample i is then read where it lies, by any thread. A shard is opened for each sample, so
 * that any number of them may be there; one that has changed since it was indexed is an error. */
#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"
#include "base/shown.h"
#include "data/tar_shards.h"
#include "format/image.h"
#include "format/room.h"
#include "format/tar.h"

typedef struct member {
    int64_t at, size;
    uint32_t name; /* of the table of extensions */
} member;
typedef struct sample {
    int64_t first; /* member; the next sample's is one's end */
    size_t key; /* in `keys` */
    int32_t shard;
} sample;
typedef struct shard {
    char *path;
    int64_t bytes, first; /* first: sample */
    struct timespec changed;
} shard;
typedef struct shards {
    shard *all;
    size_t n, cap;
    sample *samples;
    size_t n_samples, cap_samples;
    member *members;
    size_t n_members, cap_members;
    char **names; /* extensions, few */
    size_t n_names, cap_names;
    str keys; /* one after the other, each with its 0 */
    int64_t left_out, unnamed;
    xt_tar_opts o;
    char *image, *label; /* copies of o's */
} shards;

static void shards_free(void *user) {
    shards *t = user;
    for (size_t i = 0; i < t->n; i++) base_free(t->all[i].path);
    for (size_t i = 0; i < t->n_names; i++) base_free(t->names[i]);
    base_free(t->all);
    base_free(t->samples);
    base_free(t->members);
    base_free(t->names);
    str_free(&t->keys);
    base_free(t->image);
    base_free(t->label);
    if (t->o.free_user) t->o.free_user(t->o.user);
    base_free(t);
}

static const char *key_of(const shards *t, const sample *s) {
    return t->keys.data + s->key;
}

/* "shard-3.tar, sample train/000123: ..." */
static xt_status at_sample(const shards *t, size_t i, xt_status e) {
    str key = STR_INIT;
    if (!e) return NULL;
    str_append_name(&key, key_of(t, &t->samples[i]));
    e = status_context(e, "%s, sample %s", t->all[t->samples[i].shard].path, str_cstr(&key));
    str_free(&key);
    return e;
}

static int64_t end_of(const shards *t, size_t i) {
    return i + 1 < t->n_samples ? t->samples[i + 1].first : (int64_t)t->n_members;
}

/* Is `name` one of "jpg;jpeg;png"? */
static bool among(const char *name, const char *list) {
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == ';' || p[n] == 0)) return true;
    return false;
}

/* The member of sample i that `list` names; -1: none. */
static int64_t find(const shards *t, size_t i, const char *list) {
    for (int64_t k = t->samples[i].first; k < end_of(t, i); k++)
        if (among(t->names[t->members[k].name], list)) return k;
    return -1;
}

int xt_tar_find(const xt_tar_sample *s, const char *names) {
    for (int k = 0; s && names && k < s->n; k++)
        if (among(s->names[k], names)) return k;
    return -1;
}

/* --- the index --- */
/* Extensions are few, so that a walk finds one; -1: no memory. */
static int64_t name_id(shards *t, const char *ext) {
    for (size_t i = t->n_names; i-- > 0;)
        if (strcmp(t->names[i], ext) == 0) return (int64_t)i;
    char *copy = base_strdup(ext);
    if (copy && VEC_PUSH(t->names, t->n_names, t->cap_names, copy)) return (int64_t)t->n_names - 1;
    base_free(copy);
    return -1;
}

static xt_status begin_sample(shards *t, const char *name, size_t key_n) {
    sample s = {(int64_t)t->n_members, t->keys.len, (int32_t)t->n - 1};
    str_appendn(&t->keys, name, key_n);
    str_putc(&t->keys, 0);
    if (t->keys.failed || !VEC_PUSH(t->samples, t->n_samples, t->cap_samples, s))
        return status_oom(key_n, "the index of shards");
    return NULL;
}

/* The key is the path up to the basename's first dot, the extension what is behind it. */
static xt_status take(void *user, const tar_member *m) {
    enum { MOST_NAMES = 4096 };
    shards *t = user;
    const char *slash = strrchr(m->name, '/'), *base = slash ? slash + 1 : m->name, *dot = strchr(base, '.');
    if (!dot || dot == base || !dot[1]) {
        t->unnamed++;
        return NULL;
    }
    size_t key_n = (size_t)(dot - m->name);
    const sample *last = t->n_samples ? &t->samples[t->n_samples - 1] : NULL;
    bool same = last && last->shard == (int32_t)t->n - 1 && strlen(key_of(t, last)) == key_n &&
                memcmp(key_of(t, last), m->name, key_n) == 0;
    if (!same) XT_TRY(begin_sample(t, m->name, key_n));
    char *ext = base_strdup(dot + 1);
    if (!ext) return status_oom(key_n, "the index of shards");
    for (char *p = ext; *p; p++) *p = (char)tolower((unsigned char)*p);
    int64_t id = name_id(t, ext);
    base_free(ext);
    if (id < 0) return status_oom(key_n, "the index of shards");
    if (id >= MOST_NAMES)
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: more than %d kinds of files (what is behind a name's first dot): these are no samples",
                          t->all[t->n - 1].path, MOST_NAMES);
    for (size_t k = (size_t)t->samples[t->n_samples - 1].first; k < t->n_members; k++)
        if (t->members[k].name == (uint32_t)id)
            return at_sample(t, t->n_samples - 1, status_new(XT_DATA_LOSS, NULL, "it has two files .%s", t->names[id]));
    member one = {m->at, m->size, (uint32_t)id};
    return VEC_PUSH(t->members, t->n_members, t->cap_members, one) ? NULL
                                                                   : status_oom(sizeof one, "the index of shards");
}

static xt_status index_shard(shards *t, const char *path) {
    struct stat st;
    int fd;
    int64_t left_out = 0;
    XT_TRY(file_open_input(path, false, &fd, &st));
    shard s = {base_strdup(path), (int64_t)st.st_size, (int64_t)t->n_samples, st.st_mtim};
    xt_status e = NULL;
    if (!s.path || !VEC_PUSH(t->all, t->n, t->cap, s)) {
        base_free(s.path);
        e = status_oom(sizeof s, "the list of shards");
    } else
        e = tar_each(path, fd, s.bytes, take, t, &left_out);
    close(fd);
    t->left_out += left_out;
    return e;
}

/* --- names with braces --- */
typedef struct expansion {
    shards *t;
    int64_t n; /* so far */
} expansion;
static xt_status expand(expansion *e, const str *done, const char *rest);

static xt_status expand_with(expansion *e, const str *done, const char *part, size_t n, const char *rest) {
    str next = STR_INIT;
    str_appendn(&next, str_cstr(done), done->len);
    str_appendn(&next, part, n);
    xt_status s = next.failed ? status_oom(n, "the name of a shard") : expand(e, &next, rest);
    str_free(&next);
    return s;
}

/* "000..123" at p, which ends at `close`; false: it is no range. */
static bool range_of(const char *p, const char *close, int64_t *lo, int64_t *hi, int *width) {
    char *end;
    if (!isdigit((unsigned char)*p)) return false;
    *lo = strtoll(p, &end, 10);
    *width = (int)(end - p);
    if (end[0] != '.' || end[1] != '.' || !isdigit((unsigned char)end[2])) return false;
    *hi = strtoll(end + 2, &end, 10);
    return end == close && *width <= 18;
}

static xt_status expand(expansion *e, const str *done, const char *rest) {
    enum { MOST_SHARDS = 1 << 20 };
    const char *open = strchr(rest, '{'), *close = open ? strchr(open, '}') : NULL;
    int64_t lo, hi;
    int width;
    if (!open) {
        if (e->n++ >= MOST_SHARDS)
            return status_new(XT_INVALID_ARGUMENT, NULL, "the pattern names more than %d shards", MOST_SHARDS);
        str path = STR_INIT;
        str_append(&path, str_cstr(done));
        str_append(&path, rest);
        xt_status s = path.failed ? status_oom(path.len, "the name of a shard") : index_shard(e->t, str_cstr(&path));
        str_free(&path);
        return s;
    }
    if (!close || close == open + 1 || (memchr(open + 1, '{', (size_t)(close - open - 1))))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: its braces are not \"{000..123}\" or \"{a,b}\" (none within others)", rest);
    str before = STR_INIT;
    str_append(&before, str_cstr(done));
    str_appendn(&before, rest, (size_t)(open - rest));
    xt_status s = before.failed ? status_oom(before.len, "the name of a shard") : NULL;
    if (range_of(open + 1, close, &lo, &hi, &width)) {
        if (hi < lo) s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: the range ends before it begins", rest);
        for (int64_t k = lo; !s && k <= hi; k++) {
            char number[32];
            int n = snprintf(number, sizeof number, "%0*lld", open[1] == '0' ? width : 1, (long long)k);
            s = expand_with(e, &before, number, (size_t)n, close + 1);
        }
    } else
        for (const char *p = open + 1; !s && p;) {
            const char *comma = memchr(p, ',', (size_t)(close - p)), *to = comma ? comma : close;
            s = expand_with(e, &before, p, (size_t)(to - p), close + 1);
            p = comma ? comma + 1 : NULL;
        }
    str_free(&before);
    return s;
}

/* "one::another" */
static xt_status expand_all(shards *t, const char *pattern) {
    expansion e = {t, 0};
    xt_status s = NULL;
    for (const char *p = pattern; !s && p;) {
        const char *next = strstr(p, "::");
        char *one = next ? base_strndup(p, (size_t)(next - p)) : base_strdup(p);
        str none = STR_INIT;
        s = one ? expand(&e, &none, one) : status_oom(strlen(p), "the name of a shard");
        base_free(one);
        p = next ? next + 2 : NULL;
    }
    return s;
}

/* --- a sample --- */
static xt_status open_shard(const shard *s, int *out_fd) {
    struct stat st;
    XT_TRY(file_open_input(s->path, false, out_fd, &st));
    bool same = (int64_t)st.st_size == s->bytes && st.st_mtim.tv_sec == s->changed.tv_sec &&
                st.st_mtim.tv_nsec == s->changed.tv_nsec;
    if (same) return NULL;
    close(*out_fd);
    return status_new(XT_DATA_LOSS, NULL, "%s has changed since it was opened: shards must stay as they are", s->path);
}

/* With a 0 behind; base_free. */
static xt_status read_member(const shard *s, int fd, const member *m, char **out) {
    *out = NULL;
    XT_TRY(room_for((uint64_t)m->size, "a member", s->path));
    char *data = base_malloc((size_t)m->size + 1);
    if (!data) return status_oom((size_t)m->size, s->path);
    xt_status e = tar_read(s->path, fd, m->at, data, (size_t)m->size);
    data[e ? 0 : m->size] = 0;
    *out = data;
    return e;
}

static xt_status read_label(const char *text, int64_t *out) {
    char *end;
    while (isspace((unsigned char)*text)) text++;
    *out = strtoll(text, &end, 10);
    const char *rest = end;
    while (isspace((unsigned char)*rest)) rest++;
    if (end != text && !*rest) return NULL;
    str shown = STR_INIT;
    str_append_name(&shown, text);
    xt_status s = status_new(XT_DATA_LOSS, NULL, "its label is \"%s\", which is no whole number; .decode reads others",
                             str_cstr(&shown));
    str_free(&shown);
    return s;
}

static xt_status picture(const shards *t, size_t i, int fd, void *x) {
    const shard *s = &t->all[t->samples[i].shard];
    const member *m = &t->members[find(t, i, t->image)];
    char *data = NULL, name[64];
    uint8_t *rgb = NULL;
    int width, height;
    snprintf(name, sizeof name, "its .%.40s", t->names[m->name]);
    xt_status e = read_member(s, fd, m, &data);
    if (!e) e = image_decode_rgb(name, data, (size_t)m->size, &width, &height, &rgb);
    if (!e) e = image_scale_and_cut(rgb, width, height, t->o.side, x);
    base_free(rgb);
    base_free(data);
    return e;
}

static xt_status label(const shards *t, size_t i, int fd, void *y) {
    char *data = NULL;
    xt_status e = read_member(&t->all[t->samples[i].shard], fd, &t->members[find(t, i, t->label)], &data);
    if (!e) e = read_label(data, y);
    base_free(data);
    return e;
}

/* All members of a sample, for the user's function. */
static xt_status decode(const shards *t, size_t i, int fd, void *x, void *y) {
    int64_t first = t->samples[i].first;
    size_t n = (size_t)(end_of(t, i) - first);
    char **data = base_calloc(n, sizeof *data);
    const char **names = base_calloc(n, sizeof *names);
    size_t *sizes = base_calloc(n, sizeof *sizes);
    xt_status e = data && names && sizes ? NULL : status_oom(n, "a sample");
    for (size_t k = 0; k < n && !e; k++) {
        const member *m = &t->members[(size_t)first + k];
        names[k] = t->names[m->name];
        sizes[k] = (size_t)m->size;
        e = read_member(&t->all[t->samples[i].shard], fd, m, &data[k]);
    }
    xt_tar_sample s = {key_of(t, &t->samples[i]), (int)n, names, (const void *const *)data, sizes};
    if (!e) e = lazy_returned(t->o.decode(t->o.user, &s, x, y), "its decode");
    for (size_t k = 0; data && k < n; k++) base_free(data[k]);
    base_free(data);
    base_free(names);
    base_free(sizes);
    return e;
}

static xt_status tar_get(void *user, int64_t i, void *x, void *y) {
    const shards *t = user;
    size_t at = (size_t)i;
    int fd;
    XT_TRY(open_shard(&t->all[t->samples[at].shard], &fd));
    xt_status e = t->o.decode ? decode(t, at, fd, x, y) : picture(t, at, fd, x);
    if (!e && !t->o.decode && t->label && y) e = label(t, at, fd, y);
    close(fd);
    return at_sample(t, at, e);
}

/* --- opening --- */
/* Known now and not within an epoch: what a sample lacks. */
static xt_status check_samples(const shards *t) {
    for (size_t i = 0; i < t->n_samples && !t->o.decode; i++) {
        const char *lacks = find(t, i, t->image) < 0               ? t->image
                            : t->label && find(t, i, t->label) < 0 ? t->label
                                                                   : NULL;
        if (lacks)
            return at_sample(
                t, i,
                status_new(XT_NOT_FOUND, NULL,
                           "it has no file .%s; .image and .label say which are the picture and its label, "
                           ".label = NULL: there are none, and .decode reads anything else",
                           lacks));
    }
    return NULL;
}

static xt_status open_all(shards *t, const char *pattern) {
    const xt_tar_opts *o = &t->o;
    if (!pattern || !*pattern) return status_new(XT_INVALID_ARGUMENT, NULL, "a pattern of shards is needed");
    if (!o->decode && (!o->image || o->side < 1 || o->side > 1 << 14))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          ".side = %d, and %s; a side from 1 to %d and the picture's extensions are needed, or .decode "
                          "with .x",
                          o->side, o->image ? "an .image" : "no .image", 1 << 14);
    if (!o->decode && (o->x.dtype || o->y.dtype))
        return status_new(XT_INVALID_ARGUMENT, NULL, ".x and .y are what .decode makes, and there is no .decode");
    t->image = o->image ? base_strdup(o->image) : NULL;
    t->label = o->label ? base_strdup(o->label) : NULL;
    if ((o->image && !t->image) || (o->label && !t->label)) return status_oom(64, "a dataset");
    XT_TRY(expand_all(t, pattern));
    if (t->n_samples == 0)
        return status_new(
            XT_NOT_FOUND, NULL,
            "%s has no samples: files that are named KEY.EXTENSION are expected, those of a sample side by "
            "side",
            pattern);
    return check_samples(t);
}

static void tell_left_out(const shards *t, const char *pattern) {
    if (t->left_out || t->unnamed)
        log_msg(
            XT_SEV_INFO,
            "%s: %lld folder%s, links or devices and %lld names without an extension or with a leading dot are left "
            "out",
            pattern, (long long)t->left_out, t->left_out == 1 ? "" : "s", (long long)t->unnamed);
}

xt_dataset *xt_tar_dataset_opt(const xt_src *src, const char *pattern, xt_tar_opts given) {
    SRC_CALLED_FROM(src);
    shards *t = base_calloc(1, sizeof *t);
    if (!t) {
        if (given.free_user) given.free_user(given.user);
        return data_fail(status_oom(sizeof *t, "a dataset"), NULL);
    }
    t->keys = (str)STR_INIT;
    t->o = given;
    xt_status s = open_all(t, pattern);
    if (s) {
        shards_free(t);
        return data_fail(status_context(s, "xt_tar_dataset"), NULL);
    }
    tell_left_out(t, pattern);
    xt_spec x = {XT_F32, {3, t->o.side, t->o.side}}, y = t->label ? (xt_spec){XT_I64, {0}} : (xt_spec){0};
    return data_make((xt_dataset_desc){.count = (int64_t)t->n_samples,
                                       .x = t->o.decode ? t->o.x : x,
                                       .y = t->o.decode ? t->o.y : y,
                                       .get = tar_get,
                                       .free_user = shards_free,
                                       .user = t,
                                       .name = pattern});
}

int64_t xt_tar_shards(const xt_dataset *d) {
    return d && d->d.get == tar_get ? (int64_t)((const shards *)d->d.user)->n : 0;
}

int64_t tar_shard_first(const xt_dataset *d, int64_t k) {
    const shards *t = d->d.user;
    return (size_t)k < t->n ? t->all[k].first : (int64_t)t->n_samples;
}
