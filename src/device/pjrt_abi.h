/* The PJRT C API as this project needs it: struct layouts, enum values and the order of the function table, written
 * from measured ABI facts.
 *
 * Rules of that ABI, which every user of this header keeps:
 *  1. A plugin exports one C symbol, `const PJRT_Api *GetPjrtApi(void)`, and gives the same static table at each call.
 *  2. Every call takes one Args struct that begins with its struct_size (offset + size of the last field, without
 *     tail padding) and an extension chain. Nobody reads or writes past the struct_size the other side gave.
 *     PJRT_INIT fills it.
 *  3. NULL is success; a PJRT_Error belongs to the caller. Error_Destroy and Error_Message return nothing.
 *  4. Out fields are not zeroed by the caller: a plugin sets each of them.
 *  5. A slot may be missing (table shorter than ours) or NULL: ask PJRT_HAS before using one that is younger than
 *     the base order.
 *  6. Strings are pointer + length, not NUL-terminated, except call_location. */
#ifndef XT_SRC_DEVICE_PJRT_ABI_H
#define XT_SRC_DEVICE_PJRT_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Enumerations --- */
typedef enum PJRT_Error_Code {
    PJRT_OK = 0,
    PJRT_CANCELLED = 1,
    PJRT_UNKNOWN = 2,
    PJRT_INVALID_ARGUMENT = 3,
    PJRT_DEADLINE_EXCEEDED = 4,
    PJRT_NOT_FOUND = 5,
    PJRT_ALREADY_EXISTS = 6,
    PJRT_PERMISSION_DENIED = 7,
    PJRT_RESOURCE_EXHAUSTED = 8,
    PJRT_FAILED_PRECONDITION = 9,
    PJRT_ABORTED = 10,
    PJRT_OUT_OF_RANGE = 11,
    PJRT_UNIMPLEMENTED = 12,
    PJRT_INTERNAL = 13,
    PJRT_UNAVAILABLE = 14,
    PJRT_DATA_LOSS = 15,
    PJRT_UNAUTHENTICATED = 16
} PJRT_Error_Code;

/* The values of xt_dtype are these (see xtrain/base.h); only the ends are named here. */
typedef enum PJRT_Buffer_Type {
    PJRT_TYPE_INVALID = 0,
    PJRT_TYPE_PRED = 1,
    PJRT_TYPE_F32 = 11,
    PJRT_TYPE_LAST = 33
} PJRT_Buffer_Type;

typedef enum PJRT_HostBufferSemantics {
    PJRT_HOST_ONLY_DURING_CALL = 0,
    PJRT_HOST_UNTIL_TRANSFER_COMPLETES = 1,
    PJRT_HOST_ZERO_COPY = 2, /* immutable as long as the buffer lives */
    PJRT_HOST_MUTABLE_ZERO_COPY = 3, /* the device may write it */
    PJRT_HOST_SEMANTICS_COUNT
} PJRT_HostBufferSemantics;

typedef enum PJRT_NamedValue_Type {
    PJRT_VALUE_STRING = 0,
    PJRT_VALUE_INT64 = 1,
    PJRT_VALUE_INT64_LIST = 2,
    PJRT_VALUE_FLOAT = 3,
    PJRT_VALUE_BOOL = 4
} PJRT_NamedValue_Type;

typedef enum PJRT_Buffer_MemoryLayout_Type {
    PJRT_LAYOUT_TILED = 0,
    PJRT_LAYOUT_STRIDES = 1
} PJRT_Buffer_MemoryLayout_Type;
typedef enum PJRT_ProcessState {
    PJRT_PROCESS_UNSPECIFIED = 0,
    PJRT_PROCESS_UNINITIALIZED = 1,
    PJRT_PROCESS_DISCONNECTED = 2,
    PJRT_PROCESS_CONNECTED = 3,
    PJRT_PROCESS_ERROR = 4
} PJRT_ProcessState;
typedef enum PJRT_Extension_Type {
    PJRT_EXTENSION_PROFILER = 1,
    PJRT_EXTENSION_LAYOUTS = 4,
    PJRT_EXTENSION_SHARDINGS = 19
} PJRT_Extension_Type;

