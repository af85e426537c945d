/* The plugin's table called directly, as no well-behaved client would: short structs, NULL handles, use after delete, strided memory, failures
 * that travel, memory limits. What a good client sees is tested through src/device (test_device_exec.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "pjrt/face.h"

const PJRT_Api *GetPjrtApi(void);
static const PJRT_Api *api;
static PJRT_Client *client;

/* The error's code; its message must mention `word` (NULL = any). Destroys it. */
static PJRT_Error_Code code_of(PJRT_Error *e, const char *word) {
    if (!e) return PJRT_OK;
    PJRT_Error_Message_Args m = PJRT_INIT(Error_Message, .error = e);
    api->Error_Message(&m);
    PJRT_Error_GetCode_Args c = PJRT_INIT(Error_GetCode, .error = e);
    assert_null(api->Error_GetCode(&c));
    char text[2000];
    snprintf(text, sizeof text, "%.*s", (int)m.message_size, m.message);
    if (word && !strstr(text, word)) fail_msg("'%s' does not mention '%s'", text, word);
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    api->Error_Destroy(&d);
    return c.code;
}
#define CALL(name, ...)                                                                                                                              \
    PJRT_##name##_Args name = PJRT_INIT(name, __VA_ARGS__);                                                                                          \
    assert_int_equal(code_of(api->name(&name), NULL), PJRT_OK)

static PJRT_Error_Code finish(PJRT_Event *e, const char *word) {
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = e);
    PJRT_Error_Code code = code_of(api->Event_Await(&w), word);
    CALL(Event_Destroy, .event = e);
    return code;
}

static PJRT_Error *upload_error(PJRT_Client_BufferFromHostBuffer_Args *a, PJRT_Buffer **out) {
    PJRT_Error *e = api->Client_BufferFromHostBuffer(a);
    if (e) return e;
    assert_int_equal(finish(a->done_with_host_buffer, NULL), PJRT_OK);
    *out = a->buffer;
    return NULL;
}

static PJRT_Buffer *upload4(const float v[4]) {
    PJRT_Buffer *b = NULL;
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = v, .type = PJRT_TYPE_F32, .dims = (int64_t[]){4}, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    return b;
}

static void destroy(PJRT_Buffer *b) {
    CALL(Buffer_Destroy, .buffer = b);
}

static void expect(PJRT_Buffer *b, size_t n, const float *want) {
    float got[16];
    CALL(Buffer_ToHostBuffer, .src = b, .dst = got, .dst_size = n * sizeof *got);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, want, n * sizeof *got);
}

/* w - g, with w's memory given to the result. */
static const char step[] = "module @step {\n"
                           "  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<4xf32>) -> tensor<4xf32> {\n"
                           "    %0 = stablehlo.subtract %w, %g : tensor<4xf32>\n"
                           "    return %0 : tensor<4xf32>\n"
                           "  }\n"
                           "}\n";
static const char one_device[] = "\x1a\x04\x20\x01\x28\x01";

static PJRT_LoadedExecutable *compile(PJRT_Client *c) {
    PJRT_Program p = {
        .struct_size = PJRT_SIZE_OF(PJRT_Program), .code = (char *)step, .code_size = sizeof step - 1, .format = "mlir", .format_size = 4};
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = one_device, .compile_options_size = 6);
    return Client_Compile.executable;
}

static PJRT_Error *execute(PJRT_LoadedExecutable *e, PJRT_Buffer *w, PJRT_Buffer *g, PJRT_Device *on, PJRT_Buffer **out, PJRT_Event **done) {
    PJRT_ExecuteOptions o = {.struct_size = PJRT_ExecuteOptions_BASE_SIZE};
    PJRT_Buffer **args[] = {(PJRT_Buffer *[]){w, g}}, **outs[] = {out};
    PJRT_LoadedExecutable_Execute_Args a =
        PJRT_INIT(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = args, .num_devices = 1, .num_args = 2,
                  .output_lists = outs, .device_complete_events = done, .execute_device = on);
    return api->LoadedExecutable_Execute(&a);
}

static PJRT_Client *create(const PJRT_NamedValue *v, size_t n) {
    CALL(Client_Create, .create_options = v, .num_options = n);
    return Client_Create.client;
}

static PJRT_NamedValue int_value(const char *name, int64_t v) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_INT64,
                             .int64_value = v,
                             .value_size = 1};
}

