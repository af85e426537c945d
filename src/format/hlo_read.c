/* A module of HLO: its computations by id, the entry as `main`, and computations built where they are called. Callees
 * stand before their callers in the message, which is what keeps calls from going in circles. */
#include "format/hlo_int.h"

static bool key_bytes(const unsigned char *p, size_t n, size_t at, size_t *out_body) {
    size_t size = 0;
    for (int shift = 0; at < n && shift < 63; shift += 7) {
        unsigned char c = p[at++];
        size |= (size_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *out_body = at;
            return size > 0 && size <= n - at;
        }
    }
    return false;
}

/* Field 1 is the name, a text, and field 2 the entry's name; or field 1 is a message that begins so. Text's first byte
 * can be 0x0A, a line's end, but 0x12 never follows in it. */
static bool begins_module(const unsigned char *p, size_t n) {
    size_t body;
    if (n < 4 || p[0] != 0x0a || !key_bytes(p, n, 1, &body)) return false;
    size_t size = 0, shift = 0;
    for (size_t i = 1; i < body; i++, shift += 7) size |= (size_t)(p[i] & 0x7f) << shift;
    return body + size < n && p[body + size] == 0x12 && p[body] >= 0x20;
}

/* The module inside a wrapper, or the bytes themselves. */
static hlomod_msg module_of(const unsigned char *p, size_t n) {
    size_t body;
    if (n > 4 && p[0] == 0x0a && key_bytes(p, n, 1, &body) && begins_module(p + body, n - body)) {
        hlomod_msg m = {p + body, 0};
        for (size_t i = 1, shift = 0; i < body; i++, shift += 7) m.n |= (size_t)(p[i] & 0x7f) << shift;
        return m;
    }
    return (hlomod_msg){p, n};
}

bool hlomod_is(const void *data, size_t n) {
    hlomod_msg m = data ? module_of(data, n) : (hlomod_msg){0};
    return m.n && begins_module(m.data, m.n);
}

bool hlomod_find_comp(hlomod_scope *s, hlomod_msg inst, int64_t id, size_t *out) {
    *out = 0;
    for (size_t i = 0; i < s->comp; i++) {
        if (s->r->comps[i].id != id) continue;
        *out = i;
        return true;
    }
    return hlomod_fail(s->r, inst.data, "computation %lld is called, which is none of those before the caller",
                       (long long)id);
}

static bool add_value(hlomod_scope *s, hlomod_msg inst, const hlomod_value *v) {
    int64_t id = hlomod_int(s->r, inst, 35, -1);
    hlomod_value *kept = arena_copy(s->r->scratch, v, sizeof *v);
    if (s->r->status) return false;
    if (map_get(s->values, &id, sizeof id))
        return hlomod_fail(s->r, inst.data, "two instructions have the id %lld", (long long)id);
    return (kept && map_put(s->values, &id, sizeof id, kept, NULL)) || hlomod_oom(s->r, sizeof *v);
}

/* Of the entry: what a parameter's sharding says stands on the argument, a root tuple's on the results, an annotation's
 * own on the annotation. */
static bool annotated_elsewhere(hlomod_reader *r, hlomod_msg inst) {
    const char *op = hlomod_text(r, inst, 2);
    return strcmp(op, "parameter") == 0 || strcmp(op, "tuple") == 0 || strcmp(op, "custom-call") == 0;
}

static bool build_all(hlomod_scope *s, hlomod_value *out) {
    const hlomod_comp *c = &s->r->comps[s->comp];
    size_t n;
    hlomod_msg *insts;
    if (!hlomod_subs(s->r, c->msg, 2, &n, &insts)) return false;
    for (size_t i = 0; i < n; i++) {
        hlomod_value v = {0};
        if (!s->r->budget)
            return hlomod_fail(s->r, insts[i].data,
                               "computations called from many places make the program many times its size");
        s->r->budget--;
        if (!hlomod_check(s->r, insts[i])) return false;
        bool ok = hlomod_build_inst(s, insts[i], &v);
        if (!ok && s->b.status && !s->r->status) {
            s->r->status = status_context(s->b.status, "%s: byte %zu: instruction '%s'", s->r->file,
                                          (size_t)(insts[i].data - s->r->begin), hlomod_text(s->r, insts[i], 1));
            s->b.status = NULL;
        }
        if (!ok)
            return s->r->status ? false
                                : hlomod_fail(s->r, insts[i].data, "instruction '%s' cannot be built",
                                              hlomod_text(s->r, insts[i], 1));
        if (s->r->depth == 1 && !annotated_elsewhere(s->r, insts[i]) && !hlomod_annotate(s, insts[i], &v)) return false;
        if (!add_value(s, insts[i], &v)) return false;
    }
    const hlomod_value *root = map_get(s->values, &c->root, sizeof c->root);
    if (!root)
        return hlomod_fail(s->r, c->msg.data, "computation '%s' has no instruction %lld, its root", c->name,
                           (long long)c->root);
    *out = *root;
    return true;
}

