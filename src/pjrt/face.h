/* The PJRT face of the CPU compiler: what its objects are made of. The functions of the table are in the file of their
 * object; api.c has the table.
 *
 * Invariants:
 *  1. Values: a face_value is one array on one device, made now or later; `ready` is set exactly once, with an error
 *     when it will never be there. A PJRT_Buffer is a handle to a value and forgets it when it is deleted or donated;
 *     the value lives as long as anything reads it.
 *  2. Each addressable device has one executor thread that runs its programs in the order they were enqueued and
 *     settles outputs before the completion event, so events of a device complete in order. A program waits on its
 *     executor for inputs of other devices.
 *  3. The memory of a value may be overwritten by a program only if the caller donated it and nobody else holds
 *     the value then.
 *  4. Events are counted: destroying a handle never cancels what waits for it.
 *  5. Buffers and executables keep their client's struct; Client_Destroy drains and joins the executors, so no task
 *     runs after it.
 *  6. Out fields are set on success only; struct_size, handles, pointers and counts are checked before anything else,
 *     by one table (args.def). */
#ifndef XT_SRC_PJRT_FACE_H
#define XT_SRC_PJRT_FACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/cpu.h"
#include "device/pjrt_abi.h"
#include "pjrt/kept.h"

/* --- the functions of the table --- */
#define PJRT_FN(name, since, size, ...) PJRT_Error *face_##name(PJRT_##name##_Args *a);
#define PJRT_FN_VOID(name, since, size, ...) void face_##name(PJRT_##name##_Args *a);
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID

/* --- handles.c: where handles live, and which of them clients hold --- */
enum { FACE_GRAIN = 64 }; /* a handle begins at a multiple of it, in memory of face_handle_new */
typedef enum face_handle_kind {
    FACE_ANY,
    FACE_CLIENT,
    FACE_DEVICE,
    FACE_DESCRIPTION,
    FACE_MEMORY,
    FACE_BUFFER,
    FACE_EVENT,
    FACE_LOADED,
    FACE_EXECUTABLE,
    FACE_TOPOLOGY,
    FACE_TRANSFER,
    FACE_TRACKING,
    FACE_CONTEXT,
    FACE_ALIAS,
    FACE_LAYOUT,
    FACE_ERROR,
    FACE_PENDING,
    FACE_DEPENDENCY,
    FACE_PROFILER,
    FACE_HANDLE_KINDS
} face_handle_kind;
/* clang-format off */
#define FACE_KIND_OF(p) \
    _Generic((p), \
        PJRT_Client *: FACE_CLIENT, \
        PJRT_Device *: FACE_DEVICE, \
        PJRT_DeviceDescription *: FACE_DESCRIPTION, \
        PJRT_Memory *: FACE_MEMORY, \
        PJRT_Buffer *: FACE_BUFFER, \
        PJRT_Event *: FACE_EVENT, \
        PJRT_LoadedExecutable *: FACE_LOADED, \
        PJRT_Executable *: FACE_EXECUTABLE, \
        const PJRT_Executable *: FACE_EXECUTABLE, \
        PJRT_TopologyDescription *: FACE_TOPOLOGY, \
        const PJRT_TopologyDescription *: FACE_TOPOLOGY, \
        PJRT_AsyncHostToDeviceTransferManager *: FACE_TRANSFER, \
        PJRT_AsyncTrackingEvent *: FACE_TRACKING, \
        PJRT_ExecuteContext *: FACE_CONTEXT, \
        PJRT_FulfillAliasBufferCallback *: FACE_ALIAS, \
        PJRT_Layouts_MemoryLayout *: FACE_LAYOUT, \
        PJRT_Error *: FACE_ERROR, \
        const PJRT_Error *: FACE_ERROR, \
        default: FACE_ANY)
/* clang-format on */
void *face_handle_new(size_t n); /* zeroed; NULL without memory */
void face_handle_free(void *p, size_t n); /* no client holds a handle in it; NULL is fine */
void face_give(const void *handle, face_handle_kind kind); /* to a client; an event once for each time */
bool face_take_back(const void *handle, face_handle_kind kind); /* false: no client holds it */
bool face_is_given(const void *handle, face_handle_kind kind);
/* A call of a client on this thread: what it was given is pinned until its end, and nothing of it goes before. Calls
 * may be nested, in callbacks. */
