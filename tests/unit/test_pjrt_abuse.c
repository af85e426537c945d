/* The plugin's table in the hands of a client that does everything wrong: every function with its handle and nothing
 * else, with handles that were destroyed or never were any, objects destroyed twice and in every order, and many
 * threads that compile, run, read and destroy at once. All of it is an error or works; the sanitizers (`make asan`,
 * tests/slow/tsan.sh) and valgrind (tests/slow/valgrind.sh) watch that nothing else happens. */
#include "pjrt_calls.h"

#include <pthread.h>
#include <stdatomic.h>

typedef PJRT_Error *(*any_fn)(void *);
static const struct row {
    const char *name;
    size_t offset, size;
} rows[] = {
#define PJRT_FN(name, since, size, ...) {#name, offsetof(PJRT_Api, name), size},
#define PJRT_FN_VOID(name, since, size, ...) {NULL, 0, 0},
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
};

/* Every argument struct of a method begins, after the two common fields, with its handle. */
typedef enum owner { CLIENT, DEVICE, DESCRIPTION, MEMORY, BUFFER, EVENT, LOADED, EXECUTABLE, TOPOLOGY, OWNERS } owner;
static const char *const prefixes[OWNERS] = {"Client_",           "Device_",     "DeviceDescription_",
                                             "Memory_",           "Buffer_",     "Event_",
                                             "LoadedExecutable_", "Executable_", "TopologyDescription_"};

static bool has_owner(const struct row *r, owner *out) {
    static const char *const makers[] = {"Client_Create", "Event_Create", "TopologyDescription_Create",
                                         "TopologyDescription_Deserialize", "Executable_DeserializeAndLoad"};
    for (size_t i = 0; r->name && i < BASE_COUNT(makers); i++)
        if (strcmp(r->name, makers[i]) == 0) return false;
    for (int k = 0; r->name && k < OWNERS; k++)
        if (strncmp(r->name, prefixes[k], strlen(prefixes[k])) == 0) {
            *out = (owner)k;
            return true;
        }
    return false;
}

typedef union args { /* larger than any struct of the table */
    struct {
        size_t struct_size;
        void *extension, *handle;
    } head;
    unsigned char bytes[512];
} args;

static PJRT_Error *call(const struct row *r, args *a, void *handle) {
    any_fn f;
    memcpy(&f, (const char *)api + r->offset, sizeof f);
    memset(a, 0, sizeof *a);
    a->head.struct_size = r->size;
    a->head.handle = handle;
    return f(a);
}

typedef struct objects {
    void *of[OWNERS];
} objects;

static objects make_objects(void) {
    objects o = {{0}};
    PJRT_Client *c = o.of[CLIENT] = create(NULL, 0), *before = client;
    CALL(Client_AddressableDevices, .client = c);
    PJRT_Device *d = o.of[DEVICE] = Client_AddressableDevices.addressable_devices[0];
    CALL(Device_GetDescription, .device = d);
    o.of[DESCRIPTION] = Device_GetDescription.device_description;
    CALL(Device_DefaultMemory, .device = d);
    o.of[MEMORY] = Device_DefaultMemory.memory;
    client = c;
    o.of[BUFFER] = upload4((float[]){1, 2, 3, 4});
    client = before;
    CALL(Buffer_ReadyEvent, .buffer = o.of[BUFFER]);
    o.of[EVENT] = Buffer_ReadyEvent.event;
    PJRT_LoadedExecutable *e = o.of[LOADED] = compile(c);
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    o.of[EXECUTABLE] = LoadedExecutable_GetExecutable.executable;
    CALL(TopologyDescription_Create, .topology_name = "2", .topology_name_size = 1);
    o.of[TOPOLOGY] = TopologyDescription_Create.topology;
    return o;
}

