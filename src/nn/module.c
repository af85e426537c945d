/* Modules: named tensors, children, modes, and the forward pass that makes parameters at its first call. */
#include "base/handle.h"
#include "nn/nn.h"

static void free_loaded(void *p) {
    nn_loaded *l = p;
    if (l) base_free(l->data);
    base_free(l);
}

static void module_free(xt_module *m) {
    for (xt_module *c = m->children, *next; c; c = next) {
        next = c->next;
        module_free(c);
    }
    base_free(m->path);
    base_free(m->key);
    handle_free(m);
    live_add(LIVE_module, -1);
}

static xt_module *module_new(nn_root *root, xt_module *parent, const char *path, const char *key) {
    xt_module *m = handle_new(HANDLE_module, sizeof *m);
    if (!m) return NULL;
    live_add(LIVE_module, 1);
    m->root = root;
    m->parent = parent;
    m->path = base_strdup(path);
    m->key = base_strdup(key);
    if (m->path && m->key) return m;
    module_free(m);
    return NULL;
}

static void free_root(void *m) {
    xt_module_free(m);
}

xt_module *xt_module_new(xt_module_fn fn, void *user) {
    nn_root *r = base_calloc(1, sizeof *r);
    xt_module *m = r ? module_new(r, NULL, "", "") : NULL;
    if (m) {
        r->by_name = map_new();
        r->called = map_new();
        r->shared = map_new();
    }
    if (!m || !r->by_name || !r->called || !r->shared) {
        lazy_fail(status_oom(sizeof *r, "a module"));
        if (m) {
            map_free(r->by_name, NULL);
            map_free(r->called, NULL);
            map_free(r->shared, NULL);
            module_free(m);
        }
        base_free(r);
        return NULL;
    }
    static _Atomic uint64_t roots;
    r->number = ++roots;
    r->module = m;
    r->training = true;
    lazy_own(m, free_root);
    m->fn = fn;
    m->user = user;
    return m;
}

/* Compiled step functions are told: a recording made in one mode is not run in the other. */
static void set_mode(const xt_src *src, nn_root *r, bool training) {
    if (r->training != training) {
        lazy_mode_toggle(src, r->number);
        lazy_module_now(r->number, training ? LAZY_MODULE_TRAINING : LAZY_MODULE_EVALUATING);
    }
    r->training = training;
}

void xt_module_free(xt_module *m) {
    if (!m || m->parent) return; /* children belong to their root */
    nn_root *r = m->root;
    set_mode(NULL, r, true);
    lazy_module_now(r->number, LAZY_MODULE_GONE);
    lazy_disown(m);
    for (size_t i = 0; i < r->n; i++) {
        if (r->entries[i].t.slot && lazy_type(r->entries[i].t)) xt_drop_at(XT_HERE, r->entries[i].t);
        base_free(r->entries[i].name);
    }
    base_free(r->entries);
    map_free(r->by_name, NULL);
    map_free(r->called, NULL);
    map_free(r->shared, NULL);
    map_free(r->loaded, free_loaded);
    base_free(r->loaded_path);
    nn_wishes_free(r);
    nn_shard_rules_free(r);
    module_free(m);
    base_free(r);
}

xt_module *(xt_sub)(xt_module *m, const char *name, int index) {
    if (!m) return NULL;
    char key[256], path[1024];
    if (!*name && index < 0) return m;
    if (index >= 0 && !*name)
        snprintf(key, sizeof key, "%d", index);
    else if (index >= 0)
        snprintf(key, sizeof key, "%s.%d", name, index);
    else
        snprintf(key, sizeof key, "%s", name);
    for (xt_module *c = m->children; c; c = c->next)
        if (strcmp(c->key, key) == 0) return c;
    snprintf(path, sizeof path, "%s%s%s", m->path, *m->path ? "." : "", key);
    xt_module *c = module_new(m->root, m, path, key);
    if (!c) {
        lazy_fail(status_oom(sizeof *c, "a child module"));
        return m;
    }
    c->next = m->children;
    m->children = c;
    return c;
}

void xt_share(xt_module *m, const char *name) {
    char *full = m ? nn_full_name(m, name, "") : NULL;
    if (full) map_put(m->root->shared, full, strlen(full), m, NULL);
    base_free(full);
}

