/* Copies between buffers and host memory in layouts made by chance: dims, types, orders and strides of every kind. Host
 * memory lies between guard pages and is exactly as long as this test reckons it must be, element by element; what is
 * copied is compared with a copy made here, and so are the bytes in the gaps. What must be refused is refused, and
 * nothing is written then. */
#include "pjrt_calls.h"
#include "pjrt_guarded.h"

enum { ROUNDS = 4000, MOST_RANK = 4, MOST_DIM = 4, ROOM = 1 << 16, FILL = 0xA5 };
static const xt_dtype types[] = {XT_BOOL, XT_I8, XT_U4, XT_I2, XT_BF16, XT_F32, XT_F64, XT_C128};

typedef struct shape {
    xt_dtype type;
    size_t rank, count, elem;
    int64_t dims[MOST_RANK];
} shape;
typedef enum kind { DENSE, ORDER, APART, NEGATIVE, ZERO, ANYHOW, HUGE, WRONG_RANK, KINDS } kind;
typedef struct view {
    kind kind;
    int64_t strides[MOST_RANK + 1], order[MOST_RANK];
    int64_t low, high; /* bytes from element 0,...,0: below it, and behind the last */
    bool overlaps;
    PJRT_Buffer_MemoryLayout layout;
} view;

static shape any_shape(dice *d) {
    shape s = {.type = types[below(d, BASE_COUNT(types))], .rank = below(d, MOST_RANK + 1), .count = 1};
    s.elem = xt_dtype_size(s.type);
    for (size_t i = 0; i < s.rank; i++) {
        s.dims[i] = below(d, 12) ? 1 + (int64_t)below(d, MOST_DIM) : 0;
        s.count *= (size_t)s.dims[i];
    }
    return s;
}

/* Where element number i (row-major) lies. */
static int64_t place(const shape *s, const int64_t *strides, size_t i) {
    int64_t at = 0;
    for (size_t k = s->rank; k-- > 0; i /= (size_t)s->dims[k]) at += (int64_t)(i % (size_t)s->dims[k]) * strides[k];
    return at;
}

static void shuffle(dice *d, int64_t *order, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t k = below(d, i + 1);
        order[i] = order[k];
        order[k] = (int64_t)i;
    }
}

/* Reckons by going over all elements what the strides touch; HUGE ones are not gone over. */
static void reckon(const shape *s, view *v) {
    v->low = v->high = 0;
    v->overlaps = false;
    for (size_t i = 0; i < s->count; i++) {
        int64_t at = place(s, v->strides, i);
        if (at < v->low) v->low = at;
        if (at + (int64_t)s->elem > v->high) v->high = at + (int64_t)s->elem;
        for (size_t k = 0; k < i && !v->overlaps; k++) {
            int64_t apart = at - place(s, v->strides, k);
            v->overlaps = apart < (int64_t)s->elem && -apart < (int64_t)s->elem;
        }
    }
}

/* A dim of several elements, or -1. */
static int wide_dim(dice *d, const shape *s) {
    int found = -1;
    for (size_t i = 0; i < s->rank; i++)
        if (s->dims[i] > 1 && (found < 0 || below(d, 2))) found = (int)i;
    return s->count ? found : -1;
}

static view any_view(dice *d, const shape *s) {
    view v = {.kind = (kind)below(d, KINDS)};
    int wide = wide_dim(d, s);
    if ((wide < 0 && (v.kind == NEGATIVE || v.kind == ZERO || v.kind == HUGE))) v.kind = APART;
    for (size_t i = 0; i < s->rank; i++) v.order[i] = (int64_t)(s->rank - 1 - i);
    if (v.kind != DENSE) shuffle(d, v.order, s->rank);
    int64_t covered = (int64_t)s->elem;
    for (size_t i = 0; i < s->rank; i++) { /* from minor to major */
        size_t dim = (size_t)v.order[i];
        v.strides[dim] = covered + (v.kind >= APART ? (int64_t)below(d, 5) : 0);
        if (v.kind == ANYHOW) v.strides[dim] = (int64_t)below(d, 41) - 20;
        covered = v.kind >= APART ? covered + v.strides[dim] * (s->dims[dim] > 1 ? s->dims[dim] - 1 : 0)
                                  : covered * s->dims[dim];
    }
    if (v.kind == NEGATIVE) v.strides[wide] = -v.strides[wide];
    if (v.kind == ZERO) v.strides[wide] = 0;
    if (v.kind != HUGE) reckon(s, &v);
    if (v.kind == HUGE)
        v.strides[wide] =
            (int64_t[]){INT64_MAX, INT64_MIN, INT64_MAX - (int64_t)s->elem + 1, INT64_MIN + 1}[below(d, 4)];
    return v;
}

