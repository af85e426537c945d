/* The plugin's table: transfers in pieces, views of a buffer, promises kept later, layouts. */
#include "pjrt_calls.h"

#define REFUSED(want, word, name, ...)                              \
    do {                                                            \
        PJRT_##name##_Args refused = PJRT_INIT(name, __VA_ARGS__);  \
        assert_int_equal(code_of(api->name(&refused), word), want); \
    } while (0)

static void drop_event(PJRT_Event *e) {
    CALL(Event_Destroy, .event = e);
}
static PJRT_Error_Code read_code(PJRT_Buffer *b, void *dst, size_t n) {
    CALL(Buffer_ToHostBuffer, .src = b, .dst = dst, .dst_size = n);
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = Buffer_ToHostBuffer.event);
    PJRT_Error_Code c = code_of(api->Event_Await(&w), NULL);
    drop_event(Buffer_ToHostBuffer.event);
    return c;
}
static PJRT_Memory *memory(size_t k) {
    CALL(Client_AddressableMemories, .client = client);
    assert_int_equal(Client_AddressableMemories.num_addressable_memories, 3);
    return Client_AddressableMemories.addressable_memories[k];
}

static void test_pieces(void **state) {
    (void)state;
    PJRT_ShapeSpec shapes[2] = {{.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                                 .dims = (int64_t[]){4},
                                 .num_dims = 1,
                                 .element_type = PJRT_TYPE_F32}};
    shapes[1] = shapes[0];
    CALL(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = shapes, .num_shape_specs = 2,
         .memory = memory(1));
    PJRT_AsyncHostToDeviceTransferManager *m = Client_CreateBuffersForAsyncHostToDevice.transfer_manager;
    CALL(AsyncHostToDeviceTransferManager_BufferSize, .transfer_manager = m, .buffer_index = 1);
    assert_int_equal(AsyncHostToDeviceTransferManager_BufferSize.buffer_size, 16);
    CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = m, .buffer_index = 0);
    PJRT_Buffer *b = AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out;
    REFUSED(PJRT_FAILED_PRECONDITION, "retrieved", AsyncHostToDeviceTransferManager_RetrieveBuffer,
            .transfer_manager = m, .buffer_index = 0);
    REFUSED(PJRT_OUT_OF_RANGE, "transfer of 2", AsyncHostToDeviceTransferManager_BufferSize, .transfer_manager = m,
            .buffer_index = 2);
    const float v[4] = {1, 2, 3, 4};
    for (int half = 0; half < 2; half++) {
        CALL(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = m, .data = v + 2 * half,
             .offset = 8 * half, .transfer_size = 8, .is_last_transfer = half == 1);
        drop_event(AsyncHostToDeviceTransferManager_TransferData.done_with_h2d_transfer);
    }
    REFUSED(PJRT_FAILED_PRECONDITION, "sent whole", AsyncHostToDeviceTransferManager_TransferData,
            .transfer_manager = m, .data = v, .transfer_size = 8);
    REFUSED(PJRT_OUT_OF_RANGE, "bytes at", AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = m,
            .buffer_index = 1, .data = v, .offset = 12, .transfer_size = 8);
    float got[4];
    assert_int_equal(read_code(b, got, sizeof got), PJRT_OK);
    assert_memory_equal(got, v, sizeof v);
    CALL(Buffer_Memory, .buffer = b);
    assert_ptr_equal(Buffer_Memory.memory, memory(1));
    AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_index = 1;
    assert_null(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(&AsyncHostToDeviceTransferManager_RetrieveBuffer));
    PJRT_Buffer *unfinished = AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out;
    CALL(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = m);
    assert_int_equal(read_code(unfinished, got, sizeof got), PJRT_CANCELLED);
    destroy(unfinished);
    destroy(b);
}

static void test_bitcast(void **state) {
    (void)state;
    const float v[4] = {1, 2, 3, 4};
    PJRT_Buffer *b = upload4(v);
    CALL(Buffer_Bitcast, .buffer = b, .element_type = 8 /* u32 */, .dims = (int64_t[]){2, 2}, .num_dims = 2);
    REFUSED(PJRT_INVALID_ARGUMENT, "cannot be seen", Buffer_Bitcast, .buffer = b, .element_type = 8,
            .dims = (int64_t[]){3}, .num_dims = 1);
    destroy(b); /* the view keeps the memory */
    uint32_t got[4];
    assert_int_equal(read_code(Buffer_Bitcast.out_buffer, got, sizeof got), PJRT_OK);
    assert_memory_equal(got, v, sizeof v);
    destroy(Buffer_Bitcast.out_buffer);
}

static void test_alias(void **state) {
    (void)state;
    const float v[4] = {1, 2, 3, 4};
    float got[4];
    for (int fail = 0; fail < 2; fail++) {
        CALL(Client_CreateAliasBuffer, .client = client, .memory = memory(0), .shape_dims = (int64_t[]){4},
             .shape_num_dims = 1, .shape_element_type = PJRT_TYPE_F32);
        PJRT_Buffer *b = fail ? NULL : upload4(v);
        CALL(Client_FulfillAliasBuffer, .client = client, .buffer = b, .status_code = fail ? PJRT_ABORTED : PJRT_OK,
             .error_message = "gone", .error_message_size = 4,
             .fulfill_alias_buffer_cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb);
        if (b) destroy(b);
        assert_int_equal(read_code(Client_CreateAliasBuffer.alias_buffer, got, sizeof got),
                         fail ? PJRT_ABORTED : PJRT_OK);
        if (!fail) assert_memory_equal(got, v, sizeof v);
        destroy(Client_CreateAliasBuffer.alias_buffer);
    }
}