/* --- the table ------------------------------------------------------------------------------------------------------------------------- */
static void test_short_structs(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t offset, size;
    } slots[] = {
#define PJRT_FN(name, since, size, ...) {"PJRT_" #name, offsetof(PJRT_Api, name), size},
#define PJRT_FN_VOID(name, since, size, ...) {NULL, 0, 0},
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
    };
    for (size_t i = 0; i < BASE_COUNT(slots); i++) {
        if (!slots[i].name || strcmp(slots[i].name, "PJRT_Error_ForEachPayload") == 0) continue; /* must not fail, see error.c */
        PJRT_Error *(*f)(void *);
        memcpy(&f, (const char *)api + slots[i].offset, sizeof f);
        assert_non_null(f);
        PJRT_Any_Args a = {.struct_size = 8};
        PJRT_Error_Code code = code_of(f(&a), slots[i].name);
        assert_true(code == PJRT_INVALID_ARGUMENT || code == PJRT_UNIMPLEMENTED);
        assert_int_not_equal(code_of(f(NULL), slots[i].name), PJRT_OK);
    }
    PJRT_Error_ForEachPayload_Args p = {.struct_size = 0};
    assert_null(api->Error_ForEachPayload(&p));
}

static void test_null_handles(void **state) {
    (void)state;
    PJRT_Buffer_IsDeleted_Args b = PJRT_INIT(Buffer_IsDeleted);
    assert_int_equal(code_of(api->Buffer_IsDeleted(&b), "buffer is NULL"), PJRT_INVALID_ARGUMENT);
    PJRT_Event_Await_Args e = PJRT_INIT(Event_Await);
    assert_int_equal(code_of(api->Event_Await(&e), "event is NULL"), PJRT_INVALID_ARGUMENT);
    PJRT_Client_Compile_Args c = PJRT_INIT(Client_Compile, .client = client);
    assert_int_equal(code_of(api->Client_Compile(&c), "program"), PJRT_INVALID_ARGUMENT);
}

static void test_create_options(void **state) {
    (void)state;
    PJRT_NamedValue v[2] = {int_value("cpu_device_count", 3), int_value("colour", 1)};
    PJRT_Client_Create_Args bad = PJRT_INIT(Client_Create, .create_options = v, .num_options = 2);
    assert_int_equal(code_of(api->Client_Create(&bad), "colour"), PJRT_INVALID_ARGUMENT);
    v[1] = int_value("num_nodes", 2);
    assert_int_equal(code_of(api->Client_Create(&bad), "key-value"), PJRT_INVALID_ARGUMENT);
    v[0].int64_value = -1;
    bad.num_options = 1;
    assert_int_equal(code_of(api->Client_Create(&bad), "cpu_device_count is -1"), PJRT_INVALID_ARGUMENT);
    v[0] = (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = "cpu_device_count",
                             .name_size = 16,
                             .type = PJRT_VALUE_STRING,
                             .string_value = "three",
                             .value_size = 5};
    assert_int_equal(code_of(api->Client_Create(&bad), "no whole number"), PJRT_INVALID_ARGUMENT);
    v[0].string_value = "3";
    v[0].value_size = 1;
    PJRT_Client *c = create(v, 1);
    CALL(Client_AddressableDevices, .client = c);
    assert_int_equal(Client_AddressableDevices.num_addressable_devices, 3);
    PJRT_Client_LookupDevice_Args l = PJRT_INIT(Client_LookupDevice, .client = c, .id = 3);
    assert_int_equal(code_of(api->Client_LookupDevice(&l), "no device 3"), PJRT_NOT_FOUND);
    CALL(Client_Destroy, .client = c);
}