/* The layout's arrays are the view's: it is filled in where the view stays. struct_size is garbage, as XLA's
 * clients leave it. */
static PJRT_Buffer_MemoryLayout *layout_of(const shape *s, view *v) {
    size_t wrong = v->kind == WRONG_RANK;
    v->layout = (PJRT_Buffer_MemoryLayout){.struct_size = 3};
    if (v->kind <= ORDER) {
        v->layout.type = PJRT_LAYOUT_TILED;
        v->layout.tiled.minor_to_major = v->order;
        v->layout.tiled.minor_to_major_size = s->rank;
    } else {
        v->layout.type = PJRT_LAYOUT_STRIDES;
        v->layout.strides.byte_strides = v->strides;
        v->layout.strides.num_byte_strides = s->rank + wrong;
    }
    return &v->layout;
}

/* Elements as this plugin gives them: of types of less than a byte the bits that count. */
static void fill_values(dice *d, const shape *s, char *dense) {
    unsigned bits = s->type == XT_U4 ? 15 : s->type == XT_I2 ? 3 : s->type == XT_BOOL ? 1 : 255;
    for (size_t i = 0; i < s->count * s->elem; i++) dense[i] = (char)(roll(d) & bits);
}

/* --- in --- */
static PJRT_Client_BufferFromHostBuffer_Args upload_args(const shape *s, const view *v, const void *data) {
    bool strided = v->kind != DENSE;
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = data, .type = (PJRT_Buffer_Type)s->type,
                  .dims = s->dims, .num_dims = s->rank, .byte_strides = strided ? v->strides : NULL,
                  .num_byte_strides = strided ? s->rank + (v->kind == WRONG_RANK) : 0);
    return a;
}

/* Strides of a source may be anything that memory can hold; elements may be one and the same. */
static PJRT_Buffer *upload_view(dice *d, const guarded *g, const shape *s, view *v, view *on_device, char *dense) {
    PJRT_Buffer *b = NULL;
    bool refused = v->kind == HUGE || (v->kind == WRONG_RANK);
    size_t n = refused ? 1 : (size_t)(v->high - v->low);
    char *span = guarded_span(g, n, below(d, 2), 0);
    fill_values(d, &(shape){.type = s->type, .count = n / s->elem, .elem = s->elem}, span);
    PJRT_Client_BufferFromHostBuffer_Args a = upload_args(s, v, refused ? span : span - v->low);
    if (on_device) a.device_layout = layout_of(s, on_device);
    PJRT_Error *e = upload_error(&a, &b);
    if (refused) {
        assert_int_equal(code_of(e, v->kind == HUGE ? "strides" : "byte strides for"), PJRT_INVALID_ARGUMENT);
        return NULL;
    }
    assert_int_equal(code_of(e, NULL), PJRT_OK);
    for (size_t i = 0; i < s->count; i++) memcpy(dense + i * s->elem, span - v->low + place(s, v->strides, i), s->elem);
    return b;
}

/* --- out --- */
static PJRT_Error_Code read_to(PJRT_Buffer *b, PJRT_Buffer_MemoryLayout *layout, void *dst, size_t *size) {
    PJRT_Buffer_ToHostBuffer_Args r =
        PJRT_INIT(Buffer_ToHostBuffer, .src = b, .dst = dst, .dst_size = *size, .host_layout = layout);
    PJRT_Error_Code code = code_of(api->Buffer_ToHostBuffer(&r), NULL);
    *size = r.dst_size;
    return code == PJRT_OK && r.event ? finish(r.event, NULL) : code;
}

static bool untouched(const guarded *g) {
    for (size_t i = 0; i < g->size; i++)
        if ((unsigned char)g->at[i] != FILL) return false;
    return true;
}

