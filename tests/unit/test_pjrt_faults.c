/* The plugin's table without memory: each row does one thing a client does, with every allocation failing in turn
 * (of long ones a spread over all). The answer is an error that says so, nothing of it stays, and the same works
 * right after. */
#include "pjrt_calls.h"

#include "base/fault.h"

static PJRT_LoadedExecutable *step_exec;
static PJRT_Buffer *weight;
static const float values[6] = {1, 2, 3, 4, 5, 6};

/* Whether a call worked; its error is looked at and freed. Reporting itself may have been what failed. */
static bool worked(PJRT_Error *e) {
    PJRT_Error_Code c = code_of(e, NULL);
    if (c != PJRT_OK && c != PJRT_RESOURCE_EXHAUSTED && c != PJRT_CANCELLED)
        fail_msg("code %d for what is out of memory", c);
    return c == PJRT_OK;
}
#define TRY(name, ...)                                      \
    PJRT_##name##_Args name = PJRT_INIT(name, __VA_ARGS__); \
    bool name##_ok = worked(api->name(&name))
#define END(name, field, what)                                         \
    do {                                                               \
        PJRT_##name##_Args end = PJRT_INIT(name, .field = what);       \
        assert_null(api->name(&end)); /* destroying needs no memory */ \
    } while (0)

static bool waited(PJRT_Event *e) {
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = e);
    bool ok = worked(api->Event_Await(&w));
    END(Event_Destroy, event, e);
    return ok;
}

static bool upload(const void *data, int64_t *dims, int64_t *strides, PJRT_HostBufferSemantics semantics,
                   PJRT_Buffer **out) {
    TRY(Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_TYPE_F32, .dims = dims, .num_dims = 2,
        .byte_strides = strides, .num_byte_strides = strides ? 2 : 0, .host_buffer_semantics = semantics);
    if (!Client_BufferFromHostBuffer_ok) return false;
    *out = Client_BufferFromHostBuffer.buffer;
    if (semantics == PJRT_HOST_ZERO_COPY)
        END(Event_Destroy, event, Client_BufferFromHostBuffer.done_with_host_buffer);
    else
        assert_true(waited(Client_BufferFromHostBuffer.done_with_host_buffer));
    return true;
}

static bool upload_and_end(int64_t *strides, PJRT_HostBufferSemantics semantics) {
    static _Alignas(64) float aligned[6];
    PJRT_Buffer *b;
    if (!upload(semantics == PJRT_HOST_ZERO_COPY ? aligned : values, (int64_t[]){2, 3}, strides, semantics, &b))
        return false;
    END(Buffer_Destroy, buffer, b);
    return true;
}
static bool dense(void) {
    return upload_and_end(NULL, PJRT_HOST_ONLY_DURING_CALL);
}
static bool strided(void) {
    return upload_and_end((int64_t[]){4, 8}, PJRT_HOST_UNTIL_TRANSFER_COMPLETES);
}
static bool borrowed(void) {
    return upload_and_end(NULL, PJRT_HOST_ZERO_COPY);
}

static bool to_host(void) {
    float got[7] = {0};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
                                       .type = PJRT_LAYOUT_STRIDES,
                                       .strides = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Strides),
                                                   .byte_strides = (int64_t[]){8},
                                                   .num_byte_strides = 1}};
    TRY(Buffer_ToHostBuffer, .src = weight, .host_layout = &layout, .dst = got, .dst_size = sizeof got);
    if (!Buffer_ToHostBuffer_ok || !waited(Buffer_ToHostBuffer.event)) return false;
    assert_true(got[0] == 1 && got[6] == 4 && got[5] == 0);
    TRY(Buffer_CopyRawToHost, .buffer = weight, .dst = got, .transfer_size = 4);
    return Buffer_CopyRawToHost_ok && waited(Buffer_CopyRawToHost.event);
}

static bool compiling(void) {
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)step,
                      .code_size = sizeof step - 1,
                      .format = "mlir",
                      .format_size = 4};
    TRY(Client_Compile, .client = client, .program = &p, .compile_options = one_device, .compile_options_size = 6);
    if (Client_Compile_ok) END(LoadedExecutable_Destroy, executable, Client_Compile.executable);
    return Client_Compile_ok;
}

