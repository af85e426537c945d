/* Modules: named tensors, children, and the forward pass that makes parameters at its first call. */
#include "base/handle.h"
#include "format/safetensors.h"
#include "lazy/places.h"
#include "lazy/step/swept.h"
#include "nn/nn.h"

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
    if (parent) handle_needs(m, root->module);
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
        r->called_step = -1;
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
    r->number = nn_next_numbers(1);
    r->module = m;
    m->number = r->number;
    m->mode = NN_TRAINING;
    lazy_own(m, free_root);
    m->fn = fn;
    m->user = user;
    return m;
}

void xt_module_free(xt_module *m) {
    if (!m || m->parent) return; /* children belong to their root */
    nn_root *r = m->root;
    nn_loaded_left(r);
    nn_modes_free(m);
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
    map_free(r->fused, NULL);
    map_free(r->loaded, nn_loaded_free);
    map_free(r->gradients, nn_loaded_free);
    nn_wishes_free(r);
    nn_shard_rules_free(r);
    module_free(m);
    base_free(r);
}

/* What is behind it would be cut in one place or another, and two names would be one. */
enum { LONGEST_NAME = 900 };
static xt_status too_long(const char *what, const char *name) {
    size_t n = strlen(name);
    return n <= LONGEST_NAME
               ? NULL
               : status_new(XT_INVALID_ARGUMENT, NULL,
                            "%s %.40s...%s has %zu characters; at most %d are possible: give the modules in it shorter "
                            "names, or nest them less",
                            what, name, name + n - 20, n, LONGEST_NAME);
}

static xt_module *new_child(xt_module *m, const char *key) {
    str path = STR_INIT;
    str_printf(&path, "%s%s%s", m->path, *m->path ? "." : "", key);
    xt_status s = path.failed ? status_oom(path.len, "a child module") : too_long("the module", str_cstr(&path));
    xt_module *c = s ? NULL : module_new(m->root, m, str_cstr(&path), key);
    if (!s && !c) s = status_oom(sizeof *c, "a child module");
    if (s) lazy_fail(s);
    str_free(&path);
    return c;
}

xt_module *(xt_sub)(xt_module *m, const char *name, int index) {
    if (!m) return NULL;
    if (!*name && index < 0) return m;
    char number[16] = "";
    if (index >= 0) snprintf(number, sizeof number, "%s%d", *name ? "." : "", index);
    size_t n = strlen(name);
    xt_module *c = m->children;
    while (c && !(strncmp(c->key, name, n) == 0 && strcmp(c->key + n, number) == 0)) c = c->next;
    if (c) return c;
    str key = STR_INIT;
    str_printf(&key, "%s%s", name, number);
    if (key.failed)
        lazy_fail(status_oom(n, "a child module"));
    else
        c = new_child(m, str_cstr(&key));
    str_free(&key);
    if (!c) return m;
    c->next = m->children;
    m->children = c;
    return c;
}

void xt_share(xt_module *m, const char *name) {
    char *full = m ? nn_full_name(m, name, "") : NULL;
    if (full && !map_put(m->root->shared, full, strlen(full), m, NULL)) lazy_fail(status_oom(64, "a layer's name"));
    base_free(full);
}

xt_module *xt_module_new_many(xt_module_many_fn fn, int n_in, int n_out, void *user) {
    if (n_in < 1 || n_out < 1) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_module_new_many: %d inputs and %d outputs: both must be at least 1", n_in, n_out));
        return NULL;
    }
    xt_module *m = xt_module_new(NULL, user);
    if (!m) return NULL;
    m->many = fn;
    m->n_in = n_in;
    m->n_out = n_out;
    return m;
}

/* What is wrong with a pass of so many inputs and outputs; NULL: nothing. */
static xt_status check_pass(const xt_src *src, const xt_module *m, const char *who, int n_in, int n_out) {
    if (!m) return status_new(XT_INVALID_ARGUMENT, src, "%s: the module is NULL", who);
    if (!m->fn && !m->many && !m->parent)
        return status_new(XT_INVALID_ARGUMENT, src,
                          "%s: the network has no function: xt_module_new was given NULL; call layer functions on it, "
                          "or give it one",
                          who);
    if (!m->fn && !m->many)
        return status_new(
            XT_INVALID_ARGUMENT, src,
            "%s: the child module %s has no function of its own; call the root, or a layer function on it", who,
            m->path);
    int takes = m->fn ? 1 : m->n_in, gives = m->fn ? 1 : m->n_out;
    if (n_in == takes && n_out == gives) return NULL;
    return status_new(XT_INVALID_ARGUMENT, src,
                      "%s: %d input%s and %d output%s, but the module's function takes %d and gives %d%s", who, n_in,
                      n_in == 1 ? "" : "s", n_out, n_out == 1 ? "" : "s", takes, gives,
                      m->many && strcmp(who, "xt_forward") == 0 ? "; call xt_forward_many" : "");
}

