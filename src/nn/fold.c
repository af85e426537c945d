/* Modules that are not trained any more: weights in place of what they are made of, and batch norms that become a part
 * of the layer before them. Values are computed once, on the device, and the module's list of tensors changes. */
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "ops/ops.h"

/* --- the list of tensors --- */
/* Takes tensor i out of the list. */
static void take_out(const xt_src *src, nn_root *r, size_t i) {
    nn_taken(r, &r->entries[i]);
    nn_entry gone = r->entries[i];
    map_remove(r->by_name, gone.name, strlen(gone.name));
    memmove(r->entries + i, r->entries + i + 1, (r->n - i - 1) * sizeof *r->entries);
    r->n--;
    for (size_t k = i; k < r->n; k++)
        map_put(r->by_name, r->entries[k].name, strlen(r->entries[k].name), (void *)(uintptr_t)(k + 1), NULL);
    if (lazy_type(gone.t)) xt_drop_at(src, gone.t);
    base_free(gone.name);
}

static void take_out_named(const xt_src *src, nn_root *r, const char *name) {
    nn_entry *e = nn_find(r, name);
    if (e) take_out(src, r, (size_t)(e - r->entries));
}

/* A step that is under way ends, so that nobody but the list has the tensors. */
static xt_status settle(const xt_src *src) {
    if (lazy_spmd())
        return status_new(XT_UNIMPLEMENTED, NULL, "the module is divided over ranks; do it on a process alone");
    return lazy_boundary(LAZY_CHECKPOINT, src) && lazy_drain() ? NULL : status_clone(lazy_pending());
}

/* The value of t as bytes (base_free). */
static xt_status value_of(xt_tensor t, const ir_type **out_type, void **out) {
    const ir_type *type = *out_type = lazy_type(t);
    *out = type ? base_malloc(ir_type_bytes(type) + 1) : NULL;
    if (!type) return lazy_pending() ? status_clone(lazy_pending()) : status_new(XT_INTERNAL, NULL, "no value");
    if (!*out) return status_oom(ir_type_bytes(type), "a weight");
    return xt_read(t, *out, ir_type_bytes(type)) ? NULL : status_clone(lazy_pending());
}

/* Puts a tensor of that value at the end of the list, or gives the one of that name the value; takes data over. */
static xt_status put(const xt_src *src, nn_root *r, const char *name, const ir_type *type, void *data) {
    nn_entry *e = nn_find(r, name);
    if (e) {
        xt_status s = lazy_state_write(e->t, data, ir_type_bytes(type));
        base_free(data);
        return s;
    }
    char *own = base_strdup(name);
    nn_entry more = {.name = own, .type = type, .is_param = true, .src = src_intern(src)};
    if (!own || !nn_list(r, more)) {
        base_free(own);
        base_free(data);
        return status_oom(sizeof more, name);
    }
    e = &r->entries[r->n - 1];
    e->t = lazy_state_take(src, LAZY_PARAMETER, own, type->dtype, (int)type->rank, type->dims, data);
    if (!lazy_is_error(e->t) && !nn_is_frozen(r->module, own)) xt_requires_grad_at(src, e->t, true);
    return lazy_is_error(e->t) ? status_clone(lazy_pending()) : NULL;
}

/* --- weights in place of what they are made of --- */
/* What the weight is, as the layer would get it in evaluation mode. */
static xt_status made_value(const xt_src *src, xt_module *root, const char *plain, const ir_type *type,
                            const ir_type **out_type, void **out) {
    nn_mode_begin(src, root, NN_EVALUATING);
    xt_no_grad_begin();
    char layer[512];
    const char *leaf = strrchr(plain, '.');
    snprintf(layer, sizeof layer, "%.*s", leaf ? (int)(leaf - plain) : (int)strlen(plain), plain);
    xt_tensor w =
        nn_tensor(src, root, layer, leaf ? leaf + 1 : "", true, NN_ZEROS, 0, type->dtype, (int)type->rank, type->dims);
    xt_status s = value_of(w, out_type, out);
    xt_no_grad_end_at(src);
    nn_mode_end(src, root);
    return s;
}