/* --- Opaque objects: the plugin's --- */
typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_HloOutputCallbackInfo PJRT_HloOutputCallbackInfo;

/* --- Structs that are filled by callers ---
 * PJRT_SIZE(name, n) states and checks a struct's size; PJRT_SIZE_OF(name) is what goes into struct_size. */
#define PJRT_SIZE(name, n)      \
    enum { name##_SIZE = (n) }; \
    static_assert(sizeof(name) == ((n) + 7) / 8 * 8, #name)
#define PJRT_SIZE_OF(name) ((size_t)name##_SIZE)

typedef struct PJRT_Extension_Base {
    size_t struct_size;
    PJRT_Extension_Type type;
    struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;
PJRT_SIZE(PJRT_Extension_Base, 24);

/* What each Args struct starts with; also all that a stub may look at. */
typedef struct PJRT_Any_Args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
} PJRT_Any_Args;

typedef struct PJRT_Api_Version {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    int major_version, minor_version;
} PJRT_Api_Version;
PJRT_SIZE(PJRT_Api_Version, 24);

typedef struct PJRT_NamedValue {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const char *name;
    size_t name_size;
    PJRT_NamedValue_Type type;
    union {
        const char *string_value;
        int64_t int64_value;
        const int64_t *int64_array_value;
        float float_value;
        bool bool_value;
    };
    size_t value_size; /* characters, elements, or 1 */
} PJRT_NamedValue;
PJRT_SIZE(PJRT_NamedValue, 56);

typedef struct PJRT_Program {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    char *code;
    size_t code_size;
    const char *format; /* "mlir", "hlo", "hlo_with_config" */
    size_t format_size;
} PJRT_Program;
PJRT_SIZE(PJRT_Program, 48);

typedef struct PJRT_Buffer_MemoryLayout_Tiled {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const int64_t *minor_to_major;
    size_t minor_to_major_size;
    const int64_t *tile_dims;
    const size_t *tile_dim_sizes;
    size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;
PJRT_SIZE(PJRT_Buffer_MemoryLayout_Tiled, 56);

typedef struct PJRT_Buffer_MemoryLayout_Strides {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const int64_t *byte_strides;
    size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;
PJRT_SIZE(PJRT_Buffer_MemoryLayout_Strides, 32);

typedef struct PJRT_Buffer_MemoryLayout {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    union {
        PJRT_Buffer_MemoryLayout_Tiled tiled;
        PJRT_Buffer_MemoryLayout_Strides strides;
    };
    PJRT_Buffer_MemoryLayout_Type type;
} PJRT_Buffer_MemoryLayout;
PJRT_SIZE(PJRT_Buffer_MemoryLayout, 76);

typedef struct PJRT_ShapeSpec {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Buffer_Type element_type;
} PJRT_ShapeSpec;
PJRT_SIZE(PJRT_ShapeSpec, 36);

typedef struct PJRT_Chunk {
    void *data;
    size_t size;
    void (*deleter)(void *data, void *deleter_arg);
    void *deleter_arg;
} PJRT_Chunk;
PJRT_SIZE(PJRT_Chunk, 32);

/* How a callback of the client makes an error for the plugin; Args hold a pointer to such a function pointer. */
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code, const char *message, size_t message_size);
typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes, bool done, void *user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);

typedef struct PJRT_SendCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_SendCallback send_callback;
} PJRT_SendCallbackInfo;
PJRT_SIZE(PJRT_SendCallbackInfo, 24);

typedef struct PJRT_RecvCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_RecvCallback recv_callback;
} PJRT_RecvCallbackInfo;
PJRT_SIZE(PJRT_RecvCallbackInfo, 24);

