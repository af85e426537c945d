/* needs: calls inlined, chlo lowered. keeps: meaning, on c->partitions devices; leaves no sharding annotation.
 * The partitioner: main, written for all devices together, becomes what each of them runs on its parts (see spmd.h for the steps). Arguments and
 * results have the forms that their mhlo.sharding attributes say, whole without one; their types become those of one part. A program that names no
 * sharding at all is one device's program already and stays as it is. */
#include "pass/spmd.h"

enum { YOUNG = 96 }; /* ops after which another form of a value is made again rather than kept alive */

spmd_value *spmd_value_of(const spmd *s, const ir_value *v) {
    return (v->mark & ~(uint64_t)UINT32_MAX) == s->epoch ? &s->values[(uint32_t)v->mark] : NULL;
}

static xt_status oom(void) { return status_oom(0, "partitioning"); }

/* --- what the program says -------------------------------------------------------------------------------------------------------------------------- */
typedef struct texts { /* every sharding of the program, read once */
    ir_tiles **at;
    size_t n, cap;
} texts;

static xt_status add_text(spmd *s, texts *all, const char *text, const ir_tiles **out) {
    *out = NULL;
    if (!text) return NULL;
    ir_tiles *t = arena_alloc(s->mem, sizeof *t);
    if (!t || !VEC_PUSH(all->at, all->n, all->cap, t)) return status_oom(sizeof *t, "shardings");
    *out = t;
    return ir_tiles_parse(text, s->grid.devices, t);
}

static const char *attr_text(ir_attr *const *attrs, const size_t *counts, size_t i) { return attrs ? ir_sharding_text(counts[i], attrs[i]) : NULL; }

/* --- regions partitioned by hand -------------------------------------------------------------------------------------------------------------------- */
/* Between two custom calls (shard_map in JAX) the program is one device's own: what enters is this device's part, what leaves is put together again. */
static bool is_call_to(const ir_op *op, const char *target) {
    const char *name = op->code == OP_custom_call && op->n_in == 1 && op->n_out == 1 ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return name && strcmp(name, target) == 0;
}
static bool enters(const ir_op *op) { return is_call_to(op, "SPMDFullToShardShape"); }
static bool leaves(const ir_op *op) { return is_call_to(op, "SPMDShardToFullShape"); }

static bool names_sharding(const ir_func *f) {
    for (size_t i = 0; i < f->body->n_args; i++)
        if (attr_text(f->arg_attrs, f->n_arg_attrs, i)) return true;
    for (size_t i = 0; i < f->n_results; i++)
        if (attr_text(f->result_attrs, f->n_result_attrs, i)) return true;
    for (const ir_op *op = f->body->first; op; op = op->next)
        if (ir_is_sharding(op) || enters(op) || leaves(op)) return true;
    return false;
}

static bool reads_manual(const spmd *s, const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (spmd_value_of(s, op->in[i]) && spmd_value_of(s, op->in[i])->manual) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (reads_manual(s, in)) return true;
    return false;
}

static void find_manual(spmd *s) {
    for (size_t k = 0; k < s->n_ops; k++) {
        const ir_op *op = s->ops[k];
        bool manual = enters(op) || (reads_manual(s, op) && !leaves(op));
        for (uint32_t i = 0; i < op->n_out; i++) spmd_value_of(s, &op->out[i])->manual = spmd_value_of(s, &op->out[i])->fixed = manual;
    }
}

/* Annotations of the program itself; those inside manual regions say nothing. */
static bool annotates(const spmd *s, const ir_op *op) { return leaves(op) || (ir_is_sharding(op) && !spmd_value_of(s, &op->out[0])->manual); }

