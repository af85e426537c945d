/* Sharding texts, and their form over a grid of devices. A text is turned into the list of device numbers by tile
 * first; digits are then found by looking at how the numbers grow along each dim, so every spelling (iota, transposed
 * iota, explicit list) takes the same way. */
#include "ir/sharding.h"

#include <ctype.h>
#include <stdlib.h>

/* --- reading --- */
typedef struct reader {
    const char *p, *text;
} reader;

static void skip_space(reader *r) {
    while (isspace((unsigned char)*r->p)) r->p++;
}
static bool word(reader *r, const char *w) {
    skip_space(r);
    size_t n = strlen(w);
    if (strncmp(r->p, w, n) != 0) return false;
    r->p += n;
    return true;
}
static bool number(reader *r, int64_t *out) {
    skip_space(r);
    if (!isdigit((unsigned char)*r->p)) return false;
    char *end;
    *out = strtoll(r->p, &end, 10);
    r->p = end;
    return *out >= 0 && *out <= IR_SHARD_DEVICES;
}
/* "1,2,3" up to `close`; false on anything else. */
static bool numbers(reader *r, char close, size_t max, int64_t *out, size_t *n) {
    for (*n = 0; *n < max;) {
        if (!number(r, &out[*n])) return false;
        (*n)++;
        skip_space(r);
        char c = *r->p++;
        if (c == close) return true;
        if (c != ',') return false;
    }
    return false;
}

static xt_status bad(const reader *r) {
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "'%s' is no sharding (at character %d): expected {replicated}, {devices=[4,1]<=[4]} or the like",
                      r->text, (int)(r->p - r->text));
}

static int64_t product(const int64_t *v, size_t n) {
    int64_t p = 1;
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(p, v[i], &p)) return -1;
    return p;
}

/* The device of each tile when devices are counted through `shape`, transposed by `perm`. */
static bool iota_ids(const int64_t *shape, const int64_t *perm, size_t n, int64_t devices, int64_t *ids) {
    int64_t stride[IR_MAX_RANK], at[IR_MAX_RANK] = {0};
    bool seen[IR_MAX_RANK] = {false};
    int64_t s = 1;
    for (size_t i = n; i-- > 0; s *= shape[i]) stride[i] = s;
    for (size_t i = 0; i < n; i++) {
        if (perm[i] >= (int64_t)n || seen[perm[i]]) return false;
        seen[perm[i]] = true;
    }
    for (int64_t k = 0; k < devices; k++) {
        ids[k] = 0;
        for (size_t i = 0; i < n; i++) ids[k] += at[i] * stride[perm[i]];
        for (size_t i = n; i-- > 0;) {
            if (++at[i] < shape[perm[i]]) break;
            at[i] = 0;
        }
    }
    return true;
}

/* Digits of one dim: `inner` is the step in `ids` from one tile of it to the next. Least significant first here. */
static bool find_digits(const int64_t *ids, uint32_t dim, int64_t size, int64_t inner, ir_tiles *out) {
    for (int64_t done = 1; done < size;) {
        int64_t stride = ids[done * inner], len = 1;
        for (int64_t l = 2; done * l <= size; l++) {
            bool linear = true;
            for (int64_t j = done * (l - 1); j < done * l && linear; j++)
                linear = ids[j * inner] == ids[(j % done) * inner] + (j / done) * stride;
            if (!linear) break;
            if (size % (done * l) == 0) len = l;
        }
        if (len == 1 || stride <= 0 || out->n_digits == BASE_COUNT(out->digits)) return false;
        out->digits[out->n_digits++] = (ir_tile_digit){dim, len, stride};
        done *= len;
    }
    return true;
}