bool hlomod_build_body(hlomod_reader *r, size_t comp, ir_builder *b, size_t n_args, const hlomod_value *args,
                       hlomod_value *out) {
    hlomod_scope s = {
        .r = r, .comp = comp, .b = *b, .values = map_new(), .params = (hlomod_value *)args, .n_params = n_args};
    bool ok = s.values != NULL || hlomod_oom(r, sizeof s);
    if (ok && r->depth == HLO_MAX_DEPTH)
        ok = hlomod_fail(r, r->comps[comp].msg.data, "computations call each other more than %d deep", HLO_MAX_DEPTH);
    r->depth++;
    ok = ok && build_all(&s, out);
    r->depth--;
    map_free(s.values, NULL);
    xt_status_free(s.b.status);
    return ok;
}

/* The shapes of a computation's parameters, in order of their numbers: all from 0 on, each once. */
static bool read_params(hlomod_reader *r, const hlomod_comp *c, size_t *out_n, hlomod_value **out) {
    size_t n, k = 0;
    hlomod_msg *insts;
    if (!hlomod_subs(r, c->msg, 2, &n, &insts)) return false;
    bool *is_param = arena_alloc(r->scratch, n + 1);
    if (!is_param) return hlomod_oom(r, n);
    for (size_t i = 0; i < n; i++) {
        is_param[i] = strcmp(hlomod_text(r, insts[i], 2), "parameter") == 0;
        k += is_param[i];
    }
    hlomod_value *v = arena_alloc(r->scratch, k * sizeof *v + 1);
    bool *seen = arena_alloc(r->scratch, k + 1);
    if (!v || !seen) return hlomod_oom(r, k * sizeof *v);
    for (size_t i = 0; i < n && !r->status; i++) {
        if (!is_param[i]) continue;
        int64_t number = hlomod_int(r, insts[i], 9, 0);
        if (number < 0 || (size_t)number >= k || seen[number])
            return hlomod_fail(r, insts[i].data, "parameter %lld of %zu in '%s' is out of range or there twice",
                               (long long)number, k, c->name);
        seen[number] = true;
        hlomod_read_shape(r, hlomod_sub(r, insts[i], 3), &v[number].shape);
    }
    *out_n = k;
    *out = v;
    return !r->status;
}

/* Arguments of a block or, with f, of a function for each leaf of the parameters. */
static bool make_args(hlomod_reader *r, ir_func *f, ir_block *block, size_t n, hlomod_value *params) {
    for (size_t i = 0; i < n; i++) {
        hlomod_value *p = &params[i];
        const ir_type **types = arena_alloc(r->scratch, (p->shape.leaves + 1) * sizeof *types);
        p->leaf = arena_alloc(r->scratch, (p->shape.leaves + 1) * sizeof(ir_value *));
        if (!types || !p->leaf) return hlomod_oom(r, p->shape.leaves);
        hlomod_leaf_types(&p->shape, types);
        for (size_t k = 0; k < p->shape.leaves; k++) {
            p->leaf[k] = f ? ir_func_arg(f, types[k]) : ir_block_arg(r->m, block, types[k]);
            if (!p->leaf[k]) return hlomod_oom(r, sizeof(ir_value));
        }
    }
    return true;
}

static bool finish(hlomod_reader *r, ir_builder *b, const hlomod_value *root) {
    ir_return(b, root->shape.leaves, root->leaf);
    if (b->status && !r->status) {
        r->status = b->status;
        b->status = NULL;
    }
    xt_status_free(b->status);
    return !r->status;
}

ir_block *hlomod_build_region(hlomod_scope *s, hlomod_msg inst, int64_t id) {
    hlomod_reader *r = s->r;
    size_t comp, n;
    hlomod_value *params, root;
    if (!hlomod_find_comp(s, inst, id, &comp) || !read_params(r, &r->comps[comp], &n, &params)) return NULL;
    ir_block *block = ir_block_new(r->m);
    if (!block) hlomod_oom(r, sizeof(ir_block));
    if (!block || !make_args(r, NULL, block, n, params)) return NULL;
    ir_builder b = ir_at_end(r->m, block);
    return hlomod_build_body(r, comp, &b, n, params, &root) && finish(r, &b, &root) ? block : NULL;
}

