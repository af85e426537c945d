/* Topologies: the list of devices a program may be compiled for. A client has one; another can be made from a
 * count of devices. */
#include "base/proto.h"
#include "pjrt/face.h"

xt_status face_topology_init(PJRT_TopologyDescription *t, PJRT_DeviceDescription **descriptions, size_t n) {
    t->descriptions = descriptions;
    t->n = n;
    if (!t->platform) t->platform = face_platform;
    str text = STR_INIT;
    str_printf(&text, "%s %s", face_platform, face_version);
    for (size_t i = 0; i < n; i++) str_printf(&text, " %d:%d", descriptions[i]->id, descriptions[i]->process);
    t->fingerprint = hash_bytes(str_cstr(&text), text.len, (hash128){0, 0}).lo;
    bool failed = text.failed;
    str_free(&text);
    return failed ? status_oom(n * 8, "a topology") : NULL;
}

/* Its descriptions are handles of their own: what calls still have of them keeps it. */
static void topology_release(PJRT_TopologyDescription *t) {
    if (atomic_fetch_sub(&t->refs, 1) != 1) return;
    atomic_store(&t->refs, 1);
    for (size_t i = 0; t->descriptions && i < t->n; i++) {
        atomic_fetch_add(&t->refs, 1);
        if (!t->descriptions[i] || !face_retire(t->descriptions[i], FACE_DESCRIPTION)) atomic_fetch_sub(&t->refs, 1);
    }
    if (atomic_fetch_sub(&t->refs, 1) != 1) return;
    for (size_t i = 0; t->descriptions && i < t->n; i++)
        face_handle_free(t->descriptions[i], sizeof *t->descriptions[i]);
    base_free(t->descriptions);
    face_handle_free(t, sizeof *t);
}

void face_topology_end(void *handle) {
    PJRT_TopologyDescription *t = handle;
    if (t->client)
        face_client_release(t->client);
    else
        topology_release(t);
}

void face_description_end(void *handle) {
    PJRT_DeviceDescription *d = handle;
    if (d->client)
        face_client_release(d->client);
    else
        topology_release(d->topology);
}

/* n devices of `per_process` each; processes[i] may be given instead (then per_process is 0). */
static xt_status topology_new(size_t n, const int32_t *processes, PJRT_TopologyDescription **out) {
    PJRT_TopologyDescription *t = face_handle_new(sizeof *t);
    if (!t) return status_oom(sizeof *t, "a topology");
    PJRT_DeviceDescription **list = base_calloc(n, sizeof *list);
    xt_status s = list ? NULL : status_oom(n * sizeof *list, "a topology");
    for (size_t i = 0; i < n && !s; i++) {
        if (!(list[i] = face_handle_new(sizeof *list[i]))) {
            s = status_oom(sizeof *list[i], "a device description");
            break;
        }
        list[i]->id = (int32_t)i;
        list[i]->topology = t;
        list[i]->process = processes ? processes[i] : 0;
        snprintf(list[i]->text, sizeof list[i]->text, "xtrain_cpu:%zu", i);
        FACE_GIVE(list[i]);
    }
    *t = (PJRT_TopologyDescription){.descriptions = list, .n = n};
    atomic_init(&t->refs, 1);
    if (!s) s = face_topology_init(t, list, n);
    if (s)
        topology_release(t);
    else
        FACE_GIVE(*out = t);
    return s;
}

/* The name is the number of devices: "4", or "cpu:4"; empty stands for as many as a client would have. */
FACE(TopologyDescription_Create) {
    size_t n = 0, at = 0, size = a->topology_name_size;
    if (size > 4 && memcmp(a->topology_name, "cpu:", 4) == 0) at = 4;
    for (; at < size && a->topology_name[at] >= '0' && a->topology_name[at] <= '9' && n < 10000; at++)
        n = 10 * n + (size_t)(a->topology_name[at] - '0');
    if (at < size || n > 4096 || (size > 0 && n == 0))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the topology '%.*s' is unknown: give the number of CPU devices, as 4 or cpu:4", (int)size,
                          a->topology_name);
    int64_t wanted = (int64_t)n;
    if (n == 0) XT_TRY(face_devices_wanted(&wanted));
    if (wanted > 4096)
        return status_new(XT_INVALID_ARGUMENT, NULL, "CPU_NUM_DEVICES is %lld: expected 1 to 4096", (long long)wanted);
    return topology_new((size_t)wanted, NULL, &a->topology);
}

FACE(TopologyDescription_Destroy) {
    if (a->topology->client) return NULL; /* dies with the client */
    return face_end_handle(a->topology, FACE_TOPOLOGY, "TopologyDescription_Destroy", "topology");
}