static bool open_pass(nn_root *r) {
    map_free(r->called, NULL);
    r->called = map_new();
    r->called_step = lazy_step();
    r->called_sweeps = lazy_swept_here()->calls;
    r->balance = (xt_tensor){0};
    return r->called != NULL;
}

/* Begins a pass, in which each layer's name counts anew, and calls the module's function in it. */
static bool pass(const xt_src *src, xt_module *m, const xt_tensor *in, xt_tensor *out) {
    bool outermost = m->root->depth == 0 && !m->root->building && lazy_forward_begins(src);
    if (!open_pass(m->root)) {
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_forward: out of memory");
        return false;
    }
    lazy_inside_fn call;
    lazy_places places;
    if (!lazy_places_open(&places, src, "xt_forward", m->fn ? 1 : m->n_out)) return false;
    m->root->depth++;
    lazy_enter(&call, "the function of xt_forward", m->root->module);
    if (m->fn)
        places.at[0] = m->fn(m, in[0], m->user);
    else
        m->many(m, in, places.at, m->user);
    lazy_leave(&call);
    int n_out = m->fn ? 1 : m->n_out;
    bool kept = lazy_pending() || lazy_places_kept(src, "the module's function", "out", "n_out", n_out, places.at);
    if (kept) memcpy(out, places.at, (size_t)n_out * sizeof *out);
    lazy_places_close(&places);
    m->root->depth--;
    if (outermost) lazy_forward_ends(kept ? n_out : 0, out);
    nn_first_pass_ended(m->root);
    nn_wishes_check(m->root);
    return kept;
}

xt_tensor xt_forward_at(const xt_src *src, xt_module *m, xt_tensor x) {
    xt_status bad = check_pass(src, m, "xt_forward", 1, 1);
    xt_tensor y = {0};
    if (bad) lazy_fail(bad);
    if (bad || !pass(src, m, &x, &y)) return lazy_failed_tensor(src);
    if (m->many && xt_is_none(y))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_forward: the module's function did not fill its output");
    return y;
}

bool xt_forward_many_at(const xt_src *src, xt_module *m, int n_in, const xt_tensor *in, int n_out, xt_tensor *out) {
    for (int i = 0; i < n_out; i++) out[i] = (xt_tensor){0};
    xt_status bad = check_pass(src, m, "xt_forward_many", n_in, n_out);
    if (bad) lazy_fail(bad);
    bool ok = !bad && pass(src, m, in, out);
    for (int i = 0; i < n_out; i++) {
        if (ok && xt_is_none(out[i]))
            lazy_error(src, XT_INVALID_ARGUMENT, "xt_forward_many: the module's function did not fill out[%d] of %d", i,
                       n_out);
        if (xt_is_none(out[i])) out[i] = lazy_failed_tensor(src);
        ok = ok && !lazy_is_error(out[i]);
    }
    return ok;
}