/* The parts of the weight `plain` go, and it comes in their place; data is taken over. */
static xt_status remove_parts(const xt_src *src, nn_root *r, const char *plain, const ir_type *type, void *data) {
    static const char inside[] = "parametrizations.";
    static const char *const parts[] = {"original", "original0", "original1", "0._u", "0._v", "0.base"};
    const char *leaf = strrchr(plain, '.');
    leaf = leaf ? leaf + 1 : plain;
    for (size_t k = 0; k < BASE_COUNT(parts); k++) {
        str name = STR_INIT;
        str_printf(&name, "%.*s%s%s.%s", (int)(leaf - plain), plain, inside, leaf, parts[k]);
        bool whole = !name.failed;
        if (whole) take_out_named(src, r, str_cstr(&name));
        str_free(&name);
        if (!whole) {
            base_free(data);
            return status_oom(64, plain);
        }
    }
    return put(src, r, plain, type, data);
}

static xt_status remove_one(const xt_src *src, xt_module *root, const char *plain, const ir_type *type) {
    void *data = NULL;
    const ir_type *made = NULL;
    xt_status s = made_value(src, root, plain, type, &made, &data);
    if (!s) s = settle(src);
    if (s) {
        base_free(data);
        return s;
    }
    return remove_parts(src, root->root, plain, made, data);
}

int xt_remove_parametrizations_at(const xt_src *src, xt_module *m, const char *pattern) {
    static const char *const what = "xt_remove_parametrizations";
    char *full = m && pattern ? nn_full_name(m, pattern, "") : NULL;
    xt_status s = !m || !pattern ? status_new(XT_INVALID_ARGUMENT, NULL, "%s: a module and a pattern are needed", what)
                  : !full        ? status_oom(strlen(pattern), pattern)
                  : !m->root->n  ? status_new(XT_FAILED_PRECONDITION, NULL,
                                              "%s: the module has no tensors yet; call it behind xt_module_build", what)
                                 : settle(src);
    int n = 0;
    nn_root *r = s ? NULL : m->root;
    for (size_t i = 0; r && i < r->n && !s;) {
        char weight[512];
        bool fits = nn_weight_of(r->entries[i].name, weight, sizeof weight) && nn_matches(full, weight);
        if (fits) s = remove_one(src, r->module, weight, r->entries[i].type);
        n += fits && !s;
        i = fits ? 0 : i + 1; /* the list is another one */
    }
    base_free(full);
    if (!s && n) return n;
    lazy_fail(status_at(s ? s
                          : status_new(XT_INVALID_ARGUMENT, NULL,
                                       "%s: no weight that fits \"%s\" is made of others (xt_weight_norm, "
                                       "xt_spectral_norm, xt_orthogonal)",
                                       what, pattern),
                        src));
    return -1;
}

/* --- batch norms --- */
typedef struct bn_layers { /* of the layer: its tensors, none where it has none */
    xt_tensor weight, bias, gamma, beta, mean, var;
} bn_layers;

/* torch.nn.utils.fusion.fuse_conv_bn_weights: rows of the weight times gamma / sqrt(var + eps), and the bias that is
 * left. */
static void fused(const xt_src *src, const bn_layers *n, const xt_fuse_opts *o, xt_tensor out[2]) {
    const ir_type *t = lazy_type(n->weight), *v = lazy_type(n->var);
    if (!t || !v) {
        out[0] = out[1] = lazy_failed_tensor(src);
        return;
    }
    int64_t along[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) along[i] = 1;
    along[o->transposed == XT_ON] = v->dims[0];
    xt_tensor rate = xt_rsqrt_at(src, xt_add_at(src, n->var, nn_number(src, o->eps, v->dtype)));
    if (!xt_is_none(n->gamma)) rate = xt_mul_at(src, rate, n->gamma);
    out[0] = xt_cast_at(src, xt_mul_at(src, n->weight, xt_reshape_at(src, rate, along)), t->dtype);
    xt_tensor left = xt_is_none(n->bias) ? xt_neg_at(src, n->mean) : xt_sub__at(src, n->bias, n->mean);
    left = xt_mul_at(src, left, rate);
    if (!xt_is_none(n->beta)) left = xt_add_at(src, left, n->beta);
    out[1] = xt_cast_at(src, left, t->dtype);
}