/* `summands`: which of the tile dims behind the tensor's are unreduced. */
static bool digits_of(const int64_t *tiles, size_t n, const int64_t *ids, int64_t devices, unsigned summands,
                      ir_tiles *out) {
    bool ok = ids[0] == 0;
    int64_t inner = devices;
    out->n_digits = 0;
    for (size_t d = 0; d < n && ok; d++) {
        inner /= tiles[d];
        size_t from = out->n_digits;
        ok = find_digits(ids, (uint32_t)d, tiles[d], inner, out);
        for (size_t i = from, j = out->n_digits; ok && i + 1 < j; i++) { /* most significant first */
            ir_tile_digit t = out->digits[i];
            out->digits[i] = out->digits[--j];
            out->digits[j] = t;
        }
    }
    for (int64_t k = 0; k < devices && ok; k++) {
        int64_t want = 0, rest = k;
        for (size_t i = out->n_digits; i-- > 0;) {
            /* digits stand in the order of the tiles, so the last counts fastest */
            want += rest % out->digits[i].size * out->digits[i].stride;
            rest /= out->digits[i].size;
        }
        ok = want == ids[k];
    }
    if (!ok) return false;
    size_t kept = 0; /* what lies behind the tensor's dims is replication, or summands */
    for (size_t i = 0; i < out->n_digits; i++) {
        ir_tile_digit t = out->digits[i];
        bool sum = t.dim >= out->rank && summands & 1u << (t.dim - out->rank);
        if (t.dim >= out->rank && !sum) continue;
        if (sum) t.dim = IR_TILE_SUMMANDS;
        out->digits[kept++] = t;
    }
    out->n_digits = kept;
    return true;
}

/* Behind the devices: " last_tile_dim_replicate" or " last_tile_dims={replicated, manual, unreduced}". */
static bool read_tail(reader *r, size_t n, size_t *rank, bool *manual, unsigned *summands) {
    unsigned k = 0;
    *rank = n;
    *summands = 0;
    if (word(r, "last_tile_dim_replicate"))
        *rank = n - 1;
    else if (word(r, "last_tile_dims={")) {
        do {
            if (*rank == 0) return false;
            if (word(r, "manual"))
                *manual = true;
            else if (word(r, "unreduced"))
                *summands |= 1u << k;
            else if (!word(r, "replicated"))
                return false;
            k++;
            --*rank;
        } while (word(r, ","));
        if (!word(r, "}")) return false;
    }
    return word(r, "}");
}

/* "[2,2]<=[4]T(1,0)" or "[2,2]3,2,1,0": the tiles of each dim, and the device of each tile. */
static bool read_tiles(reader *r, int64_t devices, int64_t *tiles, size_t *n, int64_t *ids) {
    int64_t shape[IR_MAX_RANK], perm[IR_MAX_RANK];
    size_t n_shape, n_perm;
    if (!word(r, "[") || !numbers(r, ']', IR_MAX_RANK, tiles, n) || product(tiles, *n) != devices) return false;
    if (word(r, "<=[")) {
        if (!numbers(r, ']', IR_MAX_RANK, shape, &n_shape) || product(shape, n_shape) != devices) return false;
        for (size_t i = 0; i < n_shape; i++) perm[i] = (int64_t)i;
        if (word(r, "T(") && (!numbers(r, ')', IR_MAX_RANK, perm, &n_perm) || n_perm != n_shape)) return false;
        return iota_ids(shape, perm, n_shape, devices, ids);
    }
    for (int64_t k = 0; k < devices; k++)
        if ((k > 0 && !word(r, ",")) || !number(r, &ids[k]) || ids[k] >= devices) return false;
    return true;
}

/* Each device once. `seen` has room for all, and is left used. */
static bool is_permutation(const int64_t *ids, int64_t devices, int64_t *seen) {
    memset(seen, 0, (size_t)devices * sizeof *seen);
    for (int64_t k = 0; k < devices; k++)
        if (seen[ids[k]]++) return false;
    return true;
}

xt_status ir_tiles_order(const char *text, int64_t devices, int64_t *out_ids) {
    reader r = {text, text};
    int64_t tiles[IR_MAX_RANK];
    size_t n;
    return word(&r, "{devices=") && read_tiles(&r, devices, tiles, &n, out_ids) ? NULL : bad(&r);
}