static PJRT_Error_Code destroy_object(const objects *o, owner k) {
    PJRT_Client_Destroy_Args c = PJRT_INIT(Client_Destroy, .client = o->of[CLIENT]);
    PJRT_Buffer_Destroy_Args b = PJRT_INIT(Buffer_Destroy, .buffer = o->of[BUFFER]);
    PJRT_Event_Destroy_Args e = PJRT_INIT(Event_Destroy, .event = o->of[EVENT]);
    PJRT_LoadedExecutable_Destroy_Args l = PJRT_INIT(LoadedExecutable_Destroy, .executable = o->of[LOADED]);
    PJRT_Executable_Destroy_Args x = PJRT_INIT(Executable_Destroy, .executable = o->of[EXECUTABLE]);
    PJRT_TopologyDescription_Destroy_Args t = PJRT_INIT(TopologyDescription_Destroy, .topology = o->of[TOPOLOGY]);
    switch (k) {
    case CLIENT: return code_of(api->Client_Destroy(&c), NULL);
    case BUFFER: return code_of(api->Buffer_Destroy(&b), NULL);
    case EVENT: return code_of(api->Event_Destroy(&e), NULL);
    case LOADED: return code_of(api->LoadedExecutable_Destroy(&l), NULL);
    case EXECUTABLE: return code_of(api->Executable_Destroy(&x), NULL);
    case TOPOLOGY: return code_of(api->TopologyDescription_Destroy(&t), NULL);
    default: return PJRT_OK;
    }
}

/* --- nothing but the handle --- */
/* These give something away when they succeed, or take the handle itself; they are called properly elsewhere. */
static bool gives(const char *name) {
    static const char *const words[] = {
        "Destroy",  "Delete",         "ReadyEvent",        "GetExecutable", "CopyTo",
        "CopyRaw",  "Serialize",      "DeviceAssignment",  "Donate",        "AsyncTrackingEvent",
        "ForAsync", "ReferenceCount", "GetCompileOptions", "MakeCanonical"};
    for (size_t i = 0; i < BASE_COUNT(words); i++)
        if (strstr(name, words[i])) return true;
    return false;
}

static void test_handle_alone(void **state) {
    (void)state;
    objects o = make_objects();
    size_t called = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        owner k;
        args a;
        if (!has_owner(&rows[i], &k) || gives(rows[i].name)) continue;
        code_of(call(&rows[i], &a, o.of[k]), NULL); /* any answer but a crash */
        called++;
    }
    assert_true(called > 70);
    for (int k = 0; k < OWNERS; k++) assert_int_equal(destroy_object(&o, (owner)k), PJRT_OK);
}

/* --- handles that are none --- */
static void refuse_all(const objects *o, unsigned owners) {
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        owner k;
        args a;
        if (!has_owner(&rows[i], &k) || !(owners >> k & 1)) continue;
        PJRT_Error *e = call(&rows[i], &a, o->of[k]);
        if (!e) fail_msg("PJRT_%s took a handle that is none", rows[i].name);
        PJRT_Error_Code code = code_of(e, rows[i].name);
        if (code != PJRT_FAILED_PRECONDITION && code != PJRT_UNIMPLEMENTED)
            fail_msg("PJRT_%s: code %d", rows[i].name, code);
    }
}

static void test_destroyed_handles(void **state) {
    (void)state;
    objects o = make_objects();
    for (int k = OWNERS; k-- > 0;) assert_int_equal(destroy_object(&o, (owner)k), PJRT_OK);
    refuse_all(&o, (1u << OWNERS) - 1); /* devices and memories went with their client */
}

static void test_foreign_handles(void **state) {
    (void)state;
    static const uint64_t junk[64] = {0};
    objects o;
    for (int k = 0; k < OWNERS; k++) o.of[k] = (void *)junk;
    refuse_all(&o, (1u << OWNERS) - 1);
    objects mixed = make_objects();
    for (int k = 0; k < OWNERS; k++) o.of[k] = mixed.of[k == CLIENT ? BUFFER : CLIENT]; /* alive, but of another kind */
    refuse_all(&o, (1u << OWNERS) - 1);
    PJRT_Buffer_Destroy_Args swapped = PJRT_INIT(Buffer_Destroy, .buffer = mixed.of[EVENT]);
    assert_int_equal(code_of(api->Buffer_Destroy(&swapped), "found event, expected buffer"), PJRT_FAILED_PRECONDITION);
    for (int k = 0; k < OWNERS; k++) o.of[k] = (char *)mixed.of[k] + (k % 2 ? 64 : 8); /* inside of it */
    refuse_all(&o, (1u << OWNERS) - 1);
    for (int k = 0; k < OWNERS; k++) assert_int_equal(destroy_object(&mixed, (owner)k), PJRT_OK);
}

