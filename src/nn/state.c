/* Saving and loading modules as safetensors. Loading checks everything before it changes anything. */
#include "base/handle.h"
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

/* What names within a child begin with in its root: "" or "h.3."; base_free. NULL without memory. */
static char *child_prefix(const xt_module *m) {
    size_t n = strlen(m->path);
    char *text = base_malloc(n + 2);
    if (text) snprintf(text, n + 2, "%s%s", m->path, n ? "." : "");
    return text;
}

/* The name within a child; NULL when it is not of it. */
static const char *within(const char *name, const char *child) {
    size_t n = strlen(child);
    return strncmp(name, child, n) == 0 ? name + n : NULL;
}

typedef struct save {
    const char *child; /* what the names of the module's tensors begin with, where it is another's child */
    const char *prefix, *transposed;
    st_set *set; /* NULL: another rank's */
    xt_status failed; /* the first error of what waits */
} save;

/* A matrix of the module that the file has the other way round. */
static bool is_turned(const char *pattern, int rank, const char *name) {
    return pattern && rank == 2 && nn_matches(pattern, name);
}

static xt_status declare(const save *o, st_set *w, const char *name, const ir_type *t) {
    const int64_t turned[2] = {t->rank == 2 ? t->dims[1] : 0, t->rank == 2 ? t->dims[0] : 0};
    str full = STR_INIT;
    str_printf(&full, "%s%s", o->prefix, name);
    xt_status s = st_set_declare(w, str_cstr(&full), t->dtype, (int)t->rank,
                                 is_turned(o->transposed, (int)t->rank, name) ? turned : t->dims);
    str_free(&full);
    return s;
}

/* Takes `data` over. */
static xt_status write_data(const save *o, st_set *w, const char *name, const ir_type *t, char *data) {
    size_t n = ir_type_bytes(t);
    xt_status s = is_turned(o->transposed, (int)t->rank, name)
                      ? nn_turn(&data, t->dims[0], t->dims[1], xt_dtype_size(t->dtype))
                      : NULL;
    if (!s) s = st_set_data(w, data, n);
    base_free(data);
    return s;
}

static xt_status read_whole(const nn_entry *e, char **out) {
    size_t n = ir_type_bytes(e->type);
    char *data = base_malloc(n ? n : 1);
    xt_status s = data ? lazy_state_read(e->t, data, n) : status_oom(n, e->name);
    if (!s)
        *out = data;
    else
        base_free(data);
    return s;
}

bool nn_writes_here(void) {
    return !lazy_spmd() || world_get()->rank == 0;
}

/* An error of the file is rank 0's alone, and the others wait for it at each tensor, so it goes on to the last of them;
 * one of bringing a tensor together ends the walk. */
xt_status nn_write_each(const nn_root *r, const nn_write *w, xt_status begun) {
    bool here = nn_writes_here();
    xt_status first = begun;
    for (size_t i = 0; i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        char *data = NULL;
        if (!w->wanted(w->user, e)) continue;
        xt_status apart = lazy_gather_state(e->t, 0);
        if (!apart && here && !first) first = read_whole(e, &data);
        lazy_forget_state(e->t);
        if (data) first = w->write(w->user, e, data);
        if (!apart) continue;
        xt_status_free(first);
        return apart;
    }
    return first;
}

/* What was loaded, and no layer has taken yet: of a fit that was resumed when there was nothing left to do, or of
 * layers that only later steps call. */
static xt_status declare_waiting(void *user, const char *full, nn_loaded *l) {
    const save *o = user;
    const char *name = within(full, o->child);
    return name ? declare(o, o->set, name, l->type) : NULL;
}

/* Every rank calls it: a state may lie on all of them. An error of the file is the writer's alone, and the others wait
 * for it, as in nn_write_each. */
static xt_status write_waiting(void *user, const char *full, nn_loaded *l) {
    save *o = user;
    const char *name = within(full, o->child);
    char *data;
    if (!name) return NULL;
    if (l->t.slot) XT_TRY(lazy_gather_state(l->t, 0));
    xt_status s = o->set && !o->failed ? nn_loaded_copy(l, &data) : NULL;
    if (l->t.slot) lazy_forget_state(l->t);
    if (o->set && !o->failed && !s) s = write_data(o, o->set, name, l->type, data);
    if (s) o->failed = s;
    return NULL;
}

static bool is_saved(void *user, const nn_entry *e) {
    const save *o = user;
    return within(e->name, o->child) != NULL;
}

