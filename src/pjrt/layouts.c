/* PJRT's layouts extension (type 4): arrays of this plugin are dense, so a layout is the order of its dims in memory,
 * and as a text that order from minor to major: "{1,0}" is row-major. */
#include "pjrt/face.h"

/* --- orders --- */
struct face_layout {
    const face_layout *next;
    size_t rank;
    int64_t dims[]; /* rank from major to minor, then the same from minor to major */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const face_layout *all; /* guarded; a process has few */

const int64_t *face_layout_major_to_minor(const face_layout *l) {
    return l ? l->dims : NULL;
}
const int64_t *face_layout_minor_to_major(const face_layout *l) {
    return l ? l->dims + l->rank : NULL;
}

xt_status face_layout_get(size_t rank, const int64_t *major_to_minor, const face_layout **out) {
    bool row_major = true;
    for (size_t i = 0; i < rank; i++) row_major = row_major && major_to_minor[i] == (int64_t)i;
    *out = NULL;
    if (row_major) return NULL;
    pthread_mutex_lock(&lock);
    const face_layout *l = all;
    while (l && (l->rank != rank || memcmp(l->dims, major_to_minor, rank * sizeof *l->dims) != 0)) l = l->next;
    if (!l) {
        face_layout *made = base_malloc(sizeof *made + 2 * rank * sizeof *made->dims);
        if (made) {
            made->next = all;
            made->rank = rank;
            for (size_t i = 0; i < rank; i++) made->dims[i] = made->dims[2 * rank - 1 - i] = major_to_minor[i];
            all = made;
        }
        l = made;
    }
    pthread_mutex_unlock(&lock);
    *out = l;
    return l ? NULL : status_oom(2 * rank * sizeof *l->dims, "a layout");
}

xt_status face_layout_stored(const face_layout *l, const ir_type *t, const ir_type **out) {
    int64_t dims[IR_MAX_RANK];
    *out = t;
    if (!l) return NULL;
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[l->dims[i]];
    *out = ir_tensor(t->dtype, t->rank, dims);
    return *out ? NULL : status_oom(sizeof **out, "a type");
}

bool face_layout_same(const face_layout *a, const face_layout *b, const ir_type *t) {
    size_t i = 0, k = 0;
    if (a == b || t->count < 2) return true;
    for (;; i++, k++) {
        while (i < t->rank && t->dims[a ? a->dims[i] : (int64_t)i] == 1) i++;
        while (k < t->rank && t->dims[b ? b->dims[k] : (int64_t)k] == 1) k++;
        if (i == t->rank || k == t->rank) return true;
        if ((a ? a->dims[i] : (int64_t)i) != (b ? b->dims[k] : (int64_t)k)) return false;
    }
}

xt_status face_layout_asked(const PJRT_Buffer_MemoryLayout *asked, const ir_type *t, const face_layout **out) {
    int64_t order[IR_MAX_RANK], *strides;
    *out = NULL;
    XT_TRY(face_layout_strides(asked, t, &strides));
    if (!strides) return NULL;
    for (uint32_t i = 0; i < t->rank; i++) { /* by stride, the largest first; of equal ones the first dim first */
        uint32_t k = i;
        for (; k > 0 && strides[order[k - 1]] < strides[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    int64_t want = (int64_t)xt_dtype_size(t->dtype);
    bool dense = true;
    for (uint32_t i = t->rank; i-- > 0; want *= t->dims[order[i]])
        dense = dense && (t->dims[order[i]] == 1 || strides[order[i]] == want);
    base_free(strides);
    return dense ? face_layout_get(t->rank, order, out)
                 : status_new(XT_UNIMPLEMENTED, NULL,
                              "a device layout with gaps: arrays of this plugin are dense, their dims in any order");
}

void face_layout_text(const face_layout *l, size_t rank, str *out) {
    str_append(out, "{");
    for (size_t i = 0; i < rank; i++)
        str_printf(out, "%s%zu", i ? "," : "", l ? (size_t)l->dims[rank + i] : rank - 1 - i);
    str_append(out, "}");
}

/* --- the extension --- */

struct PJRT_Layouts_MemoryLayout {
    str text;
};

#define LAYOUTS(name)                                                  \
    static xt_status name##_body(PJRT_Layouts_##name##_Args *a);       \
    static PJRT_Error *layouts_##name(PJRT_Layouts_##name##_Args *a) { \
        face_call call = face_call_begin();                            \
        xt_status s = face_check(a, FACE_SLOT_Layouts_##name);         \
        if (!s) s = name##_body(a);                                    \
        face_call_end(call);                                           \
        return face_error(s);                                          \
    }                                                                  \
    static xt_status name##_body(PJRT_Layouts_##name##_Args *a)

void face_layout_end(void *handle) {
    PJRT_Layouts_MemoryLayout *l = handle;
    str_free(&l->text);
    face_handle_free(l, sizeof *l);
}

static xt_status layout_new(const face_layout *order, size_t rank, PJRT_Layouts_MemoryLayout **out) {
    PJRT_Layouts_MemoryLayout *l = face_handle_new(sizeof *l);
    if (!l) return status_oom(sizeof *l, "a layout");
    face_layout_text(order, rank, &l->text);
    if (l->text.failed) {
        face_layout_end(l);
        return status_oom(rank, "a layout");
    }
    FACE_GIVE(*out = l);
    return NULL;
}

/* NULL is an object nobody has to free. */
LAYOUTS(MemoryLayout_Destroy) {
    return a->layout ? face_end_handle(a->layout, FACE_LAYOUT, "Layouts_MemoryLayout_Destroy", "layout") : NULL;
}

static void keep_text(PJRT_Layouts_SerializedLayout *p) {
    (void)p; /* the text lives as long as its layout, which outlives the serialised form */
}

LAYOUTS(MemoryLayout_Serialize) {
    a->serialized_bytes = str_cstr(&a->layout->text);
    a->serialized_bytes_size = a->layout->text.len;
    a->serialized_layout = (PJRT_Layouts_SerializedLayout *)a->layout;
    a->serialized_layout_deleter = keep_text;
    return NULL;
}

LAYOUTS(Client_GetDefaultLayout) {
    return layout_new(NULL, a->num_dims, &a->layout);
}

LAYOUTS(Topology_GetDefaultLayout) {
    return layout_new(NULL, a->num_dims, &a->layout);
}

LAYOUTS(Buffer_MemoryLayout) {
    return layout_new(a->buffer->layout, a->buffer->type->rank, &a->layout);
}

/* The caller frees each layout; the list itself lives with the executable. */
static xt_status layouts_of(face_program *p, bool outputs, size_t *out_n, PJRT_Layouts_MemoryLayout ***out) {
    size_t n = outputs ? p->n_out : p->n_in, first = outputs ? p->n_in : 0;
    PJRT_Layouts_MemoryLayout **list = base_calloc(n + 1, sizeof *list);
    xt_status s = list ? NULL : status_oom(n * sizeof *list, "layouts");
    for (size_t i = 0; i < n && !s; i++) s = layout_new(p->orders[first + i], p->types[first + i]->rank, &list[i]);
    if (s) {
        for (size_t i = 0; list && i < n; i++)
            if (list[i]) face_end(list[i], FACE_LAYOUT);
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

LAYOUTS(Executable_GetOutputLayouts) {
    return layouts_of(a->executable->program, true, &a->num_outputs, &a->layouts);
}

LAYOUTS(Executable_GetParameterLayouts) {
    return layouts_of(a->executable->program, false, &a->num_parameters, &a->layouts);
}

PJRT_Layouts_Extension face_layouts = {.base = {.struct_size = sizeof(PJRT_Layouts_Extension),
                                                .type = PJRT_EXTENSION_LAYOUTS,
                                                .next = &face_shardings.base},
                                       .MemoryLayout_Destroy = layouts_MemoryLayout_Destroy,
                                       .MemoryLayout_Serialize = layouts_MemoryLayout_Serialize,
                                       .Client_GetDefaultLayout = layouts_Client_GetDefaultLayout,
                                       .Buffer_MemoryLayout = layouts_Buffer_MemoryLayout,
                                       .Topology_GetDefaultLayout = layouts_Topology_GetDefaultLayout,
                                       .Executable_GetOutputLayouts = layouts_Executable_GetOutputLayouts,
                                       .Executable_GetParameterLayouts = layouts_Executable_GetParameterLayouts};
