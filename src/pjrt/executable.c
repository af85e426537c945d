/* Executables as the client sees them: an Executable describes a program, a LoadedExecutable has it on devices. */
#include "base/proto.h"
#include "pjrt/face.h"

/* --- loading: which devices run which replica --- */
void face_loaded_release(PJRT_LoadedExecutable *e) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
    PJRT_Client *c = e->client;
    face_program_release(e->program);
    base_free(e->devices);
    base_free(e->logical);
    base_free(e->ids);
    face_handle_free(e, sizeof *e);
    face_client_release(c);
}

/* Ids in use: the assignment of the options; without one, a single-device program goes to this process's first device,
 * others to 0, 1, 2, ... */
static xt_status assign(PJRT_LoadedExecutable *e) {
    const face_options *o = &e->program->options;
    size_t n = (size_t)o->replicas * (size_t)o->partitions;
    e->ids = base_calloc(n, sizeof *e->ids);
    e->devices = base_calloc(n, sizeof *e->devices);
    e->logical = base_calloc(n, sizeof *e->logical);
    if (!e->ids || !e->devices || !e->logical) return status_oom(n * sizeof *e->devices, "a program's devices");
    for (size_t i = 0; i < n; i++) {
        e->ids[i] = o->ids ? o->ids[i] : n == 1 ? e->client->mine[0]->description.id : (int32_t)i;
        if (e->ids[i] < 0 || (size_t)e->ids[i] >= e->client->n_devices)
            return status_new(
                XT_INVALID_ARGUMENT, NULL,
                "the program of %d replicas and %d partitions is to run on device %d; the client has %zu devices",
                o->replicas, o->partitions, e->ids[i], e->client->n_devices);
        for (size_t k = 0; k < i; k++)
            if (e->ids[k] == e->ids[i])
                return status_new(XT_INVALID_ARGUMENT, NULL, "the device assignment names device %d twice", e->ids[i]);
    }
    for (int r = 0; r < o->replicas; r++) /* argument lists come in this order */
        for (int p = 0; p < o->partitions; p++) {
            PJRT_Device *d = e->client->all[e->ids[p * o->replicas + r]];
            if (d->local_id < 0) continue;
            e->logical[e->n_devices] = (PJRT_LogicalDeviceIds){r, p};
            e->devices[e->n_devices++] = d;
        }
    bool whole = n == e->client->n_devices;
    for (size_t i = 0; i < n; i++) whole = whole && e->ids[i] == (int32_t)i;
    e->own_group = n > 1 && !whole;
    hash_hex(hash_bytes(e->ids, n * sizeof *e->ids, (hash128){0x67726f7570, n}), e->group_tag);
    return e->n_devices ? NULL
                        : status_new(XT_INVALID_ARGUMENT, NULL,
                                     "the program is to run on no device of this process (%d)", e->client->node_id);
}

xt_status face_load(PJRT_Client *c, face_program *p, PJRT_LoadedExecutable **out) {
    PJRT_LoadedExecutable *e = face_handle_new(sizeof *e);
    if (!e) {
        face_program_release(p);
        return status_oom(sizeof *e, "a loaded program");
    }
    atomic_init(&e->refs, 1);
    e->client = c;
    e->program = p;
    face_client_retain(c);
    xt_status s = assign(e);
    if (s)
        face_loaded_release(e);
    else
        FACE_GIVE(*out = e);
    return s;
}

static xt_status check_open(const PJRT_Client *c) {
    return atomic_load(&c->closed) ? status_new(XT_FAILED_PRECONDITION, NULL, "the client has been destroyed") : NULL;
}

FACE(Client_Compile) {
    face_program *p;
    XT_TRY(check_open(a->client));
    XT_TRY(face_program_compile(a->program, a->compile_options, a->compile_options_size, a->client->threads, &p));
    return face_load(a->client, p, &a->executable);
}

static xt_status executable_new(face_program *p, PJRT_Executable **out) {
    *out = face_handle_new(sizeof **out);
    if (!*out) {
        face_program_release(p);
        return status_oom(sizeof **out, "an executable");
    }
    (*out)->program = p;
    FACE_GIVE(*out);
    return NULL;
}

