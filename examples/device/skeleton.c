/* A device plugin to start from: the smallest PJRT plugin that trains. Copy this folder, and put your hardware where
 * the comments marked HARDWARE stand; here the device is the processor, its memory is malloc's, and programs run on the
 * reference interpreter, which is slow and right.
 *
 *     XT_DEVICE=build/skeleton_plugin.so build/hello
 *     PJRT_NAMES_AND_LIBRARY_PATHS=skeleton:$PWD/build/skeleton_plugin.so JAX_PLATFORMS=skeleton python train.py
 *
 * One client, one device, one memory, and everything done when the call returns: every event is ready. What a real
 * device does better is named where it is done here the simple way. What is not in the table answers UNIMPLEMENTED,
 * which clients take for everything that is left out here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/pjrt_abi.h"
#include "format/bytecode.h"
#include "ir/interp.h"
#include "pass/pass.h"

/* Opaque to the client: what stands behind its pointers. */
struct PJRT_Error {
    PJRT_Error_Code code;
    char message[512];
};
struct PJRT_Event {
    char always_ready;
};
struct PJRT_DeviceDescription {
    int id;
};
struct PJRT_Memory {
    int id;
};
struct PJRT_Device {
    PJRT_DeviceDescription description;
};
struct PJRT_Client {
    int n_buffers;
};
struct PJRT_Buffer {
    array value; /* HARDWARE: an address on the device, and an event that says when it is written */
    int external; /* views that the client handed out */
    bool deleted;
};
struct PJRT_Executable { /* the program, shared by its loaded form */
    ir_module *module;
    const ir_func *main;
    PJRT_Buffer_Type *types;
    int64_t *dims;
    size_t *ranks, n_out, n_in;
    int refs;
};
struct PJRT_LoadedExecutable {
    PJRT_Executable *executable;
    bool deleted;
};

static PJRT_Device device;
static PJRT_Device *devices[] = {&device};
static PJRT_Memory memory;
static PJRT_Memory *memories[] = {&memory};
static const char platform[] = "skeleton", version[] = "skeleton 1", kind[] = "Skeleton device",
                  memory_kind[] = "device";

/* --- errors: a code and a text --- */
static PJRT_Error *fail(PJRT_Error_Code code, const char *text) {
    static PJRT_Error no_memory = {PJRT_RESOURCE_EXHAUSTED, "out of memory"};
    PJRT_Error *e = malloc(sizeof *e);
    if (!e) return &no_memory;
    e->code = code;
    snprintf(e->message, sizeof e->message, "%s", text);
    return e;
}
/* The project's own codes are PJRT's. */
static PJRT_Error *fail_with(xt_status s) {
    PJRT_Error *e = s ? fail((PJRT_Error_Code)xt_status_code(s), xt_status_message(s)) : NULL;
    xt_status_free(s);
    return e;
}
static PJRT_Error *no_memory(void) {
    return fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
}

static void error_destroy(PJRT_Error_Destroy_Args *a) {
    if (a->error && strcmp(a->error->message, "out of memory") != 0) free(a->error);
}
static void error_message(PJRT_Error_Message_Args *a) {
    a->message = a->error->message;
    a->message_size = strlen(a->error->message);
}
static PJRT_Error *error_code(PJRT_Error_GetCode_Args *a) {
    a->code = a->error->code;
    return NULL;
}

/* --- events. HARDWARE: one that the device's completion sets; callbacks may then come from any thread, after
 * Event_Destroy as well. --- */
static PJRT_Event *ready(void) {
    return calloc(1, sizeof(PJRT_Event));
}
static PJRT_Error *event_destroy(PJRT_Event_Destroy_Args *a) {
    free(a->event);
    return NULL;
}
static PJRT_Error *event_is_ready(PJRT_Event_IsReady_Args *a) {
    a->is_ready = true;
    return NULL;
}
static PJRT_Error *event_error(PJRT_Event_Error_Args *a) {
    (void)a;
    return NULL;
}
static PJRT_Error *event_await(PJRT_Event_Await_Args *a) {
    (void)a;
    return NULL;
}
static PJRT_Error *event_on_ready(PJRT_Event_OnReady_Args *a) {
    a->callback(NULL, a->user_arg);
    return NULL;
}

