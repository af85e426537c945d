/* Moving a tensor from one form to another: local slices where devices need less than they have, collectives where they
 * need more, in the order that moves the fewest bytes: first cut what can be cut, then exchange (axes that leave
 * the end of a dim for the end of another: all_to_all), then join (all_gather), then cut the rest. Collectives name
 * devices by number (use_global_device_ids): a partitioned program has one replica. */
#include "pass/spmd.h"

static xt_status oom(void) {
    return status_oom(0, "partitioning");
}

/* --- places and groups --- */
static ir_value *i32(spmd *s, int64_t v) {
    return ir_splat(&s->b, ir_scalar(XT_I32), (double)v);
}

/* This device's place in the grid, i32. */
static ir_value *partition(spmd *s) {
    ir_op *id = s->partition ? NULL : ir_build(&s->b, OP_partition_id, 0, NULL, 0, NULL, 0, NULL, 0, NULL);
    ir_value *v = id ? ir_convert(&s->b, &id->out[0], XT_I32) : NULL;
    if (s->partition || !v) return s->partition;
    if (s->place) {
        const ir_type *t = ir_tensor(XT_I32, 1, &s->grid.devices);
        int32_t *places = arena_alloc(s->m->mem, (size_t)s->grid.devices * sizeof *places);
        for (int64_t k = 0; places && k < s->grid.devices; k++) places[k] = (int32_t)s->place[k];
        ir_attr value = places ? ir_attr_dense(&s->b, IR_A_value, t, places, false) : (ir_attr){0};
        ir_op *table = places ? ir_build(&s->b, OP_constant, 0, NULL, 1, &value, 0, NULL, 0, NULL) : NULL;
        v = table ? ir_reshape(&s->b, ir_dynamic_slice(&s->b, &table->out[0], 1, &v, (const int64_t[]){1}), 0, NULL)
                  : NULL;
    }
    return s->partition = v;
}

ir_value *spmd_axis_index(spmd *s, int axis) {
    if (s->digits[axis]) return s->digits[axis];
    ir_value *v = partition(s);
    if (s->grid.stride[axis] > 1) v = v ? ir_divide(&s->b, v, i32(s, s->grid.stride[axis])) : NULL;
    if (s->grid.stride[axis] * s->grid.size[axis] < s->grid.devices)
        v = v ? ir_remainder(&s->b, v, i32(s, s->grid.size[axis])) : NULL;
    return s->digits[axis] = v;
}

ir_value *spmd_index(spmd *s, const int8_t *axes, int n) {
    ir_value *at = NULL;
    for (int i = 0; i < n; i++) {
        ir_value *d = spmd_axis_index(s, axes[i]);
        if (!d) return NULL;
        at = at ? ir_add(&s->b, ir_multiply(&s->b, at, i32(s, s->grid.size[axes[i]])), d) : d;
    }
    return at ? at : i32(s, 0);
}

/* replica_groups: devices that differ along `axes` only, counted with the first axis slowest. */
static ir_attr groups_of(spmd *s, const int8_t *axes, int n) {
    int64_t members = 1, devices = s->grid.devices;
    for (int i = 0; i < n; i++) members *= s->grid.size[axes[i]];
    int64_t *ids = arena_alloc(s->mem, (size_t)devices * sizeof *ids), k = 0;
    for (int64_t first = 0; ids && first < devices; first++) {
        bool leads = true;
        for (int i = 0; i < n; i++) leads = leads && first / s->grid.stride[axes[i]] % s->grid.size[axes[i]] == 0;
        if (!leads) continue;
        for (int64_t m = 0; m < members; m++) {
            int64_t rest = m, id = first;
            for (int i = n; i-- > 0; rest /= s->grid.size[axes[i]])
                id += rest % s->grid.size[axes[i]] * s->grid.stride[axes[i]];
            ids[k++] = s->order ? s->order[id] : id;
        }
    }
    if (!ids && !s->b.status) s->b.status = oom();
    return ir_attr_ints2(&s->b, IR_A_replica_groups, (size_t)(devices / members), (size_t)members,
                         ids ? ids : (const int64_t[]){0});
}