static xt_status write_entry(void *user, const nn_entry *e, char *data) {
    const save *o = user;
    return write_data(o, o->set, within(e->name, o->child), e->type, data);
}

static xt_status declare_all(const nn_root *r, const char *path, const save *o) {
    for (size_t i = 0; i < r->n; i++) {
        const char *name = within(r->entries[i].name, o->child);
        if (!name) continue;
        XT_TRY(nn_check_turned(o->transposed, name, nn_has_integers(r, r->entries[i].name), path));
        XT_TRY(declare(o, o->set, name, r->entries[i].type));
    }
    return NULL;
}

static xt_status open_set(const char *path, int64_t shard, save *o) {
    XT_TRY(st_set_create(path, (uint64_t)shard, &o->set));
    return st_set_meta(o->set, "xtrain", xt_version());
}

static xt_status write_all(const nn_root *r, const char *path, int64_t shard, save *o) {
    bool here = nn_writes_here();
    xt_status s = here ? open_set(path, shard, o) : NULL;
    if (!s && here) s = declare_all(r, path, o);
    if (!s && here) s = nn_each_waiting(r, declare_waiting, o);
    if (r->n) s = nn_write_each(r, &(nn_write){is_saved, write_entry, o}, s);
    o->failed = s;
    xt_status apart = nn_each_waiting(r, write_waiting, o);
    if (!apart) return o->failed;
    xt_status_free(o->failed);
    return apart;
}

xt_status xt_save_opt_at(const xt_src *src, xt_module *m, const char *path, xt_save_opts o) {
    if (!m || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_save: a module and a path are needed");
    if (m->root->n == 0 && !m->root->loaded)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "xt_save %s: the module has no tensors yet; call xt_forward or xt_module_build first", path);
    if (o.max_shard_size < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_save %s: max_shard_size is %lld; a number of bytes, or 0 for one file, is expected", path,
                          (long long)o.max_shard_size);
    if (!lazy_boundary(LAZY_CHECKPOINT, src) || !lazy_drain()) return status_clone(lazy_pending());
    char *child = child_prefix(m);
    if (!child) return status_oom(1, path);
    save how = {.child = child, .prefix = o.prefix ? o.prefix : "", .transposed = o.transposed};
    lazy_save shared = lazy_save_begin(path);
    xt_status s, theirs;
    bool aside = lazy_save_is_rank_0s(&shared, false, &s);
    if (!aside) s = write_all(m->root, path, o.max_shard_size, &how);
    base_free(child);
    if (!how.set) return aside ? s : lazy_save_end(&shared, s);
    if (!s && (aside = lazy_save_is_rank_0s(&shared, true, &theirs))) s = theirs;
    if (s || aside)
        st_set_abandon(how.set);
    else
        s = st_set_commit(how.set);
    return lazy_save_end(&shared, s);
}

xt_status xt_save_at(const xt_src *src, xt_module *m, const char *path) {
    return xt_save_opt_at(src, m, path, XT_OPTS(xt_save_opts, ));
}

/* A trainer's checkpoint holds more than the module: "optimizer:NAME", "optimizer1:NAME", "callback:CALLBACK:NAME",
 * "xtrain:checksum". */
static bool of_module(const char *name) {
    static const char *const others[] = {"optimizer", "callback", "xtrain"};
    for (size_t i = 0; i < BASE_COUNT(others); i++) {
        size_t n = strlen(others[i]);
        if (strncmp(name, others[i], n) == 0 && name[n + strspn(name + n, "0123456789")] == ':') return false;
    }
    return true;
}

/* The name a tensor of the file has in the module; NULL when it is none of the module's. */
static const char *name_in_module(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return (n == 0 && !of_module(name)) || strncmp(name, prefix, n) != 0 ? NULL : name + n;
}

/* What of the file is wanted, checked before anything is read or changed. */
typedef struct load {
    const xt_src *src;
    nn_root *r;
    st_file *f;
    const char *path, *prefix, *transposed, *rename;
    char *child; /* what the names of the module's tensors begin with, where it is another's child */
    bool strict;
    bool waits; /* what the module does not have yet is no fault: layers to come take it */
    bool resumes; /* of a fit that goes on */
    bool adapts; /* the file has matrices of LoRA's */
    xt_load_report *report;
    map *found; /* name in the root -> st_entry */
    map *values;
} load;

static void tell(load *l, int *count, char sign, const char *name) {
    char *names = l->report->names;
    size_t at = strlen(names), room = sizeof l->report->names - at;
    ++*count;
    if ((size_t)snprintf(names + at, room, "%c %s\n", sign, name) >= room) names[at] = 0;
}