/* --- plugin, client, device, memory: names and lists that stay valid --- */
static PJRT_Error *plugin_initialize(PJRT_Plugin_Initialize_Args *a) {
    (void)a;
    return NULL;
}
/* The StableHLO version that is read: clients send no newer one. */
static PJRT_Error *plugin_attributes(PJRT_Plugin_Attributes_Args *a) {
    static const int64_t current[] = {1, 13, 0};
    static PJRT_NamedValue v;
    static const char name[] = "stablehlo_current_version";
    v = (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                          .name = name,
                          .name_size = sizeof name - 1,
                          .type = PJRT_VALUE_INT64_LIST,
                          .int64_array_value = current,
                          .value_size = 3};
    a->attributes = &v;
    a->num_attributes = 1;
    return NULL;
}
static PJRT_Error *client_create(PJRT_Client_Create_Args *a) {
    /* HARDWARE: open the device; a->create_options are the user's */
    a->client = calloc(1, sizeof *a->client);
    return a->client ? NULL : no_memory();
}
static PJRT_Error *client_destroy(PJRT_Client_Destroy_Args *a) {
    free(a->client);
    return NULL;
}
#define TELL_TEXT(function, args, field, text) \
    static PJRT_Error *function(args *a) {     \
        a->field = text;                       \
        a->field##_size = sizeof text - 1;     \
        return NULL;                           \
    }
TELL_TEXT(client_platform_name, PJRT_Client_PlatformName_Args, platform_name, platform)
TELL_TEXT(client_platform_version, PJRT_Client_PlatformVersion_Args, platform_version, version)
TELL_TEXT(description_kind, PJRT_DeviceDescription_Kind_Args, device_kind, kind)
TELL_TEXT(description_debug, PJRT_DeviceDescription_DebugString_Args, debug_string, kind)
TELL_TEXT(description_text, PJRT_DeviceDescription_ToString_Args, to_string, kind)
TELL_TEXT(memory_kind_of, PJRT_Memory_Kind_Args, kind, memory_kind)
TELL_TEXT(memory_debug, PJRT_Memory_DebugString_Args, debug_string, memory_kind)
TELL_TEXT(memory_text, PJRT_Memory_ToString_Args, to_string, memory_kind)

#define TELL(function, args, ...)          \
    static PJRT_Error *function(args *a) { \
        __VA_ARGS__;                       \
        return NULL;                       \
    }
TELL(client_process_index, PJRT_Client_ProcessIndex_Args, a->process_index = 0)
TELL(client_devices, PJRT_Client_Devices_Args, (a->devices = devices, a->num_devices = 1))
TELL(client_addressable, PJRT_Client_AddressableDevices_Args,
     (a->addressable_devices = devices, a->num_addressable_devices = 1))
TELL(client_lookup, PJRT_Client_LookupDevice_Args, a->device = &device)
TELL(client_memories, PJRT_Client_AddressableMemories_Args,
     (a->addressable_memories = memories, a->num_addressable_memories = 1))
TELL(description_id, PJRT_DeviceDescription_Id_Args, a->id = 0)
TELL(description_process, PJRT_DeviceDescription_ProcessIndex_Args, a->process_index = 0)
TELL(description_attributes, PJRT_DeviceDescription_Attributes_Args, (a->attributes = NULL, a->num_attributes = 0))
TELL(device_description, PJRT_Device_GetDescription_Args, a->device_description = &device.description)
TELL(device_is_addressable, PJRT_Device_IsAddressable_Args, a->is_addressable = true)
TELL(device_hardware_id, PJRT_Device_LocalHardwareId_Args, a->local_hardware_id = 0)
TELL(device_memories, PJRT_Device_AddressableMemories_Args, (a->memories = memories, a->num_memories = 1))
TELL(device_memory, PJRT_Device_DefaultMemory_Args, a->memory = &memory)
TELL(memory_id, PJRT_Memory_Id_Args, a->id = 0)
TELL(memory_devices, PJRT_Memory_AddressableByDevices_Args, (a->devices = devices, a->num_devices = 1))

/* --- buffers --- */
static PJRT_Buffer *buffer_new(array value) {
    PJRT_Buffer *b = calloc(1, sizeof *b);
    if (b)
        b->value = value;
    else
        array_free(&value);
    return b;
}

/* Element by element, since strides may be any: slices of a larger array, Fortran order, negative. HARDWARE: the copy
 * to the device. */
static void gather(char *dst, const char *src, const ir_type *t, const int64_t *strides, uint32_t d, size_t size) {
    int64_t inner = 1;
    for (uint32_t k = d + 1; k < t->rank; k++) inner *= t->dims[k];
    if (d == t->rank)
        memcpy(dst, src, size);
    else
        for (int64_t i = 0; i < t->dims[d]; i++)
            gather(dst + (size_t)(i * inner) * size, src + i * strides[d], t, strides, d + 1, size);
}