static xt_status cross(spmd *s, const ir_op *op, const ir_value *from, ir_value *v) {
    spmd_value *out = spmd_value_of(s, &op->out[0]);
    const ir_type *want = ir_shard_type(&s->grid, &out->want, op->out[0].type);
    out->now = v;
    out->have = out->want;
    if (!v) return s->b.status ? s->b.status : oom();
    if (v->type == want) return NULL;
    str text = STR_INIT;
    ir_type_print(from->type, &text);
    str_append(&text, " and ");
    ir_type_print(op->out[0].type, &text);
    xt_status st = status_new(XT_INVALID_ARGUMENT, NULL, "custom_call @%s: %s are not the whole and the part that the sharding says", ir_get_string(op, IR_A_call_target_name), str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status fix(spmd *s, const ir_value *v, const ir_tiles *t, const char *what, size_t i) {
    spmd_value *x = spmd_value_of(s, v);
    x->fixed = true;
    if (!t) return NULL;
    XT_TRY(ir_sharding_map(&s->grid, t, &x->want));
    if (v->type->kind == IR_TENSOR && !t->replicated && !t->manual && t->rank != v->type->rank)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the sharding of %s %zu speaks of %zu dims, it has %u", what, i, t->rank, v->type->rank);
    if (ir_shard_type(&s->grid, &x->want, v->type)) return NULL;
    str text = STR_INIT;
    ir_type_print(v->type, &text);
    ir_sharding_print(&s->grid, &x->want, v->type->rank, &text);
    xt_status st = status_new(XT_UNIMPLEMENTED, NULL, "%s %zu is %s: dims that their devices do not divide are not partitioned", what, i, str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status number_values(spmd *s) {
    ir_block *b = s->f->body;
    s->n_values = b->n_args;
    for (ir_op *op = b->first; op; op = op->next) {
        s->n_values += op->n_out;
        s->n_ops++;
    }
    s->values = arena_alloc(s->mem, (s->n_values + 1) * sizeof *s->values);
    s->ops = arena_alloc(s->mem, (s->n_ops + 1) * sizeof *s->ops);
    s->rules = arena_alloc(s->mem, (s->n_ops + 1) * sizeof *s->rules);
    if (!s->values || !s->ops || !s->rules) return status_oom(s->n_values * sizeof *s->values, "partitioning");
    s->epoch = ir_new_epoch();
    size_t n = 0, k = 0;
    for (size_t i = 0; i < b->n_args; i++) b->args[i]->mark = s->epoch | n++;
    for (ir_op *op = b->first; op; op = op->next) {
        s->ops[k++] = op;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = s->epoch | n++;
    }
    for (size_t i = 0; i < s->n_values; i++) s->values[i] = (spmd_value){.want = ir_sharding_none(), .have = ir_sharding_none()};
    return NULL;
}

/* What a result looks like when it is returned. */
typedef struct result_form {
    ir_sharding form;
    bool said; /* else it may stay as it is */
} result_form;

/* Fixes what arguments and annotations say, and proposes what results say. `results`: their forms, for the return. */
static xt_status read_shardings(spmd *s, texts *all, result_form *results) {
    ir_func *f = s->f;
    size_t n_args = f->body->n_args, n = n_args + f->n_results + s->n_ops;
    const ir_tiles **said = arena_alloc(s->mem, (n + 1) * sizeof *said);
    if (!said) return status_oom(n * sizeof *said, "shardings");
    for (size_t i = 0; i < n_args; i++) XT_TRY(status_context(add_text(s, all, attr_text(f->arg_attrs, f->n_arg_attrs, i), &said[i]), "argument %zu", i));
    for (size_t i = 0; i < f->n_results; i++) XT_TRY(status_context(add_text(s, all, attr_text(f->result_attrs, f->n_result_attrs, i), &said[n_args + i]), "result %zu", i));
    for (size_t k = 0; k < s->n_ops; k++) {
        const ir_op *op = s->ops[k];
        if (annotates(s, op)) XT_TRY(status_at(add_text(s, all, ir_sharding_text(op->n_attrs, op->attrs), &said[n_args + f->n_results + k]), src_get(op->src)));
    }
    XT_TRY(ir_grid_make(s->grid.devices, all->n, (const ir_tiles *const *)all->at, &s->grid));
    for (size_t i = 0; i < n_args; i++) XT_TRY(fix(s, f->body->args[i], said[i], "argument", i));
    for (size_t k = 0; k < s->n_ops; k++)
        if (said[n_args + f->n_results + k]) XT_TRY(status_at(fix(s, &s->ops[k]->out[0], said[n_args + f->n_results + k], "annotation", k), src_get(s->ops[k]->src)));
    const ir_op *ret = ir_block_return(f->body);
    for (size_t i = 0; i < f->n_results; i++) {
        results[i] = (result_form){ir_sharding_none(), said[n_args + i] != NULL};
        if (!said[n_args + i]) continue;
        XT_TRY(ir_sharding_map(&s->grid, said[n_args + i], &results[i].form));
        spmd_value *v = spmd_value_of(s, ret->in[i]);
        if (!ir_shard_type(&s->grid, &results[i].form, ret->in[i]->type) || (!said[n_args + i]->replicated && said[n_args + i]->rank != ret->in[i]->type->rank))
            return status_new(XT_UNIMPLEMENTED, NULL, "result %zu has a sharding that does not divide it", i);
        if (v && !v->fixed && ir_sharding_is_none(&v->want)) v->want = results[i].form;
    }
    return NULL;
}

/* --- choosing --------------------------------------------------------------------------------------------------------------------------------------------- */
static double bytes_of(const ir_type *t) { return (double)t->count * (double)xt_dtype_size(t->dtype); }

/* Work in units of a byte moved: a product does 2 flops an element of its iteration space; some 64 of them take the time one byte takes. */
static double work_of(const ir_op *op, const spmd_rule *r) {
    double n = 1;
    if (op->code != OP_dot_general && op->code != OP_convolution) return bytes_of(r->types[r->n_tensors - 1]) / 16;
    for (size_t f = 0; f < r->n_factors; f++) n *= (double)r->factors[f].size;
    return n / 32;
}

/* What it costs when `axis` divides factor f (-1: none), tensor by tensor. */
static double cost_of(const spmd *s, const ir_op *op, const spmd_rule *r, int axis, int f, const spmd_assign *said, double work) {
    double cost = f < 0 ? work * (1 - 1 / (double)s->grid.size[axis]) : 0;
    for (size_t t = 0; t < r->n_tensors; t++) {
        if (r->types[t]->kind != IR_TENSOR) continue;
        const ir_sharding *now = t < op->n_in ? &spmd_value_of(s, op->in[t])->have : &spmd_value_of(s, &op->out[t - op->n_in])->want;
        bool in = false;
        for (uint32_t d = 0; f >= 0 && d < r->types[t]->rank; d++)
            for (int k = 0; k < r->dims[t][d].n; k++) in = in || r->dims[t][d].factor[k] == f;
        bool divided = now->dim[axis] >= 0, here = f >= 0 && said[t].factor[axis] == f;
        double bytes = bytes_of(r->types[t]);
        if (here) continue;
        if (t < op->n_in) cost += !divided ? 0 : in ? bytes / 2 : bytes;
        else if (f >= 0 && r->factors[f].reduced && !in) cost += divided ? bytes : 2 * bytes;
        else if (in) cost += divided ? bytes / 2 : bytes;
    }
    return cost;
}

static int64_t parts_of(const spmd *s, const spmd_assign *a, int f) {
    int64_t p = 1;
    for (int x = 0; x < s->grid.n_axes; x++)
        if (a->factor[x] == f) p *= s->grid.size[x];
    return p;
}

/* Takes axes away that a tensor cannot show: of a dim made of several factors, a later one may be divided only when the earlier are, entirely. */
static void settle(const spmd *s, const spmd_rule *r, spmd_assign *a) {
    for (bool again = true; again;) {
        again = false;
        for (size_t t = 0; t < r->n_tensors; t++)
            for (uint32_t d = 0; r->types[t]->kind == IR_TENSOR && d < r->types[t]->rank; d++) {
                bool full = true;
                for (int k = 0; k < r->dims[t][d].n; k++) {
                    int f = r->dims[t][d].factor[k];
                    for (int x = 0; x < s->grid.n_axes && !full; x++)
                        if (a->factor[x] == f) {
                            a->factor[x] = -1;
                            again = true;
                        }
                    full = full && parts_of(s, a, f) == r->factors[f].size;
                }
            }
    }
}

/* The order of a factor's axes is that of the largest tensor that is divided along just these. */
static void order(const spmd *s, const spmd_rule *r, const spmd_assign *said, spmd_assign *a) {
    for (size_t f = 0; f < r->n_factors; f++) {
        double best = -1;
        uint8_t pos[IR_SHARD_AXES] = {0}, n = 0;
        for (int x = 0; x < s->grid.n_axes; x++)
            if (a->factor[x] == (int)f) pos[x] = n++;
        for (size_t t = 0; t < r->n_tensors && n > 1; t++) {
            bool same = true;
            for (int x = 0; x < s->grid.n_axes; x++) same = same && (a->factor[x] == (int)f) == (said[t].factor[x] == (int)f);
            if (!same || r->types[t]->kind != IR_TENSOR || bytes_of(r->types[t]) <= best) continue;
            best = bytes_of(r->types[t]);
            for (int x = 0; x < s->grid.n_axes; x++)
                if (a->factor[x] == (int)f) pos[x] = said[t].pos[x];
        }
        for (int x = 0; x < s->grid.n_axes; x++)
            if (a->factor[x] == (int)f) a->pos[x] = pos[x];
    }
}

static xt_status choose(spmd *s, const ir_op *op, const spmd_rule *r, spmd_assign *out) {
    *out = spmd_assign_none();
    if (!r->known) return NULL;
    spmd_assign *said = arena_alloc(s->mem, (r->n_tensors + 1) * sizeof *said);
    if (!said) return status_oom(r->n_tensors * sizeof *said, "partitioning");
    for (size_t t = 0; t < r->n_tensors; t++)
        said[t] = spmd_project(&s->grid, r, t, t < op->n_in ? &spmd_value_of(s, op->in[t])->have : &spmd_value_of(s, &op->out[t - op->n_in])->want);
    double work = work_of(op, r);
    for (int x = 0; x < s->grid.n_axes; x++) {
        double least = cost_of(s, op, r, x, -1, said, work);
        for (size_t t = 0; t < r->n_tensors; t++) {
            int f = said[t].factor[x];
            if (f < 0 || r->factors[f].size % (parts_of(s, out, f) * s->grid.size[x])) continue;
            double cost = cost_of(s, op, r, x, f, said, work);
            if (cost >= least) continue;
            least = cost;
            out->factor[x] = (int16_t)f;
        }
    }
    settle(s, r, out);
    order(s, r, said, out);
    return NULL;
}

/* --- emission ---------------------------------------------------------------------------------------------------------------------------------------------- */
/* The value in the form `to`, made of what there is of it. */
static ir_value *in_form(spmd *s, const ir_value *old, const ir_sharding *to) {
    spmd_value *v = spmd_value_of(s, old);
    if (ir_sharding_equal(&v->have, to)) return v->now;
    if (v->other && ir_sharding_equal(&v->other_form, to) && s->emitted - v->other_born < YOUNG) return v->other;
    ir_value *made = spmd_reshard(s, v->now, old->type, v->have, to);
    v->other = made;
    v->other_form = *to;
    v->other_born = s->emitted;
    return made;
}

/* Regions read values of main as well: whole ones. */
static void whole_captures(spmd *s, ir_block *b) {
    ir_sharding none = ir_sharding_none();
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            ir_value *v = spmd_value_of(s, op->in[i]) ? in_form(s, op->in[i], &none) : NULL;
            if (v) ir_set_operand(op, i, v);
        }
        for (uint32_t k = 0; k < op->n_regions; k++) whole_captures(s, op->regions[k].block);
    }
}

/* Sizes in attributes that speak of divided dims. */
static bool local_ints(spmd *s, const ir_op *op, ir_attr *attrs, ir_attr_key key, const ir_type *whole, const ir_type *local) {
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        if (attrs[i].key != key || attrs[i].kind != IR_AK_INTS) continue;
        int64_t *v = arena_alloc(s->m->mem, (attrs[i].n + 1) * sizeof *v);
        if (!v) return false;
        for (size_t d = 0; d < attrs[i].n; d++) v[d] = d < whole->rank && attrs[i].v.ints[d] == whole->dims[d] ? local->dims[d] : attrs[i].v.ints[d];
        attrs[i].v.ints = v;
    }
    return true;
}

static bool local_attrs(spmd *s, const ir_op *op, ir_attr *attrs, ir_value *const *in, const ir_type *const *out) {
    switch (op->code) {
    case OP_slice: return local_ints(s, op, attrs, IR_A_limit_indices, op->out[0].type, out[0]);
    case OP_dynamic_slice: return local_ints(s, op, attrs, IR_A_slice_sizes, op->out[0].type, out[0]);
    case OP_gather: return local_ints(s, op, attrs, IR_A_slice_sizes, op->in[0]->type, in[0]->type);
    case OP_constant:
        for (uint32_t i = 0; i < op->n_attrs; i++)
            if (attrs[i].key == IR_A_value) attrs[i].v.dense.type = out[0];
        return true;
    default: return true;
    }
}

/* Counting goes on from where this device's part begins. */
static ir_value *shifted_iota(spmd *s, const ir_op *op, ir_value *v, const ir_sharding *form) {
    int64_t dim = ir_get_int(op, IR_A_iota_dimension, 0);
    int8_t axes[IR_SHARD_AXES];
    int n = ir_sharding_axes(form, (int)dim, axes);
    if (!v || n == 0) return v;
    ir_value *first = ir_multiply(&s->b, spmd_index(s, axes, n), ir_splat(&s->b, ir_scalar(XT_I32), (double)v->type->dims[dim]));
    return ir_add(&s->b, v, ir_broadcast_scalar(&s->b, ir_convert(&s->b, first, v->type->dtype), v->type));
}

/* The number of the first row of this device's part of a divided table, in the indices' type; NULL when it is whole. */
static ir_value *first_row(spmd *s, const ir_op *op, const spmd_rule *r, const ir_value *table, const spmd_assign *a) {
    int8_t axes[IR_SHARD_AXES];
    for (size_t f = 0; f < r->n_factors; f++) {
        int n = r->factors[f].indexed ? spmd_assign_axes(a, (int)f, axes) : 0;
        if (n == 0) continue;
        size_t k;
        const int64_t *dims_of = ir_get_ints(op, op->code == OP_gather ? IR_A_start_index_map : IR_A_scatter_dims_to_operand_dims, &k);
        ir_value *rows = ir_splat(&s->b, ir_scalar(XT_I32), (double)table->type->dims[dims_of[0]]);
        return ir_convert(&s->b, ir_multiply(&s->b, spmd_index(s, axes, n), rows), op->in[1]->type->dtype);
    }
    return NULL;
}

/* A row counts where the index lies in this device's part. Whole tables clamp indices, so they are clamped before they are shifted. What is not found
 * here is zero, or for a scatter behind the part's end, where updates go nowhere. */
static ir_value *shifted_indices(spmd *s, const ir_op *op, ir_value *indices, ir_value *first, const ir_type *table, const ir_type *part, int64_t dim, ir_value **out_here) {
    ir_builder *b = &s->b;
    const ir_type *t = indices->type, *e = ir_scalar(t->dtype);
    if (op->code == OP_gather) indices = ir_clamp(b, ir_splat(b, e, 0), indices, ir_splat(b, e, (double)(table->dims[dim] - 1)));
    ir_value *shifted = ir_subtract(b, indices, ir_broadcast_scalar(b, first, t));
    ir_value *rows = ir_splat(b, t, (double)part->dims[dim]);
    ir_value *above = ir_dtype_is_signed(t->dtype) ? ir_compare(b, IR_GE, shifted, ir_splat(b, t, 0)) : NULL, *below = ir_compare(b, IR_LT, shifted, rows);
    *out_here = above ? ir_and(b, above, below) : below; /* unsigned ones below the part have become very large */
    return ir_select(b, *out_here, shifted, op->code == OP_gather ? ir_splat(b, t, 0) : rows);
}

/* Zeros for the rows that are elsewhere: `here` has the shape of the indices. */
static ir_value *found_rows(spmd *s, const ir_op *op, ir_value *rows, ir_value *here) {
    size_t n, k = 0;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &n);
    int64_t vector = ir_get_int(op, IR_A_index_vector_dim, 0), dims[IR_MAX_RANK], to[IR_MAX_RANK];
    if (!rows || !here) return NULL;
    const ir_type *t = rows->type;
    for (uint32_t d = 0; d < t->rank; d++) {
        bool window = false;
        for (size_t i = 0; i < n; i++) window = window || offset[i] == d;
        if (!window) to[k++] = d;
    }
    size_t left = 0;
    for (uint32_t d = 0; d < here->type->rank; d++)
        if (d != vector) dims[left++] = here->type->dims[d];
    ir_value *mask = ir_broadcast_in_dim(&s->b, ir_reshape(&s->b, here, left, dims), ir_with_dtype(t, XT_BOOL), k, to);
    return ir_select(&s->b, mask, rows, ir_splat(&s->b, t, 0));
}