static void test_waiting_donation(void **state) {
    (void)state;
    const float v[4] = {1, 2, 3, 4};
    PJRT_Buffer *b = upload4(v);
    CALL(Buffer_DonateWithControlDependency, .buffer = b);
    CALL(Buffer_IsDeleted, .buffer = b);
    assert_true(Buffer_IsDeleted.is_deleted);
    CALL(Buffer_ReadyEvent, .buffer = Buffer_DonateWithControlDependency.out_buffer);
    CALL(Event_IsReady, .event = Buffer_ReadyEvent.event);
    assert_false(Event_IsReady.is_ready);
    PJRT_Buffer_DonateWithControlDependency_Callback_Args c = {
        PJRT_SIZE_OF(PJRT_Buffer_DonateWithControlDependency_Callback_Args),
        Buffer_DonateWithControlDependency.callback_data, PJRT_OK, NULL, 0};
    Buffer_DonateWithControlDependency.dependency_ready_callback(&c);
    drop_event(Buffer_ReadyEvent.event);
    float got[4];
    assert_int_equal(read_code(Buffer_DonateWithControlDependency.out_buffer, got, sizeof got), PJRT_OK);
    assert_memory_equal(got, v, sizeof v);
    destroy(b);
    destroy(Buffer_DonateWithControlDependency.out_buffer);
}

static void test_read_later(void **state) {
    (void)state;
    PJRT_Buffer *b = upload4((const float[]){1, 2, 3, 4});
    CALL(Buffer_CopyRawToHostFuture, .buffer = b, .offset = 4, .transfer_size = 8);
    destroy(b);
    float got[2];
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args c = {PJRT_SIZE_OF(PJRT_Buffer_CopyRawToHostFuture_Callback_Args),
                                                       Buffer_CopyRawToHostFuture.callback_data,
                                                       PJRT_OK,
                                                       NULL,
                                                       0,
                                                       got};
    Buffer_CopyRawToHostFuture.future_ready_callback(&c);
    CALL(Event_Await, .event = Buffer_CopyRawToHostFuture.event);
    drop_event(Buffer_CopyRawToHostFuture.event);
    assert_memory_equal(got, ((float[]){2, 3}), sizeof got);
}

static void test_layouts(void **state) {
    (void)state;
    const PJRT_Extension_Base *e = api->extension_start;
    while (e && e->type != PJRT_EXTENSION_LAYOUTS) e = e->next;
    assert_non_null(e);
    const PJRT_Layouts_Extension *l = (const PJRT_Layouts_Extension *)e;
    PJRT_Layouts_Client_GetDefaultLayout_Args d = {
        .struct_size = sizeof d, .client = client, .type = PJRT_TYPE_F32, .dims = (int64_t[]){2, 3, 4}, .num_dims = 3};
    assert_null(l->Client_GetDefaultLayout(&d));
    PJRT_Layouts_MemoryLayout_Serialize_Args s = {.struct_size = sizeof s, .layout = d.layout};
    assert_null(l->MemoryLayout_Serialize(&s));
    assert_int_equal(s.serialized_bytes_size, 7);
    assert_memory_equal(s.serialized_bytes, "{2,1,0}", 7);
    s.serialized_layout_deleter(s.serialized_layout);
    PJRT_Layouts_MemoryLayout_Destroy_Args g = {.struct_size = sizeof g, .layout = d.layout};
    assert_null(l->MemoryLayout_Destroy(&g));
}

static void test_sharding_messages(void **state) {
    (void)state;
    static const struct {
        const char *text, *bytes;
        size_t n;
    } rows[] = {
        {"{devices=[2,2]<=[4]}", "\x08\x03\x1a\x02\x02\x02\x4a\x01\x04\x52\x01\x00", 12},
        {"{manual}", "\x08\x04", 2},
        {NULL, "", 0},
        {"{devices=[2,2]0,1,2,3}", "\x08\x03\x1a\x02\x02\x02\x22\x04\x00\x01\x02\x03", 12},
        {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
         "\x08\x03\x1a\x03\x02\x01\x02\x4a\x02\x02\x02\x52\x02\x01\x00\x30\x01", 17},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str s = STR_INIT;
        assert_null(face_sharding_write(rows[i].text, &s));
        assert_int_equal(s.len, rows[i].n);
        if (s.len) assert_memory_equal(s.data, rows[i].bytes, s.len);
        str_free(&s);
    }
    str s = STR_INIT;
    xt_status st = face_sharding_write("{devices=[2,", &s);
    assert_non_null(st);
    xt_status_free(st);
    str_free(&s);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_bitcast),
        cmocka_unit_test(test_alias),
        cmocka_unit_test(test_waiting_donation),
        cmocka_unit_test(test_read_later),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_sharding_messages),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