typedef struct face_call {
    size_t mark;
    struct face_pinning *pinning; /* the thread's */
} face_call;
face_call face_call_begin(void);
void face_call_end(face_call c);
bool face_hold(const void *handle, face_handle_kind kind); /* pins it, within a call; false: no client holds it */
bool face_end(const void *handle, face_handle_kind kind); /* the same, and takes it back; NAME_end below comes later */
/* Of what lives in another object: no client holds it any more. True: a call still has it, and its NAME_end comes then.
 */
bool face_retire(void *handle, face_handle_kind kind);
/* What a destroyed handle stands for goes: the reference that it was. api.c names them all, by kind, before a client
 * has a handle; kinds without one are not pinned. */
typedef void (*face_end_fn)(void *handle);
void face_set_ends(const face_end_fn *by_kind); /* [FACE_HANDLE_KINDS]; kept */
void face_client_end(void *handle);
void face_device_end(void *handle);
void face_description_end(void *handle);
void face_memory_end(void *handle);
void face_buffer_end(void *handle);
void face_event_end(void *handle);
void face_loaded_end(void *handle);
void face_executable_end(void *handle);
void face_topology_end(void *handle);
void face_transfer_end(void *handle);
void face_tracking_end(void *handle);
void face_context_end(void *handle);
void face_alias_end(void *handle);
void face_layout_end(void *handle);
void face_error_end(void *handle);
xt_status face_no_handle(const void *handle, face_handle_kind kind, const char *function,
                         const char *field); /* the error that tells what was found */
xt_status face_check_handle(const void *handle, face_handle_kind kind, const char *function, const char *field);
/* takes it back, within a call: what it stands for goes when no call has it any more */
xt_status face_end_handle(const void *handle, face_handle_kind kind, const char *function, const char *field);
#define FACE_GIVE(handle) face_give(handle, FACE_KIND_OF(handle))
#define FACE_CHECK(handle, function, field) face_check_handle(handle, FACE_KIND_OF(handle), function, field)

/* --- args.c: what a function asks of its arguments (args.def), checked before its body runs --- */
/* Bytes: no address space is larger than this, so what claims to reach further is a mistake, whatever lies at
 * the other end. */
#define FACE_FURTHEST (INT64_C(1) << 56)
/* The functions of the extensions that are served. */
#define FACE_MORE_SLOTS(F)                 \
    F(Layouts_MemoryLayout_Destroy)        \
    F(Layouts_MemoryLayout_Serialize)      \
    F(Layouts_Client_GetDefaultLayout)     \
    F(Layouts_Buffer_MemoryLayout)         \
    F(Layouts_Topology_GetDefaultLayout)   \
    F(Layouts_Executable_GetOutputLayouts) \
    F(Layouts_Executable_GetParameterLayouts) F(Executable_ParameterShardings) F(Executable_OutputShardings)
typedef enum face_slot {
#define FACE_SLOT(name) FACE_SLOT_##name,
#define PJRT_FN(name, since, size, ...) FACE_SLOT(name)
#define PJRT_FN_VOID PJRT_FN
#include "device/pjrt_slots.def"
    FACE_MORE_SLOTS(FACE_SLOT) FACE_SLOTS
#undef PJRT_FN
#undef PJRT_FN_VOID
#undef FACE_SLOT
} face_slot;
typedef enum face_role {
    FACE_UNREAD,
    FACE_POINTER,
    FACE_HANDLE,
    FACE_HANDLE_OR_NULL,
    FACE_HANDLE_END,
    FACE_NOT_NULL,
    FACE_ARRAY,
    FACE_STRUCT,
    FACE_STRUCT_OR_NULL,
    FACE_CHOICE
} face_role;
typedef struct face_args face_args;
typedef struct face_field { /* an item of args.def */
    const char *name, *count_name;
    size_t offset, size, count_offset, count_size;
    size_t inner_offset, inner_size; /* of lists of lists: the count of each; size 0: it is none */
    size_t elem, when_offset;
    int64_t most; /* elements, or choices */
    const face_args *(*of)(void); /* what elements are, or NULL */
    face_role role;
    face_handle_kind kind;
    int when;
    bool count_signed, pointers, only; /* only: where the int at when_offset is `when` */
} face_field;
struct face_args {
    const char *name;
    size_t minimum, size; /* the least struct_size, 0: not looked at; bytes of the struct */
    size_t n;
    const face_field *fields;
};
const face_args *face_args_of(face_slot slot);
xt_status face_check(const void *args, face_slot slot);
xt_status face_check_kv_get(const PJRT_KeyValueGetCallback_Args *a); /* what a callback of the client gave back */
xt_status face_check_read_callback(const PJRT_Buffer_CopyRawToHostFuture_Callback_Args *a);
xt_status face_check_donation_callback(const PJRT_Buffer_DonateWithControlDependency_Callback_Args *a);
xt_status face_check_lists(void *const *lists, size_t n, size_t inner, const char *function, const char *field);

