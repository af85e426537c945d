/* Calls with good arguments of which some fields, by chance, are not: what a client with a bug sends. Each batch of
 * calls is a child of its own that must end by itself. Pointers are good, NULL or (where a handle belongs) none of the
 * plugin's; counts are at most what is there, or too large for anything to be there; numbers, dims, strides, texts and
 * programs are anything. XT_FUZZ_SECONDS is how long this goes on (default 5), XT_FUZZ_SEED the first batch; a batch
 * that fails names its own. */
#include "pjrt_objects.h"
#include "pjrt_guarded.h"

#include <time.h>

enum { CALLS = 400, REGION = 1 << 16 };

/* --- good arguments --- */
/* What pointers point to; the middle of a region is host memory, so that strides of both signs stay inside. */
typedef struct pool {
    dice d;
    _Alignas(64) char host[2 * REGION];
    int64_t dims[4], strides[4], order[4], kept[2];
    size_t tile_sizes[2];
    int32_t assignment[4];
    char text[64], program[sizeof step], options[16];
    PJRT_NamedValue values[2];
    PJRT_ShapeSpec shapes[2];
    PJRT_ProcessInfo processes[2];
    PJRT_Buffer_MemoryLayout layout, *layouts[2];
    PJRT_Program whole;
    PJRT_ExecuteOptions execute;
    PJRT_Buffer *in[2], *out[2], **ins[1], **outs[1];
    PJRT_Event *done[1];
    _Alignas(16) char args[ARGS_ROOM];
} pool;
static pool p; /* a child's */

/* Dims whose arrays are small, or too large to be made at all. */
static int64_t any_dim(dice *d) {
    static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 40, INT64_C(1) << 62, 0};
    return below(d, 8) ? 1 + (int64_t)below(d, 4) : odd[below(d, BASE_COUNT(odd))];
}
static int64_t any_stride(dice *d) {
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT64_MAX - 3, 0};
    return below(d, 8) ? (int64_t)below(d, 257) - 128 : odd[below(d, BASE_COUNT(odd))];
}
static uint64_t any_number(dice *d) {
    static const uint64_t odd[] = {
        0, 1, 2, 3, 7, 0x7FFFFFFF, 0x80000000, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, 16, 33, 34};
    return below(d, 4) ? odd[below(d, BASE_COUNT(odd))] : roll(d) % 20;
}

static void fill_layout(PJRT_Buffer_MemoryLayout *l) {
    *l = (PJRT_Buffer_MemoryLayout){
        .struct_size = (size_t)roll(&p.d),
        .type = (PJRT_Buffer_MemoryLayout_Type)(below(&p.d, 10) ? below(&p.d, 2) : any_number(&p.d))};
    size_t rank = below(&p.d, 6) ? 2 : below(&p.d, 5);
    if (l->type == PJRT_LAYOUT_TILED) {
        l->tiled.minor_to_major = below(&p.d, 8) ? p.order : NULL;
        l->tiled.minor_to_major_size = rank;
        if (!below(&p.d, 8))
            l->tiled.tile_dims = p.dims, l->tiled.tile_dim_sizes = below(&p.d, 2) ? p.tile_sizes : NULL,
            l->tiled.num_tiles = below(&p.d, 3);
    } else {
        l->strides.byte_strides = below(&p.d, 8) ? p.strides : NULL;
        l->strides.num_byte_strides = below(&p.d, 12) ? rank : (size_t)any_number(&p.d) | (size_t)1 << 40;
    }
}