/* Whether the plugin may take the view as a destination: 0 no, 1 yes, -1 it may refuse it. */
static int is_destination(const shape *s, const view *v) {
    if (v->kind == HUGE || v->kind == WRONG_RANK) return 0;
    if (s->count == 0 || v->kind <= APART) return 1;
    return v->low < 0 || v->overlaps ? 0 : -1;
}

static void read_view(dice *d, const guarded *g, PJRT_Buffer *b, const shape *s, view *v, const char *dense) {
    static char want[ROOM];
    int taken = is_destination(s, v);
    size_t asked = 0, n = taken ? (size_t)v->high : 64;
    PJRT_Buffer_MemoryLayout *layout = layout_of(s, v);
    PJRT_Error_Code told = read_to(b, layout, NULL, &asked);
    if (taken >= 0) assert_int_equal(told, taken ? PJRT_OK : PJRT_INVALID_ARGUMENT);
    bool at_end = below(d, 2);
    if (told != PJRT_OK) {
        char *dst = guarded_span(g, n, at_end, FILL);
        assert_int_equal(read_to(b, layout, dst, &n), PJRT_INVALID_ARGUMENT);
        assert_true(untouched(g));
        return;
    }
    assert_int_equal(asked, n);
    if (n > 0) {
        size_t less = n - 1;
        char *dst = guarded_span(g, less, at_end, FILL);
        assert_int_equal(read_to(b, layout, dst, &less), PJRT_INVALID_ARGUMENT);
        assert_true(untouched(g));
    }
    char *dst = guarded_span(g, n, at_end, FILL);
    memset(want, FILL, n);
    for (size_t i = 0; i < s->count; i++) memcpy(want + place(s, v->strides, i), dense + i * s->elem, s->elem);
    assert_int_equal(read_to(b, layout, dst, &n), PJRT_OK);
    assert_memory_equal(dst, want, (size_t)v->high);
}

static void test_random_layouts(void **state) {
    (void)state;
    static char dense[ROOM];
    size_t read = 0, refused = 0;
    guarded g = guarded_new(ROOM);
    assert_non_null(g.at);
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        dice d = {seed};
        shape s = any_shape(&d);
        view in = any_view(&d, &s), out = any_view(&d, &s), device = {.kind = DENSE};
        shuffle(&d, device.order, s.rank);
        PJRT_Buffer *b = upload_view(&d, &g, &s, &in, below(&d, 2) ? &device : NULL, dense);
        if (!b) continue;
        read_view(&d, &g, b, &s, &out, dense);
        refused += is_destination(&s, &out) == 0;
        read++;
        destroy(b);
    }
    assert_true(read > ROUNDS / 2 && refused > ROUNDS / 10);
    guarded_free(&g);
}

/* --- raw bytes, pieces and literals --- */
static void test_raw_reads(void **state) {
    (void)state;
    static const int64_t edges[] = {INT64_MIN, -1, 0, 1, 15, 16, 17, INT64_MAX - 8, INT64_MAX};
    guarded g = guarded_new(64);
    PJRT_Buffer *b = upload4((float[]){1, 2, 3, 4});
    for (size_t i = 0; i < BASE_COUNT(edges); i++)
        for (size_t k = 0; k < BASE_COUNT(edges); k++) {
            int64_t offset = edges[i], size = edges[k];
            bool fits = offset >= 0 && size >= 0 && offset <= 16 && size <= 16 - offset;
            char *dst = guarded_span(&g, fits ? (size_t)size : 16, true, FILL);
            PJRT_Buffer_CopyRawToHost_Args a =
                PJRT_INIT(Buffer_CopyRawToHost, .buffer = b, .dst = dst, .offset = offset, .transfer_size = size);
            PJRT_Error_Code code = code_of(api->Buffer_CopyRawToHost(&a), NULL);
            if (fits) assert_int_equal(finish(a.event, NULL), PJRT_OK);
            assert_int_equal(code, fits                               ? PJRT_OK
                                   : size < 0 || size > FACE_FURTHEST ? PJRT_INVALID_ARGUMENT
                                                                      : PJRT_OUT_OF_RANGE);
            assert_true(fits || untouched(&g));
        }
    PJRT_Buffer_CopyRawToHost_Args none = PJRT_INIT(Buffer_CopyRawToHost, .buffer = b, .dst = NULL, .transfer_size = 4);
    assert_int_equal(code_of(api->Buffer_CopyRawToHost(&none), "dst is NULL"), PJRT_INVALID_ARGUMENT);
    destroy(b);
    guarded_free(&g);
}

