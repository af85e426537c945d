/* Topologies: the list of devices a program may be compiled for. A client has one; another can be made from a count of devices. */
#include "base/proto.h"
#include "pjrt/face.h"

xt_status face_topology_init(PJRT_TopologyDescription *t, PJRT_DeviceDescription **descriptions, size_t n) {
    t->descriptions = descriptions;
    t->n = n;
    str text = STR_INIT;
    str_printf(&text, "%s %s", face_platform, face_version);
    for (size_t i = 0; i < n; i++) str_printf(&text, " %d:%d", descriptions[i]->id, descriptions[i]->process);
    t->fingerprint = hash_bytes(str_cstr(&text), text.len, (hash128){0, 0}).lo;
    bool failed = text.failed;
    str_free(&text);
    return failed ? status_oom(n * 8, "a topology") : NULL;
}

static void topology_free(PJRT_TopologyDescription *t) {
    if (!t) return;
    base_free(t->own);
    base_free(t->descriptions);
    base_free(t);
}

/* n devices of `per_process` each; processes[i] may be given instead (then per_process is 0). */
static xt_status topology_new(size_t n, const int32_t *processes, PJRT_TopologyDescription **out) {
    PJRT_TopologyDescription *t = base_calloc(1, sizeof *t);
    PJRT_DeviceDescription **list = base_calloc(n, sizeof *list);
    if (t) t->own = base_calloc(n, sizeof *t->own);
    if (!t || !list || !t->own) {
        base_free(list);
        topology_free(t);
        return status_oom(n * sizeof *t->own, "a topology");
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = &t->own[i];
        t->own[i].id = (int32_t)i;
        t->own[i].process = processes ? processes[i] : 0;
        snprintf(t->own[i].text, sizeof t->own[i].text, "xtrain_cpu:%zu", i);
    }
    xt_status s = face_topology_init(t, list, n);
    if (s)
        topology_free(t);
    else
        *out = t;
    return s;
}

/* The name is the number of devices: "4", or "cpu:4"; empty stands for one. */
FACE_PLAIN(TopologyDescription_Create) {
    size_t n = 0, at = 0, size = a->topology_name ? a->topology_name_size : 0;
    if (size > 4 && memcmp(a->topology_name, "cpu:", 4) == 0) at = 4;
    for (; at < size && a->topology_name[at] >= '0' && a->topology_name[at] <= '9' && n < 10000; at++)
        n = 10 * n + (size_t)(a->topology_name[at] - '0');
    if (at < size || n > 4096 || (size > 0 && n == 0))
        return status_new(XT_INVALID_ARGUMENT, NULL, "the topology '%.*s' is unknown: give the number of CPU devices, as 4 or cpu:4", (int)size,
                          a->topology_name);
    return topology_new(n ? n : 1, NULL, &a->topology);
}

FACE(TopologyDescription_Destroy, topology) {
    if (a->topology->own) topology_free(a->topology); /* a client's own dies with the client */
    return NULL;
}

FACE(TopologyDescription_PlatformName, topology) {
    face_tell(face_platform, &a->platform_name, &a->platform_name_size);
    return NULL;
}

FACE(TopologyDescription_PlatformVersion, topology) {
    face_tell(face_version, &a->platform_version, &a->platform_version_size);
    return NULL;
}

FACE(TopologyDescription_GetDeviceDescriptions, topology) {
    a->descriptions = a->topology->descriptions;
    a->num_descriptions = a->topology->n;
    return NULL;
}

FACE(TopologyDescription_Attributes, topology) {
    a->attributes = NULL;
    a->num_attributes = 0;
    return NULL;
}

FACE(TopologyDescription_Fingerprint, topology) {
    a->fingerprint = a->topology->fingerprint;
    return NULL;
}

static void serialized_free(PJRT_SerializedTopology *p) {
    base_free(p);
}

/* A message of one repeated field: the process of each device. */
FACE(TopologyDescription_Serialize, topology) {
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

FACE(TopologyDescription_Deserialize, serialized_topology) {
    int32_t processes[4096];
    size_t n = 0;
    proto_reader r = proto_read(a->serialized_topology, a->serialized_topology_size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == 1 && f.wire == PROTO_VARINT && n < BASE_COUNT(processes)) processes[n++] = (int32_t)f.value;
    if (r.bad || n == 0) return status_new(XT_INVALID_ARGUMENT, NULL, "the serialised topology is damaged or not of this plugin");
    return topology_new(n, processes, &a->topology);
}