/* Defines the table's function `name`; its body gives a status, and runs when its arguments are what
 * args.def asks for. */
#define FACE(name)                                       \
    static xt_status name##_body(PJRT_##name##_Args *a); \
    PJRT_Error *face_##name(PJRT_##name##_Args *a) {     \
        face_call call = face_call_begin();              \
        xt_status s = face_check(a, FACE_SLOT_##name);   \
        if (!s) s = name##_body(a);                      \
        face_call_end(call);                             \
        return face_error(s);                            \
    }                                                    \
    static xt_status name##_body(PJRT_##name##_Args *a)

/* --- error.c --- */
PJRT_Error *face_error(xt_status s); /* takes s over; NULL stays NULL */
xt_status face_take_error(PJRT_Error *e, const char *what); /* an error made by our own callback_error */
extern PJRT_CallbackError face_callback_error;
PJRT_NamedValue face_float(const char *name, double v); /* named values for attributes */
PJRT_NamedValue face_int64s(const char *name, const int64_t *v, size_t n);

/* --- event.c --- */
typedef struct PJRT_Event face_event;
face_event *face_event_new(void); /* one reference, yours; NULL without memory */
face_event *face_event_retain(face_event *e);
void face_event_release(face_event *e); /* NULL is fine */
void face_event_set(face_event *e, xt_status s); /* takes s over; callbacks run here; once only */
bool face_event_is_ready(face_event *e);
bool face_event_is_promised(face_event *e); /* not ready, and no device is to make it ready */
/* A client asks for it, and is about to wait where it is not ready: PJRT_Device.awaited. */
void face_event_asked(const face_event *e);
xt_status face_event_wait(face_event *e); /* a clone of its error; an error at once where waiting could never end */
/* The event is set by what d runs, or after what `of` waits for: a callback on d's own thread, which nothing else on d
 * can pass, must not wait for it. */
void face_event_made_by(face_event *e, PJRT_Device *d);
void face_event_follows(face_event *e, const face_event *of);
/* fn is called when the event is set, at once if it is; it owns the status. */
typedef void (*face_event_fn)(void *user, xt_status s);
xt_status face_event_then(face_event *e, face_event_fn fn, void *user);
/* An event that is set already; takes s over. */
xt_status face_event_done(xt_status s, face_event **out);
xt_status face_event_given(xt_status s, face_event **out); /* the same for a client */

/* --- device.c: devices; memory.c: their memory account --- */
struct PJRT_DeviceDescription {
    _Alignas(FACE_GRAIN) int32_t id;
    int32_t process;
    char text[64];
    PJRT_Client *client; /* whose it is, or: */
    PJRT_TopologyDescription *topology;
};
/* All of a device's memories are the host's; the kinds exist because programs name them: "device" (the default),
 * "pinned_host", "unpinned_host". */
enum { FACE_KINDS = 3 };
extern const char *const face_kind_names[FACE_KINDS];
int face_kind_find(const char *name, size_t n); /* or -1 */
struct PJRT_Memory {
    _Alignas(FACE_GRAIN) PJRT_Device *device;
    int32_t id, kind;
    char text[64];
};
typedef struct face_task face_task;
typedef struct face_group { /* the devices of one assignment, in its order */
    char tag[33];
    coll_group *coll;
    struct face_group *next;
} face_group;
/* What a program that was taken on will need while it runs, so that nothing that comes later takes it: it has its
 * donated inputs already, and could not give them back. Guarded by `account`. */
typedef struct face_promise {
    struct face_promise *next;
    int64_t bytes; /* 0: none was made */
} face_promise;
struct PJRT_Device {
    PJRT_Client *client; /* first: where a device begins is no place for its description, which is a handle too */
    PJRT_DeviceDescription description;
    PJRT_Memory memory[FACE_KINDS];
    PJRT_Memory *memories[FACE_KINDS]; /* what Device_AddressableMemories gives */
    PJRT_Device *self[1]; /* what Memory_AddressableByDevices gives */
    int32_t local_id; /* -1: of another process */

