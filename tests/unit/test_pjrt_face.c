/* The plugin's table called directly, as no well-behaved client would: short structs, NULL handles, use after delete,
 * strided memory, failures that travel (memory and several devices: test_pjrt_devices.c). What a good client sees is
 * tested through src/device (test_device_exec.c). */
#include "pjrt_calls.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "cpu/run/plan.h"
#include "ir/host_function.h"

/* --- the table --- */
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
        /* must not fail, see error.c */
        if (!slots[i].name || strcmp(slots[i].name, "PJRT_Error_ForEachPayload") == 0) continue;
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

static void platform_is(const char *listed, const char *want) {
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", listed, 1);
    PJRT_Client *c = create(NULL, 0);
    unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
    CALL(Client_PlatformName, .client = c);
    assert_int_equal(Client_PlatformName.platform_name_size, strlen(want));
    assert_memory_equal(Client_PlatformName.platform_name, want, strlen(want));
    CALL(Client_Destroy, .client = c);
}

/* JAX's list of plugins: a client is called what its library is called there. */
static void test_platform_names(void **state) {
    (void)state;
    char listed[4 * PATH_MAX], self[PATH_MAX];
    Dl_info here; /* this program, or the library of the insides under sanitizers */
    assert_true(dladdr(api, &here) && realpath(here.dli_fname, self));
    snprintf(listed, sizeof listed, "cpu:%s", self);
    platform_is(listed, "cpu");
    snprintf(listed, sizeof listed, "one:/nowhere,two:,three,:%s,mine:%s,last:%s", self, self, self);
    platform_is(listed, "mine");
    platform_is("one:/nowhere", "xtrain_cpu");
    snprintf(listed, sizeof listed,
             "a_name_that_is_longer_than_any_platform_has_a_name_that_is_longer_than_any_platform_has:%s", self);
    platform_is(listed, "xtrain_cpu");
}

/* --- host memory --- */
static void test_strides(void **state) {
    (void)state;
    const float column_major[] = {1, 4, 2, 5, 3, 6}, rows[] = {1, 2, 3, 4, 5, 6}, reversed[] = {6, 5, 4, 3, 2, 1};
    int64_t dims[] = {2, 3}, fortran[] = {4, 8}, backwards[] = {-12, -4};
    PJRT_Buffer *b = NULL;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(
        Client_BufferFromHostBuffer, .client = client, .data = column_major, .type = PJRT_TYPE_F32, .dims = dims,
        .num_dims = 2, .byte_strides = fortran, .num_byte_strides = 2, .host_buffer_semantics = PJRT_HOST_ZERO_COPY);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK); /* not dense: copied, so the event is set at once */
    expect(b, 6, rows);
    float got[6];
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
                                       .type = PJRT_LAYOUT_TILED,
                                       .tiled = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Tiled),
                                                 .minor_to_major = (int64_t[]){0, 1},
                                                 .minor_to_major_size = 2}};
    CALL(Buffer_ToHostBuffer, .src = b, .host_layout = &layout, .dst = got, .dst_size = sizeof got);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, column_major, sizeof got);
    layout.tiled.minor_to_major = (int64_t[]){1, 1};
    PJRT_Buffer_ToHostBuffer_Args wrong =
        PJRT_INIT(Buffer_ToHostBuffer, .src = b, .host_layout = &layout, .dst = got, .dst_size = sizeof got);
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
    CALL(Client_BufferFromHostBuffer, .client = client, .data = data, .type = PJRT_TYPE_F32, .dims = (int64_t[]){4},
         .num_dims = 1, .host_buffer_semantics = PJRT_HOST_ZERO_COPY);
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

