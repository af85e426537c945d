/* The one place where arguments are checked before a function of the table runs: struct sizes, handles, and every
 * pointer with its count, as args.def states them. What a function does after that may follow each pointer as far as
 * its count goes. */
#include "pjrt/face.h"

enum { RANK = IR_MAX_RANK, LIST = 1 << 20, SHORT = 1 << 16, ALWAYS = -1 };
#define MEMORY FACE_FURTHEST

#define FIELD(f) ((S *)0)->f
#define REACH(f) (offsetof(S, f) + sizeof FIELD(f))
#define AT(f, r) .name = #f, .offset = offsetof(S, f), .size = sizeof FIELD(f), .role = r
#define COUNTED(n)                                                                   \
    .count_name = #n, .count_offset = offsetof(S, n), .count_size = sizeof FIELD(n), \
    .count_signed = (__typeof__(FIELD(n)))-1 < 1
#define OWNER(f) \
    { AT(f, FACE_HANDLE), .kind = FACE_KIND_OF(FIELD(f)) }
#define OTHER OWNER
#define ENDS(f) \
    { AT(f, FACE_HANDLE_END), .kind = FACE_KIND_OF(FIELD(f)) }
#define MAYBE(f) \
    { AT(f, FACE_HANDLE_OR_NULL), .kind = FACE_KIND_OF(FIELD(f)) }
#define KEPT(f, k) \
    { AT(f, FACE_HANDLE), .kind = k }
#define NEEDS(f) \
    { AT(f, FACE_NOT_NULL) }
