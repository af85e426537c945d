/* Integers of less than a byte through the plugin's table: a host may give them with the sign in the high bits or
 * without, dense, strided or in pieces; programs see the value, and the host gets the low bits alone, as from XLA's own
 * CPU plugin (the figures are what JAX 0.10.2 on it gave). */
#include "pjrt_calls.h"

typedef struct narrow_case {
    xt_dtype type;
    const char *name;
    unsigned bits;
    int32_t low; /* the least value */
} narrow_case;
static const narrow_case cases[] = {
    {XT_I4, "i4", 4, -8}, {XT_U4, "ui4", 4, 0}, {XT_I2, "i2", 2, -2}, {XT_U2, "ui2", 2, 0}};
enum { N = 6 };

static void texts(const narrow_case *c, char *widen, char *narrow, size_t n) {
    static const char convert[] = "module { func.func public @main(%%x: tensor<6x%s>) -> tensor<6x%s> { %%0 = "
                                  "stablehlo.convert %%x : (tensor<6x%s>) "
                                  "-> tensor<6x%s> return %%0 : tensor<6x%s> } }";
    snprintf(widen, n, convert, c->name, "i32", c->name, "i32", "i32");
    snprintf(narrow, n, convert, "i32", c->name, "i32", c->name, c->name);
}

static PJRT_Buffer *run1(PJRT_LoadedExecutable *e, PJRT_Buffer *in) {
    PJRT_ExecuteOptions o = {.struct_size = PJRT_ExecuteOptions_BASE_SIZE};
    PJRT_Buffer *out = NULL, **args[] = {&in}, **outs[] = {&out};
    CALL(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = args, .num_devices = 1,
         .num_args = 1, .output_lists = outs);
    return out;
}

static void expect_bytes(PJRT_Buffer *b, const void *want, size_t n) {
    char got[64];
    CALL(Buffer_ToHostBuffer, .src = b, .dst = got, .dst_size = n);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, want, n);
}

/* Both programs and every way out agree that `b` holds `value`. Destroys it. */
static void expect_values(PJRT_Buffer *b, const int32_t value[N], unsigned bits, PJRT_LoadedExecutable *widen,
                          PJRT_LoadedExecutable *narrow) {
    uint8_t low[N], got[N];
    for (int i = 0; i < N; i++) low[i] = (uint8_t)((unsigned)value[i] & ((1u << bits) - 1));
    expect_bytes(b, low, sizeof low);
    PJRT_Buffer_MemoryLayout apart = {.type = PJRT_LAYOUT_STRIDES,
                                      .strides = {.byte_strides = (int64_t[]){2}, .num_byte_strides = 1}};
    uint8_t gaps[2 * N - 1], want[2 * N - 1];
    memset(gaps, 0x55, sizeof gaps);
    for (int i = 0; i < 2 * N - 1; i++) want[i] = i % 2 ? 0x55 : low[i / 2];
    CALL(Buffer_ToHostBuffer, .src = b, .host_layout = &apart, .dst = gaps, .dst_size = sizeof gaps);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(gaps, want, sizeof want);
    CALL(Buffer_CopyRawToHost, .buffer = b, .dst = got, .offset = 1, .transfer_size = N - 1);
    assert_int_equal(finish(Buffer_CopyRawToHost.event, NULL), PJRT_OK);
    assert_memory_equal(got, low + 1, N - 1);
    PJRT_Buffer *wide = run1(widen, b), *back = run1(narrow, wide);
    expect_bytes(wide, value, N * sizeof *value);
    expect_bytes(back, low, sizeof low);
    destroy(wide);
    destroy(back);
    destroy(b);
}

static void test_host_forms(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(cases); k++) {
        const narrow_case *c = &cases[k];
        char widen_text[400], narrow_text[400];
        texts(c, widen_text, narrow_text, sizeof widen_text);
        PJRT_LoadedExecutable *widen = compile_text(client, widen_text), *narrow = compile_text(client, narrow_text);
        int32_t value[N], mirrored[N];
        for (int i = 0; i < N; i++) value[i] = mirrored[N - 1 - i] = c->low + (i * 5) % (1 << c->bits);
        for (int extended = 0; extended < 2; extended++) {
            _Alignas(64) uint8_t bytes[N];
            for (int i = 0; i < N; i++)
                bytes[i] = (uint8_t)((unsigned)value[i] & (extended ? 255 : (1u << c->bits) - 1));
            PJRT_Client_BufferFromHostBuffer_Args up =
                PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = bytes,
                          .type = (PJRT_Buffer_Type)c->type, .dims = (int64_t[]){N}, .num_dims = 1);
            for (int way = 0; way < 3; way++) { /* copied, lent, backwards */
                PJRT_Buffer *b = NULL;
                up.host_buffer_semantics = way == 1 ? PJRT_HOST_ZERO_COPY : PJRT_HOST_ONLY_DURING_CALL;
                up.data = way == 2 ? bytes + N - 1 : bytes;
                up.byte_strides = (int64_t[]){-1};
                up.num_byte_strides = way == 2;
                assert_int_equal(code_of(upload_error(&up, &b), NULL), PJRT_OK);
                expect_values(b, way == 2 ? mirrored : value, c->bits, widen, narrow);
            }
            PJRT_ShapeSpec shape = {.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                                    .dims = (int64_t[]){N},
                                    .num_dims = 1,
                                    .element_type = (PJRT_Buffer_Type)c->type};
            CALL(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &shape,
                 .num_shape_specs = 1);
            PJRT_AsyncHostToDeviceTransferManager *m = Client_CreateBuffersForAsyncHostToDevice.transfer_manager;
            for (int at = 0; at < N; at += 2) {
                CALL(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = m, .data = bytes + at,
                     .offset = at, .transfer_size = 2, .is_last_transfer = at + 2 == N);
                CALL(Event_Destroy, .event = AsyncHostToDeviceTransferManager_TransferData.done_with_h2d_transfer);
            }
            CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = m);
            CALL(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = m);
            expect_values(AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out, value, c->bits, widen, narrow);
        }
        CALL(LoadedExecutable_Destroy, .executable = widen);
        LoadedExecutable_Destroy.executable = narrow;
        assert_null(api->LoadedExecutable_Destroy(&LoadedExecutable_Destroy));
    }
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host_forms)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
