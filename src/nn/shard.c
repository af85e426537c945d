/* Which parameters of a module are divided over the mesh: rules on names, and the recipes made of them. Rules are kept
 * with the module, because most parameters are born after them; those that exist are divided at once. */
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

typedef struct nn_shard_rule {
    char *pattern;
    const xt_mesh *mesh;
    src_id src;
    bool optional; /* a recipe's: a tensor it does not fit stays whole */
    int n;
    uint32_t axes[XT_MAX_RANK]; /* interned lists */
} nn_shard_rule;

void nn_shard_rules_free(nn_root *r) {
    for (size_t i = 0; i < r->n_rules; i++) base_free(r->rules[i].pattern);
    base_free(r->rules);
}

/* '*' and '?', nothing else; backtracks to the last star only, which suffices. */
bool nn_matches(const char *p, const char *s) {
    const char *star = NULL, *at = NULL;
    while (*s) {
        if (*p == '*') {
            star = p++;
            at = s;
        } else if (*p == '?' || *p == *s) {
            p++;
            s++;
        } else if (star) {
            p = star + 1;
            s = ++at;
        } else
            return false;
    }
    while (*p == '*') p++;
    return !*p;
}

static const xt_mesh *mesh_of(const nn_root *r) {
    for (size_t i = r->n_rules; i-- > 0;)
        if (lazy_mesh_is(r->rules[i].mesh)) return r->rules[i].mesh;
    return NULL;
}

static xt_status layout_of(const nn_root *r, const nn_entry *e, const lazy_layout **out) {
    const nn_shard_rule *rule = NULL;
    *out = NULL;
    for (size_t i = 0; i < r->n_rules; i++)
        if (lazy_mesh_is(r->rules[i].mesh) && nn_matches(r->rules[i].pattern, e->name)) rule = &r->rules[i];
    const char *stages = e->stacked && r->stage_axes ? intern_text(r->stage_axes) : NULL;
    if (!rule && !stages) return NULL;
    const char *axes[XT_MAX_RANK + 1] = {stages};
    int n = e->stacked ? 1 : 0;
    for (int d = 0; rule && d < rule->n; d++) axes[n++] = intern_text(rule->axes[d]);
    xt_status s = lazy_layout_make(mesh_of(r), e->type, n, axes, e->name, out);
    if (!rule) return s;
    if (s && rule->optional) {
        xt_status_free(s);
        s = NULL;
    }
    return status_at(s, src_get(rule->src));
}

void nn_shard_entry(nn_root *r, const nn_entry *e) {
    if (!e->is_param || !r->n_rules || !lazy_spmd() || lazy_is_error(e->t)) return;
    const lazy_layout *l;
    xt_status s = layout_of(r, e, &l);
    const xt_mesh *m = mesh_of(r);
    if (!s && r->fsdp_axes && m && e->type->rank >= 2) l = lazy_layout_add(m, l, e->type, intern_text(r->fsdp_axes));
    if (!s) s = lazy_state_lay_out(e->t, l);
    if (!s && r->zero_axes && m && e->type->rank)
        lazy_divide_optimizer(e->t, lazy_layout_add(m, l, e->type, intern_text(r->zero_axes)));
    if (s) lazy_fail(s);
}

static void add_rule(const xt_src *src, xt_module *net, const xt_mesh *mesh, const char *pattern, bool optional, int n,
                     const char *const *axes) {
    nn_root *r = net->root;
    nn_shard_rule rule = {
        .pattern = base_strdup(pattern), .mesh = mesh, .src = src_intern(src), .optional = optional, .n = n};
    for (int d = 0; d < n; d++) rule.axes[d] = intern(axes[d] ? axes[d] : "");
    if (rule.pattern && VEC_PUSH(r->rules, r->n_rules, r->cap_rules, rule)) return;
    base_free(rule.pattern);
    lazy_fail(status_oom(sizeof rule, "a rule of xt_shard_params"));
}

static void apply(xt_module *net) {
    for (size_t i = 0; i < net->root->n; i++) nn_shard_entry(net->root, &net->root->entries[i]);
}

