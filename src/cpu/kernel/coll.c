/* Collectives: each is one call of the engine, among the ranks of its group alone (coll_subgroup), which folds in the
 * order of the group, so all its ranks get the same bits. */
#include "cpu/kernel/coll.h"
#include "cpu/kernel/kernel.h"
#include "cpu/run/pending.h"
#include "ir/interp_collective.h"

static int rank_of(const cpu_device *d) {
    return d->group ? coll_rank(d->group) : 0;
}
static int size_of(const cpu_device *d) {
    return d->group ? coll_size(d->group) : 1;
}

/* Devices are numbered partition by partition, the replicas of one side by side; the specification counts processes
 * replica by replica. */
static int64_t process_of(const cpu_device *d, int rank) {
    return (int64_t)(rank % d->replicas) * d->partitions + rank / d->replicas;
}

/* The ranks of a partitioned program's group. */
static xt_status group_of_processes(const cpu_device *d, const ir_op *op, int *members, int *out_n, int *out_me) {
    process_grid g = {d->replicas, d->partitions};
    int size = size_of(d), self = rank_of(d);
    if (d->replicas * d->partitions != size)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "a program of %d replicas and %d partitions runs on a run of %d devices", d->replicas,
                          d->partitions, size);
    int64_t *ids = base_malloc((size_t)size * sizeof *ids);
    size_t n = 0;
    xt_status s = ids ? collective_members(op, &g, process_of(d, self), ids, &n)
                      : status_oom((size_t)size * sizeof *ids, "a collective");
    *out_n = (int)n;
    *out_me = -1;
    for (size_t i = 0; i < n && !s; i++) {
        members[i] = (int)(ids[i] % g.partitions * g.replicas + ids[i] / g.partitions);
        if (members[i] == self) *out_me = (int)i;
    }
    base_free(ids);
    return s;
}

/* The ranks of this rank's replica group, in order. `members` has room for `size` of them. */
static xt_status group_of(const ir_op *op, int rank, int size, int *members, int *out_n, int *out_me) {
    const ir_attr *a = ir_attr_find(op, IR_A_replica_groups);
    if (!a || a->n == 0) {
        for (int i = 0; i < size; i++) members[i] = i;
        *out_n = size;
        *out_me = rank;
        return NULL;
    }
    size_t width = a->rank2 ? a->rank2 : a->n;
    for (size_t g = 0; g + width <= a->n; g += width) {
        int n = 0, me = -1;
        for (size_t i = 0; i < width; i++) {
            int64_t id = a->v.ints[g + i];
            if (id < 0) continue;
            if (id >= size)
                return status_new(XT_INVALID_ARGUMENT, NULL,
                                  "stablehlo.%s names replica %lld, but the run has %d rank(s): compile the program "
                                  "for the number of ranks it runs on",
                                  ir_op_infos[op->code].name, (long long)id, size);
            if (id == rank) me = n;
            members[n++] = (int)id;
        }
        if (me >= 0) {
            *out_n = n;
            *out_me = me;
            return NULL;
        }
    }
    *out_n = 0;
    *out_me = -1;
    return NULL;
}

static xt_status unsupported(const ir_op *op, const char *what) {
    return status_new(XT_UNIMPLEMENTED, NULL, "stablehlo.%s %s on the CPU device", ir_op_infos[op->code].name, what);
}

static bool in_rank_order(const int *members, int n) {
    for (int i = 0; i < n; i++)
        if (members[i] != i) return false;
    return true;
}

/* Who takes part in a collective: the group to call (NULL: this rank alone) and this rank's place in it. */
typedef struct company {
    coll_group *group;
    int n, me;
} company;

/* All ranks, where they stand in rank order or the order does not matter, are the run's own group. */
static xt_status company_of(const cpu_device *d, const ir_op *op, const int *members, int n, int me, company *out) {
    *out = (company){NULL, n, me};
    if (!d->group || n < 2) return NULL;
    out->group = d->group;
    if (n == size_of(d) && (op->code == OP_all_reduce || in_rank_order(members, n))) return NULL;
    return coll_subgroup(d->group, members, n, &out->group);
}