static void test_destroyed_arguments(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){1, 2, 3, 4}), *g = upload4((float[]){1, 1, 1, 1}), *out;
    destroy(g);
    assert_int_equal(code_of(execute(e, w, g, NULL, &out, NULL), "input 1"), PJRT_FAILED_PRECONDITION);
    expect(w, 4, (float[]){1, 2, 3, 4}); /* nothing was donated */
    objects o = make_objects();
    for (int k = OWNERS; k-- > 0;) assert_int_equal(destroy_object(&o, (owner)k), PJRT_OK);
    float v[4] = {0};
    PJRT_Client_BufferFromHostBuffer_Args up =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = v, .type = PJRT_TYPE_F32,
                  .dims = (int64_t[]){4}, .num_dims = 1, .device = o.of[DEVICE]);
    assert_int_equal(code_of(api->Client_BufferFromHostBuffer(&up), "destroyed"), PJRT_FAILED_PRECONDITION);
    PJRT_Buffer_CopyToMemory_Args copy = PJRT_INIT(Buffer_CopyToMemory, .buffer = w, .dst_memory = o.of[MEMORY]);
    assert_int_equal(code_of(api->Buffer_CopyToMemory(&copy), "destroyed"), PJRT_FAILED_PRECONDITION);
    PJRT_Client_Load_Args load = PJRT_INIT(Client_Load, .client = client, .executable = o.of[EXECUTABLE]);
    assert_int_equal(code_of(api->Client_Load(&load), "destroyed"), PJRT_FAILED_PRECONDITION);
    destroy(w);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

/* The address of what was destroyed is not the next one's: a stale handle does not become another's at once. */
static void test_address_rests(void **state) {
    (void)state;
    PJRT_Buffer *first = upload4((float[]){1, 2, 3, 4}), *next[8];
    destroy(first);
    for (size_t i = 0; i < BASE_COUNT(next); i++) assert_ptr_not_equal(next[i] = upload4((float[]){1, 2, 3, 4}), first);
    PJRT_Buffer_Destroy_Args again = PJRT_INIT(Buffer_Destroy, .buffer = first);
    assert_int_equal(code_of(api->Buffer_Destroy(&again), "has been destroyed"), PJRT_FAILED_PRECONDITION);
    for (size_t i = 0; i < BASE_COUNT(next); i++) destroy(next[i]);
}

static void test_errors_are_handles(void **state) {
    (void)state;
    PJRT_Buffer_Destroy_Args none = PJRT_INIT(Buffer_Destroy, .buffer = NULL);
    PJRT_Error *e = api->Buffer_Destroy(&none);
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    api->Error_Destroy(&d);
    api->Error_Destroy(&d);
    PJRT_Error_Message_Args m = PJRT_INIT(Error_Message, .error = e);
    api->Error_Message(&m);
    assert_non_null(strstr(m.message, "destroyed"));
    PJRT_Error_GetCode_Args c = PJRT_INIT(Error_GetCode, .error = e);
    assert_int_equal(code_of(api->Error_GetCode(&c), "error has been destroyed"), PJRT_FAILED_PRECONDITION);
}

/* An event that was given out twice is two handles. */
static void test_same_event_twice(void **state) {
    (void)state;
    PJRT_Buffer *b = upload4((float[]){1, 2, 3, 4});
    CALL(Buffer_ReadyEvent, .buffer = b);
    PJRT_Event *first = Buffer_ReadyEvent.event;
    assert_null(api->Buffer_ReadyEvent(&Buffer_ReadyEvent));
    assert_ptr_equal(first, Buffer_ReadyEvent.event);
    CALL(Event_Destroy, .event = first);
    CALL(Event_IsReady, .event = first);
    assert_null(api->Event_Destroy(&Event_Destroy));
    assert_int_equal(code_of(api->Event_Destroy(&Event_Destroy), "destroyed"), PJRT_FAILED_PRECONDITION);
    destroy(b);
}