static ir_value *collective(spmd *s, ir_opcode code, ir_value *x, size_t n_attrs, const ir_attr *attrs,
                            ir_block *region, const ir_type *out) {
    if (!x || !out || s->b.status) return NULL;
    ir_op *op = ir_build(&s->b, code, 1, &x, n_attrs, attrs, region ? 1 : 0, &region, 1, &out);
    return op ? &op->out[0] : NULL;
}

static const ir_type *with_dim(const ir_type *t, int dim, int64_t to) {
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[dim] = to;
    return ir_tensor(t->dtype, t->rank, dims);
}

static int64_t product(const spmd *s, const int8_t *axes, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++) p *= s->grid.size[axes[i]];
    return p;
}

/* --- forms --- */
static void drop_last(const ir_sharding *of, int dim, int keep, ir_sharding *out) {
    for (int a = 0; a < IR_SHARD_AXES; a++)
        if (of->dim[a] == dim && of->pos[a] >= keep) {
            out->dim[a] = -1;
            out->pos[a] = 0;
        }
}

/* How many axes the two forms have in common at the front of a dim. */
static int common(const ir_sharding *a, const ir_sharding *b, int dim) {
    int8_t x[IR_SHARD_AXES], y[IR_SHARD_AXES];
    int n = ir_sharding_axes(a, dim, x), k = ir_sharding_axes(b, dim, y), i = 0;
    while (i < n && i < k && x[i] == y[i]) i++;
    return i;
}

/* Cuts the dims whose form is the beginning of the wanted one, along axes that are free. */
static ir_value *cut(spmd *s, ir_value *v, ir_sharding *form, const ir_sharding *to) {
    ir_value *start[IR_MAX_RANK];
    int64_t sizes[IR_MAX_RANK];
    bool any = false;
    if (!v) return NULL;
    uint32_t rank = v->type->rank;
    for (uint32_t d = 0; d < rank; d++) {
        int8_t have[IR_SHARD_AXES], want[IR_SHARD_AXES];
        int n = ir_sharding_axes(form, (int)d, have), k = ir_sharding_axes(to, (int)d, want), at = n;
        start[d] = NULL;
        sizes[d] = v->type->dims[d];
        if (common(form, to, (int)d) < n) continue;
        while (at < k && form->dim[want[at]] == -1) ir_sharding_add(form, want[at++], (int)d);
        if (at == n) continue;
        sizes[d] /= product(s, want + n, at - n);
        start[d] = ir_multiply(&s->b, spmd_index(s, want + n, at - n), i32(s, sizes[d]));
        any = true;
    }
    if (!any) return v;
    for (uint32_t d = 0; d < rank; d++)
        if (!start[d]) start[d] = i32(s, 0);
    s->stats->slices++;
    return ir_dynamic_slice(&s->b, v, rank, start, sizes);
}

/* How many axes at the end of dim d's form stand, in this order, behind what dim e has of its wanted form. */
static int leaving(const ir_sharding *form, const ir_sharding *to, int d, int e) {
    int8_t have[IR_SHARD_AXES], want[IR_SHARD_AXES], unused[IR_SHARD_AXES];
    int n = ir_sharding_axes(form, d, have), most = n - common(form, to, d), ne = ir_sharding_axes(form, e, unused),
        ke = ir_sharding_axes(to, e, want);
    if (common(form, to, e) != ne) return 0;
    for (int k = most < ke - ne ? most : ke - ne; k > 0; k--)
        if (memcmp(have + n - k, want + ne, (size_t)k * sizeof *have) == 0) return k;
    return 0;
}