/* --- names --- */
char *nn_full_name(const xt_module *m, const char *layer, const char *leaf) {
    str s = STR_INIT;
    str_append(&s, m->path);
    if (*layer) str_printf(&s, "%s%s", s.len ? "." : "", layer);
    if (*leaf) str_printf(&s, "%s%s", s.len ? "." : "", leaf);
    char *out = s.failed ? NULL : base_strdup(str_cstr(&s));
    if (!out) lazy_fail(status_oom(s.len + 1, "a layer's name"));
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

/* Of layers called without xt_forward a step is a pass; where nothing has ended the step yet, so is what a loop does
 * behind its xt_backward. called: the layer's call in the pass, + 1; 0: it has none. */
static bool begins_pass(const nn_root *r, const xt_src *src, uintptr_t called) {
    if (r->depth) return false;
    if (r->called_step != lazy_step()) return true;
    return called == (uintptr_t)src_intern(src) + 1 && r->called_sweeps != lazy_swept_here()->calls;
}

bool nn_layer_begin(const xt_src *src, xt_module *m, const char *layer) {
    if (!m) {
        lazy_error(src, XT_INVALID_ARGUMENT, "layer %s: the module is NULL", layer);
        return false;
    }
    char *full = nn_full_name(m, layer, "");
    if (!full) return false;
    xt_status s = too_long("the layer", full);
    if (s) {
        lazy_fail(status_at(s, src));
        base_free(full);
        return false;
    }
    uintptr_t before = (uintptr_t)map_get(m->root->called, full, strlen(full));
    if (begins_pass(m->root, src, before)) {
        before = 0;
        if (!open_pass(m->root)) {
            lazy_fail(status_oom(64, "a layer's name"));
            base_free(full);
            return false;
        }
    }
    bool ok = !before || m->root->stack || is_shared(m->root, full); /* a pipeline's block is called again */
    if (!ok) {
        char at[256];
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "layer %s is called twice in one forward pass (first at %s); give the second a name of its own, or "
                   "call xt_share(m, \"%s\") to share weights",
                   full, src_text((src_id)(before - 1), at, sizeof at), layer);
    }
    void *at_call = (void *)(uintptr_t)(src_intern(src) + 1);
    if (!before && !map_put(m->root->called, full, strlen(full), at_call, NULL)) {
        lazy_fail(status_oom(64, "a layer's name"));
        ok = false;
    }
    if (ok) lazy_path_push(full);
    base_free(full);
    return ok;
}

void nn_layer_end(void) {
    lazy_path_pop();
}

/* --- making tensors --- */
nn_entry *nn_find(const nn_root *r, const char *name) {
    uintptr_t i = (uintptr_t)map_get(r->by_name, name, strlen(name));
    return i ? &r->entries[i - 1] : NULL;
}

bool nn_list(nn_root *r, nn_entry e) {
    size_t n = strlen(e.name);
    if (!VEC_PUSH(r->entries, r->n, r->cap, e)) return false;
    if (!map_put(r->by_name, e.name, n, (void *)(uintptr_t)r->n, NULL)) {
        r->n--;
        return false;
    }
    nn_loaded_free(r->loaded ? map_remove(r->loaded, e.name, n) : NULL);
    return true;
}

/* file: that the tensor of e lies in, which no layer has asked for yet. */
static xt_tensor shape_error(const xt_src *src, const nn_entry *e, const ir_type *type, const char *file) {
    str a = STR_INIT, b = STR_INIT;
    char at[256];
    ir_type_print(e->type, &a);
    ir_type_print(type, &b);
    xt_tensor t = e->t.slot
                      ? lazy_error(src, XT_INVALID_ARGUMENT,
                                   "%s was made as %s at %s, but this call needs %s; the input's shape changed, or two "
                                   "layers share the name",
                                   e->name, str_cstr(&a), src_text(e->src, at, sizeof at), str_cstr(&b))
                      : lazy_error(src, XT_INVALID_ARGUMENT, "%s is %s in %s, but this call needs %s", e->name,
                                   str_cstr(&a), file ? file : "the file that was loaded", str_cstr(&b));
    str_free(&a);
    str_free(&b);
    return t;
}

xt_tensor nn_tensor_of(const xt_module *m, const char *layer, const char *leaf) {
    char *name = nn_full_name(m, layer, leaf);
    const nn_entry *e = name ? nn_find(m->root, name) : NULL;
    base_free(name);
    return e ? e->t : (xt_tensor){0};
}

bool nn_has(const xt_module *m, const char *layer, const char *leaf) {
    char *name = nn_full_name(m, layer, leaf);
    const nn_entry *e = name ? nn_find(m->root, name) : NULL;
    base_free(name);
    return e && !e->waits;
}

bool nn_is_fused(const xt_module *m, const char *norm) {
    if (!m->root->fused || !map_count(m->root->fused)) return false;
    char *full = nn_full_name(m, norm, "");
    bool is = full && map_get(m->root->fused, full, strlen(full));
    base_free(full);
    return is;
}

/* What the user wants of a parameter; of a stack, of its first layer. */
static xt_status wished(const nn_root *r, const char *name, const ir_type *type, nn_recipe *recipe, bool *frozen) {
    char one[1024];
    if (!r->stacking || !nn_layer_name(name, r->stacking, 0, one, sizeof one))
        return nn_wished(r, name, type, recipe, frozen);
    return nn_wished(r, one, ir_tensor(type->dtype, type->rank - 1, type->dims + 1), recipe, frozen);
}