/* --- every order --- */
static void test_every_order(void **state) {
    (void)state;
    static const owner kinds[] = {CLIENT, BUFFER, EVENT, LOADED, EXECUTABLE, TOPOLOGY};
    enum { N = BASE_COUNT(kinds) };
    for (int order = 0; order < 720; order += 29) { /* a spread over all 720 */
        objects o = make_objects();
        bool gone[N] = {false};
        int rest = order;
        for (int n = N; n > 0; n--) {
            int pick = rest % n, k = 0;
            rest /= n;
            while (gone[k] || pick-- > 0) k++;
            gone[k] = true;
            assert_int_equal(destroy_object(&o, kinds[k]), PJRT_OK);
            assert_int_equal(destroy_object(&o, kinds[k]), PJRT_FAILED_PRECONDITION);
            for (size_t i = 0; i < BASE_COUNT(rows); i++) { /* whatever is left answers, whatever is gone refuses */
                owner of;
                args a;
                if (!has_owner(&rows[i], &of) || gives(rows[i].name) || of == DEVICE || of == DESCRIPTION ||
                    of == MEMORY)
                    continue;
                code_of(call(&rows[i], &a, o.of[of]), NULL);
            }
        }
    }
}

/* --- many threads --- */
enum { THREADS = 6, ROUNDS = 60 };
typedef struct crowd {
    PJRT_LoadedExecutable *shared;
    atomic_int wrong;
    int index;
} crowd;

static bool ok(PJRT_Error *e) {
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    if (e) api->Error_Destroy(&d);
    return !e;
}

static bool one_round(PJRT_LoadedExecutable *e, float x) {
    float v[2][4] = {{x, x, x, x}, {1, 1, 1, 1}}, got[4] = {0};
    PJRT_Buffer *in[2] = {NULL, NULL}, *out = NULL;
    bool fine = true;
    for (int i = 0; i < 2; i++) {
        PJRT_Client_BufferFromHostBuffer_Args a =
            PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = v[i], .type = PJRT_TYPE_F32,
                      .dims = (int64_t[]){4}, .num_dims = 1);
        if (!ok(api->Client_BufferFromHostBuffer(&a))) return false;
        PJRT_Event_Destroy_Args d = PJRT_INIT(Event_Destroy, .event = a.done_with_host_buffer);
        fine = ok(api->Event_Destroy(&d)) && fine;
        in[i] = a.buffer;
    }
    PJRT_Event *done = NULL;
    fine = ok(execute(e, in[0], in[1], NULL, &out, &done)) && fine;
    if (fine) {
        PJRT_Buffer_ToHostBuffer_Args r =
            PJRT_INIT(Buffer_ToHostBuffer, .src = out, .dst = got, .dst_size = sizeof got);
        fine = ok(api->Buffer_ToHostBuffer(&r));
        PJRT_Event *events[] = {r.event, done};
        for (int i = 0; fine && i < 2; i++) {
            PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = events[i]);
            PJRT_Event_Destroy_Args d = PJRT_INIT(Event_Destroy, .event = events[i]);
            fine = ok(api->Event_Await(&w)) && ok(api->Event_Destroy(&d));
        }
        fine = fine && got[0] == x - 1 && got[3] == x - 1;
    }
    PJRT_Buffer *all[] = {in[0], in[1], out};
    for (int i = 0; i < 3; i++) {
        PJRT_Buffer_Destroy_Args d = PJRT_INIT(Buffer_Destroy, .buffer = all[i]);
        if (all[i]) fine = ok(api->Buffer_Destroy(&d)) && fine;
    }
    return fine;
}

static void *in_crowd(void *arg) {
    crowd *c = arg;
    static atomic_int number;
    int me = atomic_fetch_add(&number, 1);
    for (int i = 0; i < ROUNDS; i++) {
        PJRT_LoadedExecutable *own = NULL;
        if (i % 16 == me) { /* now and then a program of its own */
            PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                              .code = (char *)step,
                              .code_size = sizeof step - 1,
                              .format = "mlir",
                              .format_size = 4};
            PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = client, .program = &p,
                                                   .compile_options = one_device, .compile_options_size = 6);
            if (ok(api->Client_Compile(&a)))
                own = a.executable;
            else
                atomic_fetch_add(&c->wrong, 1);
        }
        if (!one_round(own ? own : c->shared, (float)(me * ROUNDS + i))) atomic_fetch_add(&c->wrong, 1);
        PJRT_LoadedExecutable_Destroy_Args d = PJRT_INIT(LoadedExecutable_Destroy, .executable = own);
        if (own && !ok(api->LoadedExecutable_Destroy(&d))) atomic_fetch_add(&c->wrong, 1);
    }
    return NULL;
}

