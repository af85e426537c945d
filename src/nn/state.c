/* Saving and loading modules as safetensors. Loading checks everything before it changes anything. */
#include "format/safetensors.h"
#include "lazy/mesh.h"
#include "nn/nn.h"

static xt_status write_all(xt_module *m, st_writer *w) {
    nn_root *r = m->root;
    for (size_t i = 0; i < r->n; i++) {
        const ir_type *t = r->entries[i].type;
        XT_TRY(st_declare(w, r->entries[i].name, t->dtype, (int)t->rank, t->dims));
    }
    for (size_t i = 0; i < r->n; i++) {
        size_t n = ir_type_bytes(r->entries[i].type);
        void *data = base_malloc(n ? n : 1);
        xt_status s = data ? lazy_state_read(r->entries[i].t, data, n) : status_oom(n, r->entries[i].name);
        if (!s) s = st_data(w, data, n);
        base_free(data);
        XT_TRY(s);
    }
    return NULL;
}

xt_status xt_save(xt_module *m, const char *path) {
    if (!m || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_save: a module and a path are needed");
    if (m->root->n == 0) return status_new(XT_FAILED_PRECONDITION, NULL, "xt_save %s: the module has no tensors yet; call xt_forward or xt_module_build first", path);
    if (!lazy_boundary(LAZY_CHECKPOINT, XT_HERE) || !lazy_drain()) return status_clone(xt_error());
    XT_TRY(lazy_gather_states());
    if (lazy_spmd() && world_get()->rank != 0) return NULL; /* rank 0 has it all */
    st_writer *w;
    XT_TRY(st_create(path, &w));
    xt_status s = st_meta(w, "xtrain", xt_version());
    if (!s) s = write_all(m, w);
    lazy_forget_states();
    if (s) {
        st_abandon(w);
        return s;
    }
    return st_commit(w);
}

/* A trainer's checkpoint holds more than the module: "optimizer:NAME", "xtrain:checksum". */
static bool of_module(const char *name) { return strncmp(name, "optimizer:", 10) != 0 && strncmp(name, "xtrain:", 7) != 0; }

/* The file must hold every tensor of the module with its shape and dtype. */
static xt_status check(const nn_root *r, const st_file *f, const char *path) {
    for (size_t i = 0; i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        const st_entry *in = st_find(f, e->name);
        if (!in) return status_new(XT_NOT_FOUND, NULL, "%s holds no tensor %s, which the module needs", path, e->name);
        const ir_type *t = ir_tensor(in->dtype, (size_t)in->rank, in->dims);
        if (t == e->type) continue;
        str text = STR_INIT;
        if (t) ir_type_print(t, &text);
        str_append(&text, " in the file, ");
        ir_type_print(e->type, &text);
        xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: tensor %s is %s in the module", path, e->name, str_cstr(&text));
        str_free(&text);
        return s;
    }
    if (r->n && st_count(f) > r->n)
        for (size_t i = 0; i < st_count(f); i++) {
            const char *name = st_at(f, i)->name;
            if (of_module(name) && !map_get(r->by_name, name, strlen(name))) return status_new(XT_INVALID_ARGUMENT, NULL, "%s holds tensor %s, which the module does not have", path, name);
        }
    return NULL;
}

static void free_value(void *p) {
    nn_loaded *l = p;
    if (l) base_free(l->data);
    base_free(l);
}

/* All values into memory first, so that a read error half way changes nothing. */
static xt_status read_values(st_file *f, const char *path, map *into) {
    for (size_t i = 0; i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (!of_module(e->name)) continue;
        size_t n = (size_t)(e->end - e->begin);
        nn_loaded *l = base_calloc(1, sizeof *l);
        if (!l || !(l->data = base_malloc(n ? n : 1)) || !(l->type = ir_tensor(e->dtype, (size_t)e->rank, e->dims))) {
            free_value(l);
            return status_oom(n, path);
        }
        xt_status s = st_read(f, e, l->data, n);
        if (!s && !map_put(into, e->name, strlen(e->name), l, NULL)) s = status_oom(n, path);
        if (s) {
            free_value(l);
            return s;
        }
    }
    return NULL;
}

xt_status nn_preload(xt_module *m, const char *name, const ir_type *type, const void *data) {
    size_t n = ir_type_bytes(type);
    nn_root *r = m->root;
    if (!r->loaded && !(r->loaded = map_new())) return status_oom(sizeof(void *), name);
    nn_loaded *l = base_calloc(1, sizeof *l);
    void *old = NULL;
    if (l) l->type = type;
    if (!l || !(l->data = base_malloc(n ? n : 1)) || (memcpy(l->data, data, n), !map_put(r->loaded, name, strlen(name), l, &old))) {
        free_value(l);
        return status_oom(n, name);
    }
    free_value(old);
    return NULL;
}

xt_status xt_load(xt_module *m, const char *path) {
    if (!m || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_load: a module and a path are needed");
    st_file *f;
    XT_TRY(st_open(path, &f));
    nn_root *r = m->root;
    map *values = map_new();
    xt_status s = values ? check(r, f, path) : status_oom(sizeof(void *), path);
    if (!s) s = read_values(f, path, values);
    st_close(f);
    if (!s && r->n && (!lazy_boundary(LAZY_CHECKPOINT, XT_HERE) || !lazy_drain())) s = status_clone(xt_error());
    if (s) {
        map_free(values, free_value);
        return s;
    }
    if (r->n == 0) { /* the first forward pass takes its tensors from here */
        map_free(r->loaded, free_value);
        r->loaded = values;
        return NULL;
    }
    for (size_t i = 0; i < r->n && !s; i++) {
        nn_loaded *l = map_get(values, r->entries[i].name, strlen(r->entries[i].name));
        s = lazy_state_write(r->entries[i].t, l->data, ir_type_bytes(l->type));
    }
    map_free(values, free_value);
    return s;
}