static PJRT_Error *from_host(PJRT_Client_BufferFromHostBuffer_Args *a) {
    const ir_type *t = ir_tensor((xt_dtype)a->type, a->num_dims, a->dims);
    array value;
    if (!t) return fail(PJRT_INVALID_ARGUMENT, "the array has a type or a shape that this device has not");
    xt_status s = array_new(t, &value);
    if (s) return fail_with(s);
    if (a->num_byte_strides)
        gather(value.data, a->data, t, a->byte_strides, 0, xt_dtype_size(t->dtype));
    else
        memcpy(value.data, a->data, ir_type_bytes(t));
    a->buffer = buffer_new(value);
    a->done_with_host_buffer = ready(); /* copied: the client's array is its own again */
    return a->buffer && a->done_with_host_buffer ? NULL : no_memory();
}

static PJRT_Error *to_host(PJRT_Buffer_ToHostBuffer_Args *a) {
    /* HARDWARE: the copy back; host_layout other than row-major is not asked for by JAX and xtrain */
    size_t n = ir_type_bytes(a->src->value.type);
    if (a->src->deleted) return fail(PJRT_FAILED_PRECONDITION, "the buffer has been deleted");
    if (!a->dst) {
        a->dst_size = n;
        a->event = NULL;
        return NULL;
    }
    if (a->dst_size < n) return fail(PJRT_INVALID_ARGUMENT, "the host buffer is too small");
    memcpy(a->dst, a->src->value.data, n);
    a->event = ready();
    return a->event ? NULL : no_memory();
}

static void forget(PJRT_Buffer *b) {
    if (!b->deleted) array_free(&b->value);
    b->deleted = true;
}
static PJRT_Error *buffer_destroy(PJRT_Buffer_Destroy_Args *a) {
    if (a->buffer) forget(a->buffer);
    free(a->buffer);
    return NULL;
}
TELL(buffer_delete, PJRT_Buffer_Delete_Args, forget(a->buffer))
TELL(buffer_is_deleted, PJRT_Buffer_IsDeleted_Args, a->is_deleted = a->buffer->deleted)
TELL(buffer_type, PJRT_Buffer_ElementType_Args, a->type = (PJRT_Buffer_Type)a->buffer->value.type->dtype)
TELL(buffer_dims, PJRT_Buffer_Dimensions_Args,
     (a->dims = a->buffer->value.type->dims, a->num_dims = a->buffer->value.type->rank))
TELL(buffer_unpadded, PJRT_Buffer_UnpaddedDimensions_Args,
     (a->unpadded_dims = a->buffer->value.type->dims, a->num_dims = a->buffer->value.type->rank))
TELL(buffer_dynamic, PJRT_Buffer_DynamicDimensionIndices_Args, (a->dynamic_dim_indices = NULL, a->num_dynamic_dims = 0))
TELL(buffer_size, PJRT_Buffer_OnDeviceSizeInBytes_Args,
     a->on_device_size_in_bytes = ir_type_bytes(a->buffer->value.type))
TELL(buffer_device, PJRT_Buffer_Device_Args, a->device = &device)
TELL(buffer_memory, PJRT_Buffer_Memory_Args, a->memory = &memory)
TELL(buffer_on_cpu, PJRT_Buffer_IsOnCpu_Args,
     a->is_on_cpu = false) /* clients then copy instead of looking into the buffer */
TELL(buffer_ready, PJRT_Buffer_ReadyEvent_Args, a->event = ready())
TELL(buffer_more, PJRT_Buffer_IncreaseExternalReferenceCount_Args, a->buffer->external++)
TELL(buffer_less, PJRT_Buffer_DecreaseExternalReferenceCount_Args, a->buffer->external--)

/* --- programs --- */
static void executable_release(PJRT_Executable *e) {
    if (!e || --e->refs) return;
    ir_module_free(e->module);
    free(e->types);
    free(e->dims);
    free(e->ranks);
    free(e);
}

static bool describe(PJRT_Executable *e) {
    size_t n_dims = 0, k = 0;
    e->n_in = e->main->body->n_args;
    e->n_out = e->main->n_results;
    for (size_t i = 0; i < e->n_out; i++) n_dims += e->main->result_types[i]->rank;
    e->types = calloc(e->n_out + 1, sizeof *e->types);
    e->ranks = calloc(e->n_out + 1, sizeof *e->ranks);
    e->dims = calloc(n_dims + 1, sizeof *e->dims);
    if (!e->types || !e->ranks || !e->dims) return false;
    for (size_t i = 0; i < e->n_out; i++) {
        const ir_type *t = e->main->result_types[i];
        e->types[i] = (PJRT_Buffer_Type)t->dtype;
        e->ranks[i] = t->rank;
        for (uint32_t d = 0; d < t->rank; d++) e->dims[k++] = t->dims[d];
    }
    return true;
}