bool nn_is_lora(const char *name) {
    return nn_matches("*" NN_LORA_A, name) || nn_matches("*" NN_LORA_B, name);
}

/* Files that must have every tensor have not this one. Adapters begin as nothing beside a model that has none in its
 * file, and so do those that are said later than the file of a fit that goes on was written. */
static bool must_have(const nn_root *r, const char *name) {
    if (!r->loaded_all && !r->loaded_whole) return false;
    return !nn_is_lora(name) || (!r->resumed && (r->loaded_whole || r->loaded_adapts));
}

const char *nn_lacking_advice(bool resumes) {
    return resumes ? ": a fit goes on with the layers that it had; without resume, xt_load_with(net, path, .strict = "
                     "XT_OFF) behind xt_module_build begins one with those that the file has"
                   : "";
}

/* The value a tensor begins with: from the file that was loaded, else as the layer or the user's rule says. It is a
 * state already (*out), or it is in memory (`data`; NULL: zeros), or it is made at its first use, where `from` has a
 * function. False after an error, which is *out. */
static bool begin_value(const xt_src *src, nn_root *r, const char *name, bool is_param, nn_recipe recipe,
                        const ir_type *type, void **data, lazy_source *from, bool *frozen, xt_tensor *out) {
    nn_loaded *l = r->loaded ? map_remove(r->loaded, name, strlen(name)) : NULL;
    xt_status s = NULL;
    *frozen = false;
    *data = NULL;
    *from = (lazy_source){0};
    *out = (xt_tensor){0};
    if (l && !nn_converts(l->type, type))
        *out = shape_error(src, &(nn_entry){.name = (char *)name, .type = l->type}, type, l->path);
    else if (!l && must_have(r, name))
        *out = lazy_error(src, XT_NOT_FOUND, "%s %s no tensor %s, which the module needs%s", r->loaded_path,
                          r->loaded_files > 1 ? "and what was loaded before it hold" : "holds", name,
                          nn_lacking_advice(r->resumed));
    else {
        if (is_param) s = wished(r, name, type, &recipe, frozen);
        if (!s && l && l->t.slot && l->type != type) s = nn_loaded_fetch(l);
        if (!s && l && l->t.slot && l->type == type) {
            *out = l->t;
            l->t = (xt_tensor){0};
        } else if (!s && l && l->file)
            s = nn_stored_source(l, from);
        else if (!s && l && !(s = nn_convert(l, type))) {
            *data = l->data;
            l->data = NULL;
        } else if (!s && recipe.kind != NN_ZEROS)
            s = nn_draw_source(name, r->stacking, &recipe, from);
        nn_loaded_free(l);
        if (!s) return true;
        lazy_fail(status_at(s, src));
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s could not be made", name);
        return false;
    }
    nn_loaded_free(l);
    return false;
}

void nn_take_gradient(nn_root *r, const char *name, xt_tensor param) {
    nn_loaded *l = r->gradients ? map_remove(r->gradients, name, strlen(name)) : NULL;
    if (!l) return;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    memcpy(dims, l->type->dims, l->type->rank * sizeof *dims);
    xt_tensor g = xt_from_array_at(XT_HERE, l->data, l->type->dtype, dims);
    if (lazy_type(g)) lazy_set_grad(param, g);
    nn_loaded_free(l);
}

xt_status nn_give_gradient(xt_module *m, const char *name, const ir_type *type, const void *data) {
    xt_tensor param = xt_module_find(m, name);
    XT_TRY(nn_wait_in(&m->root->gradients, name, type, data));
    if (param.slot) nn_take_gradient(m->root, name, param);
    return NULL;
}

/* Whoever goes on with a fit may have a layer that the fit did not have yet, or had by another name. */
static void tell_lacking(const xt_src *src, nn_root *r, const char *name) {
    char at[256];
    if (!r->resumed || r->told_lacking || (r->loaded && map_get(r->loaded, name, strlen(name)))) return;
    if (must_have(r, name)) return; /* it is an error then, and does not begin */
    r->told_lacking = true;
    log_msg(XT_SEV_INFO,
            "%s: %s is not in %s, which the fit goes on from: it begins as that of a new layer, and so do others that "
            "the file does not have",
            src_text(src_intern(src), at, sizeof at), name, r->loaded_path);
}