static void fill_pool(void) {
    static const char option_bytes[] = "\x1a\x04\x20\x01\x28\x01";
    for (int i = 0; i < 4; i++)
        p.dims[i] = any_dim(&p.d), p.strides[i] = any_stride(&p.d),
        p.order[i] = below(&p.d, 8) ? (i < 2 ? 1 - i : i) : any_stride(&p.d);
    p.kept[0] = (int64_t)below(&p.d, 3) - 1;
    for (size_t i = 0; i < sizeof p.text; i++)
        p.text[i] = below(&p.d, 4) ? (char)('0' + below(&p.d, 10)) : (char)roll(&p.d);
    memcpy(p.program, step, sizeof step);
    if (!below(&p.d, 3)) p.program[below(&p.d, sizeof step)] = (char)roll(&p.d);
    memcpy(p.options, option_bytes, sizeof option_bytes);
    if (!below(&p.d, 3)) p.options[below(&p.d, 6)] = (char)roll(&p.d);
    static const char *const names[] = {"num_nodes", "cpu_device_count", "platform_name", "node_id"};
    for (int i = 0; i < 2; i++) {
        const char *name = names[below(&p.d, BASE_COUNT(names))];
        p.values[i] = int_value(name, (int64_t)below(&p.d, 3));
        p.values[i].type = (PJRT_NamedValue_Type)(below(&p.d, 3) ? PJRT_VALUE_INT64 : any_number(&p.d) % 7);
        if (p.values[i].type == PJRT_VALUE_STRING || p.values[i].type == PJRT_VALUE_INT64_LIST)
            p.values[i].string_value = below(&p.d, 3) ? (char *)p.dims : NULL;
        if (!below(&p.d, 8)) p.values[i].name = NULL;
        p.shapes[i] = (PJRT_ShapeSpec){.struct_size = PJRT_SIZE_OF(PJRT_ShapeSpec),
                                       .dims = below(&p.d, 8) ? p.dims : NULL,
                                       .num_dims = below(&p.d, 5),
                                       .element_type = (PJRT_Buffer_Type)(1 + below(&p.d, 33))};
        p.processes[i] = (PJRT_ProcessInfo){.struct_size = PJRT_SIZE_OF(PJRT_ProcessInfo),
                                            .error_message = below(&p.d, 2) ? p.text : NULL,
                                            .error_message_size = below(&p.d, 9)};
        p.layouts[i] = below(&p.d, 4) ? &p.layout : NULL;
        p.in[i] = below(&p.d, 6) ? objects[FACE_BUFFER] : below(&p.d, 2) ? NULL : (void *)p.host;
    }
    fill_layout(&p.layout);
    p.whole = (PJRT_Program){.struct_size = PJRT_SIZE_OF(PJRT_Program),
                             .code = below(&p.d, 9) ? p.program : NULL,
                             .code_size = below(&p.d, 3) ? sizeof step - 1 : below(&p.d, sizeof step),
                             .format = below(&p.d, 9)   ? "mlir"
                                       : below(&p.d, 2) ? "hlo"
                                                        : NULL,
                             .format_size = below(&p.d, 9) ? 4 : below(&p.d, 4)};
    p.execute = (PJRT_ExecuteOptions){.struct_size = below(&p.d, 2) ? PJRT_SIZE_OF(PJRT_ExecuteOptions)
                                                                    : PJRT_ExecuteOptions_BASE_SIZE,
                                      .non_donatable_input_indices = below(&p.d, 6) ? p.kept : NULL,
                                      .num_non_donatable_input_indices = below(&p.d, 3),
                                      .num_send_ops = below(&p.d, 9) ? 0 : any_number(&p.d),
                                      .num_tasks = below(&p.d, 9) ? 0 : any_number(&p.d),
                                      .context = below(&p.d, 9) ? NULL : (void *)objects[1 + below(&p.d, FACE_LAYOUT)]};
    p.ins[0] = below(&p.d, 9) ? p.in : NULL;
    p.outs[0] = below(&p.d, 9) ? p.out : NULL;
}

static bool is_named(const face_field *f, const char *part) {
    return f->name && strstr(f->name, part);
}

/* Where an array's pointer may point, and how many elements are there. */
static const void *array_of(const face_args *row, const face_field *f, size_t *n) {
    static const struct {
        const char *part;
        const void *at;
        size_t n;
    } known[] = {{"dims", p.dims, 4},
                 {"strides", p.strides, 4},
                 {"create_options", p.values, 2},
                 {"payload", p.values, 2},
                 {"metadata", p.values, 2},
                 {"shape_specs", p.shapes, 2},
                 {"layouts", p.layouts, 2},
                 {"process_infos", p.processes, 2},
                 {"assignment", p.assignment, 4},
                 {"compile_options", p.options, 6},
                 {"argument_lists", p.ins, 1},
                 {"data", p.host + REGION, 32},
                 {"dst", p.host + REGION, 32}};
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (is_named(f, known[i].part)) {
            *n = known[i].n;
            return known[i].at;
        }
    (void)row;
    *n = f->elem == 1 ? sizeof p.text / 2 : 0;
    return p.text;
}

/* A pointer that is no array: memory, an output list, a callback's argument. */
static const void *pointer_of(const face_field *f) {
    if (is_named(f, "output_lists")) return p.outs;
    if (is_named(f, "complete_events")) return below(&p.d, 2) ? p.done : NULL;
    if (is_named(f, "data") || is_named(f, "dst") || is_named(f, "ptr")) return p.host + REGION;
    return NULL;
}

static const void *struct_of(const face_field *f) {
    if (is_named(f, "layout")) {
        return &p.layout;
    }
    return is_named(f, "program") ? (void *)&p.whole : (void *)&p.execute;
}