static bool saved(void) {
    TRY(LoadedExecutable_GetExecutable, .loaded_executable = step_exec);
    if (!LoadedExecutable_GetExecutable_ok) return false;
    TRY(Executable_Serialize, .executable = LoadedExecutable_GetExecutable.executable);
    bool ok = Executable_Serialize_ok;
    if (ok) {
        TRY(Executable_DeserializeAndLoad, .client = client,
            .serialized_executable = Executable_Serialize.serialized_bytes,
            .serialized_executable_size = Executable_Serialize.serialized_bytes_size);
        if ((ok = Executable_DeserializeAndLoad_ok))
            END(LoadedExecutable_Destroy, executable, Executable_DeserializeAndLoad.loaded_executable);
        Executable_Serialize.serialized_executable_deleter(Executable_Serialize.serialized_executable);
    }
    END(Executable_Destroy, executable, LoadedExecutable_GetExecutable.executable);
    return ok;
}

static bool executing(void) {
    PJRT_Buffer *out = NULL, **args[] = {(PJRT_Buffer *[]){weight, weight}}, **outs[] = {&out};
    PJRT_Event *done = NULL;
    PJRT_ExecuteOptions o = {.struct_size = PJRT_ExecuteOptions_BASE_SIZE,
                             .non_donatable_input_indices = (int64_t[]){0},
                             .num_non_donatable_input_indices = 1};
    TRY(LoadedExecutable_Execute, .executable = step_exec, .options = &o, .argument_lists = args, .num_devices = 1,
        .num_args = 2, .output_lists = outs, .device_complete_events = &done);
    if (!LoadedExecutable_Execute_ok) return false;
    bool ok = waited(done);
    END(Buffer_Destroy, buffer, out);
    return ok;
}

static bool copied(void) {
    CALL(Client_AddressableMemories, .client = client);
    TRY(Buffer_CopyToMemory, .buffer = weight, .dst_memory = Client_AddressableMemories.addressable_memories[1]);
    if (!Buffer_CopyToMemory_ok) return false;
    TRY(Buffer_ReadyEvent, .buffer = Buffer_CopyToMemory.dst_buffer);
    bool ok = Buffer_ReadyEvent_ok && waited(Buffer_ReadyEvent.event);
    END(Buffer_Destroy, buffer, Buffer_CopyToMemory.dst_buffer);
    return ok;
}

static bool in_pieces(void) {
    PJRT_ShapeSpec shape = {.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                            .dims = (int64_t[]){6},
                            .num_dims = 1,
                            .element_type = PJRT_TYPE_F32};
    TRY(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &shape, .num_shape_specs = 1);
    if (!Client_CreateBuffersForAsyncHostToDevice_ok) return false;
    PJRT_AsyncHostToDeviceTransferManager *m = Client_CreateBuffersForAsyncHostToDevice.transfer_manager;
    TRY(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = m, .data = values, .transfer_size = 24,
        .is_last_transfer = true);
    bool ok = AsyncHostToDeviceTransferManager_TransferData_ok;
    if (ok) ok = waited(AsyncHostToDeviceTransferManager_TransferData.done_with_h2d_transfer);
    TRY(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = m);
    if (AsyncHostToDeviceTransferManager_RetrieveBuffer_ok)
        END(Buffer_Destroy, buffer, AsyncHostToDeviceTransferManager_RetrieveBuffer.buffer_out);
    END(AsyncHostToDeviceTransferManager_Destroy, transfer_manager, m);
    return ok && AsyncHostToDeviceTransferManager_RetrieveBuffer_ok;
}

static bool viewed(void) {
    TRY(Buffer_Bitcast, .buffer = weight, .element_type = (PJRT_Buffer_Type)XT_I32, .dims = (int64_t[]){4},
        .num_dims = 1);
    if (Buffer_Bitcast_ok) END(Buffer_Destroy, buffer, Buffer_Bitcast.out_buffer);
    TRY(Client_CreateAliasBuffer, .client = client, .shape_element_type = PJRT_TYPE_F32, .shape_dims = (int64_t[]){4},
        .shape_num_dims = 1);
    if (!Client_CreateAliasBuffer_ok) return false;
    TRY(Client_FulfillAliasBuffer, .client = client, .buffer = weight,
        .fulfill_alias_buffer_cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb);
    END(Buffer_Destroy, buffer, Client_CreateAliasBuffer.alias_buffer);
    return Buffer_Bitcast_ok && Client_FulfillAliasBuffer_ok;
}