/* The state with the value that it begins with. False after an error, which is *out. */
static bool make_state(const xt_src *src, nn_root *r, const char *name, bool is_param, nn_recipe recipe,
                       const ir_type *type, xt_tensor *out) {
    void *data;
    lazy_source from;
    bool frozen;
    xt_status long_name = too_long("the tensor", name);
    if (long_name) {
        lazy_fail(status_at(long_name, src));
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "a tensor of the module could not be made");
        return false;
    }
    if (!st_may_be_called(name)) { /* said here, not at the first save, which would lose what was trained */
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "no tensor can be called %s: names of layers are UTF-8, as files of weights need them; "
                          "give the layer another name",
                          name);
        return false;
    }
    if (!begin_value(src, r, name, is_param, recipe, type, &data, &from, &frozen, out)) return false;
    lazy_role role = is_param ? LAZY_PARAMETER : LAZY_BUFFER;
    bool waited = out->slot != 0;
    if (!waited)
        *out = from.fill ? lazy_state_from(src, role, name, type, from)
                         : lazy_state_take(src, role, name, type->dtype, (int)type->rank, type->dims, data);
    if (is_param && !frozen && !lazy_is_error(*out)) xt_requires_grad_at(src, *out, true);
    if (waited) lazy_state_becomes(src, *out, role);
    if (is_param && !lazy_is_error(*out)) nn_take_gradient(r, name, *out);
    return true;
}

static xt_tensor make(const xt_src *src, nn_root *r, char *name, bool is_param, nn_recipe recipe, const ir_type *type,
                      bool waits) {
    xt_tensor t;
    if (!make_state(src, r, name, is_param, recipe, type, &t)) {
        base_free(name);
        return t;
    }
    nn_entry e = {.name = name,
                  .t = t,
                  .type = type,
                  .is_param = is_param,
                  .waits = waits,
                  .stacked = r->stacking,
                  .src = src_intern(src)};
    nn_shard_entry(r, &e);
    if (lazy_type(t)) handle_settle(r->module);
    if (nn_list(r, e)) {
        r->n_waiting += waits;
        return t;
    }
    if (lazy_type(t)) xt_drop_at(src, t);
    lazy_fail(status_oom(sizeof e, name));
    base_free(name);
    return t;
}

xt_status nn_make_waiting(const xt_src *src, nn_root *r, const char *name, bool is_param, size_t stacked) {
    const nn_loaded *l = r->loaded ? map_get(r->loaded, name, strlen(name)) : NULL;
    if (!l || nn_find(r, name) || stacked >= strlen(name)) return NULL;
    char *own = base_strdup(name);
    if (!own) return status_oom(strlen(name), name);
    size_t outer = r->stacking;
    r->stacking = stacked;
    make(src, r, own, is_param, (nn_recipe){0}, l->type, true);
    r->stacking = outer;
    return lazy_pending() ? status_clone(lazy_pending()) : NULL;
}

/* The waiting value goes through the door of what is loaded, which converts it, or says how it differs. */
static xt_status let_wait(nn_root *r, const nn_entry *e) {
    size_t n = ir_type_bytes(e->type);
    void *data = base_malloc(n + 1);
    xt_status s = data ? lazy_state_read(e->t, data, n) : status_oom(n, e->name);
    if (!s) s = nn_wait_in(&r->loaded, e->name, e->type, data);
    if (!s) ((nn_loaded *)map_get(r->loaded, e->name, strlen(e->name)))->path = r->loaded_path;
    base_free(data);
    return s;
}

/* A layer asks for what waits in the list. Of another dtype than the file's, or of a file before the newest, it is made
 * anew in its place. */
static xt_tensor take_waiting(const xt_src *src, nn_root *r, nn_entry *e, bool is_param, nn_recipe recipe,
                              const ir_type *type) {
    if (e->anew || e->type != type || e->is_param != is_param) {
        xt_tensor t, grad = lazy_grad(e->t);
        xt_status s = e->anew ? NULL : let_wait(r, e);
        if (s) {
            lazy_fail(status_at(s, src));
            return lazy_failed_tensor(src);
        }
        if (!make_state(src, r, e->name, is_param, recipe, type, &t)) return t;
        if (grad.slot && !e->anew && !lazy_is_error(t)) lazy_set_grad(t, xt_cast_at(src, grad, type->dtype));
        xt_drop_at(src, e->t);
        e->t = t;
        e->type = type;
        e->is_param = is_param;
        nn_shard_entry(r, e);
    }
    e->src = src_intern(src);
    nn_taken(r, e);
    return e->t;
}