/* The type a tensor of the file has for the module. */
static const ir_type *type_of(const load *l, const char *name, const st_entry *in) {
    return is_turned(l->transposed, in->rank, name) ? ir_tensor(in->dtype, 2, (int64_t[]){in->dims[1], in->dims[0]})
                                                    : ir_tensor(in->dtype, (size_t)in->rank, in->dims);
}

/* The bits that the file has a weight of the module in, if it has it as integers and factors; else 0. */
static int narrower(const load *l, const nn_entry *e, const st_entry *in) {
    if (e->bits || !e->is_param || e->type->rank != 2 || lazy_spmd()) return 0;
    char *name = nn_scale_name(e->name);
    const st_entry *factors = name ? map_get(l->found, name, strlen(name)) : NULL;
    int bits = factors ? nn_integer_bits(type_of(l, e->name, in), type_of(l, name, factors), e->type->dims[0],
                                         e->type->dims[1])
                       : 0;
    base_free(name);
    return bits;
}

/* Is it of the factors that a weight of the module would have as integers? */
static bool may_be_factors(const nn_root *r, const char *name) {
    const char *end = strrchr(name, '_');
    uintptr_t at = end && strcmp(end, "_scale") == 0 ? (uintptr_t)map_get(r->by_name, name, (size_t)(end - name)) : 0;
    return at && r->entries[at - 1].is_param;
}

/* Is it of a layer that xt_lora was called for, and that has not been called since? */
static bool is_lora_to_come(const nn_root *r, const char *name) {
    char weight[1024];
    const char *leaf = nn_is_lora(name) ? strrchr(name, '.') - strlen("lora_A") : NULL;
    return leaf && snprintf(weight, sizeof weight, "%.*sweight", (int)(leaf - name), name) < (int)sizeof weight &&
           nn_lora_of(r, weight);
}

static xt_status type_differs(const load *l, const nn_entry *e, const st_entry *in) {
    const ir_type *t = type_of(l, e->name, in);
    if (nn_converts(t, e->type) || narrower(l, e, in)) return NULL;
    str text = STR_INIT;
    if (t) ir_type_print(t, &text);
    str_append(&text, " in the file, ");
    ir_type_print(e->type, &text);
    xt_status s =
        status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s is %s in the module", l->path, e->name, str_cstr(&text));
    str_free(&text);
    return s;
}

/* Adapters stay as they are beside a model that has none in its file, and where they are said later than the file of a
 * fit that goes on was written; a pass with a fit's file is of all that the fit had. */
static bool may_lack(const load *l, const char *name) {
    return nn_is_lora(name) && (l->resumes || (!l->waits && !l->adapts));
}

/* With strict the file must hold every tensor of the module and no other; shapes and dtypes must agree always. */
static xt_status check(load *l) {
    nn_root *r = l->r;
    for (size_t i = 0; i < st_count(l->f); i++) {
        const st_entry *in = st_at(l->f, i);
        str renamed = STR_INIT;
        char name[1024], within_child[1024];
        nn_rename(l->rename, in->name, &renamed);
        snprintf(within_child, sizeof within_child, "%s", str_cstr(&renamed));
        bool failed = renamed.failed;
        str_free(&renamed);
        if (failed) return status_oom(sizeof name, l->path);
        const char *own = name_in_module(within_child, l->prefix);
        if (!own) continue;
        snprintf(name, sizeof name, "%s%s", l->child, own);
        XT_TRY(nn_check_turned(l->transposed, name, nn_file_has_integers(l->f, in->name), l->path));
        l->adapts = l->adapts || nn_is_lora(name);
        bool later = l->waits || may_be_factors(r, name) || is_lora_to_come(r, name);
        if (!nn_is_unmade(r) && !later && nn_is_new(r, name))
            tell(l, &l->report->unexpected, '+', own);
        else if (map_get(l->found, name, strlen(name)))
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s: by the rules two of its tensors are called %s", l->path,
                              name);
        else if (!map_put(l->found, name, strlen(name), (void *)(uintptr_t)in, NULL))
            return status_oom(sizeof(void *), l->path);
    }
    for (size_t i = 0; i < r->n; i++) {
        nn_entry *e = &r->entries[i];
        const st_entry *in = map_get(l->found, e->name, strlen(e->name));
        const char *own = within(e->name, l->child);
        if (!own || (!in && e->waits)) continue;
        if (!in && l->strict && may_lack(l, e->name)) continue;
        if (!in)
            tell(l, &l->report->missing, '-', own);
        else
            XT_TRY(type_differs(l, e, in));
    }
    if (!l->strict) return NULL;
    const char *first = l->report->names + 2;
    int n = (int)strcspn(first, "\n");
    if (l->report->missing) {
        const char *dash = l->report->names[0] == '-' ? l->report->names : strstr(l->report->names, "\n- ");
        first = dash ? dash + (*dash == '\n' ? 3 : 2) : "";
        return status_new(XT_NOT_FOUND, NULL, "%s holds no tensor %.*s, which the module needs%s", l->path,
                          (int)strcspn(first, "\n"), first, nn_lacking_advice(l->resumes));
    }
    if (l->report->unexpected)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s holds tensor %.*s, which the module does not have", l->path, n,
                          first);
    return NULL;
}