/* Copies `part` of `parts` equal slabs along dim of `whole` to or from a dense array of the slab's shape. */
static void move_slab(const ir_type *whole, int64_t dim, int64_t part, int64_t parts, char *whole_data, char *slab,
                      bool into_whole) {
    size_t elem = xt_dtype_size(whole->dtype);
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < dim; i++) outer *= whole->dims[i];
    for (uint32_t i = (uint32_t)dim + 1; i < whole->rank; i++) inner *= whole->dims[i];
    size_t run = (size_t)(whole->dims[dim] / parts * inner) * elem, row = (size_t)(whole->dims[dim] * inner) * elem;
    for (int64_t o = 0; o < outer; o++) {
        char *w = whole_data + (size_t)o * row + (size_t)part * run, *p = slab + (size_t)o * run;
        if (into_whole)
            memcpy(w, p, run);
        else
            memcpy(p, w, run);
    }
}

/* All slabs, side by side in slabs; where nothing stands before dim they are so already. */
static void move_slabs(const ir_type *whole, int64_t dim, int n, char *whole_data, char *slabs, bool into_whole) {
    size_t each = ir_type_bytes(whole) / (size_t)n;
    for (int k = 0; k < n; k++) move_slab(whole, dim, k, n, whole_data, slabs + (size_t)k * each, into_whole);
}

static bool leads(const ir_type *t, int64_t dim) {
    for (int64_t i = 0; i < dim; i++)
        if (t->dims[i] != 1) return false;
    return true;
}

static xt_status all_reduce(const company *c, const ir_op *op, xt_dtype t, int64_t count, const void *in, void *out) {
    coll_op how;
    if (!cpu_coll_fold_of(op, &how))
        return unsupported(op, "with a computation that is not one of add, multiply, minimum, maximum, and, or");
    if (out != in && count) memcpy(out, in, (size_t)count * xt_dtype_size(t));
    return c->group ? coll_all_reduce(c->group, how, t, out, (size_t)count) : NULL;
}

/* Operands of one type, if they are not large, travel together: ranks meet once, not once an operand. *out_n: how many
 * were reduced, 0 when packing does not pay. */
static xt_status all_reduce_packed(const company *c, const ir_op *op, size_t first, const array *in, array *out,
                                   size_t *out_n) {
    xt_dtype t = in[first].type->dtype;
    size_t k = 0, bytes = 0, at = 0;
    while (first + k < op->n_out && in[first + k].type->dtype == t &&
           bytes + ir_type_bytes(in[first + k].type) <= CPU_COLL_PACKED_BYTES)
        bytes += ir_type_bytes(in[first + k++].type);
    *out_n = k > 1 ? k : 0;
    if (k < 2 || bytes == 0) return NULL;
    char *tmp = base_aligned(CPU_ALIGN, bytes);
    if (!tmp) return status_oom(bytes, "a collective");
    for (size_t i = first; i < first + k; at += ir_type_bytes(in[i++].type))
        memcpy(tmp + at, in[i].data, ir_type_bytes(in[i].type));
    xt_status s = all_reduce(c, op, t, (int64_t)(bytes / xt_dtype_size(t)), tmp, tmp);
    at = 0;
    for (size_t i = first; i < first + k; at += ir_type_bytes(in[i++].type))
        memcpy(out[i].data, tmp + at, ir_type_bytes(in[i].type));
    base_free(tmp);
    return s;
}

static xt_status room(size_t bytes, char **out) {
    *out = base_aligned(CPU_ALIGN, bytes ? bytes : 1);
    return *out ? NULL : status_oom(bytes, "a collective");
}

/* The exchanges below give and take slabs side by side: where the tensor does not lie so, by a copy of it. */
static xt_status all_gather(const company *c, const ir_op *op, const array *in, array *out) {
    int64_t dim = ir_get_int(op, IR_A_all_gather_dim, 0);
    size_t bytes = ir_type_bytes(in->type);
    char *tmp = NULL;
    bool direct = leads(out->type, dim);
    if (!direct) XT_TRY(room(bytes * (size_t)c->n, &tmp));
    xt_status s = coll_all_gather(c->group, in->data, bytes, direct ? out->data : tmp);
    if (!s && !direct) move_slabs(out->type, dim, c->n, out->data, tmp, true);
    base_free(tmp);
    return s;
}

