/* Weights from file to file: other names, another dtype, matrices the other way round, in shards or joined. One tensor
 * is in memory at a time. */
#include "format/safetensors.h"
#include "nn/nn.h"

typedef struct conversion {
    const char *from;
    xt_convert_opts o;
    st_file *in;
    st_set *out;
    lora_file adapter; /* of .merge */
    size_t outer; /* so much of its layers' names the file's do not have */
    size_t n; /* tensors that are written */
} conversion;

/* The entry as it will be written; false: it is left out. */
static bool wanted(const conversion *c, const st_entry *e) {
    return strcmp(e->name, ST_SUMS) != 0 && (!c->o.keep || nn_matches(c->o.keep, e->name)) &&
           !(c->o.leave_out && nn_matches(c->o.leave_out, e->name));
}

static bool turned(const conversion *c, const st_entry *e) {
    return c->o.transposed && e->rank == 2 && nn_matches(c->o.transposed, e->name);
}

static const ir_type *type_of(const conversion *c, const st_entry *e, bool as_written) {
    bool cast = as_written && c->o.dtype != XT_DTYPE_NONE && ir_dtype_is_float(e->dtype);
    int64_t other[2] = {e->dims[1], e->dims[0]};
    return ir_tensor(cast ? c->o.dtype : e->dtype, (size_t)e->rank, as_written && turned(c, e) ? other : e->dims);
}

static xt_status declare(conversion *c, const st_entry *e) {
    const ir_type *t = type_of(c, e, true);
    str name = STR_INIT;
    XT_TRY(nn_check_turned(c->o.transposed, e->name, nn_file_has_integers(c->in, e->name), c->from));
    nn_rename(c->o.rename, e->name, &name);
    xt_status s = !t || name.failed ? status_oom(64, c->from) : NULL;
    if (!s) s = st_set_declare(c->out, str_cstr(&name), t->dtype, e->rank, t->dims);
    c->n++;
    str_free(&name);
    return s;
}

/* The adapter's part for a weight, by the name that the file has for it; NULL: there is none. */
static const lora_part *part_for(const conversion *c, const char *name) {
    static const char leaf[] = ".weight";
    size_t n = strlen(name), k = sizeof leaf - 1;
    if (n <= k || strcmp(name + n - k, leaf) != 0) return NULL;
    for (size_t i = 0; i < c->adapter.n; i++) {
        const char *layer = c->adapter.parts[i].layer + c->outer;
        if (strlen(layer) == n - k && memcmp(layer, name, n - k) == 0) return &c->adapter.parts[i];
    }
    return NULL;
}

static xt_status merge(conversion *c, const st_entry *e, nn_loaded *v) {
    const lora_part *p = part_for(c, e->name);
    if (!p) return NULL;
    return status_context(lora_merge(&c->adapter, p, v->type, v->data), "%s", c->o.merge);
}

static xt_status find_weight(const conversion *c, const char *layer, const st_entry **out) {
    str name = STR_INIT;
    str_printf(&name, "%s.weight", layer);
    bool failed = name.failed;
    *out = failed ? NULL : st_find(c->in, str_cstr(&name));
    str_free(&name);
    return failed ? status_oom(64, layer) : NULL;
}

/* Said before anything is written: a layer that the file does not have is an adapter of another model. Files have a
 * model's names with the part that its head puts in front of them, "transformer." or "model.", and without. */
static xt_status open_adapter(conversion *c) {
    XT_TRY(lora_open(c->o.merge, &c->adapter));
    for (size_t i = 0; i < c->adapter.n; i++) {
        const char *layer = c->adapter.parts[i].layer, *rest = strchr(layer, '.');
        size_t outer = c->outer < strlen(layer) ? c->outer : 0;
        const st_entry *e;
        XT_TRY(find_weight(c, layer + outer, &e));
        if (!e && i == 0 && rest) {
            XT_TRY(find_weight(c, rest + 1, &e));
            c->outer = e ? (size_t)(rest + 1 - layer) : 0;
        }
        if (!e || (outer && strncmp(layer, c->adapter.parts[0].layer, outer) != 0))
            return status_new(XT_NOT_FOUND, NULL,
                              "%s: the adapter has matrices for %s, and %s has no %s.weight: is it another model's?",
                              c->o.merge, layer, c->from, layer);
        if (!ir_dtype_is_float(e->dtype))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s: %s is integers, to which nothing is added; merge into the model of floats that they "
                              "were made of, and make integers of that",
                              c->from, e->name);
    }
    return NULL;
}

