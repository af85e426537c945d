/* PJRT's layouts extension (type 4): every array of this plugin is dense and row-major, so a layout is its text, "{n-1,...,0}". */
#include "pjrt/face.h"

struct PJRT_Layouts_MemoryLayout {
    str text;
};

#define LAYOUTS(name, handle)                                                                                                                        \
    static xt_status name##_body(PJRT_Layouts_##name##_Args *a);                                                                                     \
    static PJRT_Error *layouts_##name(PJRT_Layouts_##name##_Args *a) {                                                                               \
        xt_status s = face_check(a, sizeof *a, "Layouts_" #name);                                                                                    \
        if (!s) s = FACE_CHECK(a->handle, "Layouts_" #name, #handle);                                                                                \
        return face_error(s ? s : name##_body(a));                                                                                                   \
    }                                                                                                                                                \
    static xt_status name##_body(PJRT_Layouts_##name##_Args *a)

static void layout_free(PJRT_Layouts_MemoryLayout *l) {
    if (!l) return;
    face_take_back(l, FACE_LAYOUT);
    str_free(&l->text);
    face_handle_free(l, sizeof *l);
}

static xt_status layout_new(size_t rank, PJRT_Layouts_MemoryLayout **out) {
    PJRT_Layouts_MemoryLayout *l = face_handle_new(sizeof *l);
    if (!l) return status_oom(sizeof *l, "a layout");
    str_append(&l->text, "{");
    for (size_t i = rank; i-- > 0;) str_printf(&l->text, "%zu%s", i, i ? "," : "");
    str_append(&l->text, "}");
    if (l->text.failed) {
        layout_free(l);
        return status_oom(rank, "a layout");
    }
    FACE_GIVE(*out = l);
    return NULL;
}

/* NULL is an object nobody has to free. */
static PJRT_Error *layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *a) {
    xt_status s = face_check(a, sizeof *a, "Layouts_MemoryLayout_Destroy");
    if (!s) layout_free(a->layout);
    return face_error(s);
}

static void keep_text(PJRT_Layouts_SerializedLayout *p) {
    (void)p; /* the text lives as long as its layout, which outlives the serialised form */
}

LAYOUTS(MemoryLayout_Serialize, layout) {
    a->serialized_bytes = str_cstr(&a->layout->text);
    a->serialized_bytes_size = a->layout->text.len;
    a->serialized_layout = (PJRT_Layouts_SerializedLayout *)a->layout;
    a->serialized_layout_deleter = keep_text;
    return NULL;
}

LAYOUTS(Client_GetDefaultLayout, client) {
    return layout_new(a->num_dims, &a->layout);
}

LAYOUTS(Topology_GetDefaultLayout, topology_description) {
    return layout_new(a->num_dims, &a->layout);
}

LAYOUTS(Buffer_MemoryLayout, buffer) {
    return layout_new(a->buffer->type->rank, &a->layout);
}

/* The caller frees each layout; the list itself lives with the executable. */
static xt_status layouts_of(face_program *p, bool outputs, size_t *out_n, PJRT_Layouts_MemoryLayout ***out) {
    size_t n = outputs ? p->n_out : p->n_in;
    PJRT_Layouts_MemoryLayout **list = base_calloc(n + 1, sizeof *list);
    xt_status s = list ? NULL : status_oom(n * sizeof *list, "layouts");
    for (size_t i = 0; i < n && !s; i++) s = layout_new((outputs ? cpu_exec_output_type(p->exec, i) : cpu_exec_input_type(p->exec, i))->rank, &list[i]);
    if (s) {
        for (size_t i = 0; list && i < n; i++) layout_free(list[i]);
        base_free(list);
        return s;
    }
    pthread_mutex_lock(&p->lock);
    base_free(p->layouts[outputs]); /* of an earlier call: its owner has taken the layouts */
    p->layouts[outputs] = list;
    pthread_mutex_unlock(&p->lock);
    *out_n = n;
    *out = list;
    return NULL;
}

LAYOUTS(Executable_GetOutputLayouts, executable) {
    return layouts_of(a->executable->program, true, &a->num_outputs, &a->layouts);
}

LAYOUTS(Executable_GetParameterLayouts, executable) {
    return layouts_of(a->executable->program, false, &a->num_parameters, &a->layouts);
}

PJRT_Layouts_Extension face_layouts = {.base = {.struct_size = sizeof(PJRT_Layouts_Extension), .type = PJRT_EXTENSION_LAYOUTS, .next = &face_shardings.base},
                                       .MemoryLayout_Destroy = layouts_MemoryLayout_Destroy,
                                       .MemoryLayout_Serialize = layouts_MemoryLayout_Serialize,
                                       .Client_GetDefaultLayout = layouts_Client_GetDefaultLayout,
                                       .Buffer_MemoryLayout = layouts_Buffer_MemoryLayout,
                                       .Topology_GetDefaultLayout = layouts_Topology_GetDefaultLayout,
                                       .Executable_GetOutputLayouts = layouts_Executable_GetOutputLayouts,
                                       .Executable_GetParameterLayouts = layouts_Executable_GetParameterLayouts};
