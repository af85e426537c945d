/* One op of the program, built on the parts: the axes that divide it are chosen, its operands got in the form this asks
 * for, and what remains partial is combined, or kept as summands where the result is wanted so. */
#include "ir/config.h"
#include "ir/host_function.h"
#include "pass/spmd.h"

enum { YOUNG = 96 }; /* ops after which another form of a value is made again rather than kept alive */

static xt_status oom(void) {
    return status_oom(0, "partitioning");
}

/* --- choosing --- */
static double bytes_of(const ir_type *t) {
    return (double)t->count * (double)xt_dtype_size(t->dtype);
}

/* Work in units of a byte moved: a product does 2 flops an element of its iteration space; some 64 of them take the
 * time one byte takes. */
static double work_of(const ir_op *op, const spmd_rule *r) {
    double n = 1;
    if (op->code != OP_dot_general && op->code != OP_convolution) return bytes_of(r->types[r->n_tensors - 1]) / 16;
    for (size_t f = 0; f < r->n_factors; f++) n *= (double)r->factors[f].size;
    return n / 32;
}

/* What it costs when `axis` divides factor f (-1: none), tensor by tensor. */
static double cost_of(const spmd *s, const ir_op *op, const spmd_rule *r, int axis, int f, const spmd_assign *said,
                      double work) {
    double cost = f < 0 ? work * (1 - 1 / (double)s->grid.size[axis]) : 0;
    for (size_t t = 0; t < r->n_tensors; t++) {
        if (r->types[t]->kind != IR_TENSOR) continue;
        const ir_sharding *now =
            t < op->n_in ? &spmd_value_of(s, op->in[t])->have : &spmd_value_of(s, &op->out[t - op->n_in])->want;
        bool in = false;
        for (uint32_t d = 0; f >= 0 && d < r->types[t]->rank; d++)
            for (int k = 0; k < r->dims[t][d].n; k++) in = in || r->dims[t][d].factor[k] == f;
        bool divided = now->dim[axis] >= 0, here = f >= 0 && said[t].factor[axis] == f;
        double bytes = bytes_of(r->types[t]);
        if (here || (t >= op->n_in && f >= 0 && now->dim[axis] == IR_SHARD_SUMMANDS && r->factors[f].reduced &&
                     r->combine == OP_add))
            continue;
        if (t < op->n_in)
            cost += !divided ? 0 : in ? bytes / 2 : bytes;
        else if (f >= 0 && r->factors[f].reduced && !in)
            cost += divided ? bytes : 2 * bytes;
        else if (in)
            cost += divided ? bytes / 2 : bytes;
    }
    return cost;
}

static int64_t parts_of(const spmd *s, const spmd_assign *a, int f) {
    int64_t p = 1;
    for (int x = 0; x < s->grid.n_axes; x++)
        if (a->factor[x] == f) p *= s->grid.size[x];
    return p;
}

/* Takes axes away that a tensor cannot show: of a dim made of several factors, a later one may be divided only when the
 * earlier are, entirely. */
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
            for (int x = 0; x < s->grid.n_axes; x++)
                same = same && (a->factor[x] == (int)f) == (said[t].factor[x] == (int)f);
            if (!same || r->types[t]->kind != IR_TENSOR || bytes_of(r->types[t]) <= best) continue;
            best = bytes_of(r->types[t]);
            for (int x = 0; x < s->grid.n_axes; x++)
                if (a->factor[x] == (int)f) pos[x] = said[t].pos[x];
        }
        for (int x = 0; x < s->grid.n_axes; x++)
            if (a->factor[x] == (int)f) a->pos[x] = pos[x];
    }
}