static ir_value *exchange(spmd *s, ir_value *v, ir_sharding *form, const ir_sharding *to) {
    for (bool again = true; again && v;) {
        again = false;
        for (uint32_t d = 0; d < v->type->rank && !again; d++) {
            int8_t have[IR_SHARD_AXES];
            int n = ir_sharding_axes(form, (int)d, have), e = n ? to->dim[have[n - 1]] : -1,
                k = e < 0 || e == (int)d ? 0 : leaving(form, to, (int)d, e);
            if (!k) continue;
            const int8_t *moved = have + n - k;
            int64_t parts = product(s, moved, k);
            ir_attr attrs[] = {ir_attr_int(IR_A_split_dimension, e), ir_attr_int(IR_A_concat_dimension, (int64_t)d),
                               ir_attr_int(IR_A_split_count, parts), groups_of(s, moved, k),
                               ir_attr_int(IR_A_channel_id, 1),      ir_attr_int(IR_A_channel_type, 1)};
            const ir_type *type =
                with_dim(with_dim(v->type, e, v->type->dims[e] / parts), (int)d, v->type->dims[d] * parts);
            v = collective(s, OP_all_to_all, v, BASE_COUNT(attrs), attrs, NULL, type);
            ir_sharding before = *form;
            drop_last(&before, (int)d, n - k, form);
            for (int i = 0; i < k; i++) ir_sharding_add(form, moved[i], e);
            s->stats->all_to_all++;
            again = true;
        }
    }
    return v;
}

static ir_value *join(spmd *s, ir_value *v, ir_sharding *form, const ir_sharding *to) {
    for (uint32_t d = 0; v && d < v->type->rank; d++) {
        int8_t have[IR_SHARD_AXES];
        int n = ir_sharding_axes(form, (int)d, have), keep = common(form, to, (int)d);
        if (keep == n) continue;
        ir_attr attrs[] = {ir_attr_int(IR_A_all_gather_dim, d), groups_of(s, have + keep, n - keep),
                           ir_attr_int(IR_A_channel_id, 1), ir_attr_int(IR_A_channel_type, 1),
                           ir_attr_unit(IR_A_use_global_device_ids)};
        v = collective(s, OP_all_gather, v, BASE_COUNT(attrs), attrs, NULL,
                       with_dim(v->type, (int)d, v->type->dims[d] * product(s, have + keep, n - keep)));
        ir_sharding before = *form;
        drop_last(&before, (int)d, keep, form);
        s->stats->all_gather++;
    }
    return v;
}

/* One number everywhere needs no moving: it is made anew in the size that is wanted. A number that is repeated over one
 * part only (a value that left a manual region) may be another on each device. */
static ir_value *made_anew(spmd *s, const ir_value *v, const ir_type *type, const ir_sharding *from,
                           const ir_sharding *to) {
    const ir_type *local = ir_shard_type(&s->grid, to, type);
    const ir_op *op = v->def;
    if (!op || !local) return NULL;
    if (op->code == OP_constant && ir_get_literal(op)->splat) {
        ir_attr value = ir_attr_dense(&s->b, IR_A_value, local, ir_get_literal(op)->data, true);
        ir_op *made = ir_build(&s->b, OP_constant, 0, NULL, 1, &value, 0, NULL, 0, NULL);
        return made ? &made->out[0] : NULL;
    }
    return op->code == OP_broadcast_in_dim && op->in[0]->type->rank == 0 && ir_sharding_is_none(from)
               ? ir_broadcast_scalar(&s->b, op->in[0], local)
               : NULL;
}