    pthread_mutex_t account;
    int64_t in_use, peak, limit, n_allocs, largest; /* limit 0 = none */
    /* free large blocks; NULL before the first: a step may give hundreds of gradients back at once and ask
     * for them again */
    face_kept *kept;
    face_block *loose; /* large blocks in use that are larger than what was asked for, by address */
    size_t n_loose, cap_loose;
    int64_t kept_bytes;
    face_promise *promises;
    atomic_int apart; /* tasks on their way that wait for calls for other devices */
    int64_t drawn; /* by the program that runs now, of its promise */

    pthread_t executor;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    face_task *first, *last;
    bool stop, ready;
    /* Does the client wait for what it starts? Set when it asks for something that is not ready. turns: short programs
     * that it may run itself before that is looked at again. */
    atomic_bool awaited;
    atomic_int turns;
    bool busy, lent; /* the executor runs a task; a client's thread does: */
    pthread_t borrower;
    xt_status start_error;
    cpu_device *cpu;
    coll_group *coll; /* all devices of the client, by number */
    face_group *groups; /* opened for programs on others than those */
};
void face_device_init(PJRT_Device *d, PJRT_Client *c, int32_t id, int32_t process, int32_t local_id, int64_t limit);
void face_device_retire(
    PJRT_Device *d); /* its handles are no longer the client's; calls that have one keep the client */
void face_device_deinit(PJRT_Device *d);
xt_status face_alloc(PJRT_Device *d, size_t n, void **out); /* 64-byte aligned; RESOURCE_EXHAUSTED beyond the limit */
/* out_zero: all its bytes are zero, as the system gave them */
xt_status face_alloc_told(PJRT_Device *d, size_t n, void **out, bool *out_zero);
/* Promises n bytes if there is room for them besides what is promised already: programs run one after the other, so the
 * largest promise is what is held back. face_alloc_promised is for the program that runs; face_promise_end gives back
 * what it did not draw. */
void face_promise_make(PJRT_Device *d, int64_t n, face_promise *p);
xt_status face_alloc_promised(PJRT_Device *d, face_promise *p, size_t n, void **out);
void face_promise_end(PJRT_Device *d, face_promise *p);
void face_free(PJRT_Device *d, void *p, size_t n); /* n as it was asked for */
int64_t face_largest_kept(const PJRT_Device *d); /* bytes of the largest block kept for reuse; under `account` */
void face_memory_trim(PJRT_Device *d); /* gives kept blocks back to the system */
/* both may be NULL: the first */
xt_status face_pick_device(PJRT_Client *c, PJRT_Device *device, PJRT_Memory *memory, PJRT_Device **out);

/* --- executor.c: one thread per addressable device --- */
struct face_task {
    face_task *next;
    void (*run)(face_task *t, PJRT_Device *d); /* frees t */
};
xt_status face_executor_join(PJRT_Device *d, const PJRT_LoadedExecutable *e); /* whom its program meets */
/* it will not join the devices' group: those that wait for it there hear of it at once */
void face_executor_missing(const PJRT_Device *d);
xt_status face_executor_start(PJRT_Device *d);
xt_status face_executor_wait_started(PJRT_Device *d); /* the group has been joined; its error once */
xt_status face_executor_enqueue(PJRT_Device *d, face_task *t);
/* True when nothing runs and nothing waits: the caller may run a task itself, and gives the device back after it. What
 * others enqueue meanwhile waits. */
bool face_executor_borrow(PJRT_Device *d);
void face_executor_give_back(PJRT_Device *d);
/* this thread runs d's programs now: nothing more of d runs before it is done */
bool face_executor_is_here(PJRT_Device *d);
void face_executor_stop(PJRT_Device *d); /* runs what is enqueued first */

