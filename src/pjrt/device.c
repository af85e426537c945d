/* Devices and their one memory space each: what they are called, and what they tell of themselves. The account of their
 * memory is in memory.c. */
#include <unistd.h>

#include "pjrt/face.h"

static const char device_kind[] = "cpu";
const char *const face_kind_names[FACE_KINDS] = {"device", "pinned_host", "unpinned_host"};

int face_kind_find(const char *name, size_t n) {
    for (int k = 0; k < FACE_KINDS; k++)
        if (strlen(face_kind_names[k]) == n && memcmp(face_kind_names[k], name, n) == 0) return k;
    return -1;
}

void face_device_init(PJRT_Device *d, PJRT_Client *c, int32_t id, int32_t process, int32_t local_id, int64_t limit) {
    d->client = c;
    d->description.id = id;
    d->description.process = process;
    d->description.client = c;
    snprintf(d->description.text, sizeof d->description.text, "%s:%d", c->platform, id);
    d->local_id = local_id;
    d->limit = limit;
    for (int k = 0; k < FACE_KINDS; k++) {
        PJRT_Memory *m = d->memories[k] = &d->memory[k];
        *m = (PJRT_Memory){.device = d, .id = id * FACE_KINDS + k, .kind = k};
        FACE_GIVE(m);
        snprintf(m->text, sizeof m->text, "%s memory of %.40s", face_kind_names[k], d->description.text);
    }
    d->self[0] = d;
    FACE_GIVE(d);
    FACE_GIVE(&d->description);
    pthread_mutex_init(&d->account, NULL);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
}

void face_device_end(void *handle) {
    PJRT_Device *d = handle;
    face_client_release(d->client);
}

void face_memory_end(void *handle) {
    PJRT_Memory *m = handle;
    face_client_release(m->device->client);
}

static void retire(PJRT_Client *c, void *handle, face_handle_kind kind) {
    face_client_retain(c);
    if (!face_retire(handle, kind)) face_client_release(c);
}

void face_device_retire(PJRT_Device *d) {
    retire(d->client, d, FACE_DEVICE);
    retire(d->client, &d->description, FACE_DESCRIPTION);
    for (int k = 0; k < FACE_KINDS; k++) retire(d->client, &d->memory[k], FACE_MEMORY);
}

void face_device_deinit(PJRT_Device *d) {
    face_memory_trim(d);
    base_free(d->loose);
    base_free(d->kept);
    xt_status_free(d->start_error);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->account);
}

xt_status face_pick_device(PJRT_Client *c, PJRT_Device *device, PJRT_Memory *memory, PJRT_Device **out) {
    if (memory) XT_TRY(FACE_CHECK(memory, "Memory", "memory"));
    if (device) XT_TRY(FACE_CHECK(device, "Device", "device"));
    PJRT_Device *d = memory ? memory->device : device ? device : c->mine[0];
    if (d->client != c) return status_new(XT_INVALID_ARGUMENT, NULL, "the device belongs to another client");
    if (d->local_id < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s belongs to process %d, not to this one", d->description.text,
                          d->description.process);
    *out = d;
    return NULL;
}

/* --- descriptions --- */
FACE(DeviceDescription_Id) {
    a->id = a->device_description->id;
    return NULL;
}

FACE(DeviceDescription_ProcessIndex) {
    a->process_index = a->device_description->process;
    return NULL;
}

FACE(DeviceDescription_Attributes) {
    a->attributes = NULL;
    a->num_attributes = 0;
    return NULL;
}

FACE(DeviceDescription_Kind) {
    a->device_kind = device_kind;
    a->device_kind_size = sizeof device_kind - 1;
    return NULL;
}

FACE(DeviceDescription_DebugString) {
    face_tell(a->device_description->text, &a->debug_string, &a->debug_string_size);
    return NULL;
}

FACE(DeviceDescription_ToString) {
    face_tell(a->device_description->text, &a->to_string, &a->to_string_size);
    return NULL;
}

/* --- devices --- */
FACE(Device_GetDescription) {
    a->device_description = &a->device->description;
    return NULL;
}

FACE(Device_IsAddressable) {
    a->is_addressable = a->device->local_id >= 0;
    return NULL;
}

FACE(Device_LocalHardwareId) {
    a->local_hardware_id = a->device->local_id;
    return NULL;
}

FACE(Device_AddressableMemories) {
    a->memories = a->device->memories;
    a->num_memories = a->device->local_id >= 0 ? FACE_KINDS : 0;
    return NULL;
}

FACE(Device_DefaultMemory) {
    if (a->device->local_id < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s belongs to another process", a->device->description.text);
    a->memory = &a->device->memory[0];
    return NULL;
}

static void no_attributes(PJRT_Device_Attributes *p) {
    (void)p;
}

FACE(Device_GetAttributes) {
    a->attributes = NULL;
    a->num_attributes = 0;
    a->device_attributes = NULL;
    a->attributes_deleter = no_attributes;
    return NULL;
}

/* The struct grew after 0.81; nothing beyond the caller's end is written. */
FACE(Device_MemoryStats) {
    PJRT_Device *d = a->device;
    size_t skip = offsetof(PJRT_Device_MemoryStats_Args, bytes_in_use);
    memset((char *)a + skip, 0,
           (a->struct_size < sizeof *a ? a->struct_size : PJRT_SIZE_OF(PJRT_Device_MemoryStats_Args)) - skip);
    pthread_mutex_lock(&d->account);
    a->bytes_in_use = d->in_use;
    a->peak_bytes_in_use = d->peak;
    a->num_allocs = d->n_allocs;
    a->largest_alloc_size = d->largest;
    a->bytes_reserved = d->in_use + d->kept_bytes; /* with blocks kept for reuse */
    a->largest_free_block_bytes = face_largest_kept(d);
    pthread_mutex_unlock(&d->account);
    a->peak_bytes_in_use_is_set = a->num_allocs_is_set = a->largest_alloc_size_is_set = a->bytes_reserved_is_set =
        a->largest_free_block_bytes_is_set = true;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    a->bytes_limit = d->limit > 0 ? d->limit : pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    a->bytes_limit_is_set = a->bytes_limit > 0;
    return NULL;
}

FACE(Device_ClearMemoryStats) {
    pthread_mutex_lock(&a->device->account);
    a->device->peak = a->device->in_use;
    a->device->n_allocs = a->device->largest = 0;
    pthread_mutex_unlock(&a->device->account);
    return NULL;
}

/* --- memories --- */
FACE(Memory_Id) {
    a->id = a->memory->id;
    return NULL;
}

FACE(Memory_Kind) {
    face_tell(face_kind_names[a->memory->kind], &a->kind, &a->kind_size);
    return NULL;
}

FACE(Memory_Kind_Id) {
    a->kind_id = a->memory->kind;
    return NULL;
}

FACE(Memory_DebugString) {
    face_tell(a->memory->text, &a->debug_string, &a->debug_string_size);
    return NULL;
}

FACE(Memory_ToString) {
    face_tell(a->memory->text, &a->to_string, &a->to_string_size);
    return NULL;
}

FACE(Memory_AddressableByDevices) {
    a->devices = a->memory->device->self;
    a->num_devices = 1;
    return NULL;
}