/* `sums`: axes along which the op works on summands. */
static xt_status choose(spmd *s, const ir_op *op, const spmd_rule *r, unsigned sums, spmd_assign *out) {
    *out = spmd_assign_none();
    if (!r->known) return NULL;
    spmd_assign *said = arena_alloc(s->mem, (r->n_tensors + 1) * sizeof *said);
    if (!said) return status_oom(r->n_tensors * sizeof *said, "partitioning");
    for (size_t t = 0; t < r->n_tensors; t++)
        said[t] = spmd_project(&s->grid, r, t,
                               t < op->n_in ? &spmd_value_of(s, op->in[t])->have
                                            : &spmd_value_of(s, &op->out[t - op->n_in])->want);
    double work = work_of(op, r);
    for (int x = 0; x < s->grid.n_axes; x++) {
        if (sums & 1u << x) continue;
        double least = cost_of(s, op, r, x, -1, said, work);
        for (size_t t = 0; t < r->n_tensors; t++) {
            int f = said[t].factor[x];
            if (f < 0 || !spmd_may_divide(&r->factors[f], parts_of(s, out, f) * s->grid.size[x])) continue;
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

/* --- emission --- */
/* A form that was made in a region that has ended is out of sight. */
static bool in_sight(const spmd *s, size_t region) {
    bool open = region == 0;
    for (size_t i = 0; i < s->n_open; i++) open = open || s->open[i] == region;
    return open;
}

ir_value *spmd_in_form(spmd *s, const ir_value *old, const ir_sharding *to) {
    spmd_value *v = spmd_value_of(s, old);
    if (ir_sharding_equal(&v->have, to)) return v->now;
    if (v->other && ir_sharding_equal(&v->other_form, to) && s->emitted - v->other_born < YOUNG &&
        in_sight(s, v->other_region))
        return v->other;
    ir_value *made = spmd_reshard(s, v->now, old->type, v->have, to);
    v->other = made;
    v->other_form = *to;
    v->other_born = s->emitted;
    v->other_region = s->n_open ? s->open[s->n_open - 1] : 0;
    return made;
}

void spmd_whole_captures(spmd *s, ir_block *b) {
    ir_sharding none = ir_sharding_none();
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            ir_value *v = spmd_value_of(s, op->in[i]) ? spmd_in_form(s, op->in[i], &none) : NULL;
            if (v) ir_set_operand(op, i, v);
        }
        for (uint32_t k = 0; k < op->n_regions; k++) spmd_whole_captures(s, op->regions[k].block);
    }
}

/* Sizes in attributes that speak of divided dims. */
static bool local_ints(spmd *s, const ir_op *op, ir_attr *attrs, ir_attr_key key, const ir_type *whole,
                       const ir_type *local) {
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        if (attrs[i].key != key || attrs[i].kind != IR_AK_INTS) continue;
        int64_t *v = arena_alloc(s->m->mem, (attrs[i].n + 1) * sizeof *v);
        if (!v) return false;
        for (size_t d = 0; d < attrs[i].n; d++)
            v[d] = d < whole->rank && attrs[i].v.ints[d] == whole->dims[d] ? local->dims[d] : attrs[i].v.ints[d];
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
    ir_value *first =
        ir_multiply(&s->b, spmd_index(s, axes, n), ir_splat(&s->b, ir_scalar(XT_I32), (double)v->type->dims[dim]));
    return ir_add(&s->b, v, ir_broadcast_scalar(&s->b, ir_convert(&s->b, first, v->type->dtype), v->type));
}

/* The number of the first row of this device's part of a divided table, in the indices' type; NULL when it is whole. */
static ir_value *first_row(spmd *s, const ir_op *op, const spmd_rule *r, const ir_value *table, const spmd_assign *a) {
    int8_t axes[IR_SHARD_AXES];
    for (size_t f = 0; f < r->n_factors; f++) {
        int n = r->factors[f].indexed ? spmd_assign_axes(a, (int)f, axes) : 0;
        if (n == 0) continue;
        size_t k;
        const int64_t *dims_of =
            ir_get_ints(op, op->code == OP_gather ? IR_A_start_index_map : IR_A_scatter_dims_to_operand_dims, &k);
        ir_value *rows = ir_splat(&s->b, ir_scalar(XT_I32), (double)table->type->dims[dims_of[0]]);
        return ir_convert(&s->b, ir_multiply(&s->b, spmd_index(s, axes, n), rows), op->in[1]->type->dtype);
    }
    return NULL;
}

/* A row counts where the index lies in this device's part. Whole tables clamp indices, so they are clamped before they
 * are shifted. What is not found here is zero, or for a scatter behind the part's end, where updates go nowhere. */
static ir_value *shifted_indices(spmd *s, const ir_op *op, ir_value *indices, ir_value *first, const ir_type *table,
                                 const ir_type *part, int64_t dim, ir_value **out_here) {
    ir_builder *b = &s->b;
    const ir_type *t = indices->type, *e = ir_scalar(t->dtype);
    if (op->code == OP_gather)
        indices = ir_clamp(b, ir_splat(b, e, 0), indices, ir_splat(b, e, (double)(table->dims[dim] - 1)));
    ir_value *shifted = ir_subtract(b, indices, ir_broadcast_scalar(b, first, t));
    ir_value *rows = ir_splat(b, t, (double)part->dims[dim]);
    ir_value *above = ir_dtype_is_signed(t->dtype) ? ir_compare(b, IR_GE, shifted, ir_splat(b, t, 0)) : NULL,
             *below = ir_compare(b, IR_LT, shifted, rows);
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

/* An operand of a sum over devices: behind the end of a dim that is reduced stands what changes nothing. A reduction's
 * first value is that; others add up. */
static ir_value *without_filling(spmd *s, const ir_op *op, uint32_t i, ir_value *v, const spmd_rule *r,
                                 const ir_sharding *form) {
    const ir_type *whole = op->in[i]->type;
    for (uint32_t d = 0; v && whole->kind == IR_TENSOR && d < whole->rank; d++) {
        const spmd_dim *dim = &r->dims[i][d];
        const spmd_factor *f = dim->n == 1 ? &r->factors[dim->factor[0]] : NULL;
        if (!f || !f->reduced || f->indexed || !ir_sharding_uneven(&s->grid, form, whole, (int)d)) continue;
        ir_sharding none = ir_sharding_none();
        ir_value *fill =
            op->code == OP_reduce ? spmd_in_form(s, op->in[1], &none) : ir_splat(&s->b, ir_scalar(whole->dtype), 0);
        v = spmd_masked(s, v, whole, form, (int)d, fill);
    }
    return v;
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
        spmd_whole_captures(s, blocks[k]);
        if (blocks[k]) blocks[k]->owner = NULL; /* moves to the new op */
    }
    return ir_build(&s->b, op->code, op->n_in, in, op->n_attrs, attrs, op->n_regions, blocks, op->n_out, types);
}

/* A host callback that each device is to make with its own parts of the operands (`partitioned` in its backend_config);
 * it gives no tensor back. */
static bool takes_parts(const ir_op *op) {
    if (!host_function_is_callback(op) || !ir_config_int(op, "partitioned", 0)) return false;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].type->kind == IR_TENSOR) return false;
    return true;
}