/* --- client.c --- */
struct PJRT_TopologyDescription {
    _Alignas(FACE_GRAIN) PJRT_Client *client; /* NULL: it has descriptions of its own */
    atomic_int refs; /* of one of its own: its handle's, and those of calls that still have a description */
    PJRT_DeviceDescription **descriptions;
    size_t n;
    uint64_t fingerprint;
    const char *platform;
};
struct PJRT_Client {
    atomic_int refs;
    atomic_bool closed;
    int node_id, n_nodes;
    size_t n_devices;
    PJRT_Device **all, **mine; /* all by global id */
    PJRT_Memory **memories; /* of `mine`, FACE_KINDS each */
    size_t n_mine;
    char platform[32];
    int threads; /* of each device */
    char *coll_name;
    PJRT_TopologyDescription topology;
};
void face_client_retain(PJRT_Client *c);
void face_client_release(PJRT_Client *c);
xt_status face_devices_wanted(int64_t *out); /* what CPU_NUM_DEVICES says, or 1 */
/* the default platform name; a client may be created under another */
extern const char face_platform[], face_version[];
void face_own_platform(size_t n, char *out); /* platform.c: of a client that has no create option of it */
void face_tell(const char *text, const char **out, size_t *out_size);
xt_status face_topology_init(PJRT_TopologyDescription *t, PJRT_DeviceDescription **descriptions, size_t n);

/* --- layouts.c: the order in which an array's dims lie in memory, which a program may choose; all are dense --- */
typedef struct face_layout face_layout; /* made once for each order and kept as long as the process; NULL: row-major */
xt_status face_layout_get(size_t rank, const int64_t *major_to_minor, const face_layout **out);
const int64_t *face_layout_major_to_minor(const face_layout *l);
const int64_t *face_layout_minor_to_major(const face_layout *l);
/* t with its dims in memory's order */
xt_status face_layout_stored(const face_layout *l, const ir_type *t, const ir_type **out);
/* What a client asks for, NULL being row-major; strides that are no order of dense dims are refused. */
xt_status face_layout_asked(const PJRT_Buffer_MemoryLayout *asked, const ir_type *t, const face_layout **out);
bool face_layout_same(const face_layout *a, const face_layout *b,
                      const ir_type *t); /* for arrays of that type, whose dims of one element lie anywhere */
void face_layout_text(const face_layout *l, size_t rank, str *out); /* "{1,0}" */

/* --- value.c, buffer.c --- */
typedef struct face_value {
    atomic_int refs;
    PJRT_Device *device;
    const ir_type *type, *stored; /* stored: with the dims in memory's order; of a row-major array its type */
    const face_layout *layout;
    void *data; /* NULL until made, and after a program took it over */
    size_t bytes; /* dense host bytes */
    /* not its own memory: read only; `on_free` tells when the client's is free again, `of` is the value whose
     * memory it is */
    bool borrowed;
    face_event *on_free;
    struct face_value *of;
    face_event *ready;
} face_value;
/* no memory yet */
xt_status face_value_new(PJRT_Device *d, const ir_type *type, const face_layout *layout, face_value **out);
face_value *face_value_retain(face_value *v);
void face_value_release(face_value *v);
/* A value that reads the memory of `of` under another type of as many bytes, once `of` and (unless NULL) the event
 * `also` are there. */
xt_status face_value_view(face_value *of, const ir_type *type, const face_layout *layout, face_event *also,
                          face_value **out);
struct PJRT_Buffer {
    PJRT_Device *device;
    PJRT_Memory *memory;
    const ir_type *type;
    const face_layout *layout;
    pthread_mutex_t lock;
    face_value *value; /* guarded; NULL when deleted or donated */
    face_value *pinned; /* guarded; what external references hold, also after deletion */
    int external;
};
xt_status face_buffer_new(face_value *v, PJRT_Memory *memory,
                          /* takes the reference over, also on failure; memory NULL: the device's default */
                          PJRT_Buffer **out);
face_value *face_buffer_value(PJRT_Buffer *b); /* a new reference, or NULL */
face_value *face_buffer_take(PJRT_Buffer *b); /* the buffer's own reference: it is deleted now; or NULL */
xt_status face_type_of(PJRT_Buffer_Type t, const int64_t *dims, size_t n, const ir_type **out);
const char *face_type_text(const ir_type *t, char *buf, size_t n);

/* --- hostcopy.c: between dense row-major memory and memory with any byte strides --- */
/* strides: of each dim, in bytes, may be negative; `host` is the address of element 0,...,0. */
/* As memcpy, by several threads where that pays. dst_zero: dst is all zero and untouched; zeros of src are then not
 * written, so that no page is made for them before a program writes it (optimizer state begins as zeros and is as large
 * as the weights). */
void face_copy_in(void *dst, const void *src, size_t n, bool dst_zero);
/* From host strides by the dims of v's type (NULL: row-major) to those by the dims of v->stored. *strides is taken
 * over, also on failure. */