/* Matrices of LoRA's beside narrower weights: what they add up is smaller than those tell apart. */
static bool stays_f32(const char *name, xt_dtype dtype) {
    return xt_dtype_size(dtype) < 4 && nn_is_lora(name);
}

/* A tensor of the blocks (or, of any name, of the head) of the xt_pipeline that is being recorded. */
static bool in_stack(const nn_root *r, const char *name) {
    size_t n = r->stack ? strlen(r->stack->name) : 0;
    return r->stack && strncmp(name, r->stack->name, n) == 0 && (!n || name[n] == '.');
}

xt_tensor nn_tensor(const xt_src *src, xt_module *m, const char *layer, const char *leaf, bool is_param, nn_init init,
                    double a, xt_dtype dtype, int rank, const int64_t *dims) {
    char *name = nn_full_name(m, layer, leaf);
    if (name && is_param && dtype == XT_F32 && m->root->param_dtype != XT_DTYPE_NONE &&
        !strstr(name, "parametrizations.") && !stays_f32(name, m->root->param_dtype))
        dtype = m->root->param_dtype;
    const ir_type *type = ir_tensor(dtype, (size_t)rank, dims);
    if (!name || !type) {
        xt_tensor bad = lazy_error(src, XT_INVALID_ARGUMENT, "%s.%s: its size does not fit memory", layer, leaf);
        base_free(name);
        return bad;
    }
    if (in_stack(m->root, name)) {
        nn_stack *s = m->root->stack;
        xt_tensor t = s->give(s, src, m, name, &(nn_stacked_ask){layer, leaf, is_param, init, a, dtype, rank, dims});
        base_free(name);
        return t;
    }
    nn_entry *e = is_param && rank == 2 ? nn_integers(src, m->root, name, dims[0], dims[1]) : NULL;
    if (!e) e = nn_find(m->root, name);
    const nn_wish *made = (!e || e->waits) && is_param && rank > 0 ? nn_parametrized(m->root, name) : NULL;
    if (made && !nn_is_new(m->root, name)) {
        xt_tensor bad = nn_made_of_others(src, m->root, name, made);
        base_free(name);
        return bad;
    }
    if (made) {
        xt_spectral_norm_opts o = made->spectral;
        xt_orthogonal_opts orthogonal = made->orthogonal;
        int what = made->what;
        base_free(name);
        if (what == NN_WISH_ORTHOGONAL)
            return nn_orthogonal(src, m, layer, leaf, (nn_recipe){init, .a = a}, dtype, rank, dims, &orthogonal);
        return what == NN_WISH_SPECTRAL_NORM ? nn_spectral_normed(src, m, layer, leaf, init, a, dtype, rank, dims, &o)
                                             : nn_weight_normed(src, m, layer, leaf, init, a, dtype, rank, dims);
    }
    if (!e) {
        tell_lacking(src, m->root, name);
        return make(src, m->root, name, is_param, (nn_recipe){init, .a = a}, type, false);
    }
    base_free(name);
    if (e->waits) return take_waiting(src, m->root, e, is_param, (nn_recipe){init, .a = a}, type);
    if (e->bits) return nn_dequantized(src, m->root, e, rank, dims);
    return e->type == type ? e->t : shape_error(src, e, type, NULL);
}

/* xt_param and xt_buffer. */
static xt_tensor own_tensor(const xt_src *src, const char *what, xt_module *m, const char *name, bool is_param,
                            const char *init, double a, xt_dtype dtype, const int64_t *dims) {
    static const char *const kinds[] = {"zeros", "ones", "uniform", "normal"};
    if (!m) return lazy_error(src, XT_INVALID_ARGUMENT, "%s: the module is NULL", what);
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank]) rank++;
    if (!lazy_dims_fit(src, what, rank, dims)) return lazy_failed_tensor(src);
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        if (init && strcmp(init, kinds[k]) == 0)
            return nn_tensor(src, m, name, "", is_param, (nn_init)k, a, dtype, rank, dims);
    return lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: init is \"%s\"; zeros, ones, uniform or normal are known", what,
                      name, init ? init : "NULL");
}

