/* The plugin's table: limits of memory and blocks used again, several devices, memory that runs out
 * anywhere, topologies. */
#include "pjrt_calls.h"

static void test_memory_limit(void **state) {
    (void)state;
    setenv("XT_MEMORY_LIMIT", "1000", 1);
    PJRT_Client *c = create(NULL, 0), *usual = client;
    unsetenv("XT_MEMORY_LIMIT");
    client = c;
    PJRT_LoadedExecutable *e = compile(c);
    float big[200] = {0};
    PJRT_Buffer *b = NULL, *more = NULL;
    int64_t dim = 200;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = big,
                                                        .type = PJRT_TYPE_F32, .dims = &dim, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    assert_int_equal(code_of(upload_error(&a, &more), "XT_MEMORY_LIMIT"), PJRT_RESOURCE_EXHAUSTED);
    destroy(b);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK); /* usable again */
    CALL(Client_AddressableDevices, .client = c);
    CALL(Device_MemoryStats, .device = Client_AddressableDevices.addressable_devices[0]);
    assert_int_equal(Device_MemoryStats.bytes_in_use, 800);
    assert_int_equal(Device_MemoryStats.bytes_limit, 1000);
    assert_true(Device_MemoryStats.bytes_limit_is_set && Device_MemoryStats.peak_bytes_in_use == 800 &&
                !Device_MemoryStats.pool_bytes_is_set);
    /* 800 + 12 * 16 leave no room for a result of 16 that takes nobody's place */
    PJRT_Buffer *small[12], *out;
    for (int i = 0; i < 12; i++) small[i] = upload4((float[]){1, 1, 1, 1});
    PJRT_Event *done;
    PJRT_ExecuteOptions o = {.struct_size = PJRT_SIZE_OF(PJRT_ExecuteOptions),
                             .non_donatable_input_indices = (int64_t[]){0},
                             .num_non_donatable_input_indices = 1};
    CALL(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = (PJRT_Buffer * *[]){small},
         .num_devices = 1, .num_args = 2, .output_lists = (PJRT_Buffer * *[]){&out}, .device_complete_events = &done);
    assert_int_equal(finish(done, "XT_MEMORY_LIMIT"), PJRT_RESOURCE_EXHAUSTED);
    CALL(Buffer_IsDeleted, .buffer = small[0]);
    assert_false(Buffer_IsDeleted.is_deleted);
    destroy(out);
    /* in place there is room */
    assert_int_equal(code_of(execute(e, small[0], small[1], NULL, &out, &done), NULL), PJRT_OK);
    assert_int_equal(finish(done, NULL), PJRT_OK);
    expect(out, 4, (float[]){0, 0, 0, 0});
    for (int i = 0; i < 12; i++) destroy(small[i]);
    destroy(out), destroy(b);
    assert_null(api->Device_MemoryStats(&Device_MemoryStats));
    assert_int_equal(Device_MemoryStats.bytes_in_use, 0);
    CALL(LoadedExecutable_Destroy, .executable = e);
    CALL(Client_Destroy, .client = c);
    client = usual;
}

static uintptr_t upload_bytes(size_t n, PJRT_Buffer **out) {
    char *data = base_calloc(n, 1);
    int64_t dim = (int64_t)n;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = data,
                                                        .type = PJRT_TYPE_PRED, .dims = &dim, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, out), NULL), PJRT_OK);
    base_free(data);
    CALL(Buffer_UnsafePointer, .buffer = *out);
    assert_int_equal(Buffer_UnsafePointer.buffer_pointer % 64, 0);
    return Buffer_UnsafePointer.buffer_pointer;
}

