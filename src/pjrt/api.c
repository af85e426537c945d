/* The plugin's one exported symbol and its table: what is served, and what is refused by name.
 *
 * The table is declared as 0.103: from 0.105 on clients expect a vtable in every PJRT_Memory, which
 * nothing here needs. */
#include "pjrt/face.h"

/* Only a callback of a program's host transfers gets such a stream, and programs with host transfers are refused when
 * they are run. */
#define REFUSED(F)                 \
    F(CopyToDeviceStream_Destroy)  \
    F(CopyToDeviceStream_AddChunk) \
    F(CopyToDeviceStream_TotalBytes) F(CopyToDeviceStream_GranuleSize) F(CopyToDeviceStream_CurrentBytes)
#define REFUSE(name)                                                                                         \
    FACE(name) {                                                                                             \
        (void)a;                                                                                             \
        return status_new(XT_UNIMPLEMENTED, NULL, "PJRT_" #name " is not offered by the xtrain CPU plugin"); \
    }
REFUSED(REFUSE)

FACE(Plugin_Initialize) {
    (void)a;
    return NULL;
}

FACE(Plugin_Attributes) {
    static const int64_t current[] = {1, 17, 0}, oldest[] = {0, 9, 0};
    static PJRT_NamedValue attributes[2];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    attributes[0] = face_int64s("stablehlo_current_version", current, 3);
    attributes[1] = face_int64s("stablehlo_minimum_version", oldest, 3);
    pthread_mutex_unlock(&lock);
    a->attributes = attributes;
    a->num_attributes = BASE_COUNT(attributes);
    return NULL;
}

#define PJRT_FN(name, since, size, ...) .name = face_##name,
#define PJRT_FN_VOID PJRT_FN
static const PJRT_Api api = {
    .struct_size = PJRT_SIZE_OF(PJRT_Api),
    .extension_start = &face_profiler.base,
    .pjrt_api_version = {.struct_size = PJRT_SIZE_OF(PJRT_Api_Version), .major_version = 0, .minor_version = 103},
#include "device/pjrt_slots.def"
};
#undef PJRT_FN
#undef PJRT_FN_VOID

static const face_end_fn ends[FACE_HANDLE_KINDS] = {
    [FACE_CLIENT] = face_client_end,
    [FACE_DEVICE] = face_device_end,
    [FACE_DESCRIPTION] = face_description_end,
    [FACE_MEMORY] = face_memory_end,
    [FACE_BUFFER] = face_buffer_end,
    [FACE_EVENT] = face_event_end,
    [FACE_LOADED] = face_loaded_end,
    [FACE_EXECUTABLE] = face_executable_end,
    [FACE_TOPOLOGY] = face_topology_end,
    [FACE_TRANSFER] = face_transfer_end,
    [FACE_TRACKING] = face_tracking_end,
    [FACE_CONTEXT] = face_context_end,
    [FACE_ALIAS] = face_alias_end,
    [FACE_LAYOUT] = face_layout_end,
    [FACE_ERROR] = face_error_end,
};

XT_API const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
    face_set_ends(ends);
    return &api;
}