static void note_whole(spmd *s, const ir_op *op, const spmd_rule *r) {
    if (r->known || takes_parts(op)) return;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!ir_sharding_is_none(&spmd_value_of(s, op->in[i])->have)) {
            s->stats->whole++;
            if (!s->stats->whole_first) s->stats->whole_first = ir_op_infos[op->code].name;
            return;
        }
}

/* Along which axes the op takes summands and gives them on, and of which operands. */
static unsigned passes_summands(const spmd *s, const ir_op *op, unsigned *out_operands) {
    spmd_linear l = op->n_out ? spmd_linear_of(op) : (spmd_linear){0};
    unsigned some = 0, twice = 0, want = l.operands ? ir_sharding_summands(&spmd_value_of(s, &op->out[0])->want) : 0;
    *out_operands = l.operands;
    for (uint32_t i = 0; want && i < op->n_in; i++) {
        if (!(l.operands & 1u << i)) continue;
        unsigned mine = ir_sharding_summands(&spmd_value_of(s, op->in[i])->have) & want;
        twice |= some & mine;
        some |= mine;
        if (l.one && mine) *out_operands = 1u << i;
    }
    if (!want) return 0;
    if (!l.one) return some;
    unsigned once = some & ~twice; /* of one operand: the last that has any */
    for (uint32_t i = 0; i < op->n_in; i++)
        if (*out_operands == 1u << i) once &= ir_sharding_summands(&spmd_value_of(s, op->in[i])->have);
    return once;
}

static void add_summands(ir_sharding *form, unsigned axes) {
    for (int x = 0; x < IR_SHARD_AXES; x++)
        if (axes & 1u << x) form->dim[x] = IR_SHARD_SUMMANDS;
}

static ir_sharding parts_of_value(const spmd *s, const ir_value *v) {
    ir_sharding form = spmd_value_of(s, v)->have;
    for (int x = 0; x < IR_SHARD_AXES; x++)
        if (form.dim[x] == IR_SHARD_SUMMANDS) form.dim[x] = -1;
    for (uint32_t d = 0; v->type->kind == IR_TENSOR && d < v->type->rank; d++) /* what fills up is not shown */
        if (ir_sharding_uneven(&s->grid, &form, v->type, (int)d)) ir_sharding_drop(&form, (int)d);
    return form;
}

xt_status spmd_emit(spmd *s, ir_op *op, const spmd_rule *r) {
    spmd_assign a;
    unsigned summing, sums = passes_summands(s, op, &summing);
    XT_TRY(choose(s, op, r, sums, &a));
    note_whole(s, op, r);
    ir_value **in = arena_alloc(s->mem, (op->n_in + 1) * sizeof *in);
    const ir_type **types = arena_alloc(s->mem, (op->n_out + 1) * sizeof *types);
    ir_sharding *forms = arena_alloc(s->mem, (op->n_out + 1) * sizeof *forms);
    if (!in || !types || !forms) return oom();
    unsigned partial = 0;
    for (int x = 0; x < s->grid.n_axes; x++)
        if (a.factor[x] >= 0 && r->factors[a.factor[x]].reduced) partial |= 1u << x;
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_sharding form = takes_parts(op) ? parts_of_value(s, op->in[i]) : spmd_unproject(&s->grid, r, i, &a);
        if (summing & 1u << i) add_summands(&form, sums);
        in[i] = spmd_in_form(s, op->in[i], &form);
        if (partial) in[i] = without_filling(s, op, i, in[i], r, &form);
    }
    for (uint32_t i = 0; i < op->n_out; i++) {
        forms[i] = spmd_unproject(&s->grid, r, op->n_in + i, &a);
        add_summands(&forms[i], sums);
        types[i] = ir_shard_type(&s->grid, &forms[i], op->out[i].type);
        if (!types[i]) return oom();
    }
    ir_value *here = NULL, *first = (op->code == OP_gather || op->code == OP_scatter) && in[0]
                                        ? first_row(s, op, r, in[0], &a)
                                        : NULL;
    if (first && in[1]) {
        size_t n;
        const int64_t *dims_of =
            ir_get_ints(op, op->code == OP_gather ? IR_A_start_index_map : IR_A_scatter_dims_to_operand_dims, &n);
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