/* Large blocks are used again, but never beyond the limit or the peak. */
static void test_block_reuse(void **state) {
    (void)state;
    setenv("XT_MEMORY_LIMIT", "4000000", 1);
    PJRT_Client *c = create(NULL, 0), *usual = client;
    unsetenv("XT_MEMORY_LIMIT");
    client = c;
    PJRT_Buffer *b[12];
    uintptr_t first = upload_bytes(3 << 20, &b[0]);
    destroy(b[0]);
    assert_int_equal(upload_bytes((3 << 20) - 5000, &b[0]), first); /* fits with little left over */
    destroy(b[0]);
    assert_int_not_equal(upload_bytes(3500000, &b[0]), 0); /* too large for it: the kept block makes room */
    destroy(b[0]);
    for (int i = 0; i < 3; i++) upload_bytes((1 << 20) + i, &b[i]);
    CALL(Client_AddressableDevices, .client = c);
    CALL(Device_MemoryStats, .device = Client_AddressableDevices.addressable_devices[0]);
    assert_int_equal(Device_MemoryStats.bytes_in_use, (3 << 20) + 3);
    assert_int_equal(Device_MemoryStats.peak_bytes_in_use, 3500000);
    for (int i = 0; i < 3; i++) destroy(b[i]);
    for (int round = 0; round < 3; round++) { /* more blocks than are kept */
        for (int i = 0; i < 3; i++) upload_bytes((size_t)(1 << 20) + (size_t)(i * 100000 * (round + 1)) / 3, &b[i]);
        for (int i = 0; i < 3; i++) destroy(b[i]);
    }
    assert_null(api->Device_MemoryStats(&Device_MemoryStats));
    assert_int_equal(Device_MemoryStats.bytes_in_use, 0);
    CALL(Client_Destroy, .client = c);
    client = usual;
}

/* A step gives hundreds of gradients back at once and asks for as many again: none of them is made of new pages. */
static void test_many_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 200 };
    PJRT_Client *c = create(NULL, 0), *usual = client;
    client = c;
    static PJRT_Buffer *b[BLOCKS];
    static uintptr_t at[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) at[i] = upload_bytes(1 << 20, &b[i]);
    for (int i = 0; i < BLOCKS; i++) destroy(b[i]);
    for (int i = 0; i < BLOCKS; i++) {
        uintptr_t again = upload_bytes(1 << 20, &b[i]);
        bool known = false;
        for (int k = 0; k < BLOCKS && !known; k++)
            if (at[k] == again) known = true, at[k] = 0;
        assert_true(known);
    }
    for (int i = 0; i < BLOCKS; i++) destroy(b[i]);
    CALL(Client_Destroy, .client = c);
    client = usual;
}

static void test_two_devices(void **state) {
    (void)state;
    PJRT_NamedValue two = int_value("cpu_device_count", 2);
    PJRT_Client *c = create(&two, 1), *usual = client;
    client = c;
    CALL(Client_AddressableDevices, .client = c);
    PJRT_Device *second = Client_AddressableDevices.addressable_devices[1];
    PJRT_LoadedExecutable *e = compile(c);
    PJRT_Buffer *w = upload4((float[]){9, 9, 9, 9}), *out, *chained;
    CALL(Device_DefaultMemory, .device = second);
    CALL(Buffer_CopyToMemory, .buffer = w, .dst_memory = Device_DefaultMemory.memory);
    PJRT_Buffer *w2 = Buffer_CopyToMemory.dst_buffer;
    CALL(Buffer_Device, .buffer = w2);
    assert_ptr_equal(Buffer_Device.device, second);
    CALL(Buffer_CopyToDevice, .buffer = w, .dst_device = second);
    PJRT_Buffer *g2 = Buffer_CopyToDevice.dst_buffer;
    assert_int_equal(code_of(execute(e, w2, g2, NULL, &out, NULL), "xtrain_cpu:1"), PJRT_INVALID_ARGUMENT);
    assert_int_equal(code_of(execute(e, w2, g2, second, &out, NULL), NULL), PJRT_OK);
    /* what the second device is still making is copied to the first when it is there */
    CALL(Device_GetDescription, .device = second);
    PJRT_Device *first = Client_AddressableDevices.addressable_devices[0];
    Buffer_CopyToDevice.buffer = out;
    Buffer_CopyToDevice.dst_device = first;
    assert_null(api->Buffer_CopyToDevice(&Buffer_CopyToDevice));
    assert_int_equal(code_of(execute(e, Buffer_CopyToDevice.dst_buffer, w, NULL, &chained, NULL), NULL), PJRT_OK);
    expect(chained, 4, (float[]){-9, -9, -9, -9});
    destroy(w), destroy(w2), destroy(g2), destroy(out), destroy(chained), destroy(Buffer_CopyToDevice.dst_buffer);
    CALL(LoadedExecutable_Destroy, .executable = e);
    CALL(Client_Destroy, .client = c);
    client = usual;
}

static const char sum[] =
    "module @sum {\n"
    "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    %0 = \"stablehlo.all_reduce\"(%x) ({\n"
    "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "      %1 = stablehlo.add %a, %b : tensor<f32>\n"
    "      stablehlo.return %1 : tensor<f32>\n"
    "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n"
    "    return %0 : tensor<2xf32>\n"
    "  }\n"
    "}\n";