/* --- host memory ------------------------------------------------------------------------------------------------------------------------- */
static void test_strides(void **state) {
    (void)state;
    const float column_major[] = {1, 4, 2, 5, 3, 6}, rows[] = {1, 2, 3, 4, 5, 6}, reversed[] = {6, 5, 4, 3, 2, 1};
    int64_t dims[] = {2, 3}, fortran[] = {4, 8}, backwards[] = {-12, -4};
    PJRT_Buffer *b = NULL;
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = column_major, .type = PJRT_TYPE_F32, .dims = dims, .num_dims = 2,
                  .byte_strides = fortran, .num_byte_strides = 2, .host_buffer_semantics = PJRT_HOST_ZERO_COPY);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK); /* not dense: copied, so the event is set at once */
    expect(b, 6, rows);
    float got[6];
    PJRT_Buffer_MemoryLayout layout = {
        .struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
        .type = PJRT_LAYOUT_TILED,
        .tiled = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Tiled), .minor_to_major = (int64_t[]){0, 1}, .minor_to_major_size = 2}};
    CALL(Buffer_ToHostBuffer, .src = b, .host_layout = &layout, .dst = got, .dst_size = sizeof got);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, column_major, sizeof got);
    layout.tiled.minor_to_major = (int64_t[]){1, 1};
    PJRT_Buffer_ToHostBuffer_Args wrong = PJRT_INIT(Buffer_ToHostBuffer, .src = b, .host_layout = &layout, .dst = got, .dst_size = sizeof got);
    assert_int_equal(code_of(api->Buffer_ToHostBuffer(&wrong), "permutation"), PJRT_INVALID_ARGUMENT);
    wrong.host_layout = NULL;
    wrong.dst_size = 23;
    assert_int_equal(code_of(api->Buffer_ToHostBuffer(&wrong), "24 bytes"), PJRT_INVALID_ARGUMENT);
    wrong.dst = NULL;
    assert_null(api->Buffer_ToHostBuffer(&wrong));
    assert_int_equal(wrong.dst_size, 24);
    destroy(b);
    a.data = rows + 5;
    a.byte_strides = backwards;
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    expect(b, 6, reversed);
    destroy(b);
    a.num_byte_strides = 1;
    assert_int_equal(code_of(upload_error(&a, &b), "strides"), PJRT_INVALID_ARGUMENT);
    a.num_byte_strides = 0;
    dims[0] = -1;
    assert_int_equal(code_of(upload_error(&a, &b), "dim 0"), PJRT_INVALID_ARGUMENT);
    a.type = (PJRT_Buffer_Type)99;
    assert_int_equal(code_of(upload_error(&a, &b), "99"), PJRT_INVALID_ARGUMENT);
}

static void test_zero_copy(void **state) {
    (void)state;
    float *data = base_aligned(64, 64);
    for (int i = 0; i < 4; i++) data[i] = (float)i;
    CALL(Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_TYPE_F32, .dims = (int64_t[]){4}, .num_dims = 1,
         .host_buffer_semantics = PJRT_HOST_ZERO_COPY);
    PJRT_Buffer *b = Client_BufferFromHostBuffer.buffer;
    CALL(Buffer_UnsafePointer, .buffer = b);
    assert_int_equal(Buffer_UnsafePointer.buffer_pointer, (uintptr_t)data);
    CALL(Event_IsReady, .event = Client_BufferFromHostBuffer.done_with_host_buffer);
    assert_false(Event_IsReady.is_ready); /* the memory is in use */
    destroy(b);
    assert_null(api->Event_IsReady(&Event_IsReady));
    assert_true(Event_IsReady.is_ready);
    CALL(Event_Destroy, .event = Client_BufferFromHostBuffer.done_with_host_buffer);
    base_free(data);
}