typedef struct PJRT_ExecuteOptions {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    PJRT_SendCallbackInfo **send_callbacks;
    PJRT_RecvCallbackInfo **recv_callbacks;
    size_t num_send_ops, num_recv_ops;
    int32_t launch_id;
    const int64_t *non_donatable_input_indices;
    size_t num_non_donatable_input_indices;
    PJRT_ExecuteContext *context;
    const char *call_location; /* since 0.64 */
    size_t num_tasks; /* 0.76 */
    int32_t *task_ids;
    int64_t *incarnation_ids;
    PJRT_MultiSlice_Config *multi_slice_config; /* 0.78 */
    bool use_major_to_minor_data_layout_for_callbacks; /* 0.97 */
    PJRT_HloOutputCallbackInfo *hlo_output_callbacks;
    size_t num_hlo_output_callbacks;
} PJRT_ExecuteOptions;
PJRT_SIZE(PJRT_ExecuteOptions, 144);
/* torch_xla sends this much: up to non-donatable inputs and the context. */
enum { PJRT_ExecuteOptions_BASE_SIZE = 80 };

typedef struct PJRT_LoadOptions { /* no extension chain */
    size_t struct_size;
    const int32_t *computation_origin;
    size_t computation_origin_size;
    PJRT_MultiSlice_Config *multi_slice_config;
} PJRT_LoadOptions;
PJRT_SIZE(PJRT_LoadOptions, 32);

typedef struct PJRT_LogicalDeviceIds {
    int32_t replica, partition;
} PJRT_LogicalDeviceIds;
PJRT_SIZE(PJRT_LogicalDeviceIds, 8);

typedef struct PJRT_ProcessInfo { /* no extension chain */
    size_t struct_size;
    int32_t task_id;
    uint64_t incarnation_id;
    PJRT_ProcessState state;
    int32_t error_code;
    const char *error_message;
    size_t error_message_size;
} PJRT_ProcessInfo;
PJRT_SIZE(PJRT_ProcessInfo, 48);

typedef struct PJRT_KeyValueGetCallback_Args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    int32_t timeout_in_ms;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value; /* out; the plugin copies it, then calls the deleter */
    size_t value_size;
    void (*value_deleter_callback)(char *value);
} PJRT_KeyValueGetCallback_Args;
PJRT_SIZE(PJRT_KeyValueGetCallback_Args, 80);

typedef struct PJRT_KeyValueTryGetCallback_Args { /* NOT_FOUND when the key is absent; never waits */
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value;
    size_t value_size;
    void (*value_deleter_callback)(char *value);
} PJRT_KeyValueTryGetCallback_Args;
PJRT_SIZE(PJRT_KeyValueTryGetCallback_Args, 72);

typedef struct PJRT_KeyValuePutCallback_Args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
} PJRT_KeyValuePutCallback_Args;
PJRT_SIZE(PJRT_KeyValuePutCallback_Args, 64);

typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);
typedef PJRT_Error *(*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args *args);
typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);
/* `error` (NULL = success) belongs to the callee. */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);
typedef PJRT_Error *(*PJRT_Error_PayloadVisitor)(const char *key, size_t key_size, const char *value, size_t value_size,
                                                 void *user_arg);

/* What the client hands to the functions that PJRT_Buffer_CopyRawToHostFuture and _DonateWithControlDependency give it;
 * no extension chain. */
typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
    size_t struct_size;
    void *callback_data;
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    void *dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
PJRT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, 48);
typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
    size_t struct_size;
    void *callback_data;
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;
PJRT_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, 40);