static xt_status find_norm(const xt_module *m, const char *layer, const char *bn, const xt_fuse_opts *o, bn_layers *n) {
    *n = (bn_layers){nn_tensor_of(m, layer, "weight"),    nn_tensor_of(m, layer, "bias"),
                     nn_tensor_of(m, bn, "weight"),       nn_tensor_of(m, bn, "bias"),
                     nn_tensor_of(m, bn, "running_mean"), nn_tensor_of(m, bn, "running_var")};
    const ir_type *w = xt_is_none(n->weight) ? NULL : lazy_type(n->weight),
                  *v = xt_is_none(n->var) ? NULL : lazy_type(n->var);
    if (!w || !v || xt_is_none(n->mean))
        return status_new(XT_NOT_FOUND, NULL, "there is no %s of %s; a built module with both layers is expected",
                          !w ? "weight" : "running_var", !w ? layer : bn);
    uint32_t outputs = o->transposed == XT_ON;
    if (w->rank < 2 || !ir_dtype_is_float(w->dtype) || w->dims[outputs] != v->dims[0])
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "%s has %lld channels, and dim %u of %s's weight is %lld; the norm must stand behind the layer", bn,
            (long long)v->dims[0], outputs, layer, w->rank > outputs ? (long long)w->dims[outputs] : 0);
    return NULL;
}

static xt_status fuse(const xt_src *src, xt_module *m, const char *layer, const char *bn, const xt_fuse_opts *o) {
    static const char *const gone[] = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"};
    static const char *const kept[2] = {"weight", "bias"};
    bn_layers n;
    xt_tensor t[2];
    void *data[2] = {NULL, NULL};
    const ir_type *type[2];
    XT_TRY(settle(src));
    XT_TRY(find_norm(m, layer, bn, o, &n));
    char *mark = nn_full_name(m, bn, "");
    xt_no_grad_begin();
    fused(src, &n, o, t);
    xt_status s = mark ? value_of(t[0], &type[0], &data[0]) : status_oom(64, bn);
    if (!s) s = value_of(t[1], &type[1], &data[1]);
    xt_no_grad_end_at(src);
    if (!s) s = settle(src);
    if (!s && !map_put(m->root->fused, mark, strlen(mark), m, NULL)) s = status_oom(64, bn);
    for (int i = 0; i < 2; i++) {
        char *name = s ? NULL : nn_full_name(m, layer, kept[i]);
        if (!s && !name) s = status_oom(64, layer);
        if (!s)
            s = put(src, m->root, name, type[i], data[i]);
        else
            base_free(data[i]);
        base_free(name);
    }
    for (size_t i = 0; i < BASE_COUNT(gone) && !s; i++) {
        char *name = nn_full_name(m, bn, gone[i]);
        if (name) take_out_named(src, m->root, name);
        base_free(name);
    }
    base_free(mark);
    return s;
}

bool xt_fuse_bn_at(const xt_src *src, xt_module *m, const char *layer, const char *norm, xt_fuse_opts o) {
    xt_status s = !m || !layer || !norm ? status_new(XT_INVALID_ARGUMENT, NULL, "a module and two layers are needed")
                  : !(o.eps >= 0) ? status_new(XT_INVALID_ARGUMENT, NULL, ".eps = %g; at least 0 is expected", o.eps)
                                  : NULL;
    if (!s && !m->root->fused && !(m->root->fused = map_new())) s = status_oom(64, layer);
    if (!s) s = fuse(src, m, layer, norm, &o);
    if (!s) return true;
    lazy_fail(status_at(status_context(s, "xt_fuse_bn"), src));
    return false;
}