xt_status face_strides_stored(int64_t **strides, const face_value *v);
void face_gather(void *dense, const char *host, const int64_t *strides, const ir_type *t);
void face_scatter(char *host, const int64_t *strides, const void *dense, const ir_type *t);
bool face_is_dense(const int64_t *strides, const ir_type *t);
/* The bytes from element 0,...,0 that a copy to strides writes, none of them twice; strides that go below that element,
 * that let elements overlap or whose products overflow are refused. */
xt_status face_write_extent(const int64_t *strides, const ir_type *t, size_t *out);
/* nothing wraps; strides may be negative or zero */
xt_status face_check_read(const void *host, const int64_t *strides, const ir_type *t);
/* The byte strides a host layout stands for; *out_strides is base_malloc'ed, NULL for row-major. */
xt_status face_layout_strides(const PJRT_Buffer_MemoryLayout *layout, const ir_type *t, int64_t **out_strides);

/* --- options.c: compile options --- */
typedef struct face_options {
    int replicas, partitions;
    int32_t *ids; /* [partition][replica], NULL: not assigned */
    size_t n_ids;
    bool keep_divided; /* outputs without a sharding need not be whole */
    bool as_written; /* xtrain_as_written: no habit of XLA's that the specification does not have */
    char *dump_to; /* xla_dump_to: a folder for the table of the program's memory, or NULL */
} face_options;
xt_status face_options_read(const char *bytes, size_t n, face_options *out);
void face_options_deinit(face_options *o);
void face_assignment_write(const face_options *o, const int32_t *ids, str *out); /* DeviceAssignmentProto */

/* --- executable.c --- */
/* A program with all that its handles tell about it; shared by PJRT_Executable and PJRT_LoadedExecutable. */
typedef struct face_program {
    atomic_int refs;
    cpu_exec *exec;
    face_options options;
    char *option_bytes; /* as received */
    size_t option_size;
    char fingerprint[33];
    size_t n_in, n_out;
    const ir_type **types; /* inputs, then outputs */
    const face_layout **orders; /* likewise */
    PJRT_Buffer_Type *out_types;
    int64_t *out_dims; /* of all outputs */
    size_t *out_ranks;
    uint8_t *in_kinds, *out_kinds; /* of memory: indices of face_kind_names */
    const char **kinds; /* their names: inputs, then outputs */
    size_t *kind_sizes;
    char **shardings; /* OpSharding messages: inputs, then outputs; NULL for programs of one device */
    size_t *sharding_sizes;
    /* of a partitioned program that came as HLO: the same with its shardings, as
     * HloModuleProtoWithConfig; NULL: none */
    char *hlo;
    size_t hlo_size;
    pthread_mutex_t lock;
    PJRT_Layouts_MemoryLayout **layouts[2]; /* guarded: the lists last given, of inputs and of outputs */
    PJRT_NamedValue costs[4 + CPU_PHASES]; /* work, then how long compiling took by phase */
} face_program;
struct PJRT_Executable {
    face_program *program;
};
struct PJRT_LoadedExecutable {
    atomic_int refs; /* the handle and the tasks that run it */
    PJRT_Client *client;
    face_program *program;
    PJRT_Device **devices;
    PJRT_LogicalDeviceIds *logical;
    size_t n_devices;
    int32_t *ids; /* global ids in use, replicas x partitions */
    bool own_group; /* its devices are not all of the client, or in another order: they meet under this name */
    char group_tag[33];
    atomic_bool deleted;
};
void face_program_release(face_program *p);
void face_loaded_release(PJRT_LoadedExecutable *e);
xt_status face_load(PJRT_Client *c, face_program *p, PJRT_LoadedExecutable **out); /* takes p over, also on failure */
xt_status face_program_compile(const PJRT_Program *program, const char *options, size_t options_size, int threads,
                               face_program **out);
xt_status face_program_write(const face_program *p, str *out); /* serialised */
/* options NULL: those it was compiled with. */
xt_status face_program_read(const char *data, size_t n, const char *options, size_t options_size, int threads,
                            face_program **out);

/* sharding.c: an mhlo.sharding text (NULL: replicated) as an OpSharding message */
xt_status face_sharding_write(const char *text, str *out);

extern PJRT_Profiler_Extension face_profiler; /* profiler.c */
extern PJRT_Layouts_Extension face_layouts; /* layouts.c */
extern PJRT_Shardings_Extension face_shardings; /* sharding.c */

#endif