/* One that is small, into memory; where a large one lies. */
static xt_status read_value(const load *l, const char *name, const st_entry *e, nn_loaded *value) {
    size_t n = (size_t)(e->end - e->begin);
    value->turned = is_turned(l->transposed, e->rank, name);
    if (!(value->type = type_of(l, name, e))) return status_oom(n, l->path);
    value->entry = e;
    value->file = st_retain(l->f);
    if (nn_stays_stored(e)) return NULL;
    XT_TRY(nn_loaded_fetch(value));
    st_close(value->file);
    value->file = NULL;
    return NULL;
}

/* All small values into memory first, so that a read error half way changes nothing. */
static xt_status read_values(load *l) {
    size_t at = 0, key_size;
    const void *key;
    void *v;
    while (map_next(l->found, &at, &key, &key_size, &v)) {
        const st_entry *e = v;
        nn_loaded *value = base_calloc(1, sizeof *value);
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)key_size, (const char *)key);
        xt_status s = value ? read_value(l, name, e, value) : status_oom(sizeof *value, l->path);
        if (!s && !map_put(l->values, key, key_size, value, NULL)) s = status_oom(sizeof *value, l->path);
        if (s) {
            nn_loaded_free(value);
            return s;
        }
        l->report->loaded++;
    }
    return NULL;
}

/* Integers that wait are replaced by floats: nothing asks for the factors any more. */
static void forget_factors(const load *l, const nn_loaded *old, const void *weight, size_t n) {
    char name[1100];
    if (old->type->dtype != XT_I8 && old->type->dtype != XT_U8) return;
    snprintf(name, sizeof name, "%.*s_scale", (int)n, (const char *)weight);
    if (!map_get(l->found, name, strlen(name))) nn_loaded_free(map_remove(l->r->loaded, name, strlen(name)));
}

/* What has not been written waits for layers to come, of the first forward pass or beside it, with what other files
 * have for others of them; but a fit's own file has all that the fit had. */
static xt_status keep_for_later(load *l) {
    nn_root *r = l->r;
    const char *path = nn_is_unmade(r) ? intern_text(intern(l->path)) : NULL; /* NULL: nothing waits of it */
    size_t at = 0, n;
    const void *name;
    void *entry;
    if (l->waits) {
        map_free(r->loaded, nn_loaded_free);
        r->loaded = NULL;
        r->loaded_files = 0;
        r->loaded_adapts = false;
        for (size_t i = 0; i < r->n; i++)
            r->entries[i].anew =
                r->entries[i].waits && !map_get(l->found, r->entries[i].name, strlen(r->entries[i].name));
    }
    if (!r->loaded && !(r->loaded = map_new())) return status_oom(sizeof(void *), l->path);
    while (map_next(l->found, &at, &name, &n, &entry)) {
        nn_loaded *v = map_get(r->by_name, name, n) ? NULL : map_remove(l->values, name, n);
        void *old = NULL;
        if (!v) continue;
        if (!path) path = intern_text(intern(l->path));
        v->path = path;
        if (!map_put(r->loaded, name, n, v, &old)) {
            nn_loaded_free(v);
            return status_oom(n, l->path);
        }
        if (old) forget_factors(l, old, name, n);
        nn_loaded_free(old);
    }
    if (!path) return NULL;
    r->loaded_adapts = r->loaded_adapts || l->adapts;
    r->loaded_files += path != r->loaded_path || !r->loaded_files;
    r->loaded_own = r->loaded_own && path == r->loaded_path;
    r->loaded_path = path;
    r->loaded_all = nn_is_unmade(r);
    r->loaded_told = false;
    r->loaded_updates = 0;
    return NULL;
}