xt_status ir_tiles_parse(const char *text, int64_t devices, const int64_t *place, ir_tiles *out) {
    reader r = {text, text};
    *out = (ir_tiles){0};
    if (devices < 1 || devices > IR_SHARD_DEVICES)
        return status_new(XT_UNIMPLEMENTED, NULL, "shardings over %lld devices: 1 to %d are known", (long long)devices,
                          IR_SHARD_DEVICES);
    if (!word(&r, "{")) return bad(&r);
    int64_t one;
    if (word(&r, "replicated"))
        out->replicated = true;
    else if (word(&r, "manual"))
        out->manual = true;
    else if (word(&r, "unreduced")) {
        out->any_rank = true;
        if (devices > 1) out->digits[out->n_digits++] = (ir_tile_digit){IR_TILE_SUMMANDS, devices, 1};
    } else if (word(&r, "maximal device=")) {
        if (!number(&r, &one)) return bad(&r);
        out->replicated = true; /* a value that one device needs may be on all */
    }
    if (out->replicated || out->manual || out->any_rank) return word(&r, "}") ? NULL : bad(&r);
    int64_t tiles[IR_MAX_RANK], *ids = base_malloc(2 * (size_t)devices * sizeof *ids), *spare = ids + devices;
    size_t n;
    unsigned summands;
    if (!ids) return status_oom(2 * (size_t)devices * sizeof *ids, "a sharding");
    bool ok = word(&r, "devices=") && read_tiles(&r, devices, tiles, &n, ids) &&
              read_tail(&r, n, &out->rank, &out->manual, &summands) && is_permutation(ids, devices, spare);
    for (int64_t k = 0; ok && place && k < devices; k++) ids[k] = place[ids[k]];
    out->reordered = ok && !digits_of(tiles, n, ids, devices, summands, out);
    for (int64_t k = 0; out->reordered && k < devices; k++) ids[k] = k;
    ok = ok && (!out->reordered || digits_of(tiles, n, ids, devices, summands, out));
    base_free(ids);
    return ok ? NULL : bad(&r);
}

/* --- grids --- */
static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t least_factor(int64_t n) {
    for (int64_t f = 2; f * f <= n; f++)
        if (n % f == 0) return f;
    return n;
}

xt_status ir_grid_make(int64_t devices, size_t n, const ir_tiles *const *tiles, ir_grid *out) {
    size_t room = 2, n_cuts = 0;
    for (size_t i = 0; i < n; i++) room += 2 * tiles[i]->n_digits;
    int64_t *cuts = base_malloc(room * sizeof *cuts);
    if (!cuts) return status_oom(room * sizeof *cuts, "a grid of devices");
    cuts[n_cuts++] = 1;
    cuts[n_cuts++] = devices;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < tiles[i]->n_digits; k++) {
            cuts[n_cuts++] = tiles[i]->digits[k].stride;
            cuts[n_cuts++] = tiles[i]->digits[k].stride * tiles[i]->digits[k].size;
        }
    qsort(cuts, n_cuts, sizeof *cuts, by_size);
    *out = (ir_grid){.devices = devices};
    bool ok = cuts[n_cuts - 1] == devices;
    for (size_t i = n_cuts - 1; i > 0 && ok; i--) { /* from the most significant axis down */
        int64_t high = cuts[i], low = cuts[i - 1];
        ok = low > 0 && high % low == 0;
        while (ok && high > low) {
            int64_t f = least_factor(high / low);
            ok = out->n_axes < IR_SHARD_AXES;
            if (!ok) break;
            high /= f;
            out->size[out->n_axes] = f;
            out->stride[out->n_axes++] = high;
        }
    }
    base_free(cuts);
    return ok ? NULL
              : status_new(XT_UNIMPLEMENTED, NULL,
                           "the shardings of the program divide its %lld devices in ways that are no common mesh",
                           (long long)devices);
}