/* replicas 2, partitions 1, assignment {2, 1, [0, 1]}: zeros are bytes like others */
static const char two_replicas[] = "\x1a\x10\x20\x02\x28\x01\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02\x00\x01";

/* One process, two devices, one replica each: the executors really run at the same time, or the sum
 * would never come. */
static void test_two_replicas(void **state) {
    (void)state;
    PJRT_NamedValue two = int_value("cpu_device_count", 2);
    PJRT_Client *c = create(&two, 1);
    CALL(Client_AddressableDevices, .client = c);
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)sum,
                      .code_size = sizeof sum - 1,
                      .format = "mlir",
                      .format_size = 4};
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = two_replicas,
         .compile_options_size = sizeof two_replicas - 1);
    PJRT_LoadedExecutable *e = Client_Compile.executable;
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    CALL(Executable_GetCompileOptions, .executable = LoadedExecutable_GetExecutable.executable);
    assert_int_equal(Executable_GetCompileOptions.serialized_bytes_size, sizeof two_replicas - 1);
    assert_memory_equal(Executable_GetCompileOptions.serialized_bytes, two_replicas, sizeof two_replicas - 1);
    CALL(Executable_Destroy, .executable = LoadedExecutable_GetExecutable.executable);
    CALL(LoadedExecutable_GetDeviceAssignment, .executable = e);
    assert_int_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes_size, 10);
    assert_memory_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes, two_replicas + 8, 10);
    LoadedExecutable_GetDeviceAssignment.serialized_device_assignment_deleter(
        LoadedExecutable_GetDeviceAssignment.serialized_device_assignment);
    CALL(LoadedExecutable_AddressableDeviceLogicalIds, .executable = e);
    assert_int_equal(LoadedExecutable_AddressableDeviceLogicalIds.num_addressable_device_logical_ids, 2);
    assert_int_equal(LoadedExecutable_AddressableDeviceLogicalIds.addressable_device_logical_ids[1].replica, 1);
    PJRT_Buffer *in[2], *out[2];
    PJRT_Event *done[2];
    for (int i = 0; i < 2; i++) {
        float data[] = {(float)i + 1, 10};
        int64_t dim = 2;
        PJRT_Client_BufferFromHostBuffer_Args a =
            PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = data, .type = PJRT_TYPE_F32, .dims = &dim,
                      .num_dims = 1, .device = Client_AddressableDevices.addressable_devices[i]);
        assert_int_equal(code_of(upload_error(&a, &in[i]), NULL), PJRT_OK);
    }
    CALL(LoadedExecutable_Execute, .executable = e, .argument_lists = (PJRT_Buffer * *[]){&in[0], &in[1]},
         .num_devices = 2, .num_args = 1, .output_lists = (PJRT_Buffer * *[]){&out[0], &out[1]},
         .device_complete_events = done);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(finish(done[i], NULL), PJRT_OK);
        expect(out[i], 2, (float[]){3, 20});
        destroy(in[i]), destroy(out[i]);
    }
    CALL(LoadedExecutable_Destroy, .executable = e);
    CALL(Client_Destroy, .client = c);
}

/* Each device's replica by a call of its own, as PyTorch/XLA's threads and processes do, where the two are all devices
 * of the client and where not. */
static void test_call_a_replica(void **state) {
    (void)state;
    for (int n = 2; n <= 3; n++) {
        PJRT_NamedValue count = int_value("cpu_device_count", n);
        PJRT_Client *c = create(&count, 1), *usual = client;
        client = c;
        CALL(Client_AddressableDevices, .client = c);
        PJRT_Device *const *devices = Client_AddressableDevices.addressable_devices;
        PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                          .code = (char *)sum,
                          .code_size = sizeof sum - 1,
                          .format = "mlir",
                          .format_size = 4};
        CALL(Client_Compile, .client = c, .program = &p, .compile_options = two_replicas,
             .compile_options_size = sizeof two_replicas - 1);
        PJRT_LoadedExecutable *e = Client_Compile.executable;
        PJRT_Buffer *in[3], *out[2];
        PJRT_Event *done[2];
        for (int i = n - 1; i >= 0; i--) {
            float data[] = {(float)i + 1, 10};
            int64_t dim = 2;
            PJRT_Client_BufferFromHostBuffer_Args a =
                PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = data, .type = PJRT_TYPE_F32, .dims = &dim,
                          .num_dims = 1, .device = devices[i]);
            assert_int_equal(code_of(upload_error(&a, &in[i]), NULL), PJRT_OK);
            PJRT_LoadedExecutable_Execute_Args x =
                PJRT_INIT(LoadedExecutable_Execute, .executable = e, .argument_lists = (PJRT_Buffer * *[]){&in[i]},
                          .num_devices = 1, .num_args = 1, .output_lists = (PJRT_Buffer * *[]){&out[i % 2]},
                          .device_complete_events = &done[i % 2], .execute_device = devices[i]);
            PJRT_Error *error = api->LoadedExecutable_Execute(&x);
            assert_int_equal(code_of(error, i < 2 ? NULL : "on other devices"),
                             i < 2 ? PJRT_OK : PJRT_INVALID_ARGUMENT);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(finish(done[i], NULL), PJRT_OK);
            expect(out[i], 2, (float[]){3, 20});
            destroy(out[i]);
        }
        for (int i = 0; i < n; i++) destroy(in[i]);
        CALL(LoadedExecutable_Destroy, .executable = e);
        CALL(Client_Destroy, .client = c);
        client = usual;
    }
}