#define ELEMENTS(p, n, bytes, limit, ...) \
    { AT(p, FACE_ARRAY), COUNTED(n), .elem = bytes, .most = limit, ##__VA_ARGS__ }
#define ARRAY(p, n, limit) ELEMENTS(p, n, sizeof *FIELD(p), limit)
#define BYTES(p, n) ELEMENTS(p, n, 1, MEMORY)
#define NAME(p, n) ELEMENTS(p, n, 1, SHORT)
#define ARRAY_IF(f, v, p, n, limit) \
    ELEMENTS(p, n, sizeof *FIELD(p), limit, .only = true, .when_offset = offsetof(S, f), .when = v)
#define ARRAY_OF(p, n, t, limit) ELEMENTS(p, n, sizeof *FIELD(p), limit, .of = row_##t)
#define POINTERS_TO(p, n, t, limit) ELEMENTS(p, n, sizeof *FIELD(p), limit, .of = row_##t, .pointers = true)
#define LISTS(p, n, m) \
    ELEMENTS(p, n, sizeof *FIELD(p), LIST, .inner_offset = offsetof(S, m), .inner_size = sizeof FIELD(m))
#define STRUCT(p, t) \
    { AT(p, FACE_STRUCT), .of = row_##t }
#define MAYBE_STRUCT(p, t) \
    { AT(p, FACE_STRUCT_OR_NULL), .of = row_##t }
#define ONE_OF(f, n) \
    { AT(f, FACE_CHOICE), .most = n }
#define VALUE(f) \
    { AT(f, FACE_UNREAD) }
#define ANY(f) \
    { AT(f, FACE_POINTER) }
#define OUT VALUE
#define OUTS(f, g) \
    { .name = #f, .offset = offsetof(S, f), .size = REACH(g) - offsetof(S, f), .role = FACE_UNREAD }
#define NOTHING \
    { .name = NULL, .role = FACE_UNREAD }

#define ROW(name, type, minimum, ...)                                                         \
    static const face_args *row_##name(void) {                                                \
        typedef type S;                                                                       \
        static const face_field fields[] = {__VA_ARGS__};                                     \
        static const face_args row = {#name, minimum, sizeof(S), BASE_COUNT(fields), fields}; \
        return &row;                                                                          \
    }
#define STRUCTURE(name, type, last, ...) ROW(name, type, REACH(last), __VA_ARGS__)
#define UNSIZED(name, type, ...) ROW(name, type, 0, __VA_ARGS__)
#define ARGS(name, last, ...) STRUCTURE(name, PJRT_##name##_Args, last, __VA_ARGS__)
#include "pjrt/args.def"

#undef OWNER
#undef ENDS
#undef MAYBE
#undef KEPT
#undef NEEDS
#undef ELEMENTS
#undef ARRAY_IF
#undef LISTS
#undef STRUCT
#undef MAYBE_STRUCT
#undef ONE_OF
#undef VALUE
#undef ANY
#undef OUTS
#undef NOTHING
#undef ROW

/* The same table as code that says quickly that all is well, which is what nearly every call hears; where it does not
 * say so, the items above are gone through one by one and tell what is wrong, or that nothing is. */
#define IS(test) (ok = ok && (test))
#define HAS(f) (struct_size >= REACH(f))
#define OWNER(f) IS(face_hold((const void *)a->f, FACE_KIND_OF(a->f)))
#define ENDS(f) IS(face_end((const void *)a->f, FACE_KIND_OF(a->f)))
#define MAYBE(f) IS(!HAS(f) || !a->f || face_hold((const void *)a->f, FACE_KIND_OF(a->f)))
#define KEPT(f, k) IS(face_hold(a->f, k))
#define NEEDS(f) IS(a->f != NULL)
#define ELEMENTS(p, n, bytes, limit, ...) IS(!HAS(p) || !HAS(n) || a->n == 0 || PLAIN(p, n, limit, ##__VA_ARGS__))
#define PLAIN(p, n, limit, ...) \
    (sizeof(#__VA_ARGS__) == 1 && a->p && a->n > 0 && (uint64_t)a->n <= SHORT && a->n <= limit)
#define ARRAY_IF(f, v, p, n, limit) IS((int)a->f != (v) || a->n == 0 || (a->p && a->n <= limit))
#define LISTS(p, n, m) IS(a->p && a->n <= SHORT)
#define STRUCT(p, t) IS(quick_##t(a->p))
#define MAYBE_STRUCT(p, t) IS(!a->p || quick_##t(a->p))
#define ONE_OF(f, n) IS((unsigned)a->f < (n))
#define VALUE(f) ((void)0)
#define ANY(f) ((void)0)
#define OUTS(f, g) ((void)0)
#define NOTHING ((void)0)
#define ROW(name, type, minimum, ...)                                                     \
    __attribute__((unused)) static bool quick_##name(const void *args) {                  \
        typedef type S;                                                                   \
        const S *a = args;                                                                \
        size_t least = minimum, struct_size = !a ? 0 : least ? a->struct_size : SIZE_MAX; \
        bool ok = a && struct_size >= least;                                              \
        __VA_ARGS__;                                                                      \
        return ok;                                                                        \
    }
#include "pjrt/args.def"

static bool (*const quick[])(const void *) = {
#define PJRT_FN(name, since, size, ...) [FACE_SLOT_##name] = quick_##name,
#define PJRT_FN_VOID PJRT_FN
#define FACE_SLOT(name) PJRT_FN(name, , )
#include "device/pjrt_slots.def"
    FACE_MORE_SLOTS(FACE_SLOT)
#undef PJRT_FN
};

const face_args *face_args_of(face_slot slot) {
    static const face_args *(*const rows[])(void) = {
#define PJRT_FN(name, since, size, ...) [FACE_SLOT_##name] = row_##name,
#include "device/pjrt_slots.def"
        FACE_MORE_SLOTS(FACE_SLOT)};
#undef PJRT_FN
#undef PJRT_FN_VOID
    return rows[slot]();
}

/* --- checking --- */
static uint64_t number_at(const char *at, size_t size) {
    uint64_t v = 0;
    memcpy(&v, at, size < sizeof v ? size : sizeof v);
    return v;
}

static const void *pointer_at(const char *args, size_t offset) {
    const void *p;
    memcpy(&p, args + offset, sizeof p);
    return p;
}

static xt_status check_struct(const char *s, const face_args *row, const char *function);

static xt_status check_elements(const char *p, size_t n, const face_field *f, const char *function) {
    for (size_t i = 0; f->of && i < n; i++) {
        const char *at = p + i * f->elem;
        if (f->pointers && !(at = pointer_at(at, 0))) continue;
        xt_status s = check_struct(at, f->of(), function);
        if (s) return status_context(s, "%s[%zu]", f->name, i);
    }
    return NULL;
}

/* A pointer and its count; of lists of lists, the lists need not be there where each would be empty. */
static xt_status check_array(const char *args, const face_field *f, const char *function) {
    const void *p = pointer_at(args, f->offset);
    uint64_t n = number_at(args + f->count_offset, f->count_size);
    if (f->count_signed && (int64_t)n < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s is %lld: expected a count from 0", f->count_name,
                          (long long)n);
    if (n > (uint64_t)f->most || n > (uint64_t)MEMORY / f->elem)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s is %llu: expected at most %lld", f->count_name,
                          (unsigned long long)n,
                          (long long)(f->most < MEMORY / (int64_t)f->elem ? f->most : MEMORY / (int64_t)f->elem));
    if (n == 0 || (f->inner_size && number_at(args + f->inner_offset, f->inner_size) == 0)) return NULL;
    if (!p)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s is NULL, but %s is %llu", f->name, f->count_name,
                          (unsigned long long)n);
    return check_elements(p, (size_t)n, f, function);
}

static xt_status check_field(const char *args, const face_field *f, const char *function) {
    const char *p;
    xt_status s;
    switch (f->role) {
    case FACE_UNREAD:
    case FACE_POINTER: return NULL;
    case FACE_ARRAY: return check_array(args, f, function);
    case FACE_CHOICE: {
        uint64_t v = number_at(args + f->offset, f->size);
        return v < (uint64_t)f->most ? NULL
                                     : status_new(XT_INVALID_ARGUMENT, NULL, "%s is %lld: expected 0 to %lld", f->name,
                                                  (long long)(int32_t)v, (long long)f->most - 1);
    }
    default: break;
    }
    p = pointer_at(args, f->offset);
    switch (f->role) {
    case FACE_HANDLE: return face_check_handle(p, f->kind, function, f->name);
    case FACE_HANDLE_OR_NULL: return p ? face_check_handle(p, f->kind, function, f->name) : NULL;
    case FACE_HANDLE_END: return face_end_handle(p, f->kind, function, f->name);
    case FACE_STRUCT_OR_NULL:
        if (!p) return NULL;
        break;
    default:
        if (!p) return status_new(XT_INVALID_ARGUMENT, NULL, "%s is NULL", f->name);
    }
    s = f->of ? check_struct(p, f->of(), function) : NULL;
    return s ? status_context(s, "%s", f->name) : NULL;
}

/* Fields beyond the caller's end are not there: younger callers have them. */
static bool is_there(const char *s, const face_args *row, const face_field *f, size_t struct_size) {
    if (row->minimum > 0 && (f->offset + f->size > struct_size || f->count_offset + f->count_size > struct_size))
        return false;
    return !f->only || (int)number_at(s + f->when_offset, sizeof(int)) == f->when;
}

static xt_status check_struct(const char *s, const face_args *row, const char *function) {
    size_t struct_size = row->minimum > 0 ? (size_t)number_at(s, sizeof(size_t)) : 0;
    if (struct_size < row->minimum)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "struct_size is %zu, this plugin needs %zu; the caller was built for an older or broken PJRT API",
            struct_size, row->minimum);
    for (const face_field *f = row->fields; f < row->fields + row->n; f++)
        if (f->role > FACE_POINTER && is_there(s, row, f, struct_size)) XT_TRY(check_field(s, f, function));
    return NULL;
}

static xt_status check(const void *args, const face_args *row) {
    if (!args) return status_new(XT_INVALID_ARGUMENT, NULL, "PJRT_%s: the argument struct is NULL", row->name);
    xt_status s = check_struct(args, row, row->name);
    bool said = !s || strncmp(status_message(s), "PJRT_", 5) == 0; /* what is wrong with a handle names the function */
    return said ? s : status_context(s, "PJRT_%s", row->name);
}

xt_status face_check(const void *args, face_slot slot) {
    return quick[slot](args) ? NULL : check(args, face_args_of(slot));
}
xt_status face_check_kv_get(const PJRT_KeyValueGetCallback_Args *a) {
    return check(a, row_KeyValueGet());
}
xt_status face_check_read_callback(const PJRT_Buffer_CopyRawToHostFuture_Callback_Args *a) {
    return check(a, row_CopyRawToHostFuture());
}
xt_status face_check_donation_callback(const PJRT_Buffer_DonateWithControlDependency_Callback_Args *a) {
    return check(a, row_DonateWithControlDependency());
}

xt_status face_check_lists(void *const *lists, size_t n, size_t inner, const char *function, const char *field) {
    if (n == 0 || inner == 0) return NULL;
    if (!lists)
        return status_new(XT_INVALID_ARGUMENT, NULL, "PJRT_%s: %s is NULL, but there are %zu of %zu", function, field,
                          n, inner);
    for (size_t i = 0; i < n; i++)
        if (!lists[i])
            return status_new(XT_INVALID_ARGUMENT, NULL, "PJRT_%s: %s[%zu] is NULL, but it has %zu", function, field, i,
                              inner);
    return NULL;
}