/* --- summands --- */
/* A part becomes a summand of the whole: zeros around it. For dims whose last axes are all to be summed over. */
static ir_value *spread(spmd *s, ir_value *v, ir_sharding *form, const ir_sharding *to) {
    for (uint32_t d = 0; v && d < v->type->rank; d++) {
        int8_t have[IR_SHARD_AXES];
        int n = ir_sharding_axes(form, (int)d, have), keep = common(form, to, (int)d);
        bool all = keep < n;
        for (int i = keep; i < n; i++) all = all && to->dim[have[i]] == IR_SHARD_SUMMANDS;
        if (!all) continue;
        int64_t part = v->type->dims[d];
        ir_value *start[IR_MAX_RANK],
            *zeros = ir_splat(&s->b, with_dim(v->type, (int)d, part * product(s, have + keep, n - keep)), 0);
        for (uint32_t k = 0; k < v->type->rank; k++)
            start[k] = k == d ? ir_multiply(&s->b, spmd_index(s, have + keep, n - keep), i32(s, part)) : i32(s, 0);
        v = zeros ? ir_dynamic_update_slice(&s->b, zeros, v, v->type->rank, start) : NULL;
        ir_sharding before = *form;
        drop_last(&before, (int)d, keep, form);
        for (int i = keep; i < n; i++) form->dim[have[i]] = IR_SHARD_SUMMANDS;
    }
    return v;
}

/* A value that all have along `axes` becomes summands: the first device keeps it, the others have zeros. */
static ir_value *keep_once(spmd *s, ir_value *v, unsigned axes, ir_sharding *form) {
    if (!v || !axes) return v;
    int8_t list[IR_SHARD_AXES];
    int n = 0;
    for (int a = 0; a < s->grid.n_axes; a++)
        if (axes & 1u << a) {
            list[n++] = (int8_t)a;
            form->dim[a] = IR_SHARD_SUMMANDS;
        }
    ir_value *first = ir_compare(&s->b, IR_EQ, spmd_index(s, list, n), i32(s, 0));
    return first ? ir_select(&s->b, ir_broadcast_scalar(&s->b, first, ir_with_dtype(v->type, XT_BOOL)), v,
                             ir_splat(&s->b, v->type, 0))
                 : NULL;
}

/* --- dims that their devices do not divide --- */
ir_value *spmd_masked(spmd *s, ir_value *v, const ir_type *type, const ir_sharding *form, int dim, ir_value *fill) {
    int8_t axes[IR_SHARD_AXES];
    int n = ir_sharding_axes(form, dim, axes);
    if (!v || !fill) return NULL;
    ir_builder *b = &s->b;
    const ir_type *i32s = ir_with_dtype(v->type, XT_I32);
    ir_value *left =
        ir_subtract(b, i32(s, type->dims[dim]), ir_multiply(b, spmd_index(s, axes, n), i32(s, v->type->dims[dim])));
    ir_value *here = left ? ir_compare(b, IR_LT, ir_iota(b, i32s, dim), ir_broadcast_scalar(b, left, i32s)) : NULL;
    return here ? ir_select(b, here, v, ir_broadcast_scalar(b, fill, v->type)) : NULL;
}