/* One program for both devices, with shardings: each device has its half of the argument and of the result. */
static void test_two_partitions(void **state) {
    (void)state;
    static const char text[] = "module @halves attributes {mhlo.num_partitions = 2 : i32} {\n"
                               "  func.func public @main(%x: tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}) "
                               "-> (tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}, tensor<f32>) {\n"
                               "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                               "    %0 = \"stablehlo.reduce\"(%x, %z) ({\n"
                               "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                               "      %1 = stablehlo.add %a, %b : tensor<f32>\n"
                               "      stablehlo.return %1 : tensor<f32>\n"
                               "    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
                               "    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
                               "    %3 = stablehlo.iota dim = 0 : tensor<4xf32>\n"
                               "    %4 = stablehlo.multiply %2, %3 : tensor<4xf32>\n"
                               "    %5 = stablehlo.add %4, %x : tensor<4xf32>\n"
                               "    return %5, %0 : tensor<4xf32>, tensor<f32>\n"
                               "  }\n"
                               "}\n";
    PJRT_NamedValue two = int_value("cpu_device_count", 2);
    PJRT_Client *c = create(&two, 1);
    CALL(Client_AddressableDevices, .client = c);
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)text,
                      .code_size = sizeof text - 1,
                      .format = "mlir",
                      .format_size = 4};
    /* replicas 1, partitions 2, use_spmd_partitioning, assignment {1, 2, [0], [1]} */
    static const char options[] =
        "\x1a\x16\x20\x01\x28\x02\x30\x01\x4a\x0e\x08\x01\x10\x02\x1a\x03\x0a\x01\x00\x1a\x03\x0a\x01\x01";
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = options,
         .compile_options_size = sizeof options - 1);
    PJRT_LoadedExecutable *e = Client_Compile.executable;
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    CALL(Executable_OutputDimensions, .executable = LoadedExecutable_GetExecutable.executable);
    assert_int_equal(Executable_OutputDimensions.dims[0], 2);
    CALL(Executable_Destroy, .executable = LoadedExecutable_GetExecutable.executable);
    PJRT_Buffer *in[2], *out[2][2];
    PJRT_Event *done[2];
    for (int i = 0; i < 2; i++) {
        float data[] = {(float)(10 * i + 1), (float)(10 * i + 2)};
        int64_t dim = 2;
        PJRT_Client_BufferFromHostBuffer_Args a =
            PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = data, .type = PJRT_TYPE_F32, .dims = &dim,
                      .num_dims = 1, .device = Client_AddressableDevices.addressable_devices[i]);
        assert_int_equal(code_of(upload_error(&a, &in[i]), NULL), PJRT_OK);
    }
    CALL(LoadedExecutable_Execute, .executable = e, .argument_lists = (PJRT_Buffer * *[]){&in[0], &in[1]},
         .num_devices = 2, .num_args = 1, .output_lists = (PJRT_Buffer * *[]){out[0], out[1]},
         .device_complete_events = done);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(finish(done[i], NULL), PJRT_OK);
        expect(out[i][0], 2, i ? (float[]){26 * 2 + 11, 26 * 3 + 12} : (float[]){1, 26 + 2});
        expect(out[i][1], 1, (float[]){26});
        destroy(in[i]), destroy(out[i][0]), destroy(out[i][1]);
    }
    CALL(LoadedExecutable_Destroy, .executable = e);
    CALL(Client_Destroy, .client = c);
}