/* HARDWARE: the compiler. The program is StableHLO (text or bytecode, format "mlir") or an HLO protobuf; what is read
 * here has been verified, chlo ops are taken apart, calls are inlined, and pass_optimize has made it smaller.
 * a->compile_options say how many replicas and partitions: this device does one. */
static PJRT_Error *compile(PJRT_Client_Compile_Args *a) {
    PJRT_Executable *e = calloc(1, sizeof *e);
    a->executable = calloc(1, sizeof *a->executable);
    char *text = malloc(a->program->code_size + 1); /* the reader wants a NUL behind a text */
    pass_ctx c = PASS_CTX_INIT;
    xt_status s = NULL;
    if (e) e->refs = 1;
    bool ok = e && a->executable && text;
    if (ok) {
        memcpy(text, a->program->code, a->program->code_size);
        text[a->program->code_size] = 0;
        s = program_read(text, a->program->code_size, "program", &e->module);
        if (!s) s = ir_verify(e->module);
        if (!s) s = pass_optimize(&c, e->module);
        if (!s && !(e->main = ir_func_find(e->module, "main")))
            s = status_new(XT_INVALID_ARGUMENT, NULL, "the program has no function main");
        ok = !s && describe(e);
    }
    free(text);
    if (ok) {
        a->executable->executable = e;
        return NULL;
    }
    free(a->executable);
    executable_release(e);
    return s ? fail_with(s) : no_memory();
}

/* HARDWARE: enqueue and return; outputs are buffers whose events the device sets. Inputs of different devices come in
 * lists of their own; here there is one. */
static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *a) {
    const PJRT_Executable *e = a->executable->executable;
    if (a->executable->deleted) return fail(PJRT_FAILED_PRECONDITION, "the program has been deleted");
    if (a->num_devices != 1 || a->num_args != e->n_in)
        return fail(PJRT_INVALID_ARGUMENT, "another number of devices or arguments than the program has");
    array *in = calloc(e->n_in + 1, sizeof *in), *out = calloc(e->n_out + 1, sizeof *out);
    PJRT_Error *bad = in && out ? NULL : no_memory();
    for (size_t i = 0; i < e->n_in && !bad; i++) {
        const PJRT_Buffer *b = a->argument_lists[0][i];
        in[i] = b->value;
        if (b->deleted || b->value.type != e->main->body->args[i]->type)
            bad = fail(PJRT_INVALID_ARGUMENT, "an argument is deleted or of another type than the program's");
    }
    if (!bad) bad = fail_with(interp_run(e->module, "main", NULL, e->n_in, in, e->n_out, out));
    for (size_t i = 0; i < e->n_out && !bad; i++)
        if (!(a->output_lists[0][i] = buffer_new(out[i]))) bad = no_memory();
    if (!bad && a->device_complete_events && !(a->device_complete_events[0] = ready())) bad = no_memory();
    free(in);
    free(out);
    return bad;
}

static PJRT_Error *get_executable(PJRT_LoadedExecutable_GetExecutable_Args *a) {
    a->executable = a->loaded_executable->executable;
    a->executable->refs++;
    return NULL;
}
static PJRT_Error *loaded_destroy(PJRT_LoadedExecutable_Destroy_Args *a) {
    if (a->executable) executable_release(a->executable->executable);
    free(a->executable);
    return NULL;
}
TELL(executable_destroy, PJRT_Executable_Destroy_Args, executable_release(a->executable))
TELL(executable_outputs, PJRT_Executable_NumOutputs_Args, a->num_outputs = a->executable->n_out)
TELL(executable_replicas, PJRT_Executable_NumReplicas_Args, a->num_replicas = 1)
TELL(executable_partitions, PJRT_Executable_NumPartitions_Args, a->num_partitions = 1)
TELL(executable_types, PJRT_Executable_OutputElementTypes_Args,
     (a->output_types = a->executable->types, a->num_output_types = a->executable->n_out))
TELL(executable_dims, PJRT_Executable_OutputDimensions_Args,
     (a->num_outputs = a->executable->n_out, a->dims = a->executable->dims, a->dim_sizes = a->executable->ranks))
TELL(loaded_devices, PJRT_LoadedExecutable_AddressableDevices_Args,
     (a->addressable_devices = devices, a->num_addressable_devices = 1))