/* --- The Args structs, one per slot --- */
#define PJRT_FN(name, since, size, ...)       \
    typedef struct PJRT_##name##_Args {       \
        size_t struct_size;                   \
        PJRT_Extension_Base *extension_start; \
        __VA_ARGS__                           \
    } PJRT_##name##_Args;                     \
    PJRT_SIZE(PJRT_##name##_Args, size);
#define PJRT_FN_VOID PJRT_FN
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID

/* --- The table --- */
typedef struct PJRT_Api {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    PJRT_Api_Version pjrt_api_version;
#define PJRT_FN(name, since, size, ...) PJRT_Error *(*name)(PJRT_##name##_Args * args);
#define PJRT_FN_VOID(name, since, size, ...) void (*name)(PJRT_##name##_Args * args);
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
} PJRT_Api;
PJRT_SIZE(PJRT_Api, 1144);
static_assert(offsetof(PJRT_Api, Error_Destroy) == 40, "first slot");
static_assert(offsetof(PJRT_Api, LoadedExecutable_GetDeviceAssignment) == 40 + 117 * 8, "last slot of 0.81");

typedef const PJRT_Api *(*PJRT_GetApi)(void);

/* Is the slot there? Younger slots may lie beyond the plugin's table or be NULL in it. */
#define PJRT_HAS(api, name) (offsetof(PJRT_Api, name) + sizeof(void *) <= (api)->struct_size && (api)->name != NULL)
/* A zeroed Args struct with its size: `PJRT_Event_Await_Args a = PJRT_INIT(Event_Await, .event = e);` */
#define PJRT_INIT(name, ...) \
    { .struct_size = PJRT_SIZE_OF(PJRT_##name##_Args), ##__VA_ARGS__ }
/* Does the caller's struct reach as far as `field`? */
#define PJRT_REACHES(args, field) ((args)->struct_size >= offsetof(__typeof__(*(args)), field) + sizeof((args)->field))

/* --- The profiler extension (xla/backends/profiler/plugin/profiler_c_api.h). Its Args have no extension_start; those
 * about errors have a spare pointer. -- */
typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;
typedef struct PLUGIN_Profiler_Error_Args { /* destroy */
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *error;
} PLUGIN_Profiler_Error_Args;
typedef struct PLUGIN_Profiler_Error_Message_Args {
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *error;
    const char *message;
    size_t message_size;
} PLUGIN_Profiler_Error_Message_Args;
typedef struct PLUGIN_Profiler_Error_Code_Args {
    size_t struct_size;
    void *priv;
    const PLUGIN_Profiler_Error *error;
    int32_t code;
} PLUGIN_Profiler_Error_Code_Args;
typedef struct PLUGIN_Profiler_Create_Args {
    size_t struct_size;
    const char *options;
    size_t options_size;
    PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Create_Args;
typedef struct PLUGIN_Profiler_Args { /* destroy, start, stop */
    size_t struct_size;
    PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Args;
typedef struct PLUGIN_Profiler_CollectData_Args {
    size_t struct_size;
    PLUGIN_Profiler *profiler;
    uint8_t *buffer;
    size_t buffer_size_in_bytes;
} PLUGIN_Profiler_CollectData_Args;
typedef struct PLUGIN_Profiler_Api {
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *(*error_destroy)(PLUGIN_Profiler_Error_Args *);
    PLUGIN_Profiler_Error *(*error_message)(PLUGIN_Profiler_Error_Message_Args *);
    PLUGIN_Profiler_Error *(*error_get_code)(PLUGIN_Profiler_Error_Code_Args *);
    PLUGIN_Profiler_Error *(*create)(PLUGIN_Profiler_Create_Args *);
    PLUGIN_Profiler_Error *(*destroy)(PLUGIN_Profiler_Args *);
    PLUGIN_Profiler_Error *(*start)(PLUGIN_Profiler_Args *);
    PLUGIN_Profiler_Error *(*stop)(PLUGIN_Profiler_Args *);
    PLUGIN_Profiler_Error *(*collect_data)(PLUGIN_Profiler_CollectData_Args *);
} PLUGIN_Profiler_Api;
typedef struct PJRT_Profiler_Extension {
    PJRT_Extension_Base base;
    PLUGIN_Profiler_Api *profiler_api;
    int64_t traceme_context_id;
} PJRT_Profiler_Extension;
static_assert(sizeof(PLUGIN_Profiler_Api) == 80 && sizeof(PJRT_Profiler_Extension) == 40,
              "the layout of the profiler extension");

/* --- The layouts extension: a layout is an object with one text, as "{1,0}" --- */
typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;
#define PJRT_LAYOUTS_FN(name, ...)              \
    typedef struct PJRT_Layouts_##name##_Args { \
        size_t struct_size;                     \
        PJRT_Extension_Base *extension_start;   \
        __VA_ARGS__                             \
    } PJRT_Layouts_##name##_Args;
PJRT_LAYOUTS_FN(MemoryLayout_Destroy, PJRT_Layouts_MemoryLayout *layout;)
PJRT_LAYOUTS_FN(MemoryLayout_Serialize, PJRT_Layouts_MemoryLayout *layout; const char *serialized_bytes;
                size_t serialized_bytes_size; PJRT_Layouts_SerializedLayout * serialized_layout;
                void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout *);)
PJRT_LAYOUTS_FN(Client_GetDefaultLayout, PJRT_Client *client; PJRT_Buffer_Type type; const int64_t *dims;
                size_t num_dims; PJRT_Layouts_MemoryLayout * layout;)
PJRT_LAYOUTS_FN(Buffer_MemoryLayout, PJRT_Buffer *buffer; PJRT_Layouts_MemoryLayout * layout;)
PJRT_LAYOUTS_FN(Topology_GetDefaultLayout, PJRT_TopologyDescription *topology_description; PJRT_Buffer_Type type;
                const int64_t *dims; size_t num_dims; PJRT_Layouts_MemoryLayout * layout;)
PJRT_LAYOUTS_FN(Executable_GetOutputLayouts, PJRT_Executable *executable; size_t num_outputs;
                PJRT_Layouts_MemoryLayout * *layouts;)
PJRT_LAYOUTS_FN(Executable_GetParameterLayouts, PJRT_Executable *executable; size_t num_parameters;
                PJRT_Layouts_MemoryLayout * *layouts;)
typedef struct PJRT_Layouts_Extension {
    PJRT_Extension_Base base;
    PJRT_Error *(*MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args *);
    PJRT_Error *(*MemoryLayout_Serialize)(PJRT_Layouts_MemoryLayout_Serialize_Args *);
    PJRT_Error *(*Client_GetDefaultLayout)(PJRT_Layouts_Client_GetDefaultLayout_Args *);
    PJRT_Error *(*Buffer_MemoryLayout)(PJRT_Layouts_Buffer_MemoryLayout_Args *);
    PJRT_Error *(*Topology_GetDefaultLayout)(PJRT_Layouts_Topology_GetDefaultLayout_Args *);
    PJRT_Error *(*Executable_GetOutputLayouts)(PJRT_Layouts_Executable_GetOutputLayouts_Args *);
    PJRT_Error *(*Executable_GetParameterLayouts)(PJRT_Layouts_Executable_GetParameterLayouts_Args *);
} PJRT_Layouts_Extension;
static_assert(sizeof(PJRT_Layouts_Extension) == 80, "the layout of the layouts extension");

/* --- The shardings extension: serialised OpSharding messages, one per parameter or output; a NULL list
 * = unknown --- */
typedef struct PJRT_Shardings_Args {
    size_t struct_size;
    PJRT_Extension_Base *extension_start;
    PJRT_Executable *executable;
    size_t count;
    const char **shardings;
    const size_t *sizes;
} PJRT_Shardings_Args;
PJRT_SIZE(PJRT_Shardings_Args, 48);
typedef struct PJRT_Shardings_Extension {
    PJRT_Extension_Base base;
    PJRT_Error *(*Executable_ParameterShardings)(PJRT_Shardings_Args *);
    PJRT_Error *(*Executable_OutputShardings)(PJRT_Shardings_Args *);
} PJRT_Shardings_Extension;
static_assert(sizeof(PJRT_Shardings_Extension) == 40, "the layout of the shardings extension");

#endif