/* Upload, run, read, with any call allowed to fail; what was made is given back. True when nothing failed. */
static bool try_everything(PJRT_LoadedExecutable *e) {
    float data[] = {1, 2, 3, 4}, got[4] = {0};
    int64_t dim = 4;
    PJRT_Buffer *b[3] = {NULL};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = data,
                                                            .type = PJRT_TYPE_F32, .dims = &dim, .num_dims = 1);
        ok = code_of(upload_error(&a, &b[i]), NULL) == PJRT_OK;
    }
    PJRT_Event *done = NULL;
    ok = ok && code_of(execute(e, b[0], b[1], NULL, &b[2], &done), NULL) == PJRT_OK;
    if (ok) {
        PJRT_Buffer_ToHostBuffer_Args r =
            PJRT_INIT(Buffer_ToHostBuffer, .src = b[2], .dst = got, .dst_size = sizeof got);
        bool started = code_of(api->Buffer_ToHostBuffer(&r), NULL) == PJRT_OK;
        bool read = started && finish(r.event, NULL) == PJRT_OK;
        ok = finish(done, NULL) == PJRT_OK && read;
        if (read) assert_true(got[0] == 0 && got[3] == 0);
    }
    for (int i = 0; i < 3; i++)
        if (b[i]) destroy(b[i]);
    return ok;
}

static void test_out_of_host_memory(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    int64_t buffers = xt_live_objects("plugin_buffer");
    int failures = 0, n = 0;
    for (; n < 400; n++) {
        base_fail_alloc_after(n);
        bool ok = try_everything(e);
        base_fail_alloc_after(-1);
        failures += !ok;
        assert_int_equal(xt_live_objects("plugin_buffer"), buffers);
    }
    assert_true(failures >= 15); /* each step allocates; where the n-th one falls depends on the executor's timing */
    assert_true(try_everything(e));
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_topology(void **state) {
    (void)state;
    CALL(TopologyDescription_Create, .topology_name = "cpu:4", .topology_name_size = 5);
    PJRT_TopologyDescription *t = TopologyDescription_Create.topology;
    CALL(TopologyDescription_GetDeviceDescriptions, .topology = t);
    assert_int_equal(TopologyDescription_GetDeviceDescriptions.num_descriptions, 4);
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)step,
                      .code_size = sizeof step - 1,
                      .format = "mlir",
                      .format_size = 4};
    CALL(Compile, .topology = t, .program = &p, .compile_options = one_device, .compile_options_size = 6);
    CALL(Client_Load, .client = client, .executable = Compile.executable);
    CALL(LoadedExecutable_Destroy, .executable = Client_Load.loaded_executable);
    CALL(Executable_Destroy, .executable = Compile.executable);
    CALL(TopologyDescription_Serialize, .topology = t);
    CALL(TopologyDescription_Deserialize, .serialized_topology = TopologyDescription_Serialize.serialized_bytes,
         .serialized_topology_size = TopologyDescription_Serialize.serialized_bytes_size);
    TopologyDescription_Serialize.serialized_topology_deleter(TopologyDescription_Serialize.serialized_topology);
    CALL(TopologyDescription_Fingerprint, .topology = t);
    uint64_t print = TopologyDescription_Fingerprint.fingerprint;
    TopologyDescription_Fingerprint.topology = TopologyDescription_Deserialize.topology;
    assert_null(api->TopologyDescription_Fingerprint(&TopologyDescription_Fingerprint));
    assert_int_equal(TopologyDescription_Fingerprint.fingerprint, print);
    CALL(TopologyDescription_Destroy, .topology = t);
    TopologyDescription_Destroy.topology = TopologyDescription_Deserialize.topology;
    assert_null(api->TopologyDescription_Destroy(&TopologyDescription_Destroy));
    PJRT_TopologyDescription_Create_Args bad =
        PJRT_INIT(TopologyDescription_Create, .topology_name = "v4:2x2", .topology_name_size = 6);
    assert_int_equal(code_of(api->TopologyDescription_Create(&bad), "v4:2x2"), PJRT_INVALID_ARGUMENT);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_limit),   cmocka_unit_test(test_block_reuse),
        cmocka_unit_test(test_many_blocks),    cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_two_replicas),   cmocka_unit_test(test_call_a_replica),
        cmocka_unit_test(test_two_partitions), cmocka_unit_test(test_out_of_host_memory),
        cmocka_unit_test(test_topology),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}