/* --- deletion, donation, references --------------------------------------------------------------------------------------------------------- */
static void test_use_after_delete(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *b = upload4((float[]){1, 2, 3, 4}), *g = upload4((float[]){1, 1, 1, 1}), *out;
    CALL(Buffer_Delete, .buffer = b);
    assert_null(api->Buffer_Delete(&Buffer_Delete)); /* twice is fine */
    CALL(Buffer_IsDeleted, .buffer = b);
    assert_true(Buffer_IsDeleted.is_deleted);
    CALL(Buffer_Dimensions, .buffer = b); /* what it was is still known */
    assert_int_equal(Buffer_Dimensions.dims[0], 4);
    float got[4];
    PJRT_Buffer_ToHostBuffer_Args r = PJRT_INIT(Buffer_ToHostBuffer, .src = b, .dst = got, .dst_size = sizeof got);
    assert_int_equal(code_of(api->Buffer_ToHostBuffer(&r), "deleted"), PJRT_FAILED_PRECONDITION);
    PJRT_Buffer_UnsafePointer_Args u = PJRT_INIT(Buffer_UnsafePointer, .buffer = b);
    assert_int_equal(code_of(api->Buffer_UnsafePointer(&u), "deleted"), PJRT_FAILED_PRECONDITION);
    CALL(Buffer_ReadyEvent, .buffer = b);
    assert_int_equal(finish(Buffer_ReadyEvent.event, "deleted"), PJRT_FAILED_PRECONDITION);
    assert_int_equal(code_of(execute(e, g, b, NULL, &out, NULL), "input 1"), PJRT_INVALID_ARGUMENT);
    Buffer_IsDeleted.buffer = g;
    assert_null(api->Buffer_IsDeleted(&Buffer_IsDeleted));
    assert_false(Buffer_IsDeleted.is_deleted); /* refused before anything was donated */
    destroy(b);
    CALL(LoadedExecutable_Delete, .executable = e);
    assert_int_equal(code_of(execute(e, g, g, NULL, &out, NULL), "deleted"), PJRT_FAILED_PRECONDITION);
    destroy(g);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_donation_of_a_viewed_buffer(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){5, 6, 7, 8}), *g = upload4((float[]){1, 1, 1, 1}), *out;
    CALL(Buffer_IncreaseExternalReferenceCount, .buffer = w);
    CALL(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = w);
    const float *view = Buffer_OpaqueDeviceMemoryDataPointer.device_memory_ptr;
    assert_int_equal(code_of(execute(e, w, g, NULL, &out, NULL), NULL), PJRT_OK);
    expect(out, 4, (float[]){4, 5, 6, 7});
    CALL(Buffer_IsDeleted, .buffer = w);
    assert_true(Buffer_IsDeleted.is_deleted);
    assert_true(view[0] == 5 && view[3] == 8); /* the view's bytes were left alone */
    CALL(Buffer_DecreaseExternalReferenceCount, .buffer = w);
    assert_int_equal(code_of(api->Buffer_DecreaseExternalReferenceCount(&Buffer_DecreaseExternalReferenceCount), "no external"),
                     PJRT_FAILED_PRECONDITION);
    destroy(w), destroy(g), destroy(out);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_in_place(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){5, 6, 7, 8}), *g = upload4((float[]){1, 1, 1, 1}), *out;
    CALL(Buffer_UnsafePointer, .buffer = w);
    assert_int_equal(code_of(execute(e, w, g, NULL, &out, NULL), NULL), PJRT_OK);
    uintptr_t before = Buffer_UnsafePointer.buffer_pointer;
    Buffer_UnsafePointer.buffer = out;
    assert_null(api->Buffer_UnsafePointer(&Buffer_UnsafePointer));
    assert_int_equal(Buffer_UnsafePointer.buffer_pointer, before); /* the donated memory is the result's */
    expect(out, 4, (float[]){4, 5, 6, 7});
    destroy(w), destroy(g), destroy(out);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

/* --- events and failures ------------------------------------------------------------------------------------------------------------------------ */
static void count_call(PJRT_Error *e, void *user) {
    atomic_fetch_add((atomic_int *)user, code_of(e, NULL) == PJRT_OK ? 1 : 100);
}

static void test_event_outlives_its_handle(void **state) {
    (void)state;
    atomic_int calls = 0;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){0, 0, 0, 0}), *g = upload4((float[]){1, 1, 1, 1});
    enum { N = 50 };
    assert_true(face_executor_borrow(client->mine[0])); /* what is enqueued waits: so small a program would run at once */
    for (int i = 0; i < N; i++) {
        PJRT_Buffer *out;
        PJRT_Event *done;
        assert_int_equal(code_of(execute(e, w, g, NULL, &out, &done), NULL), PJRT_OK);
        CALL(Event_OnReady, .event = done, .callback = count_call, .user_arg = &calls);
        assert_false(face_event_is_ready(done));
        CALL(Event_Destroy, .event = done); /* before it is set */
        destroy(w);
        w = out;
    }
    assert_int_equal(calls, 0);
    face_executor_give_back(client->mine[0]);
    expect(w, 4, (float[]){-N, -N, -N, -N});
    destroy(w), destroy(g);
    CALL(LoadedExecutable_Destroy, .executable = e);
    PJRT_Client *other = create(NULL, 0); /* a client's end waits for its executors; ours is shared, so wait for the count */
    CALL(Client_Destroy, .client = other);
    for (int i = 0; i < 100000 && atomic_load(&calls) < N; i++) sched_yield();
    assert_int_equal(atomic_load(&calls), N);
}