static void test_crowd(void **state) {
    (void)state;
    crowd c = {.shared = compile(client)};
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&t[i], NULL, in_crowd, &c), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&c.wrong), 0);
    CALL(LoadedExecutable_Destroy, .executable = c.shared);
}

/* One object, many who destroy it: one of them did, the others are told. */
typedef struct race {
    PJRT_Buffer *buffer;
    atomic_int destroyed, go;
} race;

static void *racer(void *arg) {
    race *r = arg;
    while (!atomic_load(&r->go)) {
    }
    PJRT_Buffer_Destroy_Args d = PJRT_INIT(Buffer_Destroy, .buffer = r->buffer);
    if (ok(api->Buffer_Destroy(&d))) atomic_fetch_add(&r->destroyed, 1);
    return NULL;
}

static void test_race_to_destroy(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        race r = {.buffer = upload4((float[]){1, 2, 3, 4})};
        pthread_t t[4];
        for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, racer, &r), 0);
        atomic_store(&r.go, 1);
        for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
        assert_int_equal(atomic_load(&r.destroyed), 1);
    }
}

/* --- calls from callbacks --- */
/* What a callback did on the thread that set its event. */
typedef struct called {
    PJRT_LoadedExecutable *exec;
    PJRT_Buffer *w, *g, *out;
    PJRT_Event *done;
    PJRT_Error_Code wait, end, run;
    atomic_bool over;
} called;

static void call_back_in(PJRT_Error *error, void *user_arg) {
    called *c = user_arg;
    PJRT_Client_Destroy_Args d = PJRT_INIT(Client_Destroy, .client = client);
    code_of(error, NULL);
    /* begins when this callback is over */
    c->run = code_of(execute(c->exec, c->w, c->g, NULL, &c->out, &c->done), NULL);
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = c->done);
    c->wait = c->run ? PJRT_OK : code_of(api->Event_Await(&w), "callback");
    bool here = pthread_equal(pthread_self(), client->mine[0]->executor);
    c->end = here ? code_of(api->Client_Destroy(&d), "callback") : PJRT_FAILED_PRECONDITION;
    atomic_store(&c->over, true);
}

static void test_calls_from_callbacks(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        called c = {.exec = compile(client), .w = upload4((float[]){1, 2, 3, 4}), .g = upload4((float[]){1, 1, 1, 1})};
        PJRT_Buffer *w = upload4((float[]){5, 5, 5, 5}), *out = NULL;
        PJRT_Event *done = NULL;
        CALL(Client_CreateAliasBuffer, .client = client, .shape_element_type = PJRT_TYPE_F32,
             .shape_dims = (int64_t[]){4}, .shape_num_dims = 1);
        /* not ready: the program cannot run on this thread */
        PJRT_Buffer *later = Client_CreateAliasBuffer.alias_buffer;
        assert_int_equal(code_of(execute(c.exec, w, later, NULL, &out, &done), NULL), PJRT_OK);
        CALL(Event_OnReady, .event = done, .callback = call_back_in, .user_arg = &c);
        CALL(Client_FulfillAliasBuffer, .client = client, .buffer = c.g,
             .fulfill_alias_buffer_cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb);
        assert_int_equal(finish(done, NULL), PJRT_OK);
        while (!atomic_load(&c.over)) sched_yield();
        assert_int_equal(c.run, PJRT_OK);
        assert_int_equal(c.wait, PJRT_FAILED_PRECONDITION);
        assert_int_equal(c.end, PJRT_FAILED_PRECONDITION);
        expect(c.out, 4, (float[]){0, 1, 2, 3}); /* the client is there, and what was asked for in the callback comes */
        expect(out, 4, (float[]){4, 4, 4, 4});
        assert_int_equal(finish(c.done, NULL), PJRT_OK);
        destroy(w), destroy(out), destroy(later), destroy(c.w), destroy(c.g), destroy(c.out);
        CALL(LoadedExecutable_Destroy, .executable = c.exec);
    }
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handle_alone),         cmocka_unit_test(test_destroyed_handles),
        cmocka_unit_test(test_foreign_handles),      cmocka_unit_test(test_destroyed_arguments),
        cmocka_unit_test(test_same_event_twice),     cmocka_unit_test(test_every_order),
        cmocka_unit_test(test_address_rests),        cmocka_unit_test(test_errors_are_handles),
        cmocka_unit_test(test_calls_from_callbacks), cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_race_to_destroy)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