static PJRT_AsyncHostToDeviceTransferManager *transfer(const shape *s, PJRT_ShapeSpec *spec) {
    *spec = (PJRT_ShapeSpec){.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                             .dims = s->dims,
                             .num_dims = s->rank,
                             .element_type = (PJRT_Buffer_Type)s->type};
    CALL(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = spec, .num_shape_specs = 1);
    return Client_CreateBuffersForAsyncHostToDevice.transfer_manager;
}

static void test_pieces(void **state) {
    (void)state;
    static const int64_t edges[] = {INT64_MIN, -1, 0, 1, 8, 15, 16, 17, INT64_MAX - 8, INT64_MAX};
    shape s = {.type = XT_F32, .rank = 1, .count = 4, .elem = 4, .dims = {4}};
    PJRT_ShapeSpec spec;
    PJRT_AsyncHostToDeviceTransferManager *m = transfer(&s, &spec);
    guarded g = guarded_new(64);
    for (size_t i = 0; i < BASE_COUNT(edges); i++)
        for (size_t k = 0; k < BASE_COUNT(edges); k++) {
            int64_t offset = edges[i], size = edges[k];
            bool fits = offset >= 0 && size >= 0 && offset <= 16 && size <= 16 - offset;
            char *src = guarded_span(&g, fits ? (size_t)size : 1, true, FILL);
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args a =
                PJRT_INIT(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = m, .data = src,
                          .offset = offset, .transfer_size = size);
            PJRT_Error_Code code = code_of(api->AsyncHostToDeviceTransferManager_TransferData(&a), NULL);
            assert_int_equal(code, fits                               ? PJRT_OK
                                   : size < 0 || size > FACE_FURTHEST ? PJRT_INVALID_ARGUMENT
                                                                      : PJRT_OUT_OF_RANGE);
            if (fits) assert_int_equal(finish(a.done_with_h2d_transfer, NULL), PJRT_OK);
        }
    CALL(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = m);
    guarded_free(&g);
}

static void test_random_literals(void **state) {
    (void)state;
    static char dense[ROOM], got[ROOM];
    guarded g = guarded_new(ROOM);
    for (uint64_t seed = 0; seed < ROUNDS / 4; seed++) {
        dice d = {seed};
        shape s = any_shape(&d);
        view v = any_view(&d, &s);
        bool refused = v.kind == HUGE || v.kind == WRONG_RANK;
        PJRT_ShapeSpec spec;
        PJRT_AsyncHostToDeviceTransferManager *m = transfer(&s, &spec);
        size_t n = refused ? 1 : (size_t)(v.high - v.low), bytes = s.count * s.elem;
        char *span = guarded_span(&g, n, below(&d, 2), 0);
        fill_values(&d, &(shape){.type = s.type, .count = n / s.elem, .elem = s.elem}, span);
        PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args a =
            PJRT_INIT(AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = m,
                      .data = refused ? span : span - v.low, .shape_dims = s.dims, .shape_num_dims = s.rank,
                      .shape_element_type = (PJRT_Buffer_Type)s.type, .shape_layout = layout_of(&s, &v));
        PJRT_Error_Code code = code_of(api->AsyncHostToDeviceTransferManager_TransferLiteral(&a), NULL);
        assert_int_equal(code, refused ? PJRT_INVALID_ARGUMENT : PJRT_OK);
        if (!refused) {
            for (size_t i = 0; i < s.count; i++)
                memcpy(dense + i * s.elem, span - v.low + place(&s, v.strides, i), s.elem);
            assert_int_equal(finish(a.done_with_h2d_transfer, NULL), PJRT_OK);
            CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = m);
            size_t size = sizeof got;
            assert_int_equal(read_to(AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out, NULL, got, &size),
                             PJRT_OK);
            assert_memory_equal(got, dense, bytes);
            destroy(AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out);
        }
        CALL(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = m);
    }
    guarded_free(&g);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layouts), cmocka_unit_test(test_raw_reads),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_random_literals)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