/* A program of a microsecond runs on the caller's thread, unless the device has something else to do. */
static void test_tiny_runs_here(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){4, 4, 4, 4}), *g = upload4((float[]){1, 1, 1, 1}), *first, *second;
    PJRT_Event *done[2];
    for (int i = 0; !face_executor_borrow(client->mine[0]); i++) { /* tests before this one may have left something in the queue */
        assert_true(i < 1000000);
        sched_yield();
    }
    face_executor_give_back(client->mine[0]);
    assert_int_equal(code_of(execute(e, w, g, NULL, &first, &done[0]), NULL), PJRT_OK);
    assert_true(face_event_is_ready(done[0]));
    assert_true(face_executor_borrow(client->mine[0]));
    assert_int_equal(code_of(execute(e, first, g, NULL, &second, &done[1]), NULL), PJRT_OK);
    assert_false(face_event_is_ready(done[1]));
    face_executor_give_back(client->mine[0]);
    expect(second, 4, (float[]){2, 2, 2, 2});
    for (int i = 0; i < 2; i++) assert_int_equal(finish(done[i], NULL), PJRT_OK);
    destroy(w), destroy(g), destroy(first), destroy(second);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_client_event(void **state) {
    (void)state;
    atomic_int calls = 0;
    CALL(Event_Create, .event = NULL);
    PJRT_Event *e = Event_Create.event;
    CALL(Event_OnReady, .event = e, .callback = count_call, .user_arg = &calls);
    assert_int_equal(calls, 0);
    PJRT_Event_Error_Args early = PJRT_INIT(Event_Error, .event = e);
    assert_int_equal(code_of(api->Event_Error(&early), "not ready"), PJRT_FAILED_PRECONDITION);
    CALL(Event_Set, .event = e, .error_code = PJRT_ABORTED, .error_message = "stopped", .error_message_size = 7);
    assert_int_equal(calls, 100);
    assert_int_equal(code_of(api->Event_Set(&Event_Set), "already"), PJRT_FAILED_PRECONDITION);
    assert_int_equal(code_of(api->Event_Error(&early), "stopped"), PJRT_ABORTED);
    assert_int_equal(finish(e, "stopped"), PJRT_ABORTED);
}

static void test_poison(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    CALL(Client_CreateErrorBuffer, .client = client, .error_code = PJRT_DATA_LOSS, .error_message = "the disk ate it", .error_message_size = 15,
         .shape_dims = (int64_t[]){4}, .shape_num_dims = 1, .shape_element_type = PJRT_TYPE_F32);
    PJRT_Buffer *bad = Client_CreateErrorBuffer.buffer, *g = upload4((float[]){1, 1, 1, 1}), *first, *second;
    PJRT_Event *done[2];
    assert_int_equal(code_of(execute(e, g, bad, NULL, &first, &done[0]), NULL), PJRT_OK); /* the failure comes later */
    PJRT_Buffer *g2 = upload4((float[]){1, 1, 1, 1});
    assert_int_equal(code_of(execute(e, first, g2, NULL, &second, &done[1]), NULL), PJRT_OK);
    assert_int_equal(finish(done[0], "ate it"), PJRT_DATA_LOSS);
    assert_int_equal(finish(done[1], "ate it"), PJRT_DATA_LOSS);
    float got[4];
    CALL(Buffer_ToHostBuffer, .src = second, .dst = got, .dst_size = sizeof got);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, "ate it"), PJRT_DATA_LOSS);
    CALL(Buffer_ReadyEvent, .buffer = second);
    assert_int_equal(finish(Buffer_ReadyEvent.event, "input 0"), PJRT_DATA_LOSS);
    destroy(bad), destroy(g), destroy(g2), destroy(first), destroy(second);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_wrong_arguments(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *g = upload4((float[]){1, 1, 1, 1}), *scalar = NULL, *out;
    float one = 1;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = &one, .type = PJRT_TYPE_F32);
    assert_int_equal(code_of(upload_error(&a, &scalar), NULL), PJRT_OK);
    assert_int_equal(code_of(execute(e, g, scalar, NULL, &out, NULL), "tensor<f32>; the program takes tensor<4xf32>"), PJRT_INVALID_ARGUMENT);
    assert_int_equal(code_of(execute(e, g, NULL, NULL, &out, NULL), "NULL"), PJRT_INVALID_ARGUMENT);
    PJRT_LoadedExecutable_Execute_Args x = PJRT_INIT(LoadedExecutable_Execute, .executable = e, .num_devices = 2);
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&x), "2 argument lists"), PJRT_INVALID_ARGUMENT);
    x.num_devices = 1;
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&x), "takes 2 inputs"), PJRT_INVALID_ARGUMENT);
    x.num_args = 2;
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&x), "NULL"), PJRT_INVALID_ARGUMENT);
    destroy(g), destroy(scalar);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_compile_options(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } rows[] = {
        {"\x1a\x05\x20\x01", 4, "no CompileOptionsProto"},
        {"\x1a\x04\x20\x03\x28\x01", 6, "3 replicas"}, /* more than there are devices */
        {"\x1a\x0d\x20\x01\x28\x01\x4a\x07\x1a\x05\x0a\x03\x00\x01\x02", 15, "assigns 3"}, /* ids for three, program for one */
        {"\x1a\x0b\x20\x01\x28\x01\x4a\x05\x1a\x03\x0a\x01\x09", 13, "device 9"},
    };
    PJRT_Program p = {
        .struct_size = PJRT_SIZE_OF(PJRT_Program), .code = (char *)step, .code_size = sizeof step - 1, .format = "mlir", .format_size = 4};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        PJRT_Client_Compile_Args a =
            PJRT_INIT(Client_Compile, .client = client, .program = &p, .compile_options = rows[i].bytes, .compile_options_size = rows[i].size);
        assert_int_equal(code_of(api->Client_Compile(&a), i == 2 ? "3 devices" : rows[i].word), PJRT_INVALID_ARGUMENT);
    }
    PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = client, .program = &p, .compile_options = one_device, .compile_options_size = 6);
    p.format_size = 3;
    assert_int_equal(code_of(api->Client_Compile(&a), "'mli'"), PJRT_INVALID_ARGUMENT);
}