static xt_status reduce_scatter(const company *c, const ir_op *op, const array *in, array *out) {
    int64_t dim = ir_get_int(op, IR_A_scatter_dimension, 0);
    coll_op how;
    char *tmp = NULL;
    if (!cpu_coll_fold_of(op, &how))
        return unsupported(op, "with a computation that is not one of add, multiply, minimum, maximum, and, or");
    bool direct = leads(in->type, dim);
    if (!direct) {
        XT_TRY(room(ir_type_bytes(in->type), &tmp));
        move_slabs(in->type, dim, c->n, in->data, tmp, false);
    }
    xt_status s = coll_reduce_scatter(c->group, how, in->type->dtype, direct ? in->data : tmp, (size_t)out->type->count,
                                      out->data);
    base_free(tmp);
    return s;
}

static xt_status all_to_all(const company *c, const ir_op *op, const array *in, array *out) {
    int64_t split = ir_get_int(op, IR_A_split_dimension, 0), concat = ir_get_int(op, IR_A_concat_dimension, 0);
    size_t bytes = ir_type_bytes(in->type), part = bytes / (size_t)c->n;
    bool direct_in = leads(in->type, split), direct_out = leads(out->type, concat);
    char *give = NULL, *take = NULL;
    xt_status s = direct_in ? NULL : room(bytes, &give);
    if (!s && !direct_out) s = room(bytes, &take);
    if (!s && give) move_slabs(in->type, split, c->n, in->data, give, false);
    if (!s) s = coll_all_to_all(c->group, give ? give : in->data, part, take ? take : out->data);
    if (!s && take) move_slabs(out->type, concat, c->n, out->data, take, true);
    base_free(give);
    base_free(take);
    return s;
}

/* Of each rank at most one pair sends and one receives; zeros where nobody does. */
static xt_status permute(const cpu_device *d, const ir_op *op, const array *in, array *out) {
    size_t n, bytes = ir_type_bytes(in->type);
    const int64_t *pairs = ir_get_ints(op, IR_A_source_target_pairs, &n);
    int64_t self = rank_of(d), to = -1, from = -1, size = size_of(d);
    for (size_t k = 0; k + 1 < n; k += 2) {
        bool there = pairs[k] >= 0 && pairs[k] < size && pairs[k + 1] >= 0 && pairs[k + 1] < size;
        if (there && pairs[k] == self) to = pairs[k + 1];
        if (there && pairs[k + 1] == self) from = pairs[k];
    }
    if (from < 0) memset(out->data, 0, bytes);
    if (!d->group) {
        if (from == self) memcpy(out->data, in->data, bytes);
        return NULL;
    }
    return coll_permute(d->group, (int)to, (int)from, in->data, bytes, out->data);
}

/* Groups left to the run ({}) have a size only here: a result of another size would be written past its end. */
static xt_status check_sizes(const company *c, const ir_op *op, const array *in, const array *out) {
    int64_t n = c->group ? c->n : 1, give = in->type->count, take = out->type->count, dim = 0;
    bool fits = give == take;
    if (op->code == OP_all_gather) fits = give * n == take;
    if (op->code == OP_reduce_scatter) fits = give == take * n;
    if (op->code == OP_all_to_all) dim = ir_get_int(op, IR_A_split_dimension, 0);
    if (op->code == OP_all_to_all && in->type->dims[dim] % n) fits = false;
    if (fits) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "stablehlo.%s of %lld elements to %lld does not fit a group of %lld ranks: was the program "
                      "recorded for another number?",
                      ir_op_infos[op->code].name, (long long)give, (long long)take, (long long)n);
}