void xt_train_at(const xt_src *src, xt_module *m) {
    if (m) set_mode(src, m->root, true);
}
void xt_eval_at(const xt_src *src, xt_module *m) {
    if (m) set_mode(src, m->root, false);
}
void xt_train(xt_module *m) {
    xt_train_at(NULL, m);
}
void xt_eval(xt_module *m) {
    xt_eval_at(NULL, m);
}
uint64_t nn_network(const xt_module *m) {
    return m->root->number;
}
bool xt_is_training(const xt_module *m) {
    return m && m->root->training;
}

xt_tensor xt_forward_at(const xt_src *src, xt_module *m, xt_tensor x) {
    if (!m) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_forward: the module is NULL");
    if (!m->fn)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_forward: the child module %s has no function of its own; call the root, or a layer function on it",
            m->path);
    bool outermost = m->root->depth == 0 && !m->root->building && lazy_forward_begins(src);
    map_free(m->root->called, NULL);
    m->root->called = map_new();
    m->root->called_step = lazy_step();
    if (!m->root->called) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_forward: out of memory");
    m->root->depth++;
    lazy_inside_fn call;
    lazy_enter(&call, "the function of xt_forward", m->root->module);
    xt_tensor y = m->fn(m, x, m->user);
    lazy_leave(&call);
    m->root->depth--;
    if (outermost) lazy_forward_ends();
    nn_loaded_left(m->root);
    nn_wishes_check(m->root);
    return y;
}

/* --- names --- */
char *nn_full_name(const xt_module *m, const char *layer, const char *leaf) {
    str s = STR_INIT;
    str_append(&s, m->path);
    if (*layer) str_printf(&s, "%s%s", s.len ? "." : "", layer);
    if (*leaf) str_printf(&s, "%s%s", s.len ? "." : "", leaf);
    char *out = s.failed ? NULL : base_strdup(str_cstr(&s));
    str_free(&s);
    return out;
}

/* A pattern of xt_share fits the layer, or a child that it is in. */
static bool is_shared(const nn_root *r, const char *full) {
    size_t at = 0, n;
    const void *key;
    void *unused;
    char pattern[1024];
    if (map_get(r->shared, full, strlen(full))) return true;
    while (map_next(r->shared, &at, &key, &n, &unused)) {
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, (const char *)key);
        if (nn_matches(pattern, full)) return true;
        snprintf(pattern, sizeof pattern, "%.*s.*", (int)n, (const char *)key);
        if (nn_matches(pattern, full)) return true;
    }
    return false;
}

bool nn_layer_begin(const xt_src *src, xt_module *m, const char *layer) {
    if (!m) {
        lazy_error(src, XT_INVALID_ARGUMENT, "layer %s: the module is NULL", layer);
        return false;
    }
    char *full = nn_full_name(m, layer, "");
    if (!full) return false;
    if (m->root->called_step != lazy_step() && m->root->depth == 0) {
        /* layers called without xt_forward: a step is a pass */
        map_free(m->root->called, NULL);
        m->root->called = map_new();
        m->root->called_step = lazy_step();
        if (!m->root->called) {
            lazy_fail(status_oom(64, "a layer's name"));
            base_free(full);
            return false;
        }
    }
    uintptr_t before = (uintptr_t)map_get(m->root->called, full, strlen(full));
    bool ok = !before || is_shared(m->root, full);
    if (!ok) {
        char at[256];
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "layer %s is called twice in one forward pass (first at %s); give the second a name of its own, or "
                   "call xt_share(m, \"%s\") to share weights",
                   full, src_text((src_id)(before - 1), at, sizeof at), layer);
    }
    if (!before) map_put(m->root->called, full, strlen(full), (void *)(uintptr_t)(src_intern(src) + 1), NULL);
    if (ok) lazy_path_push(full);
    base_free(full);
    return ok;
}

void nn_layer_end(void) {
    lazy_path_pop();
}

/* --- making tensors --- */
static nn_entry *find(const nn_root *r, const char *name) {
    uintptr_t i = (uintptr_t)map_get(r->by_name, name, strlen(name));
    return i ? &r->entries[i - 1] : NULL;
}

static xt_tensor shape_error(const xt_src *src, const nn_entry *e, const ir_type *type) {
    str a = STR_INIT, b = STR_INIT;
    char at[256];
    ir_type_print(e->type, &a);
    ir_type_print(type, &b);
    xt_tensor t =
        e->t.slot ? lazy_error(src, XT_INVALID_ARGUMENT,
                               "%s was made as %s at %s, but this call needs %s; the input's shape changed, or two "
                               "layers share the name",
                               e->name, str_cstr(&a), src_text(e->src, at, sizeof at), str_cstr(&b))
                  : lazy_error(src, XT_INVALID_ARGUMENT, "%s is %s in the file that was loaded, but this call needs %s",
                               e->name, str_cstr(&a), str_cstr(&b));
    str_free(&a);
    str_free(&b);
    return t;
}