static void test_executable(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    PJRT_Executable *x = LoadedExecutable_GetExecutable.executable;
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program), .code_size = 12345};
    CALL(Executable_OptimizedProgram, .executable = x, .program = &p);
    assert_true(p.code_size > 0 && p.code_size != 12345 && memcmp(p.format, "mlir", 4) == 0);
    p.code = base_malloc(p.code_size);
    assert_null(api->Executable_OptimizedProgram(&Executable_OptimizedProgram));
    assert_non_null(memchr(p.code, '@', p.code_size));
    base_free(p.code);
    CALL(LoadedExecutable_GetDeviceAssignment, .executable = e);
    assert_int_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes_size, 9);
    assert_memory_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes, "\x08\x01\x10\x01\x1a\x03\x0a\x01\x00", 9);
    LoadedExecutable_GetDeviceAssignment.serialized_device_assignment_deleter(LoadedExecutable_GetDeviceAssignment.serialized_device_assignment);
    CALL(Executable_Serialize, .executable = x);
    size_t n = Executable_Serialize.serialized_bytes_size;
    char *copy = base_malloc(n);
    memcpy(copy, Executable_Serialize.serialized_bytes, n);
    Executable_Serialize.serialized_executable_deleter(Executable_Serialize.serialized_executable);
    CALL(Executable_DeserializeAndLoad, .client = client, .serialized_executable = copy, .serialized_executable_size = n);
    CALL(LoadedExecutable_Fingerprint, .executable = Executable_DeserializeAndLoad.loaded_executable);
    CALL(Executable_Fingerprint, .executable = x);
    assert_memory_equal(Executable_Fingerprint.executable_fingerprint, LoadedExecutable_Fingerprint.executable_fingerprint, 32);
    CALL(LoadedExecutable_Destroy, .executable = Executable_DeserializeAndLoad.loaded_executable);
    for (size_t at = 0; at < n; at += n / 17 + 1) { /* every kind of damage is seen */
        copy[at] ^= 0x10;
        PJRT_Executable_DeserializeAndLoad_Args d = Executable_DeserializeAndLoad;
        PJRT_Error *damage = api->Executable_DeserializeAndLoad(&d);
        if (damage)
            code_of(damage, NULL);
        else
            api->LoadedExecutable_Destroy(
                &(PJRT_LoadedExecutable_Destroy_Args)PJRT_INIT(LoadedExecutable_Destroy, .executable = d.loaded_executable));
        copy[at] ^= 0x10;
        d.serialized_executable_size = at;
        assert_int_not_equal(code_of(api->Executable_DeserializeAndLoad(&d), NULL), PJRT_OK);
    }
    base_free(copy);
    CALL(Executable_Destroy, .executable = x);
    assert_null(api->LoadedExecutable_Destroy(&(PJRT_LoadedExecutable_Destroy_Args)PJRT_INIT(LoadedExecutable_Destroy, .executable = e)));
}

