/* Values of files that wait for the layers that take them: which there are, and what nobody took. */
#include "base/handle.h"
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

xt_status nn_wait_in(map **where, const char *name, const ir_type *type, const void *data) {
    size_t n = ir_type_bytes(type);
    if (!*where && !(*where = map_new())) return status_oom(sizeof(void *), name);
    nn_loaded *l = base_calloc(1, sizeof *l);
    void *old = NULL;
    if (l) l->type = type;
    if (!l || !(l->data = base_malloc(n ? n : 1)) ||
        (memcpy(l->data, data, n), !map_put(*where, name, strlen(name), l, &old))) {
        nn_loaded_free(l);
        return status_oom(n, name);
    }
    if (old) l->path = ((nn_loaded *)old)->path;
    nn_loaded_free(old);
    return NULL;
}

static nn_loaded *waiting(const nn_root *r, const char *name) {
    return r->loaded ? map_get(r->loaded, name, strlen(name)) : NULL;
}

bool nn_is_new(const nn_root *r, const char *name) {
    return !map_get(r->by_name, name, strlen(name)) && !waiting(r, name);
}

xt_tensor nn_waiting(nn_root *r, const char *name, bool is_param) {
    nn_loaded *l = waiting(r, name);
    if (!l || l->t.slot) return l ? l->t : (xt_tensor){0};
    lazy_source from;
    xt_status s = l->file ? nn_stored_source(l, &from) : NULL;
    if (s) {
        lazy_fail(s);
        return (xt_tensor){0};
    }
    l->t = l->file ? lazy_state_from(XT_HERE, LAZY_BUFFER, name, l->type, from)
                   : lazy_state_take(XT_HERE, LAZY_BUFFER, name, l->type->dtype, (int)l->type->rank, l->type->dims,
                                     l->data);
    l->data = NULL;
    st_close(l->file);
    l->file = NULL;
    nn_shard_entry(r, &(nn_entry){.name = (char *)name, .t = l->t, .type = l->type, .is_param = is_param});
    handle_settle(r->module);
    return l->t;
}

xt_status nn_wait_as_well(nn_root *to, const char *name, nn_loaded *from) {
    if (from->file) {
        nn_loaded *own = base_malloc(sizeof *own);
        void *old = NULL;
        if (own) *own = *from, own->path = NULL, st_retain(own->file);
        if (!to->loaded) to->loaded = map_new();
        if (own && to->loaded && map_put(to->loaded, name, strlen(name), own, &old)) {
            nn_loaded_free(old);
            return NULL;
        }
        if (own) nn_loaded_free(own);
        return status_oom(sizeof *own, name);
    }
    char *data;
    XT_TRY(nn_loaded_copy(from, &data));
    xt_status s = nn_wait_in(&to->loaded, name, from->type, data);
    base_free(data);
    return s;
}

xt_status nn_preload(nn_root *r, const char *name, const ir_type *type, const void *data) {
    uintptr_t i = (uintptr_t)map_get(r->by_name, name, strlen(name));
    return i ? lazy_state_write(r->entries[i - 1].t, data, ir_type_bytes(type))
             : nn_wait_in(&r->loaded, name, type, data);
}

void nn_first_pass_ended(nn_root *r) {
    if (!r->depth && !nn_is_unmade(r) && !lazy_pending()) r->loaded_all = false;
}

/* What a checkpoint made and nobody has asked for. */
static void tell_waiting(const nn_root *r) {
    size_t first = 0;
    while (first < r->n && (!r->entries[first].waits || r->entries[first].anew)) first++;
    if (first < r->n)
        log_msg(XT_SEV_WARNING, "%s holds %zu tensors that no layer of the module has taken, %s among them",
                r->loaded_path, r->n_waiting, r->entries[first].name);
}

/* How many wait of the file, and how many of them up to that place of the map. */
static size_t of_file(const nn_root *r, const char *path, size_t up_to, size_t *out_all) {
    size_t at = 0, n, before = 0;
    const void *key;
    void *v;
    *out_all = 0;
    while (map_next(r->loaded, &at, &key, &n, &v)) {
        if (((nn_loaded *)v)->path != path) continue;
        ++*out_all;
        before += at <= up_to;
    }
    return before;
}

/* A step may call layers that its net does not (a second network, a head), and a validation others again: what is left
 * stays for them. Of a fit's own file this is as it should be: other steps of the fit have called them. Only where the
 * module has tensors that the file lacks may they be the same ones under other names, which its end shows. */
void nn_loaded_left(nn_root *r) {
    size_t at = 0, n;
    const void *key;
    void *v;
    if (!r->loaded_path || r->loaded_told || r->loaded_all || nn_is_unmade(r) || lazy_pending()) return;
    if (r->loaded_own && !r->told_lacking) return;
    r->loaded_told = true;
    tell_waiting(r);
    while (r->loaded && map_next(r->loaded, &at, &key, &n, &v)) {
        size_t count, before = of_file(r, ((nn_loaded *)v)->path, at, &count);
        if (((nn_loaded *)v)->path && before == 1)
            log_msg(XT_SEV_WARNING, "%s holds %zu tensors that no layer of the module has taken, %.*s among them",
                    ((nn_loaded *)v)->path, count, (int)n, (const char *)key);
    }
}

/* Layers that the program no longer has, or that this part of the fit has not called. */
void nn_resumed_left(nn_root *r) {
    size_t at = 0, key_size, n = 0;
    const void *key;
    void *v;
    char first[256] = "";
    if (!r->resumed || r->told_lacking || r->loaded_told) return;
    for (size_t i = 0; i < r->n; i++) {
        if (!r->entries[i].waits || r->entries[i].anew) continue;
        if (!n++) snprintf(first, sizeof first, "%s", r->entries[i].name);
    }
    while (r->loaded && map_next(r->loaded, &at, &key, &key_size, &v)) {
        if (((nn_loaded *)v)->path != r->loaded_path) continue;
        if (!n++) snprintf(first, sizeof first, "%.*s", (int)key_size, (const char *)key);
    }
    if (!n) return;
    r->loaded_told = true;
    log_msg(
        XT_SEV_INFO,
        "%s holds %zu tensors that no layer has asked for since the fit went on from it, %s among them: they stay as "
        "they are, and in checkpoints",
        r->loaded_path, n, first);
}

void nn_updated(nn_root *r) {
    if (r->loaded_path && !r->loaded_own && !r->loaded_told && ++r->loaded_updates == 2) nn_loaded_left(r);
}

xt_status nn_each_waiting(const nn_root *r, nn_waiting_fn fn, void *user) {
    size_t at = 0, n;
    const void *key;
    void *v;
    while (r->loaded && map_next(r->loaded, &at, &key, &n, &v)) {
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        XT_TRY(fn(user, name, v));
    }
    return NULL;
}