static ir_op *build_local(spmd *s, ir_op *op, ir_value *const *in, const ir_type *const *types) {
    ir_attr *attrs = arena_alloc(s->m->mem, (op->n_attrs + 1) * sizeof *attrs);
    ir_block **blocks = arena_alloc(s->m->mem, (op->n_regions + 1) * sizeof *blocks);
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!in[i]) return NULL;
    if (!attrs || !blocks) {
        if (!s->b.status) s->b.status = oom();
        return NULL;
    }
    if (op->n_attrs) memcpy(attrs, op->attrs, op->n_attrs * sizeof *attrs);
    if (!local_attrs(s, op, attrs, in, types)) s->b.status = oom();
    for (uint32_t k = 0; k < op->n_regions; k++) {
        blocks[k] = op->regions[k].block;
        whole_captures(s, blocks[k]);
        if (blocks[k]) blocks[k]->owner = NULL; /* moves to the new op */
    }
    return ir_build(&s->b, op->code, op->n_in, in, op->n_attrs, attrs, op->n_regions, blocks, op->n_out, types);
}

static void note_whole(spmd *s, const ir_op *op, const spmd_rule *r) {
    if (r->known) return;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!ir_sharding_is_none(&spmd_value_of(s, op->in[i])->have)) {
            s->stats->whole++;
            if (!s->stats->whole_first) s->stats->whole_first = ir_op_infos[op->code].name;
            return;
        }
}