/* --- devices and memory ------------------------------------------------------------------------------------------------------------------------- */
static void test_memory_limit(void **state) {
    (void)state;
    setenv("XT_MEMORY_LIMIT", "1000", 1);
    PJRT_Client *c = create(NULL, 0), *usual = client;
    unsetenv("XT_MEMORY_LIMIT");
    client = c;
    PJRT_LoadedExecutable *e = compile(c);
    float big[200] = {0};
    PJRT_Buffer *b, *more = NULL;
    int64_t dim = 200;
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = big, .type = PJRT_TYPE_F32, .dims = &dim, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    assert_int_equal(code_of(upload_error(&a, &more), "XT_MEMORY_LIMIT"), PJRT_RESOURCE_EXHAUSTED);
    destroy(b);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK); /* usable again */
    CALL(Client_AddressableDevices, .client = c);
    CALL(Device_MemoryStats, .device = Client_AddressableDevices.addressable_devices[0]);
    assert_int_equal(Device_MemoryStats.bytes_in_use, 800);
    assert_int_equal(Device_MemoryStats.bytes_limit, 1000);
    assert_true(Device_MemoryStats.bytes_limit_is_set && Device_MemoryStats.peak_bytes_in_use == 800 && !Device_MemoryStats.pool_bytes_is_set);
    /* 800 + 12 * 16 leave no room for a result of 16 that takes nobody's place */
    PJRT_Buffer *small[12], *out;
    for (int i = 0; i < 12; i++) small[i] = upload4((float[]){1, 1, 1, 1});
    PJRT_Event *done;
    PJRT_ExecuteOptions o = {
        .struct_size = PJRT_SIZE_OF(PJRT_ExecuteOptions), .non_donatable_input_indices = (int64_t[]){0}, .num_non_donatable_input_indices = 1};
    CALL(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = (PJRT_Buffer * *[]){small}, .num_devices = 1, .num_args = 2,
         .output_lists = (PJRT_Buffer * *[]){&out}, .device_complete_events = &done);
    assert_int_equal(finish(done, "XT_MEMORY_LIMIT"), PJRT_RESOURCE_EXHAUSTED);
    CALL(Buffer_IsDeleted, .buffer = small[0]);
    assert_false(Buffer_IsDeleted.is_deleted);
    destroy(out);
    assert_int_equal(code_of(execute(e, small[0], small[1], NULL, &out, &done), NULL), PJRT_OK); /* in place there is room */
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
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_TYPE_PRED, .dims = &dim, .num_dims = 1);
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

/* One process, two devices, one replica each: the executors really run at the same time, or the sum would never come. */
static void test_two_replicas(void **state) {
    (void)state;
    static const char sum[] = "module @sum {\n"
                              "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                              "    %0 = \"stablehlo.all_reduce\"(%x) ({\n"
                              "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                              "      %1 = stablehlo.add %a, %b : tensor<f32>\n"
                              "      stablehlo.return %1 : tensor<f32>\n"
                              "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n"
                              "    return %0 : tensor<2xf32>\n"
                              "  }\n"
                              "}\n";
    PJRT_NamedValue two = int_value("cpu_device_count", 2);
    PJRT_Client *c = create(&two, 1);
    CALL(Client_AddressableDevices, .client = c);
    PJRT_Program p = {
        .struct_size = PJRT_SIZE_OF(PJRT_Program), .code = (char *)sum, .code_size = sizeof sum - 1, .format = "mlir", .format_size = 4};
    /* replicas 2, partitions 1, assignment {2, 1, [0, 1]}: zeros are bytes like others */
    static const char options[] = "\x1a\x10\x20\x02\x28\x01\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02\x00\x01";
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = options, .compile_options_size = sizeof options - 1);
    PJRT_LoadedExecutable *e = Client_Compile.executable;
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    CALL(Executable_GetCompileOptions, .executable = LoadedExecutable_GetExecutable.executable);
    assert_int_equal(Executable_GetCompileOptions.serialized_bytes_size, sizeof options - 1);
    assert_memory_equal(Executable_GetCompileOptions.serialized_bytes, options, sizeof options - 1);
    CALL(Executable_Destroy, .executable = LoadedExecutable_GetExecutable.executable);
    CALL(LoadedExecutable_GetDeviceAssignment, .executable = e);
    assert_int_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes_size, 10);
    assert_memory_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes, options + 8, 10);
    LoadedExecutable_GetDeviceAssignment.serialized_device_assignment_deleter(LoadedExecutable_GetDeviceAssignment.serialized_device_assignment);
    CALL(LoadedExecutable_AddressableDeviceLogicalIds, .executable = e);
    assert_int_equal(LoadedExecutable_AddressableDeviceLogicalIds.num_addressable_device_logical_ids, 2);
    assert_int_equal(LoadedExecutable_AddressableDeviceLogicalIds.addressable_device_logical_ids[1].replica, 1);
    PJRT_Buffer *in[2], *out[2];
    PJRT_Event *done[2];
    for (int i = 0; i < 2; i++) {
        float data[] = {(float)i + 1, 10};
        int64_t dim = 2;
        PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = data, .type = PJRT_TYPE_F32,
                                                            .dims = &dim, .num_dims = 1, .device = Client_AddressableDevices.addressable_devices[i]);
        assert_int_equal(code_of(upload_error(&a, &in[i]), NULL), PJRT_OK);
    }
    CALL(LoadedExecutable_Execute, .executable = e, .argument_lists = (PJRT_Buffer * *[]){&in[0], &in[1]}, .num_devices = 2, .num_args = 1,
         .output_lists = (PJRT_Buffer * *[]){&out[0], &out[1]}, .device_complete_events = done);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(finish(done[i], NULL), PJRT_OK);
        expect(out[i], 2, (float[]){3, 20});
        destroy(in[i]), destroy(out[i]);
    }
    CALL(LoadedExecutable_Destroy, .executable = e);
    CALL(Client_Destroy, .client = c);
}