/* --- deletion, donation, references --- */
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
    assert_int_equal(
        code_of(api->Buffer_DecreaseExternalReferenceCount(&Buffer_DecreaseExternalReferenceCount), "no external"),
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

/* --- events and failures --- */
static void count_call(PJRT_Error *e, void *user) {
    atomic_fetch_add((atomic_int *)user, code_of(e, NULL) == PJRT_OK ? 1 : 100);
}

static void test_event_outlives_its_handle(void **state) {
    (void)state;
    atomic_int calls = 0;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){0, 0, 0, 0}), *g = upload4((float[]){1, 1, 1, 1});
    enum { N = 50 };
    /* what is enqueued waits: so small a program would run at once */
    assert_true(face_executor_borrow(client->mine[0]));
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
    /* a client's end waits for its executors; ours is shared, so wait for the count */
    PJRT_Client *other = create(NULL, 0);
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
    for (int i = 0; !face_executor_borrow(client->mine[0]); i++) {
        /* tests before this one may have left something in the queue */
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

/* So does one whose runs were brief, with the device's own threads, once a run has shown that. */
static void test_brief_runs_here(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    cpu_exec *exec = e->program->exec;
    PJRT_Buffer *w = upload4((float[]){4, 4, 4, 4}), *g = upload4((float[]){1, 1, 1, 1}), *out;
    PJRT_Event *done;
    exec->tiny = false;
    assert_int_equal(cpu_exec_usual_ns(exec), 0);
    for (int i = 0; i < 20; i++) {
        while (!face_executor_borrow(client->mine[0])) sched_yield(); /* it is idle a moment after the event */
        face_executor_give_back(client->mine[0]);
        if (i == 10) atomic_store(&exec->usual_ns, 1);
        assert_int_equal(code_of(execute(e, w, g, NULL, &out, &done), NULL), PJRT_OK);
        if (i == 10) assert_true(face_event_is_ready(done));
        assert_int_equal(finish(done, NULL), PJRT_OK);
        assert_true(atomic_load(&exec->usual_ns) > 0);
        expect(out, 4, (float[]){3 - (float)i, 3 - (float)i, 3 - (float)i, 3 - (float)i});
        destroy(w);
        w = out;
    }
    /* One that takes longer does where the client waits for what it starts. */
    PJRT_Device *d = client->mine[0];
    atomic_store(&d->awaited, false);
    atomic_store(&d->turns, 0);
    atomic_store(&exec->usual_ns, 50000);
    assert_int_equal(code_of(execute(e, w, g, NULL, &out, &done), NULL), PJRT_OK);
    assert_int_equal(atomic_load(&d->turns), 0);
    assert_int_equal(finish(done, NULL), PJRT_OK);
    destroy(w), w = out;
    while (!face_executor_borrow(d)) sched_yield(); /* what is enqueued waits */
    atomic_store(&d->awaited, false);
    PJRT_Error_Code code = code_of(execute(e, w, g, NULL, &out, &done), NULL);
    bool before = atomic_load(&d->awaited);
    CALL(Buffer_ReadyEvent, .buffer = out);
    bool after = atomic_load(&d->awaited);
    face_executor_give_back(d);
    assert_int_equal(code, PJRT_OK);
    assert_false(before);
    assert_true(after);
    assert_int_equal(finish(Buffer_ReadyEvent.event, NULL), PJRT_OK);
    assert_int_equal(finish(done, NULL), PJRT_OK);
    destroy(w), w = out;
    while (!face_executor_borrow(d)) sched_yield();
    face_executor_give_back(d);
    atomic_store(&exec->usual_ns, 50000);
    atomic_store(&d->turns, 0);
    atomic_store(&d->awaited, true);
    assert_int_equal(code_of(execute(e, w, g, NULL, &out, &done), NULL), PJRT_OK);
    assert_true(face_event_is_ready(done));
    assert_true(atomic_load(&d->turns) > 0);
    assert_false(atomic_load(&d->awaited));
    assert_int_equal(finish(done, NULL), PJRT_OK);
    destroy(out), destroy(w), destroy(g);
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
    CALL(Client_CreateErrorBuffer, .client = client, .error_code = PJRT_DATA_LOSS, .error_message = "the disk ate it",
         .error_message_size = 15, .shape_dims = (int64_t[]){4}, .shape_num_dims = 1,
         .shape_element_type = PJRT_TYPE_F32);
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

/* Ordered effects: JAX begins the chain with an array of no elements and hands on the tokens it gets. */
static void test_tokens(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile_text(
        client,
        "module @chain {\n"
        "  func.func public @main(%t: !stablehlo.token, %x: tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>) {\n"
        "    %0 = stablehlo.after_all %t : !stablehlo.token\n"
        "    %1 = stablehlo.add %x, %x : tensor<4xf32>\n"
        "    return %0, %1 : !stablehlo.token, tensor<4xf32>\n"
        "  }\n"
        "}\n");
    PJRT_Buffer *none = NULL, *x = upload4((float[]){1, 2, 3, 4}), *first[2], *second[2];
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = "",
                                                        .type = PJRT_TYPE_PRED, .dims = (int64_t[]){0}, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, &none), NULL), PJRT_OK);
    assert_int_equal(code_of(execute(e, none, x, NULL, first, NULL), NULL), PJRT_OK);
    assert_int_equal(code_of(execute(e, first[0], first[1], NULL, second, NULL), NULL), PJRT_OK);
    expect(second[1], 4, (float[]){4, 8, 12, 16});
    CALL(Buffer_ElementType, .buffer = second[0]);
    assert_int_equal(Buffer_ElementType.type, (PJRT_Buffer_Type)XT_TOKEN);
    PJRT_Buffer *out[2];
    assert_int_equal(code_of(execute(e, x, x, NULL, out, NULL), "takes !stablehlo.token"), PJRT_INVALID_ARGUMENT);
    for (int i = 0; i < 2; i++) destroy(first[i]), destroy(second[i]);
    destroy(none), destroy(x);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

