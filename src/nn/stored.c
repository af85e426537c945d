/* Values of files that stay there until a tensor is used: then they are read straight into the memory that the tensor
 * has on the device, by several threads, and never where another value takes their place. Matrices that lie transposed
 * in the file are read some rows at a time. Small values are read when the file is loaded. */
#include <pthread.h>
#include <unistd.h>

#include "base/cpus.h"
#include "format/safetensors.h"
#include "nn/nn.h"

enum { THREADS = 4, CHUNK = 1 << 18 }; /* elements of a chunk that is converted or turned */
enum { BAND = 16 }; /* rows and columns that are turned together: their lines stay in the first-level cache */
static const uint64_t LARGE = 1 << 20; /* bytes */

bool nn_stays_stored(const st_entry *e) {
    return e->end - e->begin >= LARGE;
}

void nn_loaded_free(void *loaded) {
    nn_loaded *l = loaded;
    if (!l) return;
    base_free(l->data);
    st_close(l->file);
    if (l->t.slot && lazy_type(l->t)) xt_drop_at(XT_HERE, l->t);
    base_free(l);
}

static xt_status fetch_state(nn_loaded *l) {
    size_t n = ir_type_bytes(l->type);
    char *data = base_malloc(n ? n : 1);
    xt_status s = data ? lazy_state_read(l->t, data, n) : status_oom(n, "a loaded tensor");
    if (s)
        base_free(data);
    else
        l->data = data;
    return s;
}

xt_status nn_loaded_fetch(nn_loaded *l) {
    if (l->data) return NULL;
    if (l->t.slot) return fetch_state(l);
    if (!l->file) return NULL;
    const st_entry *e = l->entry;
    size_t n = (size_t)(e->end - e->begin);
    char *data = base_malloc(n ? n : 1);
    xt_status s = data ? st_check_unchanged(e) : status_oom(n, e->name);
    if (!s) s = st_read_part(e, 0, data, n);
    if (!s && l->turned) s = nn_turn(&data, e->dims[0], e->dims[1], xt_dtype_size(e->dtype));
    if (s)
        base_free(data);
    else
        l->data = data;
    return s;
}

xt_status nn_loaded_copy(nn_loaded *l, char **out) {
    size_t bytes = ir_type_bytes(l->type);
    bool stored = !l->data;
    XT_TRY(nn_loaded_fetch(l));
    if (stored) {
        *out = l->data;
        l->data = NULL; /* one at a time */
        return NULL;
    }
    if (!(*out = base_malloc(bytes ? bytes : 1))) return status_oom(bytes, "a loaded tensor");
    memcpy(*out, l->data, bytes);
    return NULL;
}

/* --- of another form than the module has them in --- */
xt_status nn_turn(char **data, int64_t rows, int64_t columns, size_t size) {
    size_t n = (size_t)rows * (size_t)columns * size;
    char *out = base_malloc(n ? n : 1);
    if (!out) return status_oom(n, "a transposed matrix");
    for (int64_t r = 0; r < rows; r++)
        for (int64_t q = 0; q < columns; q++)
            memcpy(out + (size_t)(q * rows + r) * size, *data + (size_t)(r * columns + q) * size, size);
    base_free(*data);
    *data = out;
    return NULL;
}

bool nn_converts(const ir_type *have, const ir_type *want) {
    return have == want ||
           (have && have->rank == want->rank && memcmp(have->dims, want->dims, have->rank * sizeof *have->dims) == 0 &&
            ir_dtype_is_float(have->dtype) && ir_dtype_is_float(want->dtype));
}

bool nn_converts_some(xt_dtype have, xt_dtype want) {
    return (have == XT_BF16 && want == XT_F32) || (have == XT_F32 && want == XT_BF16);
}

void nn_convert_some(xt_dtype have, const void *values, xt_dtype want, void *out, int64_t n) {
    (void)want;
    if (have == XT_BF16) {
        const uint16_t *from = values;
        uint32_t *to = out;
        for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)from[i] << 16;
        return;
    }
    const uint32_t *from = values;
    uint16_t *to = out;
    for (int64_t i = 0; i < n; i++) {
        bool nan = (from[i] & 0x7fffffff) > 0x7f800000;
        to[i] = (uint16_t)(nan ? from[i] >> 16 | 0x40 : (from[i] + 0x7fff + (from[i] >> 16 & 1)) >> 16);
    }
}

xt_status nn_convert(nn_loaded *l, const ir_type *want) {
    if (l->type == want) return NULL;
    size_t n = ir_type_bytes(want);
    void *quick = nn_converts_some(l->type->dtype, want->dtype) ? base_malloc(n ? n : 1) : NULL;
    if (quick) {
        nn_convert_some(l->type->dtype, l->data, want->dtype, quick, want->count);
        base_free(l->data);
        l->data = quick;
        l->type = want;
        return NULL;
    }
    array from = {l->type, l->data}, to;
    XT_TRY(array_new(want, &to));
    for (int64_t i = 0; i < want->count; i++) array_set(&to, i, array_get(&from, i));
    void *data = base_malloc(n ? n : 1);
    if (data) memcpy(data, to.data, n);
    array_free(&to);
    if (!data) return status_oom(n, "a converted value");
    base_free(l->data);
    l->data = data;
    l->type = want;
    return NULL;
}

/* --- straight into a tensor --- */
typedef struct piece {
    const st_entry *e;
    xt_dtype want;
    bool turned;
    int64_t from, to; /* elements; rows of the file's matrix where it is turned */
    char *memory; /* of the whole tensor */
    xt_status failed;
} piece;