static xt_status emit(spmd *s, ir_op *op, const spmd_rule *r) {
    spmd_assign a;
    XT_TRY(choose(s, op, r, &a));
    note_whole(s, op, r);
    ir_value **in = arena_alloc(s->mem, (op->n_in + 1) * sizeof *in);
    const ir_type **types = arena_alloc(s->mem, (op->n_out + 1) * sizeof *types);
    ir_sharding *forms = arena_alloc(s->mem, (op->n_out + 1) * sizeof *forms);
    if (!in || !types || !forms) return oom();
    unsigned partial = 0;
    for (int x = 0; x < s->grid.n_axes; x++)
        if (a.factor[x] >= 0 && r->factors[a.factor[x]].reduced) partial |= 1u << x;
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_sharding form = spmd_unproject(&s->grid, r, i, &a);
        in[i] = in_form(s, op->in[i], &form);
    }
    for (uint32_t i = 0; i < op->n_out; i++) {
        forms[i] = spmd_unproject(&s->grid, r, op->n_in + i, &a);
        types[i] = ir_shard_type(&s->grid, &forms[i], op->out[i].type);
        if (!types[i]) return status_new(XT_INTERNAL, src_get(op->src), "partitioning %s divides a result unevenly", ir_op_infos[op->code].name);
    }
    ir_value *here = NULL, *first = (op->code == OP_gather || op->code == OP_scatter) && in[0] ? first_row(s, op, r, in[0], &a) : NULL;
    if (first && in[1]) {
        size_t n;
        const int64_t *dims_of = ir_get_ints(op, op->code == OP_gather ? IR_A_start_index_map : IR_A_scatter_dims_to_operand_dims, &n);
        in[1] = shifted_indices(s, op, in[1], first, op->in[0]->type, in[0]->type, dims_of[0], &here);
    }
    ir_op *made = build_local(s, op, in, types);
    for (uint32_t i = 0; i < op->n_out && made && !s->b.status; i++) {
        spmd_value *v = spmd_value_of(s, &op->out[i]);
        v->now = &made->out[i];
        if (op->code == OP_gather && here) v->now = found_rows(s, op, v->now, here);
        if (op->code == OP_iota) v->now = shifted_iota(s, op, v->now, &forms[i]);
        if (partial) v->now = spmd_combine(s, v->now, op->out[i].type, r->combine, partial, &forms[i], &v->want);
        v->have = forms[i];
    }
    s->emitted++;
    if (s->b.status) return s->b.status;
    return made ? NULL : oom();
}