/* The value a tensor begins with, on the device already (placed) or in host memory: from the file that was loaded, else
 * as the layer or the user's rule says. False after an error, which is *out. */
static bool begin_value(const xt_src *src, nn_root *r, const char *name, bool is_param, nn_recipe recipe,
                        const ir_type *type, void **data, device_buffer **placed, bool *frozen, xt_tensor *out) {
    nn_loaded *l = r->loaded ? map_remove(r->loaded, name, strlen(name)) : NULL;
    xt_status s = NULL;
    *frozen = false;
    *data = NULL;
    *placed = NULL;
    if (l && !nn_converts(l->type, type))
        *out = shape_error(src, &(nn_entry){.name = (char *)name, .type = l->type}, type);
    else if (!l && r->loaded_all)
        *out = lazy_error(src, XT_NOT_FOUND, "%s holds no tensor %s, which the module needs", r->loaded_path, name);
    else {
        if (is_param) s = nn_wished(r, name, type, &recipe, frozen);
        if (l && !s && !(s = nn_convert(l, type))) {
            *data = l->data;
            l->data = NULL;
        } else if (!s) {
            void *memory = nn_draws_in_place(&recipe, type) ? lazy_state_room(src, type, placed) : NULL;
            if (memory)
                nn_draw_in_place(name, &recipe, type, memory);
            else
                s = nn_first_value(name, &recipe, type, data);
        }
        free_loaded(l);
        if (!s) return true;
        lazy_fail(status_at(s, src));
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s could not be made", name);
        return false;
    }
    free_loaded(l);
    return false;
}

static xt_tensor make(const xt_src *src, nn_root *r, char *name, bool is_param, nn_recipe recipe, const ir_type *type) {
    void *data;
    device_buffer *placed;
    bool frozen;
    xt_tensor failed;
    if (!begin_value(src, r, name, is_param, recipe, type, &data, &placed, &frozen, &failed)) {
        base_free(name);
        return failed;
    }
    lazy_role role = is_param ? LAZY_PARAMETER : LAZY_BUFFER;
    xt_tensor t = placed ? lazy_state_place(src, role, name, type, placed)
                         : lazy_state_take(src, role, name, type->dtype, (int)type->rank, type->dims, data);
    if (is_param && !frozen && !lazy_is_error(t)) xt_requires_grad_at(src, t, true);
    nn_entry e = {.name = name, .t = t, .type = type, .is_param = is_param, .src = src_intern(src)};
    nn_shard_entry(r, &e);
    bool listed = VEC_PUSH(r->entries, r->n, r->cap, e);
    if (listed && map_put(r->by_name, name, strlen(name), (void *)(uintptr_t)r->n, NULL)) return t;
    if (listed) r->n--;
    if (lazy_type(t)) xt_drop_at(src, t);
    lazy_fail(status_oom(sizeof e, name));
    base_free(name);
    return t;
}

xt_tensor nn_tensor(const xt_src *src, xt_module *m, const char *layer, const char *leaf, bool is_param, nn_init init,
                    double a, xt_dtype dtype, int rank, const int64_t *dims) {
    char *name = nn_full_name(m, layer, leaf);
    if (name && is_param && dtype == XT_F32 && m->root->param_dtype != XT_DTYPE_NONE &&
        !strstr(name, "parametrizations."))
        dtype = m->root->param_dtype;
    const ir_type *type = ir_tensor(dtype, (size_t)rank, dims);
    if (!name || !type) {
        xt_tensor bad = lazy_error(src, XT_INVALID_ARGUMENT, "%s.%s: its size does not fit memory", layer, leaf);
        base_free(name);
        return bad;
    }
    nn_entry *e = find(m->root, name);
    const nn_wish *made = !e && is_param && rank > 0 ? nn_parametrized(m->root, name) : NULL;
    if (made) {
        xt_spectral_norm_opts o = made->spectral;
        base_free(name);
        return made->what == NN_WISH_SPECTRAL_NORM
                   ? nn_spectral_normed(src, m, layer, leaf, init, a, dtype, rank, dims, &o)
                   : nn_weight_normed(src, m, layer, leaf, init, a, dtype, rank, dims);
    }
    if (!e) return make(src, m->root, name, is_param, (nn_recipe){init, .a = a}, type);
    base_free(name);
    return e->type == type ? e->t : shape_error(src, e, type);
}