/* The entry gets the integers and factors of the file. */
static xt_status write_integers(const load *l, const char *weight, int bits, nn_loaded *q) {
    char *name = nn_scale_name(weight);
    if (!name) return status_oom(strlen(weight), weight);
    bool done = nn_become_integers(l->src, l->r, weight, bits, q, map_get(l->values, name, strlen(name)));
    nn_loaded_free(map_remove(l->values, name, strlen(name)));
    base_free(name);
    return done ? NULL : status_clone(lazy_pending());
}

/* All are converted before the first is written. */
static xt_status write_values(const load *l) {
    for (int writing = 0; writing < 2; writing++)
        for (size_t i = 0; i < l->r->n; i++) {
            const nn_entry *e = &l->r->entries[i];
            nn_loaded *v = map_get(l->values, e->name, strlen(e->name));
            const st_entry *in = v ? map_get(l->found, e->name, strlen(e->name)) : NULL;
            int bits = in ? narrower(l, e, in) : 0;
            lazy_source from;
            if (!v || (!writing && (!v->data || bits))) continue;
            if (bits)
                XT_TRY(write_integers(l, e->name, bits, v));
            else if (!writing)
                XT_TRY(nn_convert(v, e->type));
            else if (v->data)
                XT_TRY(lazy_state_write(e->t, v->data, ir_type_bytes(v->type)));
            else {
                XT_TRY(nn_stored_source(v, &from));
                XT_TRY(lazy_state_refill(e->t, from));
            }
        }
    return NULL;
}

static xt_status run_load(load *l) {
    if ((!l->strict || *l->child) && l->r->n == 0)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "%s: loading %s needs to know the module's tensors: call xt_module_build or run a pass first",
                          l->path, l->strict ? "into a child" : "without .strict");
    XT_TRY(check(l));
    XT_TRY(read_values(l));
    if (l->r->n == 0) return keep_for_later(l);
    if (!lazy_boundary(LAZY_CHECKPOINT, l->src) || !lazy_drain()) return status_clone(lazy_pending());
    XT_TRY(write_values(l));
    return keep_for_later(l);
}

static xt_status load_opened(const xt_src *src, xt_module *m, st_file *f, const char *path, xt_load_opts o, bool waits,
                             bool resumes) {
    xt_load_report unused, *report = o.report ? o.report : &unused;
    memset(report, 0, sizeof *report);
    load l = {.src = src,
              .r = m->root,
              .f = f,
              .path = path,
              .prefix = o.prefix ? o.prefix : "",
              .transposed = o.transposed,
              .rename = o.rename,
              .strict = o.strict != XT_OFF,
              .waits = waits,
              .resumes = resumes,
              .report = report,
              .found = map_new(),
              .values = map_new(),
              .child = child_prefix(m)};
    xt_status s = l.found && l.values && l.child ? NULL : status_oom(sizeof(void *), path);
    if (!s) s = run_load(&l);
    if (!s) m->root->first_update = false; /* averages that were read go on */
    map_free(l.found, NULL);
    map_free(l.values, nn_loaded_free);
    base_free(l.child);
    return s;
}

xt_status nn_load_opened(const xt_src *src, xt_module *m, st_file *f, const char *path, xt_load_opts o) {
    return load_opened(src, m, f, path, o, false, false);
}

xt_status nn_load_waiting(const xt_src *src, xt_module *m, st_file *f, const char *path, bool resumes) {
    return load_opened(src, m, f, path, XT_OPTS(xt_load_opts, ), true, resumes);
}

xt_status xt_load_opt_at(const xt_src *src, xt_module *m, const char *path, xt_load_opts o) {
    bool has_sums;
    st_file *f;
    if (!m || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_load: a module and a path are needed");
    if (o.report) memset(o.report, 0, sizeof *o.report);
    if (rehearsal_on() && !file_exists(path)) return NULL; /* what the rehearsal itself saved was not written */
    XT_TRY(nn_rename_check(o.rename, "xt_load: rename"));
    XT_TRY(st_open(path, &f));
    xt_status s = st_check_sums(f, &has_sums); /* of a file that has any */
    if (!s) s = nn_load_opened(src, m, f, path, o);
    st_close(f);
    return s;
}

xt_status xt_load_at(const xt_src *src, xt_module *m, const char *path) {
    return xt_load_opt_at(src, m, path, XT_OPTS(xt_load_opts, ));
}

/* For function pointers and other languages. */
xt_status(xt_save)(xt_module *m, const char *path) {
    return xt_save_at(src_get(src_from_caller()), m, path);
}
xt_status(xt_load)(xt_module *m, const char *path) {
    return xt_load_at(src_get(src_from_caller()), m, path);
}