/* A result whose form nobody names stays divided where the client takes it so, and says how. */
static xt_status choose_result(spmd *s, size_t i, const ir_value *v, result_form *r) {
    str text = STR_INIT;
    if (r->said || !s->keep_divided || v->type->kind != IR_TENSOR) return NULL;
    r->form = spmd_value_of(s, v)->have;
    ir_sharding_print(&s->grid, &r->form, v->type->rank, &text);
    ir_attr a = ir_attr_named_string(s->m, IR_SHARDING_ATTR, str_cstr(&text));
    bool ok = !text.failed && a.name && ir_func_set_result_attr(s->f, i, a);
    str_free(&text);
    return ok ? NULL : oom();
}

static xt_status emit_all(spmd *s, result_form *results) {
    ir_func *f = s->f;
    ir_block *old = f->body, *body = ir_block_new(s->m);
    if (!body) return oom();
    body->func = f;
    s->b = ir_at_end(s->m, body);
    for (size_t i = 0; i < old->n_args; i++) {
        spmd_value *v = spmd_value_of(s, old->args[i]);
        v->have = v->want;
        v->now = ir_block_arg(s->m, body, ir_shard_type(&s->grid, &v->want, old->args[i]->type));
        if (!v->now) return oom();
    }
    for (size_t k = 0; k < s->n_ops; k++) {
        ir_op *op = s->ops[k];
        s->b.src = op->src;
        s->b.path = op->path;
        if (op->code == OP_func_return || op->code == OP_return) {
            ir_value **out = arena_alloc(s->mem, (op->n_in + 1) * sizeof *out);
            for (uint32_t i = 0; out && i < op->n_in; i++) {
                XT_TRY(choose_result(s, i, op->in[i], &results[i]));
                out[i] = in_form(s, op->in[i], &results[i].form);
            }
            f->body = body;
            f->result_types = NULL;
            if (out) ir_return(&s->b, op->n_in, out);
            return s->b.status ? s->b.status : body->last ? NULL : oom();
        }
        if (enters(op) || leaves(op)) {
            XT_TRY(status_at(cross(s, op, op->in[0], in_form(s, op->in[0], enters(op) ? &spmd_value_of(s, op->in[0])->want : &spmd_value_of(s, op->in[0])->have)), src_get(op->src)));
            continue;
        }
        if (ir_is_sharding(op)) {
            spmd_value *v = spmd_value_of(s, &op->out[0]);
            v->now = in_form(s, op->in[0], &v->want);
            v->have = v->want;
            if (!v->now) return s->b.status ? s->b.status : oom();
            continue;
        }
        XT_TRY(status_at(emit(s, op, s->rules[k]), src_get(op->src)));
    }
    return status_new(XT_INTERNAL, NULL, "a function without a return was to be partitioned");
}