static face_program *retain(face_program *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

/* Compiling for a topology needs no client: the program is the same on any. */
FACE(Compile) {
    face_program *p;
    XT_TRY(face_program_compile(a->program, a->compile_options, a->compile_options_size, 0, &p));
    return executable_new(p, &a->executable);
}

FACE(Client_Load) {
    XT_TRY(check_open(a->client));
    return face_load(a->client, retain(a->executable->program), &a->loaded_executable);
}

/* load_options came after the base; there is nothing in it for one host. */
FACE(Executable_DeserializeAndLoad) {
    face_program *p;
    XT_TRY(check_open(a->client));
    if (!a->serialized_executable)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "PJRT_Executable_DeserializeAndLoad: serialized_executable is NULL");
    XT_TRY(face_program_read(a->serialized_executable, a->serialized_executable_size,
                             a->overridden_serialized_compile_options, a->overridden_serialized_compile_options_size,
                             a->client->threads, &p));
    return face_load(a->client, p, &a->loaded_executable);
}

/* --- what an executable is --- */
void face_executable_end(void *handle) {
    PJRT_Executable *e = handle;
    face_program_release(e->program);
    face_handle_free(e, sizeof *e);
}

FACE(Executable_Destroy) {
    (void)a;
    return NULL;
}

FACE(Executable_Name) {
    face_tell(cpu_exec_name(a->executable->program->exec), &a->executable_name, &a->executable_name_size);
    return NULL;
}

FACE(Executable_NumReplicas) {
    a->num_replicas = (size_t)a->executable->program->options.replicas;
    return NULL;
}

FACE(Executable_NumPartitions) {
    a->num_partitions = (size_t)a->executable->program->options.partitions;
    return NULL;
}

FACE(Executable_NumOutputs) {
    a->num_outputs = a->executable->program->n_out;
    return NULL;
}

FACE(Executable_SizeOfGeneratedCodeInBytes) {
    a->size_in_bytes = cpu_exec_stats(a->executable->program->exec)->code_bytes;
    return NULL;
}

FACE(Executable_OutputElementTypes) {
    a->output_types = a->executable->program->out_types;
    a->num_output_types = a->executable->program->n_out;
    return NULL;
}

FACE(Executable_OutputDimensions) {
    a->num_outputs = a->executable->program->n_out;
    a->dims = a->executable->program->out_dims;
    a->dim_sizes = a->executable->program->out_ranks;
    return NULL;
}

FACE(Executable_OutputMemoryKinds) {
    a->num_outputs = a->executable->program->n_out;
    a->memory_kinds = a->executable->program->kinds + a->executable->program->n_in;
    a->memory_kind_sizes = a->executable->program->kind_sizes + a->executable->program->n_in;
    return NULL;
}

FACE(Executable_ParameterMemoryKinds) {
    a->num_parameters = a->executable->program->n_in;
    a->memory_kinds = a->executable->program->kinds;
    a->memory_kind_sizes = a->executable->program->kind_sizes;
    return NULL;
}

FACE(Executable_GetCostAnalysis) {
    a->num_properties = BASE_COUNT(a->executable->program->costs);
    a->properties = a->executable->program->costs;
    return NULL;
}

FACE(Executable_Fingerprint) {
    face_tell(a->executable->program->fingerprint, &a->executable_fingerprint, &a->executable_fingerprint_size);
    return NULL;
}

/* The struct grew after 0.81 (112 bytes): later fields are written where the caller's struct has them. */
FACE(Executable_GetCompiledMemoryStats) {
    const cpu_stats *s = cpu_exec_stats(a->executable->program->exec);
    size_t skip = offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
    memset((char *)a + skip, 0, (a->struct_size < sizeof *a ? a->struct_size : sizeof *a) - skip);
    a->generated_code_size_in_bytes = s->code_bytes;
    a->argument_size_in_bytes = s->argument_bytes;
    a->output_size_in_bytes = s->output_bytes;
    a->alias_size_in_bytes = s->alias_bytes;
    a->temp_size_in_bytes = s->temp_bytes;
    a->peak_memory_in_bytes = s->peak_bytes;
    if (PJRT_REACHES(a, total_size_in_bytes))
        a->total_size_in_bytes = s->argument_bytes + s->output_bytes - s->alias_bytes + s->temp_bytes + s->code_bytes;
    if (PJRT_REACHES(a, total_allocation_bytes)) a->total_allocation_bytes = s->temp_bytes;
    if (PJRT_REACHES(a, peak_unpadded_heap_bytes)) a->peak_unpadded_heap_bytes = s->peak_bytes;
    return NULL;
}