/* One program for both devices, with shardings: each device has its half of the argument and of the result. */
static void test_two_partitions(void **state) {
    (void)state;
    static const char text[] = "module @halves attributes {mhlo.num_partitions = 2 : i32} {\n"
                               "  func.func public @main(%x: tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}) -> (tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}, tensor<f32>) {\n"
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
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program), .code = (char *)text, .code_size = sizeof text - 1, .format = "mlir", .format_size = 4};
    /* replicas 1, partitions 2, use_spmd_partitioning, assignment {1, 2, [0], [1]} */
    static const char options[] = "\x1a\x16\x20\x01\x28\x02\x30\x01\x4a\x0e\x08\x01\x10\x02\x1a\x03\x0a\x01\x00\x1a\x03\x0a\x01\x01";
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = options, .compile_options_size = sizeof options - 1);
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
        PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = c, .data = data, .type = PJRT_TYPE_F32, .dims = &dim, .num_dims = 1,
                                                            .device = Client_AddressableDevices.addressable_devices[i]);
        assert_int_equal(code_of(upload_error(&a, &in[i]), NULL), PJRT_OK);
    }
    CALL(LoadedExecutable_Execute, .executable = e, .argument_lists = (PJRT_Buffer * *[]){&in[0], &in[1]}, .num_devices = 2, .num_args = 1, .output_lists = (PJRT_Buffer * *[]){out[0], out[1]},
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
        PJRT_Client_BufferFromHostBuffer_Args a =
            PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_TYPE_F32, .dims = &dim, .num_dims = 1);
        ok = code_of(upload_error(&a, &b[i]), NULL) == PJRT_OK;
    }
    PJRT_Event *done = NULL;
    ok = ok && code_of(execute(e, b[0], b[1], NULL, &b[2], &done), NULL) == PJRT_OK;
    if (ok) {
        PJRT_Buffer_ToHostBuffer_Args r = PJRT_INIT(Buffer_ToHostBuffer, .src = b[2], .dst = got, .dst_size = sizeof got);
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
    PJRT_Program p = {
        .struct_size = PJRT_SIZE_OF(PJRT_Program), .code = (char *)step, .code_size = sizeof step - 1, .format = "mlir", .format_size = 4};
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
    PJRT_TopologyDescription_Create_Args bad = PJRT_INIT(TopologyDescription_Create, .topology_name = "v4:2x2", .topology_name_size = 6);
    assert_int_equal(code_of(api->TopologyDescription_Create(&bad), "v4:2x2"), PJRT_INVALID_ARGUMENT);
}

static int open_client(void **state) {
    (void)state;
    unsetenv("CPU_NUM_DEVICES");
    client = create(NULL, 0);
    return 0;
}

static int close_client(void **state) {
    (void)state;
    CALL(Client_Destroy, .client = client);
    static const char *const kinds[] = {"plugin_client", "plugin_buffer", "plugin_executable", "plugin_event"};
    int left = 0;
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (xt_live_objects(kinds[i])) print_error("%lld of %s are left\n", (long long)xt_live_objects(kinds[i]), kinds[i]), left++;
    return left;
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_structs),
        cmocka_unit_test(test_null_handles),
        cmocka_unit_test(test_create_options),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_zero_copy),
        cmocka_unit_test(test_use_after_delete),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_donation_of_a_viewed_buffer),
        cmocka_unit_test(test_event_outlives_its_handle),
        cmocka_unit_test(test_tiny_runs_here),
        cmocka_unit_test(test_client_event),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_compile_options),
        cmocka_unit_test(test_executable),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_block_reuse),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_two_replicas), cmocka_unit_test(test_two_partitions),
        cmocka_unit_test(test_out_of_host_memory),
        cmocka_unit_test(test_topology),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