xt_tensor xt_param_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a, xt_dtype dtype,
                      const int64_t *dims) {
    static const char *const kinds[] = {"zeros", "ones", "uniform", "normal"};
    if (!m) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_param: the module is NULL");
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank]) rank++;
    if (!lazy_dims_fit(src, "xt_param", rank, dims)) return lazy_failed_tensor(src);
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        if (init && strcmp(init, kinds[k]) == 0)
            return nn_tensor(src, m, name, "", true, (nn_init)k, a, dtype, rank, dims);
    return lazy_error(src, XT_INVALID_ARGUMENT, "xt_param %s: init is \"%s\"; zeros, ones, uniform or normal are known",
                      name, init ? init : "NULL");
}

xt_status xt_module_set_dtype(xt_module *m, xt_dtype dtype) {
    if (!m || !ir_dtype_is_float(dtype))
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_set_dtype: a module and a float dtype are needed");
    for (size_t i = 0; i < m->root->n; i++) {
        const nn_entry *e = &m->root->entries[i];
        if (e->is_param && ir_dtype_is_float(e->type->dtype) && e->type->dtype != dtype &&
            !strstr(e->name, "parametrizations."))
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "xt_module_set_dtype: %s is %s already; call it before the first pass and "
                              "xt_module_build (xt_load converts what a file has)",
                              e->name, xt_dtype_name(e->type->dtype));
    }
    m->root->param_dtype = dtype;
    return NULL;
}

/* Tracing on a state of the right shape makes the parameters; the trace itself is thrown away. */
xt_status xt_module_build(xt_module *m, xt_spec x) {
    if (!m) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_build: the module is NULL");
    int rank = 0;
    while (rank < XT_MAX_RANK && x.dims[rank]) rank++;
    const ir_type *type = x.dtype ? ir_tensor(x.dtype, (size_t)rank, x.dims) : NULL;
    if (!type) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_build: the spec is no tensor");
    bool alone = lazy_trace_is_empty();
    ir_builder *b = lazy_begin(XT_HERE);
    xt_tensor in = lazy_wrap(ir_splat(b, type, 0), "xt_module_build");
    lazy_drawn drawn = lazy_draws_now();
    m->root->building = true;
    xt_tensor out = xt_forward_at(XT_HERE, m, in);
    m->root->building = false;
    lazy_draws_again(drawn);
    xt_status s = xt_is_error(out) ? status_clone(lazy_pending()) : NULL;
    if (alone && !s) lazy_end_build(XT_HERE);
    return s;
}

/* --- queries --- */
int xt_module_tensors(const xt_module *m) {
    return m ? (int)m->root->n : 0;
}
static const nn_entry *entry(const xt_module *m, int i) {
    return m && i >= 0 && (size_t)i < m->root->n ? &m->root->entries[i] : NULL;
}
const char *xt_module_tensor_name(const xt_module *m, int i) {
    return entry(m, i) ? entry(m, i)->name : NULL;
}
xt_tensor xt_module_tensor(const xt_module *m, int i) {
    if (entry(m, i)) return entry(m, i)->t;
    return lazy_none("xt_module_tensor: number %d of %d tensors", i, xt_module_tensors(m));
}
bool xt_module_tensor_is_param(const xt_module *m, int i) {
    return entry(m, i) && entry(m, i)->is_param;
}

int xt_module_next(const xt_module *m, const char *pattern, int from) {
    char *full = m && pattern ? nn_full_name(m, pattern, "") : NULL;
    int found = -1;
    for (int i = from < 0 ? 0 : from; full && found < 0 && i < xt_module_tensors(m); i++)
        if (nn_matches(full, m->root->entries[i].name)) found = i;
    base_free(full);
    return found;
}

xt_tensor xt_module_find(const xt_module *m, const char *name) {
    char *full = m && name ? nn_full_name(m, name, "") : NULL;
    const nn_entry *e = full ? find(m->root, full) : NULL;
    xt_tensor t = e ? e->t
                    : lazy_none("xt_module_find: the module has no tensor \"%s\" (%d others)", full ? full : "",
                                xt_module_tensors(m));
    base_free(full);
    return t;
}

int64_t xt_module_param_count(const xt_module *m) {
    int64_t n = 0;
    for (int i = 0; i < xt_module_tensors(m); i++)
        if (m->root->entries[i].is_param) n += m->root->entries[i].type->count;
    return n;
}