xt_status ir_sharding_map(const ir_grid *g, const ir_tiles *t, ir_sharding *out) {
    *out = ir_sharding_none();
    if (t->replicated || t->manual) return NULL;
    for (size_t k = 0; k < t->n_digits; k++) {
        const ir_tile_digit *d = &t->digits[k];
        int64_t covered = 1;
        for (int a = 0; a < g->n_axes; a++) /* axes stand most significant first, as do digits of a dim */
            if (g->stride[a] >= d->stride && g->stride[a] < d->stride * d->size) {
                if (d->dim == IR_TILE_SUMMANDS)
                    out->dim[a] = IR_SHARD_SUMMANDS;
                else
                    ir_sharding_add(out, a, (int)d->dim);
                covered *= g->size[a];
            }
        if (covered != d->size) return status_new(XT_INTERNAL, NULL, "a sharding does not fit the grid made for it");
    }
    return NULL;
}

/* --- shardings over a grid --- */
ir_sharding ir_sharding_none(void) {
    ir_sharding s;
    memset(s.dim, -1, sizeof s.dim);
    memset(s.pos, 0, sizeof s.pos);
    return s;
}

bool ir_sharding_equal(const ir_sharding *a, const ir_sharding *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

bool ir_sharding_is_none(const ir_sharding *s) {
    ir_sharding none = ir_sharding_none();
    return ir_sharding_equal(s, &none);
}

unsigned ir_sharding_summands(const ir_sharding *s) {
    unsigned set = 0;
    for (int a = 0; a < IR_SHARD_AXES; a++)
        if (s->dim[a] == IR_SHARD_SUMMANDS) set |= 1u << a;
    return set;
}

int ir_sharding_axes(const ir_sharding *s, int dim, int8_t out[IR_SHARD_AXES]) {
    int n = 0;
    for (int a = 0; a < IR_SHARD_AXES; a++)
        if (s->dim[a] == dim) {
            out[s->pos[a]] = (int8_t)a;
            n++;
        }
    return n;
}

int64_t ir_sharding_parts(const ir_grid *g, const ir_sharding *s, int dim) {
    int64_t parts = 1;
    for (int a = 0; a < g->n_axes; a++)
        if (s->dim[a] == dim) parts *= g->size[a];
    return parts;
}

void ir_sharding_add(ir_sharding *s, int axis, int dim) {
    int8_t axes[IR_SHARD_AXES];
    s->pos[axis] = (uint8_t)ir_sharding_axes(s, dim, axes);
    s->dim[axis] = (int8_t)dim;
}

void ir_sharding_drop(ir_sharding *s, int dim) {
    for (int a = 0; a < IR_SHARD_AXES; a++)
        if (s->dim[a] == dim) {
            s->dim[a] = -1;
            s->pos[a] = 0;
        }
}

const ir_type *ir_shard_type(const ir_grid *g, const ir_sharding *s, const ir_type *t) {
    if (t->kind != IR_TENSOR || ir_sharding_is_none(s)) return t;
    int64_t dims[IR_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t parts = ir_sharding_parts(g, s, (int)d);
        dims[d] = (t->dims[d] + parts - 1) / parts;
    }
    return ir_tensor(t->dtype, t->rank, dims);
}

bool ir_sharding_uneven(const ir_grid *g, const ir_sharding *s, const ir_type *t, int dim) {
    return t->kind == IR_TENSOR && t->dims[dim] % ir_sharding_parts(g, s, dim) != 0;
}

void ir_sharding_print(const ir_grid *g, const ir_sharding *s, size_t rank, str *out) {
    if (ir_sharding_is_none(s)) {
        str_append(out, "{replicated}");
        return;
    }
    int order[IR_SHARD_AXES], n = 0;
    int8_t axes[IR_SHARD_AXES];
    str_append(out, "{devices=[");
    for (size_t d = 0; d < rank; d++) {
        str_printf(out, d ? ",%lld" : "%lld", (long long)ir_sharding_parts(g, s, (int)d));
        int k = ir_sharding_axes(s, (int)d, axes);
        for (int i = 0; i < k; i++) order[n++] = axes[i];
    }
    int64_t rest = 1, sums = 1;
    for (int a = 0; a < g->n_axes; a++)
        if (s->dim[a] == -1) {
            rest *= g->size[a];
            order[n++] = a;
        }
    for (int a = 0; a < g->n_axes; a++)
        if (s->dim[a] == IR_SHARD_SUMMANDS) {
            sums *= g->size[a];
            order[n++] = a;
        }
    if (rest > 1) str_printf(out, rank ? ",%lld" : "%lld", (long long)rest);
    if (sums > 1) str_printf(out, rank || rest > 1 ? ",%lld" : "%lld", (long long)sums);
    bool straight = true;
    for (int i = 0; i < n; i++) straight = straight && order[i] == i;
    if (straight)
        str_printf(out, "]<=[%lld]", (long long)g->devices);
    else {
        str_append(out, "]<=[");
        for (int a = 0; a < g->n_axes; a++) str_printf(out, a ? ",%lld" : "%lld", (long long)g->size[a]);
        str_append(out, "]T(");
        for (int i = 0; i < n; i++) str_printf(out, i ? ",%d" : "%d", order[i]);
        str_append(out, ")");
    }
    if (sums > 1)
        str_append(out, rest > 1 ? " last_tile_dims={replicated, unreduced}}" : " last_tile_dims={unreduced}}");
    else
        str_append(out, rest > 1 ? " last_tile_dim_replicate}" : "}");
}

/* --- in programs --- */
static const char target[] = "Sharding";

static const char open_name[] = "unspecified_dims=[";

ir_value *ir_annotate_sharding_open(ir_builder *b, ir_value *x, const char *text, uint32_t open_dims) {
    if (!x) return NULL;
    ir_attr attrs[3] = {ir_attr_string(b, IR_A_call_target_name, target),
                        ir_attr_named_string(b->m, IR_SHARDING_ATTR, text)};
    size_t n = 2;
    str list = STR_INIT;
    for (uint32_t d = 0; d < 32; d++)
        if (open_dims & 1u << d) str_printf(&list, list.len ? ",%u" : "unspecified_dims=[%u", d);
    str_putc(&list, ']');
    if (open_dims) attrs[n++] = ir_attr_string(b, IR_A_backend_config, str_cstr(&list));
    ir_op *op = list.failed ? NULL : ir_build(b, OP_custom_call, 1, &x, n, attrs, 0, NULL, 1, &x->type);
    str_free(&list);
    return op ? &op->out[0] : NULL;
}

ir_value *ir_annotate_sharding(ir_builder *b, ir_value *x, const char *text) {
    return ir_annotate_sharding_open(b, x, text, 0);
}

uint32_t ir_sharding_open_dims(const ir_op *op) {
    const char *text = ir_get_string(op, IR_A_backend_config), *list = text ? strstr(text, open_name) : NULL;
    reader r = {list ? list + sizeof open_name - 1 : "", text};
    int64_t dims[IR_MAX_RANK];
    size_t n;
    uint32_t set = 0;
    if (!list || !numbers(&r, ']', IR_MAX_RANK, dims, &n)) return 0;
    for (size_t i = 0; i < n; i++)
        if (dims[i] < 32) set |= 1u << dims[i];
    return set;
}

bool ir_is_sharding(const ir_op *op) {
    const char *name = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return name && strcmp(name, target) == 0 && op->n_in == 1 && op->n_out == 1 && op->in[0]->type == op->out[0].type;
}

const char *ir_sharding_text(size_t n, const ir_attr *attrs) {
    for (size_t i = 0; i < n; i++)
        if (attrs[i].name && attrs[i].kind == IR_AK_STRING && strcmp(attrs[i].name, IR_SHARDING_ATTR) == 0)
            return attrs[i].v.s;
    return NULL;
}