static xt_status copy(conversion *c, const st_entry *e) {
    size_t n = (size_t)(e->end - e->begin);
    nn_loaded v = {type_of(c, e, false), base_malloc(n ? n : 1)};
    xt_status s = v.data && v.type ? st_read(c->in, e, v.data, n) : status_oom(n, e->name);
    if (!s) s = merge(c, e, &v);
    if (!s && turned(c, e)) {
        s = nn_turn((char **)&v.data, e->dims[0], e->dims[1], xt_dtype_size(e->dtype));
        v.type = ir_tensor(e->dtype, 2, (int64_t[]){e->dims[1], e->dims[0]});
    }
    const ir_type *want = type_of(c, e, true);
    if (!s && (!v.type || !want)) s = status_oom(n, e->name);
    if (!s) s = nn_convert(&v, want);
    if (!s) s = st_set_data(c->out, v.data, ir_type_bytes(want));
    base_free(v.data);
    return s;
}

/* The tensors of the file that are wanted; what is stacked is one for each block. */
static xt_status each(conversion *c, xt_status (*fn)(conversion *c, const st_entry *e)) {
    size_t head = c->o.unstacked ? strlen(c->o.unstacked) : 0;
    for (size_t i = 0; i < st_count(c->in); i++) {
        const st_entry *e = st_at(c->in, i);
        bool stacked = head && e->rank > 0 && strncmp(e->name, c->o.unstacked, head) == 0 && e->name[head] == '.';
        if (!stacked) {
            if (wanted(c, e)) XT_TRY(fn(c, e));
            continue;
        }
        uint64_t bytes = e->dims[0] ? (e->end - e->begin) / (uint64_t)e->dims[0] : 0;
        for (int64_t k = 0; k < e->dims[0]; k++) {
            str name = STR_INIT;
            st_entry block = *e;
            str_printf(&name, "%s.%lld%s", c->o.unstacked, (long long)k, e->name + head);
            block.name = str_cstr(&name);
            block.rank--;
            memmove(block.dims, e->dims + 1, sizeof block.dims - sizeof *block.dims);
            block.begin = e->begin + (uint64_t)k * bytes;
            block.end = block.begin + bytes;
            xt_status s = name.failed ? status_oom(64, e->name) : wanted(c, &block) ? fn(c, &block) : NULL;
            str_free(&name);
            XT_TRY(s);
        }
    }
    return NULL;
}

static xt_status convert(conversion *c, const char *to) {
    bool has_sums;
    XT_TRY(st_check_sums(c->in, &has_sums));
    if (c->o.merge) XT_TRY(open_adapter(c));
    XT_TRY(st_set_create(to, (uint64_t)c->o.max_shard_size, &c->out));
    XT_TRY(st_set_meta(c->out, "xtrain", xt_version()));
    XT_TRY(each(c, declare));
    if (!c->n)
        return status_new(XT_NOT_FOUND, NULL, "%s: none of its %zu tensors is to be kept (keep '%s', leave_out '%s')",
                          c->from, st_count(c->in), c->o.keep ? c->o.keep : "*", c->o.leave_out ? c->o.leave_out : "");
    return each(c, copy);
}

xt_status xt_convert_weights_opt(const char *from, const char *to, xt_convert_opts o) {
    conversion c = {.from = from, .o = o};
    if (!from || !to) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_convert_weights: two paths are needed");
    if ((o.dtype != XT_DTYPE_NONE && !ir_dtype_is_float(o.dtype)) || o.max_shard_size < 0)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_convert_weights: dtype is %s, max_shard_size %lld; a float type and a number of bytes are "
            "expected",
            xt_dtype_name(o.dtype), (long long)o.max_shard_size);
    XT_TRY(nn_rename_check(o.rename, "rename"));
    XT_TRY(st_open(from, &c.in));
    xt_status s = convert(&c, to);
    st_close(c.in);
    lora_close(&c.adapter);
    if (!s) return st_set_commit(c.out);
    st_set_abandon(c.out);
    return s;
}