xt_tensor xt_param_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a, xt_dtype dtype,
                      const int64_t *dims) {
    return own_tensor(src, "xt_param", m, name, true, init, a, dtype, dims);
}

xt_tensor xt_buffer_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a, xt_dtype dtype,
                       const int64_t *dims) {
    return own_tensor(src, "xt_buffer", m, name, false, init, a, dtype, dims);
}

xt_status xt_module_set_dtype(xt_module *m, xt_dtype dtype) {
    if (!m || !ir_dtype_is_float(dtype))
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_set_dtype: a module and a float dtype are needed");
    for (size_t i = 0; i < m->root->n; i++) {
        const nn_entry *e = &m->root->entries[i];
        if (e->is_param && !e->waits && ir_dtype_is_float(e->type->dtype) && e->type->dtype != dtype &&
            !strstr(e->name, "parametrizations.") && !stays_f32(e->name, dtype))
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "xt_module_set_dtype: %s is %s already; call it before the first pass and "
                              "xt_module_build (xt_load converts what a file has)",
                              e->name, xt_dtype_name(e->type->dtype));
    }
    m->root->param_dtype = dtype;
    return NULL;
}

/* An input of the spec's shape, of zeros that nothing computes. */
static xt_status stand_in(const char *who, int i, const xt_spec *x, xt_tensor *out) {
    int rank = 0;
    while (rank < XT_MAX_RANK && x->dims[rank]) rank++;
    const ir_type *type = x->dtype ? ir_tensor(x->dtype, (size_t)rank, x->dims) : NULL;
    if (!type) return status_new(XT_INVALID_ARGUMENT, NULL, "%s: the spec of input %d is no tensor", who, i);
    ir_builder *b = lazy_begin(XT_HERE);
    *out = lazy_wrap(ir_splat(b, type, 0), who);
    return NULL;
}

/* Parameters have no sense while only their shapes are wanted: a pass on made-up data must not move the statistics. */
bool nn_tracks(const xt_module *m) {
    return !m->root->building;
}

/* Tracing makes the parameters; the trace itself is thrown away. */
static xt_status build(const char *who, xt_module *m, int n_in, const xt_spec *x) {
    int n_out = m->many ? m->n_out : 1;
    bool alone = lazy_trace_is_empty();
    size_t leaves = lazy_leaves();
    xt_tensor *t = base_calloc((size_t)n_in + (size_t)n_out, sizeof *t);
    xt_status s = t ? check_pass(NULL, m, who, n_in, n_out) : status_oom((size_t)n_in * sizeof *t, "inputs");
    for (int i = 0; i < n_in && !s; i++) s = stand_in(who, i, &x[i], &t[i]);
    if (!s) {
        lazy_drawn drawn = lazy_draws_now();
        m->root->building = true;
        lazy_building(true);
        bool ok = xt_forward_many_at(XT_HERE, m, n_in, t, n_out, t + n_in);
        m->root->building = false;
        m->root->called_step = -1; /* the step has called no layer of it */
        lazy_draws_again(drawn);
        lazy_building(false);
        if (!ok) s = status_clone(lazy_pending());
        if (alone && ok)
            lazy_end_build(XT_HERE);
        else
            lazy_forget_build(leaves);
    }
    base_free(t);
    return s;
}

xt_status xt_module_build(xt_module *m, xt_spec x) {
    if (!m) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_build: the module is NULL");
    return build("xt_module_build", m, 1, &x);
}
xt_status xt_module_build_many(xt_module *m, int n_in, const xt_spec *x) {
    if (!m) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_module_build_many: the module is NULL");
    return build("xt_module_build_many", m, n_in, x);
}

/* --- queries --- */
bool nn_below(const xt_module *m, const char *name) {
    size_t n = strlen(m->path);
    return n == 0 || (strncmp(name, m->path, n) == 0 && name[n] == '.');
}

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
    return lazy_none("xt_module_tensor: number %d of %d tensors%s", i, xt_module_tensors(m),
                     m && !m->root->n
                         ? ": a module makes them in its first pass, or when xt_module_build is called on it "
                           "(in a trainer: before xt_fit, and given as .module)"
                         : "");
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
    const nn_entry *e = full ? nn_find(m->root, full) : NULL;
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