ir_block *hlomod_build_branch(hlomod_scope *s, hlomod_msg inst, int64_t id, hlomod_value arg) {
    hlomod_reader *r = s->r;
    size_t comp;
    hlomod_value root;
    if (!hlomod_find_comp(s, inst, id, &comp)) return NULL;
    ir_block *block = ir_block_new(r->m);
    if (!block) hlomod_oom(r, sizeof(ir_block));
    if (!block) return NULL;
    ir_builder b = ir_at_end(r->m, block);
    return hlomod_build_body(r, comp, &b, 1, &arg, &root) && finish(r, &b, &root) ? block : NULL;
}

static ir_func *build_func(hlomod_reader *r, size_t comp, const char *name, bool entry, size_t *out_n,
                           hlomod_value **out_params) {
    hlomod_value root;
    if (!read_params(r, &r->comps[comp], out_n, out_params)) return NULL;
    ir_func *f = ir_func_new(r->m, name, entry);
    if (!f) hlomod_oom(r, sizeof(ir_func));
    if (!f || !make_args(r, f, NULL, *out_n, *out_params)) return NULL;
    ir_builder b = ir_at_end(r->m, ir_func_block(f));
    return hlomod_build_body(r, comp, &b, *out_n, *out_params, &root) && finish(r, &b, &root) ? f : NULL;
}

const ir_func *hlomod_build_callee(hlomod_scope *s, hlomod_msg inst, int64_t id) {
    size_t comp, n;
    hlomod_value *params;
    if (!hlomod_find_comp(s, inst, id, &comp)) return NULL;
    hlomod_comp *c = &s->r->comps[comp];
    if (!c->func) {
        char name[40];
        snprintf(name, sizeof name, "computation_%lld", (long long)c->id);
        c->func = build_func(s->r, comp, name, false, &n, &params);
    }
    return c->func;
}

/* Where a path of tuple positions leads among a shape's leaves. */
static bool leaf_at(hlomod_reader *r, hlomod_msg m, const hlomod_shape *shape, size_t n, const int64_t *path,
                    size_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (shape->type || path[i] < 0 || (size_t)path[i] >= shape->n_elems)
            return hlomod_fail(r, m.data, "an alias names no part of its tuple");
        for (int64_t k = 0; k < path[i]; k++) *out += shape->elems[k].leaves;
        shape = &shape->elems[path[i]];
    }
    return shape->type || hlomod_fail(r, m.data, "an alias names a tuple instead of a tensor");
}

/* The argument that a pair (parameter, path in it) names. */
static bool arg_at(hlomod_reader *r, hlomod_msg m, size_t n, const hlomod_value *params, int64_t number,
                   uint32_t path_field, size_t *out) {
    size_t k, before = 0;
    int64_t *path;
    if (!hlomod_ints(r, m, path_field, &k, &path)) return false;
    if (number < 0 || (size_t)number >= n)
        return hlomod_fail(r, m.data, "an alias or donor names parameter %lld of %zu", (long long)number, n);
    for (int64_t i = 0; i < number; i++) before += params[i].shape.leaves;
    if (!leaf_at(r, m, &params[number].shape, k, path, out)) return false;
    *out += before;
    return true;
}

/* input_output_alias becomes tf.aliasing_output, a buffer donor jax.buffer_donor: what the compiler knows from
 * JAX's programs. */
static bool read_aliases(hlomod_reader *r, hlomod_msg module, ir_func *f, const hlomod_shape *result, size_t n,
                         const hlomod_value *params) {
    size_t n_pairs, n_donors, arg, out, k;
    hlomod_msg *pairs, *donors;
    int64_t *path;
    if (!hlomod_subs(r, hlomod_sub(r, module, 8), 1, &n_pairs, &pairs) ||
        !hlomod_subs(r, hlomod_sub(r, module, 18), 1, &n_donors, &donors))
        return false;
    for (size_t i = 0; i < n_pairs; i++) {
        if (!arg_at(r, pairs[i], n, params, hlomod_int(r, pairs[i], 2, 0), 3, &arg) ||
            !hlomod_ints(r, pairs[i], 1, &k, &path) || !leaf_at(r, pairs[i], result, k, path, &out))
            return false;
        if (!ir_func_set_arg_attr(f, arg, ir_attr_named_int("tf.aliasing_output", XT_I32, (int64_t)out)))
            return hlomod_oom(r, sizeof(ir_attr));
    }
    for (size_t i = 0; i < n_donors; i++) {
        if (!arg_at(r, donors[i], n, params, hlomod_int(r, donors[i], 1, 0), 2, &arg)) return false;
        ir_attr donor = {.key = IR_A_none, .kind = IR_AK_BOOL, .name = "jax.buffer_donor", .v.b = true};
        if (!ir_func_set_arg_attr(f, arg, donor)) return hlomod_oom(r, sizeof(ir_attr));
    }
    return true;
}