/* The mistakes that need no parameter to be seen. */
static bool usable(const xt_src *src, const xt_module *net, const xt_mesh *mesh, const char *what, int n,
                   const char *const *axes) {
    xt_status s = NULL;
    if (!net || !lazy_mesh_is(mesh))
        s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: the %s; making it failed, or it was given back", what,
                       net ? "mesh is not the run's" : "module is NULL");
    if (!s && n > XT_MAX_RANK)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: %d axis lists; a tensor has at most %d dims", what, n,
                       XT_MAX_RANK);
    str all = STR_INIT; /* over all dims together an axis may stand once */
    for (int d = 0; d < n && !s; d++)
        if (axes[d] && *axes[d]) str_printf(&all, "%s%s", all.len ? "+" : "", axes[d]);
    if (!s) s = status_context(lazy_mesh_axes(mesh, str_cstr(&all)), "%s", what);
    str_free(&all);
    if (!s) return true;
    lazy_fail(status_at(s, src));
    return false;
}

void xt_shard_params_at(const xt_src *src, xt_module *net, xt_mesh *mesh, const char *pattern, int n,
                        const char *const *axes) {
    if (!usable(src, net, mesh, "xt_shard_params", n, axes)) return;
    add_rule(src, net, mesh, pattern ? pattern : "*", false, n, axes);
    apply(net);
}

/* --- recipes --- */
void xt_mesh_data_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (usable(src, net, mesh, "xt_mesh_data_parallel", 1, &axes)) xt_mesh_batch_at(src, mesh, axes);
}

void xt_mesh_fsdp_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (!usable(src, net, mesh, "xt_mesh_fsdp", 1, &axes)) return;
    xt_mesh_batch_at(src, mesh, axes);
    net->root->fsdp_axes = intern(axes ? axes : "");
    add_rule(src, net, mesh, "", true, 0, NULL); /* matches nothing: keeps the mesh */
    apply(net);
}

void xt_mesh_zero_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (!usable(src, net, mesh, "xt_mesh_zero", 1, &axes)) return;
    xt_mesh_batch_at(src, mesh, axes);
    net->root->zero_axes = intern(axes ? axes : "");
    add_rule(src, net, mesh, "", true, 0, NULL); /* matches nothing: keeps the mesh */
    apply(net);
}

void xt_mesh_tensor_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    static const struct {
        const char *pattern;
        int dim; /* linear weights are [out, in] */
    } rows[] = {{"*attn.c_attn.weight", 0}, {"*attn.c_attn.bias", 0}, {"*attn.c_proj.weight", 1},
                {"*mlp.c_fc.weight", 0},    {"*mlp.c_fc.bias", 0},    {"*mlp.c_proj.weight", 1},
                {"*wte.weight", 0}};
    if (!usable(src, net, mesh, "xt_mesh_tensor_parallel", 1, &axes)) return;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const char *lists[2] = {rows[i].dim == 0 ? axes : NULL, rows[i].dim == 1 ? axes : NULL};
        add_rule(src, net, mesh, rows[i].pattern, true, rows[i].dim + 1, lists);
    }
    apply(net);
}

void xt_mesh_context_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (!usable(src, net, mesh, "xt_mesh_context_parallel", 1, &axes)) return;
    net->root->context_axes = intern(axes ? axes : "");
    add_rule(src, net, mesh, "", true, 0, NULL); /* matches nothing: keeps the mesh */
}

/* Experts are stacked: dim 0 of their parameters. */
void xt_mesh_expert_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (!usable(src, net, mesh, "xt_mesh_expert_parallel", 1, &axes)) return;
    net->root->expert_axes = intern(axes ? axes : "");
    add_rule(src, net, mesh, "*experts.fc?.*", false, 1, &axes);
    apply(net);
}

void xt_mesh_pipeline_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes) {
    if (!usable(src, net, mesh, "xt_mesh_pipeline_parallel", 1, &axes)) return;
    net->root->stage_axes = intern(axes ? axes : "");
    add_rule(src, net, mesh, "", true, 0, NULL); /* matches nothing: keeps the mesh */
    apply(net);
}

static const char *axes_of(const xt_module *m, uint32_t axes) {
    const char *text = m && axes && !m->root->stack && mesh_of(m->root) ? intern_text(axes) : NULL;
    return text && *text && xt_mesh_size(NULL, text) > 1 ? text : NULL;
}
const char *nn_context_axes(const xt_module *m) {
    return axes_of(m, m ? m->root->context_axes : 0);
}
const char *nn_expert_axes(const xt_module *m) {
    return axes_of(m, m ? m->root->expert_axes : 0);
}
const char *nn_stage_axes(const xt_module *m) {
    return axes_of(m, m ? m->root->stage_axes : 0);
}