/* Two calls: without memory the size is told, with memory the text is filled in. */
FACE(Executable_OptimizedProgram) {
    const face_program *of = a->executable->program;
    size_t n = of->hlo_size;
    const char *text = of->hlo ? of->hlo : cpu_exec_text(of->exec, &n);
    PJRT_Program *p = a->program;
    if (p->code && p->code_size < n)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the program has %zu bytes, the memory for it %zu", n,
                          p->code_size);
    if (p->code) memcpy(p->code, text, n);
    p->code_size = n;
    face_tell(of->hlo ? "hlo_with_config" : "mlir", &p->format, &p->format_size);
    return NULL;
}

/* Serialised things are one block: their holder is the block itself, and the deleter frees it. */
static void free_executable(PJRT_SerializedExecutable *p) {
    base_free(p);
}
static void free_assignment(PJRT_DeviceAssignmentSerialized *p) {
    base_free(p);
}
static void keep_options(PJRT_SerializedCompileOptions *p) {
    (void)p;
}

FACE(Executable_Serialize) {
    str s = STR_INIT;
    xt_status e = face_program_write(a->executable->program, &s);
    if (e) {
        str_free(&s);
        return e;
    }
    a->serialized_bytes = s.data;
    a->serialized_bytes_size = s.len;
    a->serialized_executable = (PJRT_SerializedExecutable *)s.data;
    a->serialized_executable_deleter = free_executable;
    return NULL;
}

FACE(Executable_GetCompileOptions) {
    a->serialized_bytes = a->executable->program->option_bytes; /* lives with the executable */
    a->serialized_bytes_size = a->executable->program->option_size;
    a->serialized_compile_options = NULL;
    a->serialized_compile_options_deleter = keep_options;
    return NULL;
}

/* --- what a loaded executable is --- */
void face_loaded_end(void *handle) {
    face_loaded_release(handle);
}

FACE(LoadedExecutable_Destroy) {
    (void)a;
    return NULL;
}

FACE(LoadedExecutable_GetExecutable) {
    return executable_new(retain(a->loaded_executable->program), &a->executable);
}

FACE(LoadedExecutable_AddressableDevices) {
    a->addressable_devices = a->executable->devices;
    a->num_addressable_devices = a->executable->n_devices;
    return NULL;
}

FACE(LoadedExecutable_AddressableDeviceLogicalIds) {
    a->addressable_device_logical_ids = a->executable->logical;
    a->num_addressable_device_logical_ids = a->executable->n_devices;
    return NULL;
}

FACE(LoadedExecutable_GetDeviceAssignment) {
    str s = STR_INIT;
    face_assignment_write(&a->executable->program->options, a->executable->ids, &s);
    if (s.failed) {
        str_free(&s);
        return status_oom(64, "a device assignment");
    }
    a->serialized_bytes = s.data;
    a->serialized_bytes_size = s.len;
    a->serialized_device_assignment = (PJRT_DeviceAssignmentSerialized *)s.data;
    a->serialized_device_assignment_deleter = free_assignment;
    return NULL;
}

FACE(LoadedExecutable_Delete) {
    atomic_store(&a->executable->deleted, true);
    return NULL;
}

FACE(LoadedExecutable_IsDeleted) {
    a->is_deleted = atomic_load(&a->executable->deleted);
    return NULL;
}

FACE(LoadedExecutable_Fingerprint) {
    face_tell(a->executable->program->fingerprint, &a->executable_fingerprint, &a->executable_fingerprint_size);
    return NULL;
}