/* Parameters say it themselves or the module does for all; so do the root and the results. */
static bool read_shardings(hlomod_reader *r, hlomod_msg module, size_t comp, ir_func *f, size_t n,
                           const hlomod_value *params) {
    size_t n_insts, n_all;
    hlomod_msg *insts, *all, m;
    if (!hlomod_subs(r, r->comps[comp].msg, 2, &n_insts, &insts) || !hlomod_subs(r, module, 14, &n_all, &all))
        return false;
    for (size_t i = 0; i < n_insts && !r->status; i++) {
        bool parameter = strcmp(hlomod_text(r, insts[i], 2), "parameter") == 0,
             root = hlomod_int(r, insts[i], 35, -1) == r->comps[comp].root;
        size_t number = (size_t)hlomod_int(r, insts[i], 9, 0), first = 0;
        for (size_t k = 0; parameter && k < number && k < n; k++) first += params[k].shape.leaves;
        bool says = hlomod_has_sharding(r, insts[i], 40, &m);
        if (parameter && !says && number < n_all) m = all[number];
        if (parameter && number < n && (says || number < n_all) &&
            !hlomod_func_shardings(r, m, f, false, first, params[number].shape.leaves))
            return false;
        if (root && (says || hlomod_has_sharding(r, module, 12, &m)) &&
            !hlomod_func_shardings(r, m, f, true, 0, f->n_results))
            return false;
    }
    return !r->status;
}

static bool read_comps(hlomod_reader *r, hlomod_msg module) {
    hlomod_msg *msgs;
    if (!hlomod_subs(r, module, 3, &r->n_comps, &msgs)) return false;
    r->comps = arena_alloc(r->scratch, (r->n_comps + 1) * sizeof *r->comps);
    if (!r->comps) return hlomod_oom(r, r->n_comps * sizeof *r->comps);
    for (size_t i = 0; i < r->n_comps; i++)
        r->comps[i] = (hlomod_comp){.msg = msgs[i],
                                    .id = hlomod_int(r, msgs[i], 5, 0),
                                    .root = hlomod_int(r, msgs[i], 6, 0),
                                    .name = hlomod_text(r, msgs[i], 1)};
    return !r->status;
}

static bool read_module(hlomod_reader *r, hlomod_msg module) {
    size_t entry = 0, n;
    hlomod_value *params;
    hlomod_shape result;
    if (!hlomod_check(r, module) || !read_comps(r, module)) return false;
    int64_t id = hlomod_int(r, module, 6, 0);
    while (entry < r->n_comps && r->comps[entry].id != id) entry++;
    if (entry == r->n_comps)
        return hlomod_fail(r, module.data, "there is no computation %lld, the entry", (long long)id);
    r->m->name = arena_strdup(r->m->mem, hlomod_text(r, module, 1));
    if (!r->m->name) return hlomod_oom(r, 0);
    ir_func *f = build_func(r, entry, "main", true, &n, &params);
    if (!f) return false;
    hlomod_msg program = hlomod_sub(r, r->comps[entry].msg, 4);
    return hlomod_read_shape(r, hlomod_sub(r, program, 2), &result) && read_aliases(r, module, f, &result, n, params) &&
           read_shardings(r, module, entry, f, n, params);
}

xt_status hlomod_read(const void *data, size_t n, const char *name, ir_module **out) {
    *out = NULL;
    hlomod_reader r = {.begin = data,
                       .file = name ? name : "program",
                       .m = ir_module_new(),
                       .scratch = arena_new(),
                       .budget = 16 * n + 4096};
    bool ok = (r.m && r.scratch) || hlomod_oom(&r, sizeof r);
    ok = ok && read_module(&r, module_of(data, n));
    arena_free(r.scratch);
    if (ok && !r.status) {
        *out = r.m;
        return NULL;
    }
    ir_module_free(r.m);
    return r.status ? r.status : status_new(XT_INTERNAL, NULL, "%s: the HLO reader failed without a reason", name);
}