static void fill_field(const face_args *row, const face_field *f, size_t struct_end) {
    size_t n;
    const void *at;
    (void)struct_end;
    switch (f->role) {
    case FACE_HANDLE:
    case FACE_HANDLE_OR_NULL:
    case FACE_HANDLE_END:
        at = f->role == FACE_HANDLE_OR_NULL && below(&p.d, 2) ? NULL : objects[f->kind];
        if (!below(&p.d, 10))
            at = below(&p.d, 2)   ? NULL
                 : below(&p.d, 2) ? objects[1 + below(&p.d, FACE_LAYOUT)]
                                  : p.host + below(&p.d, 200);
        put_pointer(p.args, f->offset, at);
        return;
    case FACE_NOT_NULL: {
        void (*callback)(PJRT_Error *, void *) = ignore_event;
        if (below(&p.d, 8)) memcpy(p.args + f->offset, &callback, sizeof callback);
        return;
    }
    case FACE_STRUCT:
    case FACE_STRUCT_OR_NULL: put_pointer(p.args, f->offset, below(&p.d, 5) ? struct_of(f) : NULL); return;
    case FACE_ARRAY:
        at = array_of(row, f, &n);
        put_pointer(p.args, f->offset, below(&p.d, 8) ? at : NULL);
        put_count(p.args, f->count_offset, f->count_size,
                  below(&p.d, 12) ? (below(&p.d, 3) ? n / (n > 3 ? 2 : 1) : below(&p.d, n + 1))
                                  : (uint64_t)INT64_MAX + below(&p.d, 5));
        if (f->inner_size) put_count(p.args, f->inner_offset, f->inner_size, below(&p.d, 9) ? 2 : any_number(&p.d));
        return;
    default: break;
    }
    if (f->role == FACE_POINTER)
        put_pointer(p.args, f->offset, below(&p.d, 9) ? pointer_of(f) : NULL);
    else if (is_named(f, "type"))
        put_count(p.args, f->offset, f->size, below(&p.d, 6) ? 1 + below(&p.d, 33) : any_number(&p.d));
    else if (is_named(f, "dst_size"))
        put_count(p.args, f->offset, f->size, below(&p.d, REGION));
    else if (f->size <= 8 && f->name && below(&p.d, 2))
        put_count(p.args, f->offset, f->size, f->size == 1 ? roll(&p.d) & 1 : any_number(&p.d));
}

/* --- a batch --- */
/* What waits for ever by its nature, and what is asked for its payloads without end. */
static bool is_left_out(face_slot slot) {
    return slot == FACE_SLOT_Error_ForEachPayload || slot == FACE_SLOT_Event_Await ||
           slot == FACE_SLOT_Buffer_UnsafePointer || slot == FACE_SLOT_Buffer_OpaqueDeviceMemoryDataPointer;
}

static int fuzz(void *user) {
    const uint64_t *seed = user;
    p.d.state = *seed << 32;
    for (int i = 0; i < CALLS; i++) {
        face_slot slot = (face_slot)below(&p.d, FACE_SLOTS);
        const face_args *row = face_args_of(slot);
        if (is_left_out(slot)) continue;
        /* objects live for some calls */
        if (row->n && row->fields[0].role == FACE_HANDLE_END && below(&p.d, 50)) continue;
        if ((slot == FACE_SLOT_Client_Destroy || slot == FACE_SLOT_TopologyDescription_Destroy) && below(&p.d, 50))
            continue;
        fill_pool();
        memset(p.args, 0, sizeof p.args);
        size_t size = below(&p.d, 12)  ? row->size
                      : below(&p.d, 2) ? (size_t)any_number(&p.d) % (row->size + 1)
                                       : row->size + below(&p.d, 64);
        memcpy(p.args, &size, sizeof size);
        for (size_t k = 0; k < row->n; k++) fill_field(row, &row->fields[k], size);
        if (getenv("XT_FUZZ_TRACE")) fprintf(stderr, "%s\n", row->name);
        ask(slot, p.args);
    }
    return 0;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_corrupted_fields(void **state) {
    (void)state;
    setenv("XT_MEMORY_LIMIT", "16M", 1);
    unsetenv("CPU_NUM_DEVICES");
    uint64_t seconds = number_of("XT_FUZZ_SECONDS", 5), batches = number_of("XT_FUZZ_BATCHES", UINT64_MAX),
             first = number_of("XT_FUZZ_SEED", 1);
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t seed = first;
    int wrong = 0;
    for (; time(NULL) < end && seed - first < batches && wrong < 20; seed++) {
        int rc = in_child(fuzz, &seed, 60);
        if (rc == 0) continue;
        print_error("XT_FUZZ_SEED=%llu XT_FUZZ_BATCHES=1 XT_FUZZ_TRACE=1: %s %d\n", (unsigned long long)seed,
                    rc < 0 ? "signal" : "exit status", rc < 0 ? -rc : rc);
        wrong++;
    }
    print_message("%llu batches of %d calls\n", (unsigned long long)(seed - first), CALLS);
    assert_int_equal(wrong, 0);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corrupted_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