static bool described(void) {
    TRY(TopologyDescription_Create, .topology_name = "3", .topology_name_size = 1);
    if (!TopologyDescription_Create_ok) return false;
    TRY(TopologyDescription_Serialize, .topology = TopologyDescription_Create.topology);
    bool ok = TopologyDescription_Serialize_ok;
    if (ok) {
        TRY(TopologyDescription_Deserialize, .serialized_topology = TopologyDescription_Serialize.serialized_bytes,
            .serialized_topology_size = TopologyDescription_Serialize.serialized_bytes_size);
        if ((ok = TopologyDescription_Deserialize_ok))
            END(TopologyDescription_Destroy, topology, TopologyDescription_Deserialize.topology);
        TopologyDescription_Serialize.serialized_topology_deleter(TopologyDescription_Serialize.serialized_topology);
    }
    END(TopologyDescription_Destroy, topology, TopologyDescription_Create.topology);
    TRY(LoadedExecutable_GetDeviceAssignment, .executable = step_exec);
    if (LoadedExecutable_GetDeviceAssignment_ok)
        LoadedExecutable_GetDeviceAssignment.serialized_device_assignment_deleter(
            LoadedExecutable_GetDeviceAssignment.serialized_device_assignment);
    return ok && LoadedExecutable_GetDeviceAssignment_ok;
}

static bool another_client(void) {
    PJRT_NamedValue devices = int_value("cpu_device_count", 1);
    TRY(Client_Create, .create_options = &devices, .num_options = 1);
    if (Client_Create_ok) END(Client_Destroy, client, Client_Create.client);
    return Client_Create_ok;
}

/* Devices start on threads of their own and wait for each other: one that cannot is what the client hears
 * of, at once. */
static void test_devices_without_memory(void **state) {
    (void)state;
    PJRT_NamedValue devices = int_value("cpu_device_count", 3);
    int refused = 0;
    for (int64_t n = 3; n < 100; n += 12) {
        base_fail_alloc_after(n);
        TRY(Client_Create, .create_options = &devices, .num_options = 1);
        base_fail_alloc_after(-1);
        refused += !Client_Create_ok;
        if (Client_Create_ok) END(Client_Destroy, client, Client_Create.client);
    }
    assert_true(refused > 0);
}

static const char *const counted[] = {"plugin_client", "plugin_buffer", "plugin_executable", "plugin_event"};
static void count(int64_t out[BASE_COUNT(counted)]) {
    for (size_t i = 0; i < BASE_COUNT(counted); i++) out[i] = xt_live_objects(counted[i]);
}

static void test_every_allocation(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool (*run)(void);
    } rows[] = {{"dense", dense},         {"strided", strided},     {"borrowed", borrowed},
                {"to_host", to_host},     {"executing", executing}, {"copied", copied},
                {"in_pieces", in_pieces}, {"viewed", viewed},       {"described", described},
                {"saved", saved},         {"compiling", compiling}, {"another_client", another_client}};
    step_exec = compile(client);
    weight = upload4(values);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        int64_t before[BASE_COUNT(counted)], after[BASE_COUNT(counted)];
        int refused = 0;
        bool reached = true;
        count(before);
        for (int64_t n = 1; reached; n += 1 + n / 24) {
            base_fail_alloc_after(n);
            bool ok = rows[i].run();
            reached = true;
            /* still armed: the row allocates less often */
            for (int64_t k = 0; k < n && reached; k++) reached = !base_alloc_must_fail();
            base_fail_alloc_after(-1);
            refused += !ok;
            if (!ok && !reached) fail_msg("%s failed without a failure", rows[i].name);
            count(after);
            for (size_t k = 0; k < BASE_COUNT(counted); k++)
                if (after[k] != before[k])
                    fail_msg("%s, allocation %lld: %lld of %s are left", rows[i].name, (long long)n,
                             (long long)(after[k] - before[k]), counted[k]);
        }
        if (refused == 0) fail_msg("%s never failed", rows[i].name);
        assert_true(rows[i].run());
    }
    destroy(weight);
    CALL(LoadedExecutable_Destroy, .executable = step_exec);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation),
                                       cmocka_unit_test(test_devices_without_memory)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