TELL(loaded_delete, PJRT_LoadedExecutable_Delete_Args, a->executable->deleted = true)
TELL(loaded_is_deleted, PJRT_LoadedExecutable_IsDeleted_Args, a->is_deleted = a->executable->deleted)
TELL(loaded_fingerprint, PJRT_LoadedExecutable_Fingerprint_Args,
     (a->executable_fingerprint = "", a->executable_fingerprint_size = 0))

/* Clients ask for statistics and the like and take a refusal. */
static PJRT_Error *not_offered(void *args) {
    (void)args;
    return fail(PJRT_UNIMPLEMENTED, "the skeleton device does not offer this function");
}

/* --- the table. Declared as 0.78 and as long as that: what younger versions made a duty (device assignments, payloads
 * of errors) need not be offered. --- */
static PJRT_Api api = {
    .struct_size = offsetof(PJRT_Api, LoadedExecutable_GetDeviceAssignment),
    .pjrt_api_version = {.struct_size = PJRT_SIZE_OF(PJRT_Api_Version), .major_version = 0, .minor_version = 78},
    .Error_Destroy = error_destroy,
    .Error_Message = error_message,
    .Error_GetCode = error_code,
    .Plugin_Initialize = plugin_initialize,
    .Plugin_Attributes = plugin_attributes,
    .Event_Destroy = event_destroy,
    .Event_IsReady = event_is_ready,
    .Event_Error = event_error,
    .Event_Await = event_await,
    .Event_OnReady = event_on_ready,
    .Client_Create = client_create,
    .Client_Destroy = client_destroy,
    .Client_PlatformName = client_platform_name,
    .Client_PlatformVersion = client_platform_version,
    .Client_ProcessIndex = client_process_index,
    .Client_Devices = client_devices,
    .Client_AddressableDevices = client_addressable,
    .Client_LookupDevice = client_lookup,
    .Client_AddressableMemories = client_memories,
    .Client_Compile = compile,
    .Client_BufferFromHostBuffer = from_host,
    .DeviceDescription_Id = description_id,
    .DeviceDescription_ProcessIndex = description_process,
    .DeviceDescription_Attributes = description_attributes,
    .DeviceDescription_Kind = description_kind,
    .DeviceDescription_DebugString = description_debug,
    .DeviceDescription_ToString = description_text,
    .Device_GetDescription = device_description,
    .Device_IsAddressable = device_is_addressable,
    .Device_LocalHardwareId = device_hardware_id,
    .Device_AddressableMemories = device_memories,
    .Device_DefaultMemory = device_memory,
    .Memory_Id = memory_id,
    .Memory_Kind = memory_kind_of,
    .Memory_DebugString = memory_debug,
    .Memory_ToString = memory_text,
    .Memory_AddressableByDevices = memory_devices,
    .Executable_Destroy = executable_destroy,
    .Executable_NumOutputs = executable_outputs,
    .Executable_NumReplicas = executable_replicas,
    .Executable_NumPartitions = executable_partitions,
    .Executable_OutputElementTypes = executable_types,
    .Executable_OutputDimensions = executable_dims,
    .LoadedExecutable_Destroy = loaded_destroy,
    .LoadedExecutable_GetExecutable = get_executable,
    .LoadedExecutable_AddressableDevices = loaded_devices,
    .LoadedExecutable_Delete = loaded_delete,
    .LoadedExecutable_IsDeleted = loaded_is_deleted,
    .LoadedExecutable_Fingerprint = loaded_fingerprint,
    .LoadedExecutable_Execute = execute,
    .Buffer_Destroy = buffer_destroy,
    .Buffer_Delete = buffer_delete,
    .Buffer_IsDeleted = buffer_is_deleted,
    .Buffer_ElementType = buffer_type,
    .Buffer_Dimensions = buffer_dims,
    .Buffer_UnpaddedDimensions = buffer_unpadded,
    .Buffer_DynamicDimensionIndices = buffer_dynamic,
    .Buffer_OnDeviceSizeInBytes = buffer_size,
    .Buffer_Device = buffer_device,
    .Buffer_Memory = buffer_memory,
    .Buffer_IsOnCpu = buffer_on_cpu,
    .Buffer_ReadyEvent = buffer_ready,
    .Buffer_ToHostBuffer = to_host,
    .Buffer_IncreaseExternalReferenceCount = buffer_more,
    .Buffer_DecreaseExternalReferenceCount = buffer_less,
};

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
    typedef PJRT_Error *(*slot)(void *);
    slot *slots = (slot *)(void *)&api.Error_Destroy;
    for (size_t i = 0; i < (api.struct_size - offsetof(PJRT_Api, Error_Destroy)) / sizeof *slots; i++)
        if (!slots[i]) slots[i] = not_offered;
    return &api;
}