FACE(TopologyDescription_PlatformName) {
    face_tell(a->topology->platform, &a->platform_name, &a->platform_name_size);
    return NULL;
}

FACE(TopologyDescription_PlatformVersion) {
    face_tell(face_version, &a->platform_version, &a->platform_version_size);
    return NULL;
}

FACE(TopologyDescription_GetDeviceDescriptions) {
    a->descriptions = a->topology->descriptions;
    a->num_descriptions = a->topology->n;
    return NULL;
}

FACE(TopologyDescription_Attributes) {
    a->attributes = NULL;
    a->num_attributes = 0;
    return NULL;
}

FACE(TopologyDescription_GetMemorySpaceKindIds) {
    static const int32_t ids[FACE_KINDS] = {0, 1, 2};
    a->memory_space_kind_ids = ids;
    a->num_memory_space_kind_ids = FACE_KINDS;
    return NULL;
}

/* XLA's number of an element type; it counts tuples and others before the types that came later. */
static int shape_type(PJRT_Buffer_Type t) {
    static const uint8_t of[] = {
        [XT_BF16] = 16, 15, 18, 19, 20, 23, 24, 25, 21, 22, 17, 26, 27, 28, 29, 33, 32, 30, 31};
    return t >= (int)XT_BF16 && (size_t)t < BASE_COUNT(of) ? of[t] : (int)t;
}

static void free_shape(const char *p) {
    base_free((void *)(uintptr_t)p);
}

/* ShapeProto: 2 element type, 3 dims, 5 layout {1 minor to major}: every memory holds dense arrays, row-major where no
 * order is asked for. */
FACE(TopologyDescription_MakeCanonicalShapeForMemorySpace) {
    const ir_type *t;
    if (a->memory_space_kind_id < 0 || a->memory_space_kind_id >= FACE_KINDS)
        return status_new(XT_NOT_FOUND, NULL, "there is no kind of memory %d", a->memory_space_kind_id);
    XT_TRY(face_type_of(a->element_type, a->dims, a->num_dims, &t));
    const face_layout *asked;
    XT_TRY(face_layout_asked(a->layout, t, &asked));
    const int64_t *minor = face_layout_minor_to_major(asked);
    str shape = STR_INIT, dims = STR_INIT, order = STR_INIT, layout = STR_INIT;
    for (size_t i = 0; i < a->num_dims; i++) {
        proto_varint(&dims, (uint64_t)a->dims[i]);
        proto_varint(&order, minor ? (uint64_t)minor[i] : a->num_dims - 1 - i);
    }
    if (order.len) proto_bytes(&layout, 1, order.data, order.len);
    proto_int(&shape, 2, shape_type(a->element_type));
    if (dims.len) proto_bytes(&shape, 3, dims.data, dims.len);
    proto_bytes(&shape, 5, layout.data, layout.len);
    bool failed = shape.failed || dims.failed || order.failed || layout.failed;
    str_free(&dims);
    str_free(&order);
    str_free(&layout);
    if (failed) {
        str_free(&shape);
        return status_oom(a->num_dims, "a shape");
    }
    a->serialized_shape = shape.data;
    a->serialized_shape_size = shape.len;
    a->serialized_shape_deleter = free_shape;
    return NULL;
}

FACE(TopologyDescription_Fingerprint) {
    a->fingerprint = a->topology->fingerprint;
    return NULL;
}

static void serialized_free(PJRT_SerializedTopology *p) {
    base_free(p);
}

/* A message of one repeated field: the process of each device. */
FACE(TopologyDescription_Serialize) {
    str s = STR_INIT;
    for (size_t i = 0; i < a->topology->n; i++) proto_int(&s, 1, a->topology->descriptions[i]->process);
    if (s.failed) {
        str_free(&s);
        return status_oom(a->topology->n, "a serialised topology");
    }
    a->serialized_bytes = s.data;
    a->serialized_bytes_size = s.len;
    a->serialized_topology = (PJRT_SerializedTopology *)s.data; /* the holder is the bytes themselves */
    a->serialized_topology_deleter = serialized_free;
    return NULL;
}

FACE(TopologyDescription_Deserialize) {
    int32_t processes[4096];
    size_t n = 0;
    proto_reader r = proto_read(a->serialized_topology, a->serialized_topology_size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == 1 && f.wire == PROTO_VARINT && n < BASE_COUNT(processes)) processes[n++] = (int32_t)f.value;
    if (r.bad || n == 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the serialised topology is damaged or not of this plugin");
    return topology_new(n, processes, &a->topology);
}