/* Rows [first, first + n) of a file's matrix of `rows` rows become columns. */
#define TURN(name, type)                                                                                     \
    static void name(const void *chunk, int64_t first, int64_t n, int64_t rows, int64_t columns, void *to) { \
        const type *in = chunk;                                                                              \
        type *out = (type *)to + first;                                                                      \
        for (int64_t r = 0; r < n; r += BAND)                                                                \
            for (int64_t q = 0; q < columns; q += BAND)                                                      \
                for (int64_t j = q; j < q + BAND && j < columns; j++)                                        \
                    for (int64_t i = r; i < r + BAND && i < n; i++) out[j * rows + i] = in[i * columns + j]; \
    }
TURN(turn_1, uint8_t)
TURN(turn_2, uint16_t)
TURN(turn_4, uint32_t)
TURN(turn_8, uint64_t)

static bool can_turn(xt_dtype have, xt_dtype want) {
    size_t size = xt_dtype_size(want);
    return (have == want || nn_converts_some(have, want)) && (size == 1 || size == 2 || size == 4 || size == 8);
}

static xt_status turn_rows(const piece *p) {
    int64_t rows = p->e->dims[0], columns = p->e->dims[1], some = CHUNK / columns / BAND * BAND;
    size_t have = xt_dtype_size(p->e->dtype), want = xt_dtype_size(p->want);
    if (some < BAND) some = BAND;
    bool converts = p->e->dtype != p->want;
    size_t n_all = (size_t)(some * columns);
    char *chunk = base_malloc(n_all * have), *wide = converts ? base_malloc(n_all * want) : NULL;
    xt_status s = chunk && (wide || !converts) ? NULL : status_oom(n_all * (have + want), p->e->name);
    for (int64_t r = p->from; r < p->to && !s; r += some) {
        int64_t n = p->to - r < some ? p->to - r : some;
        s = st_read_part(p->e, (uint64_t)(r * columns) * have, chunk, (size_t)(n * columns) * have);
        if (s) break;
        if (converts) nn_convert_some(p->e->dtype, chunk, p->want, wide, n * columns);
        (want == 1   ? turn_1
         : want == 2 ? turn_2
         : want == 4 ? turn_4
                     : turn_8)(converts ? wide : chunk, r, n, rows, columns, p->memory);
    }
    base_free(chunk);
    base_free(wide);
    return s;
}

static xt_status read_chunks(const piece *p) {
    size_t have = xt_dtype_size(p->e->dtype), want = xt_dtype_size(p->want);
    if (p->e->dtype == p->want)
        return st_read_part(p->e, (uint64_t)p->from * have, p->memory + (size_t)p->from * want,
                            (size_t)(p->to - p->from) * have);
    void *chunk = base_malloc(CHUNK * have);
    xt_status s = chunk ? NULL : status_oom(CHUNK * have, p->e->name);
    for (int64_t at = p->from; at < p->to && !s; at += CHUNK) {
        int64_t n = p->to - at < CHUNK ? p->to - at : CHUNK;
        s = st_read_part(p->e, (uint64_t)at * have, chunk, (size_t)n * have);
        if (!s) nn_convert_some(p->e->dtype, chunk, p->want, p->memory + (size_t)at * want, n);
    }
    base_free(chunk);
    return s;
}

static void *read_piece(void *user) {
    piece *p = user;
    p->failed = p->turned ? turn_rows(p) : read_chunks(p);
    return NULL;
}

static xt_status read_pieces(const st_entry *e, bool turned, const ir_type *type, void *memory) {
    long cores = cpus_count();
    int64_t n = cores < 1 ? 1 : cores > THREADS ? THREADS : cores, all = turned ? e->dims[0] : type->count;
    piece p[THREADS];
    pthread_t thread[THREADS];
    bool running[THREADS] = {false};
    xt_status first = NULL;
    for (int64_t k = 0; k < n; k++)
        p[k] = (piece){e, type->dtype, turned, all * k / n, all * (k + 1) / n, memory, NULL};
    for (int64_t k = 1; k < n; k++)
        running[k] = cpus_start(&thread[k], "a thread that reads a file of weights", read_piece, &p[k]) == 0;
    for (int64_t k = 0; k < n; k++)
        if (!running[k]) read_piece(&p[k]);
    for (int64_t k = 0; k < n; k++) {
        if (running[k]) pthread_join(thread[k], NULL);
        if (first)
            xt_status_free(p[k].failed);
        else
            first = p[k].failed;
    }
    return first;
}

static xt_status fill(void *user, const ir_type *type, void *memory) {
    const nn_loaded *l = user;
    XT_TRY(st_check_unchanged(l->entry));
    xt_dtype have = l->entry->dtype, want = type->dtype;
    if (l->turned ? can_turn(have, want) : l->type == type || nn_converts_some(l->type->dtype, want))
        return read_pieces(l->entry, l->turned, type, memory);
    nn_loaded whole = *l; /* its file stays l's */
    xt_status s = nn_loaded_fetch(&whole);
    if (!s) s = nn_convert(&whole, type);
    if (!s) memcpy(memory, whole.data, ir_type_bytes(type));
    base_free(whole.data);
    return s;
}

xt_status nn_stored_source(const nn_loaded *l, lazy_source *out) {
    nn_loaded *own = base_malloc(sizeof *own);
    if (!own) return status_oom(sizeof *own, l->entry->name);
    *own = *l;
    own->data = NULL;
    st_retain(own->file);
    *out = (lazy_source){fill, nn_loaded_free, own};
    return NULL;
}