typedef struct host_array { /* as src/cpu/kernel/callback.c hands it */
    void *data;
    const int64_t *dims;
    int32_t rank, dtype;
} host_array;

/* Doubles; its second call fails. */
static int called_back(int64_t id, int n_in, const host_array *in, int n_out, const host_array *out, char *error,
                       size_t error_size) {
    static int calls;
    assert_true(id == 7 && n_in == 1 && n_out == 1);
    struct timespec nap = {.tv_nsec = 50000000}; /* long beside what a call takes that does not wait */
    nanosleep(&nap, NULL);
    for (int i = 0; i < 4; i++) ((float *)out->data)[i] = 2 * ((const float *)in->data)[i];
    if (++calls < 2) return 0;
    snprintf(error, error_size, "the callback has had enough");
    return 1;
}

/* A program with a callback has ended when the call returns, and its failure is the call's. */
static void test_callback(void **state) {
    (void)state;
    char text[600];
    assert_int_equal(xtrain_allow_host_function((void *)(uintptr_t)called_back), 0);
    snprintf(text, sizeof text,
             "module @back {\n  func.func public @main(%%x: tensor<4xf32>, %%y: tensor<4xf32>) -> tensor<4xf32> {\n"
             "    %%0 = stablehlo.custom_call @xtrain_host_callback(%%x) {api_version = 4 : i32, has_side_effect = "
             "true, mhlo.backend_config = {function = %llu : i64, id = 7 : i64}} : (tensor<4xf32>) -> tensor<4xf32>\n"
             "    %%1 = stablehlo.add %%0, %%y : tensor<4xf32>\n"
             "    return %%1 : tensor<4xf32>\n"
             "  }\n"
             "}\n",
             (unsigned long long)(uintptr_t)called_back);
    PJRT_LoadedExecutable *e = compile_text(client, text);
    PJRT_Buffer *x = upload4((float[]){1, 2, 3, 4}), *y = upload4((float[]){1, 1, 1, 1}), *out;
    PJRT_Event *done;
    assert_int_equal(code_of(execute(e, x, y, NULL, &out, &done), NULL), PJRT_OK);
    assert_true(face_event_is_ready(done));
    assert_int_equal(finish(done, NULL), PJRT_OK);
    expect(out, 4, (float[]){3, 5, 7, 9});
    destroy(out);
    /* gives nothing that were to be destroyed */
    assert_int_equal(code_of(execute(e, x, y, NULL, &out, &done), "the callback has had enough"), PJRT_INTERNAL);
    /* An input that this thread has yet to give is not waited for. */
    CALL(Client_AddressableMemories, .client = client);
    CALL(Client_CreateAliasBuffer, .client = client, .memory = Client_AddressableMemories.addressable_memories[0],
         .shape_dims = (int64_t[]){4}, .shape_num_dims = 1, .shape_element_type = PJRT_TYPE_F32);
    PJRT_Buffer *later = Client_CreateAliasBuffer.alias_buffer;
    assert_int_equal(code_of(execute(e, later, y, NULL, &out, &done), NULL), PJRT_OK);
    assert_false(face_event_is_ready(done));
    CALL(Client_FulfillAliasBuffer, .client = client, .buffer = x, .status_code = PJRT_OK, .error_message = "",
         .error_message_size = 0, .fulfill_alias_buffer_cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb);
    assert_int_equal(finish(done, "the callback has had enough"), PJRT_INTERNAL);
    destroy(out), destroy(later), destroy(x), destroy(y);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

static void test_wrong_arguments(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *g = upload4((float[]){1, 1, 1, 1}), *scalar = NULL, *out;
    float one = 1;
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = &one, .type = PJRT_TYPE_F32);
    assert_int_equal(code_of(upload_error(&a, &scalar), NULL), PJRT_OK);
    assert_int_equal(code_of(execute(e, g, scalar, NULL, &out, NULL), "tensor<f32>; the program takes tensor<4xf32>"),
                     PJRT_INVALID_ARGUMENT);
    assert_int_equal(code_of(execute(e, g, NULL, NULL, &out, NULL), "NULL"), PJRT_INVALID_ARGUMENT);
    assert_int_equal(code_of(execute(e, g, g, NULL, &out, NULL), "input 0 of step is donated and is input 1 too"),
                     PJRT_INVALID_ARGUMENT);
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
        /* ids for three, program for one */
        {"\x1a\x0d\x20\x01\x28\x01\x4a\x07\x1a\x05\x0a\x03\x00\x01\x02", 15, "assigns 3"},
        {"\x1a\x0b\x20\x01\x28\x01\x4a\x05\x1a\x03\x0a\x01\x09", 13, "device 9"},
    };
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)step,
                      .code_size = sizeof step - 1,
                      .format = "mlir",
                      .format_size = 4};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = client, .program = &p,
                                               .compile_options = rows[i].bytes, .compile_options_size = rows[i].size);
        assert_int_equal(code_of(api->Client_Compile(&a), i == 2 ? "3 devices" : rows[i].word), PJRT_INVALID_ARGUMENT);
    }
    PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = client, .program = &p,
                                           .compile_options = one_device, .compile_options_size = 6);
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
    assert_memory_equal(LoadedExecutable_GetDeviceAssignment.serialized_bytes, "\x08\x01\x10\x01\x1a\x03\x0a\x01\x00",
                        9);
    LoadedExecutable_GetDeviceAssignment.serialized_device_assignment_deleter(
        LoadedExecutable_GetDeviceAssignment.serialized_device_assignment);
    CALL(Executable_Serialize, .executable = x);
    size_t n = Executable_Serialize.serialized_bytes_size;
    char *copy = base_malloc(n);
    memcpy(copy, Executable_Serialize.serialized_bytes, n);
    Executable_Serialize.serialized_executable_deleter(Executable_Serialize.serialized_executable);
    CALL(Executable_DeserializeAndLoad, .client = client, .serialized_executable = copy,
         .serialized_executable_size = n);
    CALL(LoadedExecutable_Fingerprint, .executable = Executable_DeserializeAndLoad.loaded_executable);
    CALL(Executable_Fingerprint, .executable = x);
    assert_memory_equal(Executable_Fingerprint.executable_fingerprint,
                        LoadedExecutable_Fingerprint.executable_fingerprint, 32);
    CALL(LoadedExecutable_Destroy, .executable = Executable_DeserializeAndLoad.loaded_executable);
    for (size_t at = 0; at < n; at += n / 17 + 1) { /* every kind of damage is seen */
        copy[at] ^= 0x10;
        PJRT_Executable_DeserializeAndLoad_Args d = Executable_DeserializeAndLoad;
        PJRT_Error *damage = api->Executable_DeserializeAndLoad(&d);
        if (damage)
            code_of(damage, NULL);
        else
            api->LoadedExecutable_Destroy(&(PJRT_LoadedExecutable_Destroy_Args)PJRT_INIT(
                LoadedExecutable_Destroy, .executable = d.loaded_executable));
        copy[at] ^= 0x10;
        d.serialized_executable_size = at;
        assert_int_not_equal(code_of(api->Executable_DeserializeAndLoad(&d), NULL), PJRT_OK);
    }
    base_free(copy);
    CALL(Executable_Destroy, .executable = x);
    assert_null(api->LoadedExecutable_Destroy(
        &(PJRT_LoadedExecutable_Destroy_Args)PJRT_INIT(LoadedExecutable_Destroy, .executable = e)));
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_structs),
        cmocka_unit_test(test_null_handles),
        cmocka_unit_test(test_create_options),
        cmocka_unit_test(test_platform_names),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_zero_copy),
        cmocka_unit_test(test_use_after_delete),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_donation_of_a_viewed_buffer),
        cmocka_unit_test(test_event_outlives_its_handle),
        cmocka_unit_test(test_tiny_runs_here),
        cmocka_unit_test(test_brief_runs_here),
        cmocka_unit_test(test_client_event),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_callback),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_compile_options),
        cmocka_unit_test(test_executable),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
