/* One object of each kind that the plugin's table knows, arguments filled with them after the plugin's own table of
 * arguments, and children in which a call may do what it likes: how they end is all that counts. */
#ifndef XT_TESTS_PJRT_OBJECTS_H
#define XT_TESTS_PJRT_OBJECTS_H

#include "pjrt_calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local void *objects[FACE_PROFILER + 1]; /* by face_handle_kind */

static inline void make_objects(void) {
    CALL(Client_AddressableDevices, .client = client);
    objects[FACE_CLIENT] = client;
    objects[FACE_DEVICE] = Client_AddressableDevices.addressable_devices[0];
    CALL(Device_GetDescription, .device = objects[FACE_DEVICE]);
    objects[FACE_DESCRIPTION] = Device_GetDescription.device_description;
    CALL(Device_DefaultMemory, .device = objects[FACE_DEVICE]);
    objects[FACE_MEMORY] = Device_DefaultMemory.memory;
    objects[FACE_BUFFER] = upload4((float[]){1, 2, 3, 4});
    CALL(Event_Create, .extension_start = NULL);
    objects[FACE_EVENT] = Event_Create.event;
    CALL(Event_Set, .event = objects[FACE_EVENT]);
    objects[FACE_LOADED] = compile(client);
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = objects[FACE_LOADED]);
    objects[FACE_EXECUTABLE] = LoadedExecutable_GetExecutable.executable;
    CALL(TopologyDescription_Create, .topology_name = "2", .topology_name_size = 1);
    objects[FACE_TOPOLOGY] = TopologyDescription_Create.topology;
    PJRT_ShapeSpec shape = {.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                            .dims = (int64_t[]){4},
                            .num_dims = 1,
                            .element_type = PJRT_TYPE_F32};
    CALL(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &shape, .num_shape_specs = 1);
    objects[FACE_TRANSFER] = Client_CreateBuffersForAsyncHostToDevice.transfer_manager;
    CALL(Device_CreateAsyncTrackingEvent, .device = objects[FACE_DEVICE]);
    objects[FACE_TRACKING] = Device_CreateAsyncTrackingEvent.event;
    CALL(ExecuteContext_Create, .extension_start = NULL);
    objects[FACE_CONTEXT] = ExecuteContext_Create.context;
    CALL(Client_CreateAliasBuffer, .client = client, .shape_element_type = PJRT_TYPE_F32, .shape_dims = (int64_t[]){4},
         .shape_num_dims = 1);
    objects[FACE_ALIAS] = Client_CreateAliasBuffer.fulfill_alias_buffer_cb;
    const PJRT_Extension_Base *e = api->extension_start;
    while (e->type != PJRT_EXTENSION_LAYOUTS) e = e->next;
    PJRT_Layouts_Buffer_MemoryLayout_Args l = {.struct_size = sizeof l, .buffer = objects[FACE_BUFFER]};
    assert_null(((const PJRT_Layouts_Extension *)e)->Buffer_MemoryLayout(&l));
    objects[FACE_LAYOUT] = l.layout;
}

/* --- the functions by slot --- */
typedef PJRT_Error *(*any_function)(void *);
static inline bool is_void(face_slot slot) {
    return slot == FACE_SLOT_Error_Destroy || slot == FACE_SLOT_Error_Message;
}

static inline any_function function_of(face_slot slot) {
    any_function f;
    if (slot < FACE_SLOT_Layouts_MemoryLayout_Destroy) { /* the table's own come first, in its order */
        memcpy(&f, (const char *)api + offsetof(PJRT_Api, Error_Destroy) + (size_t)slot * sizeof f, sizeof f);
        return f;
    }
    bool sharding = slot >= FACE_SLOT_Executable_ParameterShardings;
    const PJRT_Extension_Base *e = api->extension_start;
    while (e->type != (sharding ? PJRT_EXTENSION_SHARDINGS : PJRT_EXTENSION_LAYOUTS)) e = e->next;
    size_t n = (size_t)slot -
               (size_t)(sharding ? FACE_SLOT_Executable_ParameterShardings : FACE_SLOT_Layouts_MemoryLayout_Destroy);
    memcpy(&f, (const char *)e + sizeof *e + n * sizeof f, sizeof f);
    return f;
}

/* The error's code and message; the error is destroyed. In a child nothing of cmocka may be used. */
typedef struct answer {
    PJRT_Error_Code code;
    char text[500];
} answer;

static inline answer ask(face_slot slot, void *args) {
    answer got = {PJRT_OK, ""};
    if (is_void(slot)) {
        void (*f)(void *);
        memcpy(&f, (const char *)api + offsetof(PJRT_Api, Error_Destroy) + (size_t)slot * sizeof f, sizeof f);
        f(args);
        return got;
    }
    PJRT_Error *e = function_of(slot)(args);
    if (!e) return got;
    PJRT_Error_GetCode_Args c = PJRT_INIT(Error_GetCode, .error = e);
    PJRT_Error_Message_Args m = PJRT_INIT(Error_Message, .error = e);
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    api->Error_GetCode(&c);
    api->Error_Message(&m);
    got.code = c.code;
    snprintf(got.text, sizeof got.text, "%.*s", (int)m.message_size, m.message);
    api->Error_Destroy(&d);
    return got;
}

/* --- arguments --- */
enum { ARGS_ROOM = 512 };
static inline void ignore_event(PJRT_Error *error, void *user_arg) {
    (void)user_arg;
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = error);
    if (error) api->Error_Destroy(&d);
}

static inline void put_pointer(void *s, size_t offset, const void *p) {
    memcpy((char *)s + offset, &p, sizeof p);
}
static inline void put_count(void *s, size_t offset, size_t size, uint64_t v) {
    memcpy((char *)s + offset, &v, size);
}

/* What must be there is, everything else is zero. `nested` has room for as many structs as a row points to. */
static inline void fill_args(const face_args *row, void *s, char nested[][ARGS_ROOM]) {
    memset(s, 0, row->size);
    if (row->minimum) memcpy(s, &row->size, sizeof row->size);
    for (size_t i = 0, n = 0; i < row->n; i++) {
        const face_field *f = &row->fields[i];
        void (*callback)(PJRT_Error *, void *) = ignore_event;
        if (f->role == FACE_HANDLE) put_pointer(s, f->offset, objects[f->kind]);
        if (f->role == FACE_NOT_NULL) memcpy((char *)s + f->offset, &callback, sizeof callback);
        if (f->role != FACE_STRUCT) continue;
        fill_args(f->of(), nested[n], nested + n + 1);
        put_pointer(s, f->offset, nested[n++]);
    }
}

/* --- children --- */
/* What a child of this process that calls fn(user) with a client and objects of its own came to: its exit
 * status, or -signal. */
static inline int in_child(int (*fn)(void *user), void *user, unsigned seconds) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) return 1000;
    if (pid == 0) {
        /* not for cmocka, which would go on with the next test here */
        const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
        for (size_t i = 0; i < BASE_COUNT(faults); i++) signal(faults[i], SIG_DFL);
        alarm(seconds);
        client = create(NULL, 0);
        make_objects();
        int rc = fn(user);
        fflush(NULL);
        _exit(rc);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