static xt_status one_operand(const company *c, const ir_op *op, const array *in, array *out) {
    size_t bytes = ir_type_bytes(in->type);
    xt_status s = check_sizes(c, op, in, out);
    if (s) return s;
    switch ((int)op->code) {
    case OP_all_reduce: return all_reduce(c, op, in->type->dtype, in->type->count, in->data, out->data);
    case OP_collective_reduce: /* the first of a group gets it, the others zeros */
        s = all_reduce(c, op, in->type->dtype, in->type->count, in->data, out->data);
        if (!s && c->me != 0) memset(out->data, 0, bytes);
        return s;
    case OP_collective_broadcast:
        if (c->me == 0) memcpy(out->data, in->data, bytes);
        return c->group ? coll_broadcast(c->group, 0, out->data, bytes) : NULL;
    case OP_all_gather:
    case OP_reduce_scatter:
    case OP_all_to_all: break;
    default: return unsupported(op, "is no collective");
    }
    if (!c->group) { /* of one rank: a copy */
        memcpy(out->data, in->data, bytes);
        return NULL;
    }
    return op->code == OP_all_gather       ? all_gather(c, op, in, out)
           : op->code == OP_reduce_scatter ? reduce_scatter(c, op, in, out)
                                           : all_to_all(c, op, in, out);
}

xt_status cpu_coll_hook(void *user, const ir_op *op, const array *in, array *out) {
    const cpu_device *d = user;
    int rank = rank_of(d), size = size_of(d);
    if (op->code == OP_replica_id || op->code == OP_partition_id) {
        uint32_t id = op->code == OP_replica_id ? (uint32_t)rank : 0;
        if (d->partitions > 1) id = (uint32_t)(op->code == OP_replica_id ? rank % d->replicas : rank / d->replicas);
        *(uint32_t *)out[0].data = id;
        return NULL;
    }
    if (ir_get_bool(op, IR_A_has_dynamic_root, false))
        return unsupported(op, "with a root known only when running is not there");
    bool permutes = op->code == OP_collective_permute;
    int *members = base_malloc((size_t)size * sizeof *members), n = 0, me = -1;
    if (!members) return status_oom(0, "a collective");
    company c = {0};
    xt_status s = permutes            ? NULL
                  : d->partitions > 1 ? group_of_processes(d, op, members, &n, &me)
                                      : group_of(op, rank, size, members, &n, &me);
    if (!s && !permutes)
        s = n > 0 ? company_of(d, op, members, n, me, &c)
                  : unsupported(op, "on a rank that is in none of its replica_groups has no meaning");
    base_free(members);
    for (uint32_t i = 0; i < op->n_out && !s; i++) {
        size_t packed = 0;
        if (op->code == OP_all_reduce && c.group) s = all_reduce_packed(&c, op, i, in, out, &packed);
        if (s) break;
        if (packed)
            i += (uint32_t)packed - 1;
        else
            s = permutes ? permute(d, op, &in[i], &out[i]) : one_operand(&c, op, &in[i], &out[i]);
    }
    return s;
}

static xt_status collective_run(const cpu_call *c) {
    const ir_op *op = c->thunk->op;
    if (c->thunk->start && c->device->running == c->exec && c->device->group && coll_size(c->device->group) > 1)
        return cpu_pending_start(c);
    array *a = base_calloc(op->n_in + op->n_out + 1, sizeof *a);
    if (!a) return status_oom(0, "a collective");
    for (uint32_t i = 0; i < op->n_in; i++) a[i] = (array){op->in[i]->type, c->in[i]};
    for (uint32_t i = 0; i < op->n_out; i++) a[op->n_in + i] = (array){op->out[i].type, c->out[i]};
    if (c->device->group) cpu_coll_note(c->device, c->thunk);
    xt_status s = cpu_coll_hook(c->device, op, a, a + op->n_in);
    base_free(a);
    return s;
}
static const cpu_kernel collective_kernel = {"collective", collective_run, NULL};

CPU_LOWER(collective) {
    uint64_t *in_place = base_calloc(op->n_out + 1, sizeof *in_place);
    if (!in_place) return status_oom(0, "a plan");
    if (op->code == OP_all_reduce) /* reduced in place where the operand dies */
        for (uint32_t i = 0; i < op->n_out && i < 64; i++) in_place[i] = UINT64_C(1) << i;
    cpu_thunk_desc d = {
        .kernel = &collective_kernel, .op = op, .n_in = op->n_in, .n_out = op->n_out, .in_place = in_place};
    xt_status s = cpu_build_thunk(b, &d);
    base_free(in_place);
    *out_done = true;
    return s;
}
