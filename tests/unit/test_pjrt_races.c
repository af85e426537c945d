/* Handles that one thread destroys while others are in calls with them: every function of the table, from several
 * threads at once, with objects of each kind that go meanwhile, the client too. Each call is answered or works, and
 * nothing that a call has goes under it. All of it in children: a crash is an answer. */
#include "pjrt_objects.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40, CALLS = 400, KINDS = FACE_PROFILER + 1 };
static _Atomic(void *) shared[KINDS];
static atomic_int calls;
static atomic_bool over;

/* A client of its own for each call would be most of the time. A handle of long ago may be that of a newer event, which
 * nobody sets: waiting is left to the test below. */
static bool is_left_out(face_slot slot) {
    return slot == FACE_SLOT_Client_Create || slot == FACE_SLOT_Client_Destroy || slot == FACE_SLOT_Event_Await ||
           is_void(slot);
}

static void *hammer(void *user) {
    uint64_t random = (uintptr_t)user * UINT64_C(0x9E3779B97F4A7C15) + 1;
    while (!atomic_load(&over)) {
        _Alignas(16) char args[ARGS_ROOM], nested[4][ARGS_ROOM];
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        face_slot slot = (face_slot)((random >> 33) % FACE_SLOTS);
        if (is_left_out(slot)) continue;
        for (int k = 0; k < KINDS; k++) objects[k] = atomic_load(&shared[k]);
        fill_args(face_args_of(slot), args, nested);
        ask(slot, args);
        atomic_fetch_add(&calls, 1);
    }
    return NULL;
}

static void destroy_kind(face_handle_kind kind) {
    static const face_slot slots[KINDS] = {[FACE_CLIENT] = FACE_SLOT_Client_Destroy,
                                           [FACE_BUFFER] = FACE_SLOT_Buffer_Destroy,
                                           [FACE_EVENT] = FACE_SLOT_Event_Destroy,
                                           [FACE_LOADED] = FACE_SLOT_LoadedExecutable_Destroy,
                                           [FACE_EXECUTABLE] = FACE_SLOT_Executable_Destroy,
                                           [FACE_TOPOLOGY] = FACE_SLOT_TopologyDescription_Destroy,
                                           [FACE_TRANSFER] = FACE_SLOT_AsyncHostToDeviceTransferManager_Destroy,
                                           [FACE_TRACKING] = FACE_SLOT_AsyncTrackingEvent_Destroy,
                                           [FACE_CONTEXT] = FACE_SLOT_ExecuteContext_Destroy,
                                           [FACE_LAYOUT] = FACE_SLOT_Layouts_MemoryLayout_Destroy};
    _Alignas(16) char args[ARGS_ROOM], nested[4][ARGS_ROOM];
    if (!slots[kind]) return;
    fill_args(face_args_of(slots[kind]), args, nested);
    put_pointer(args, face_args_of(slots[kind])->fields[0].offset, objects[kind]);
    ask(slots[kind], args);
}

/* Objects are made and published, and destroyed under those who call with them, the client first, last or in between.
 */
static int destroy_under_calls(void *user) {
    pthread_t threads[THREADS];
    (void)user;
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)) != 0) return 2;
    for (int round = 0; round < ROUNDS; round++) {
        if (round) {
            client = create(NULL, 0);
            make_objects();
        }
        for (int k = 0; k < KINDS; k++) atomic_store(&shared[k], objects[k]);
        int begun = atomic_load(&calls);
        for (int i = 0; i < KINDS; i++) {
            while (atomic_load(&calls) - begun < CALLS / KINDS * i) sched_yield();
            destroy_kind((face_handle_kind)((i * 7 + round) % KINDS));
        }
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}

static void handles_go_while_calls_have_them(void **state) {
    (void)state;
    assert_int_equal(in_child(destroy_under_calls, NULL, 120), 0);
}

/* --- one call that is certainly under way --- */
static void *wait_for(void *event) {
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = event);
    return (void *)(uintptr_t)code_of(api->Event_Await(&w), NULL);
}

static void an_event_goes_under_its_wait(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *code;
        CALL(Event_Create, .extension_start = NULL);
        int64_t live = xt_live_objects("plugin_event");
        assert_int_equal(pthread_create(&thread, NULL, wait_for, Event_Create.event), 0);
        usleep(i * 500); /* before the wait, or in it: then it has not been destroyed yet, or has */
        PJRT_Event_Destroy_Args d = PJRT_INIT(Event_Destroy, .event = Event_Create.event);
        assert_int_equal(code_of(api->Event_Destroy(&d), NULL), PJRT_OK);
        pthread_join(thread, &code);
        assert_true((uintptr_t)code == PJRT_CANCELLED || (uintptr_t)code == PJRT_FAILED_PRECONDITION);
        assert_int_equal(xt_live_objects("plugin_event"), live - 1);
    }
}

/* A callback that is called within a call destroys what the call was given. */
typedef struct nested_end {
    void *handle;
    int64_t live;
} nested_end;

static void destroy_event(PJRT_Error *error, void *user) {
    nested_end *n = user;
    assert_null(error);
    PJRT_Event_Destroy_Args d = PJRT_INIT(Event_Destroy, .event = n->handle);
    assert_int_equal(code_of(api->Event_Destroy(&d), NULL), PJRT_OK);
    assert_int_equal(code_of(api->Event_Destroy(&d), "has been destroyed"), PJRT_FAILED_PRECONDITION);
    n->live = xt_live_objects("plugin_event");
}

static void a_callback_destroys_what_its_call_has(void **state) {
    (void)state;
    CALL(Event_Create, .extension_start = NULL);
    CALL(Event_Set, .event = Event_Create.event);
    nested_end n = {Event_Create.event, 0};
    int64_t live = xt_live_objects("plugin_event");
    CALL(Event_OnReady, .event = n.handle, .callback = destroy_event, .user_arg = &n);
    assert_int_equal(n.live, live); /* it is there until the call ends */
    assert_int_equal(xt_live_objects("plugin_event"), live - 1);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(handles_go_while_calls_have_them),
                                       cmocka_unit_test(an_event_goes_under_its_wait),
                                       cmocka_unit_test(a_callback_destroys_what_its_call_has)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