/* Zeros behind dim's end, up to `size`; or what is behind `size` goes. */
static ir_value *sized(spmd *s, ir_value *v, int dim, int64_t size) {
    int64_t zeros[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    if (!v || v->type->dims[dim] == size) return v;
    if (v->type->dims[dim] > size) return ir_slice(&s->b, v, zeros, with_dim(v->type, dim, size)->dims, NULL);
    high[dim] = size - v->type->dims[dim];
    return ir_pad(&s->b, v, ir_splat(&s->b, ir_scalar(v->type->dtype), 0), zeros, high, zeros);
}

/* Parts of such a dim are joined all at once, or stay. */
static ir_value *join_uneven(spmd *s, ir_value *v, const ir_type *type, ir_sharding *form, const ir_sharding *to) {
    for (uint32_t d = 0; v && d < type->rank; d++) {
        int8_t have[IR_SHARD_AXES], want[IR_SHARD_AXES];
        int n = ir_sharding_axes(form, (int)d, have), k = ir_sharding_axes(to, (int)d, want);
        if (!ir_sharding_uneven(&s->grid, form, type, (int)d) || (n == k && common(form, to, (int)d) == n)) continue;
        ir_sharding whole = *form;
        ir_sharding_drop(&whole, (int)d);
        v = sized(s, join(s, v, form, &whole), (int)d, type->dims[d]);
    }
    return v;
}

/* The dims of `to` that are cut unevenly, and are not yet, left whole. */
static ir_sharding before_uneven(const spmd *s, const ir_type *type, const ir_sharding *form, const ir_sharding *to) {
    ir_sharding before = *to;
    for (uint32_t d = 0; d < type->rank; d++)
        if (ir_sharding_uneven(&s->grid, to, type, (int)d) && !ir_sharding_uneven(&s->grid, form, type, (int)d))
            ir_sharding_drop(&before, (int)d);
    return before;
}

static ir_value *fill_up(spmd *s, ir_value *v, const ir_type *type, const ir_sharding *form, const ir_sharding *to) {
    for (uint32_t d = 0; v && d < type->rank; d++) {
        int64_t parts = ir_sharding_parts(&s->grid, to, (int)d);
        if (parts > 1 && ir_sharding_parts(&s->grid, form, (int)d) == 1)
            v = sized(s, v, (int)d, (type->dims[d] + parts - 1) / parts * parts);
    }
    return v;
}

ir_value *spmd_reshard(spmd *s, ir_value *v, const ir_type *type, ir_sharding from, const ir_sharding *to) {
    if (!v || type->kind != IR_TENSOR || ir_sharding_equal(&from, to)) return v;
    unsigned have = ir_sharding_summands(&from), want = ir_sharding_summands(to), over = have & ~want;
    if (!have && (!want || spmd_is_number(v, 0))) {
        ir_value *anew = made_anew(s, v, type, &from, to);
        if (anew || s->b.status) return anew;
    }
    for (int a = 0; a < s->grid.n_axes; a++)
        if (over & 1u << a) from.dim[a] = -1;
    if (over) v = spmd_combine(s, v, type, OP_add, over, &from, to);
    v = join_uneven(s, v, type, &from, to);
    ir_sharding even = before_uneven(s, type, &from, to);
    v = cut(s, v, &from, &even);
    v = exchange(s, v, &from, &even);
    v = spread(s, v, &from, &even);
    v = join(s, v, &from, &even);
    v = fill_up(s, v, type, &from, to);
    v = cut(s, v, &from, to);
    return keep_once(s, v, want & ~ir_sharding_summands(&from), &from);
}

/* --- partial values --- */
static ir_block *reducer(spmd *s, ir_opcode code, xt_dtype t) {
    ir_block *block = ir_block_new(s->m);
    const ir_type *e = ir_scalar(t);
    ir_value *x = block ? ir_block_arg(s->m, block, e) : NULL, *y = x ? ir_block_arg(s->m, block, e) : NULL;
    if (!y) {
        if (!s->b.status) s->b.status = oom();
        return NULL;
    }
    ir_builder inner = {.m = s->m, .block = block, .src = s->b.src, .path = s->b.path};
    ir_value *result = ir_binary(&inner, code, x, y);
    ir_return(&inner, 1, &result);
    if (inner.status && !s->b.status) s->b.status = inner.status;
    return s->b.status ? NULL : block;
}

ir_value *spmd_combine(spmd *s, ir_value *v, const ir_type *type, ir_opcode combine, unsigned axes, ir_sharding *have,
                       const ir_sharding *want) {
    for (uint32_t d = 0; v && d < type->rank; d++) {
        int8_t mine[IR_SHARD_AXES], next[IR_SHARD_AXES];
        int n = ir_sharding_axes(have, (int)d, mine), k = ir_sharding_axes(want, (int)d, next), at = n;
        if (common(have, want, (int)d) < n) continue;
        while (at < k && axes & 1u << next[at]) at++;
        bool uneven = ir_sharding_uneven(&s->grid, want, type, (int)d);
        if (at == n || (uneven && (n || at < k))) continue; /* uneven parts are made all at once */
        int64_t parts = product(s, next + n, at - n), rest = (v->type->dims[d] + parts - 1) / parts;
        v = sized(s, v, (int)d, rest * parts);
        ir_attr attrs[] = {ir_attr_int(IR_A_scatter_dimension, d), groups_of(s, next + n, at - n),
                           ir_attr_int(IR_A_channel_id, 1), ir_attr_int(IR_A_channel_type, 1),
                           ir_attr_unit(IR_A_use_global_device_ids)};
        v = collective(s, OP_reduce_scatter, v, BASE_COUNT(attrs), attrs, reducer(s, combine, v->type->dtype),
                       with_dim(v->type, (int)d, rest));
        for (int i = n; i < at; i++) {
            ir_sharding_add(have, next[i], (int)d);
            axes &= ~(1u << next[i]);
        }
        s->stats->reduce_scatter++;
    }
    for (int a = 0; a < s->grid.n_axes && combine == OP_add; a++)
        if (axes & 1u << a && want->dim[a] == IR_SHARD_SUMMANDS) {
            have->dim[a] = IR_SHARD_SUMMANDS;
            axes &= ~(1u << a);
        }
    if (!v || !axes) return v;
    int8_t list[IR_SHARD_AXES];
    int n = 0;
    for (int a = 0; a < s->grid.n_axes; a++)
        if (axes & 1u << a) list[n++] = (int8_t)a;
    ir_attr attrs[] = {groups_of(s, list, n), ir_attr_int(IR_A_channel_id, 1), ir_attr_int(IR_A_channel_type, 1),
                       ir_attr_unit(IR_A_use_global_device_ids)};
    s->stats->all_reduce++;
    return collective(s, OP_all_reduce, v, BASE_COUNT(attrs), attrs, reducer(s, combine, v->type->dtype), v->type);
}

/* --- from device to device --- */
static ir_value *permute(spmd *s, ir_value *v, const int64_t *pairs) {
    ir_attr attrs[] = {ir_attr_ints2(&s->b, IR_A_source_target_pairs, (size_t)s->grid.devices, 2, pairs),
                       ir_attr_int(IR_A_channel_id, 1), ir_attr_int(IR_A_channel_type, 1)};
    s->stats->collective_permute++;
    return collective(s, OP_collective_permute, v, BASE_COUNT(attrs), attrs, NULL, v->type);
}

ir_value *spmd_reorder(spmd *s, ir_value *v, const char *text, bool out) {
    int64_t n = s->grid.devices, *pairs = arena_alloc(s->mem, 3 * (size_t)n * sizeof *pairs), *theirs = pairs + 2 * n;
    if (!v || !pairs) {
        if (v && !s->b.status) s->b.status = oom();
        return NULL;
    }
    xt_status st = ir_tiles_order(text, n, theirs);
    for (int64_t k = 0; !st && k < n; k++) {
        int64_t ours = s->order ? s->order[k] : k;
        pairs[2 * k] = out ? ours : theirs[k];
        pairs[2 * k + 1] = out ? theirs[k] : ours;
    }
    if (st) {
        if (!s->b.status)
            s->b.status = st;
        else
            xt_status_free(st);
        return NULL;
    }
    return permute(s, v, pairs);
}

ir_value *spmd_permute(spmd *s, ir_value *v, const int64_t *pairs) {
    int64_t n = 2 * s->grid.devices, *devices = arena_alloc(s->mem, (size_t)n * sizeof *devices);
    if (!devices && !s->b.status) s->b.status = oom();
    for (int64_t k = 0; devices && k < n; k++) devices[k] = s->order ? s->order[pairs[k]] : pairs[k];
    return devices ? permute(s, v, devices) : NULL;
}