static xt_status partition(spmd *s, texts *all) {
    XT_TRY(spmd_lower_norm(s->m, s->f));
    XT_TRY(number_values(s));
    find_manual(s);
    result_form *results = arena_alloc(s->mem, (s->f->n_results + 1) * sizeof *results);
    if (!results) return oom();
    XT_TRY(read_shardings(s, all, results));
    for (size_t k = 0; k < s->n_ops; k++) {
        XT_TRY(spmd_rule_make(s->mem, s->ops[k], &s->rules[k]));
        if (reads_manual(s, s->ops[k])) s->rules[k]->known = false; /* stays as it is */
    }
    XT_TRY(spmd_propagate(s));
    XT_TRY(emit_all(s, results));
    return spmd_merge(s);
}

/* On one device an annotation is its operand. */
static void drop_annotations(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) drop_annotations(c, m, op->regions[r].block);
        if (!ir_is_sharding(op)) continue;
        ir_replace_uses(m, &op->out[0], op->in[0]);
        ir_erase(op);
        c->changed = true;
    }
}

xt_status pass_lower_spmd(pass_ctx *c, ir_module *m) {
    ir_func *f = ir_func_find(m, "main");
    for (ir_func *g = m->funcs; g && !f; g = g->next)
        if (g->is_public && g->body) f = g;
    if (c->partitions <= 1 || !f || !f->body || !names_sharding(f)) {
        for (ir_func *g = m->funcs; g; g = g->next) drop_annotations(c, m, g->body);
        return NULL;
    }
    spmd s = {.m = m, .f = f, .mem = arena_new(), .grid = {.devices = c->partitions}, .stats = &c->spmd, .keep_divided = c->keep_divided};
    texts all = {0};
    xt_status st = s.mem ? partition(&s, &all) : status_oom(sizeof s, "partitioning");
    base_free(all.at);
    arena_free(s.mem);
    if (st) return status_context(st, "partitioning over %d devices", c->partitions);
    for (ir_func *g = m->funcs; g; g = g->next) drop_annotations(c, m, g->body);
    c->changed = true;
    return NULL;
}
