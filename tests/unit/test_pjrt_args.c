/* What the plugin's table of arguments (src/pjrt/args.def) says is what its functions do: with each pointer NULL and
 * a count, each count too large or negative, each handle NULL or none, and each struct too short, a function answers
 * with an error that names the field, touches nothing and goes on living. The table itself covers every byte of
 * every struct. */
#include "pjrt_objects.h"

/* --- the table --- */
static void cover(bool *seen, size_t offset, size_t size) {
    for (size_t i = 0; i < size; i++) seen[offset + i] = true;
}

/* No field is forgotten: what no item names is padding, and so less than a pointer. */
static void covers_all(const face_args *row) {
    bool seen[ARGS_ROOM] = {false};
    assert_true(row->size <= ARGS_ROOM);
    size_t first = row->size;
    for (size_t i = 0; i < row->n; i++) {
        const face_field *f = &row->fields[i];
        cover(seen, f->offset, f->size);
        if (f->role == FACE_ARRAY)
            cover(seen, f->count_offset, f->count_size), cover(seen, f->inner_offset, f->inner_size);
        if (f->name && f->offset < first) first = f->offset;
        if (f->of) covers_all(f->of());
    }
    assert_true(first <= 2 * sizeof(void *) || first == row->size);
    for (size_t i = first, gap = 0; i < row->size; i++) {
        gap = seen[i] ? 0 : gap + 1;
        if (gap == sizeof(void *)) fail_msg("%s: no item names what lies at %zu", row->name, i + 1 - gap);
    }
}

static void test_table_covers_structs(void **state) {
    (void)state;
    for (int slot = 0; slot < FACE_SLOTS; slot++) covers_all(face_args_of((face_slot)slot));
}

/* --- every field of every function --- */
typedef struct asking {
    face_slot slot;
    const face_args *row;
    _Alignas(16) char args[ARGS_ROOM], nested[4][ARGS_ROOM], inner[ARGS_ROOM], deep[4][ARGS_ROOM];
    int wrong;
} asking;

static void expect_refused(asking *q, const char *what, PJRT_Error_Code code, const char *word) {
    answer got = ask(q->slot, q->args);
    if (got.code == code && strstr(got.text, word)) return;
    fprintf(stderr, "PJRT_%s with %s: code %d '%s', expected %d and '%s'\n", q->row->name, what, got.code, got.text,
            code, word);
    q->wrong++;
}

/* A pointer that may be compared with NULL, and nothing else. */
static void *const nowhere = (void *)64;

/* `s` is the struct with the field: the arguments, or what they point to. */
static void ask_array(asking *q, void *s, const face_args *row, const face_field *f) {
    for (size_t i = 0; i < row->n; i++) /* others of the same count are there */
        if (row->fields[i].role == FACE_ARRAY && row->fields[i].count_offset == f->count_offset)
            put_pointer(s, row->fields[i].offset, nowhere);
    uint64_t one = 1;
    put_count(s, f->inner_offset, f->inner_size, one);
    put_pointer(s, f->offset, NULL);
    put_count(s, f->count_offset, f->count_size, one);
    expect_refused(q, "a count and no array", PJRT_INVALID_ARGUMENT, f->name);
    put_pointer(s, f->offset, nowhere);
    put_count(s, f->count_offset, f->count_size, UINT64_MAX);
    expect_refused(q, "a count of all ones", PJRT_INVALID_ARGUMENT, f->count_name);
    put_count(s, f->count_offset, f->count_size, UINT64_C(1) << 63);
    expect_refused(q, "a count of the highest bit", PJRT_INVALID_ARGUMENT, f->count_name);
    if (f->count_size == 8) {
        put_count(s, f->count_offset, f->count_size, (uint64_t)f->most + 1);
        expect_refused(q, "a count above the most", PJRT_INVALID_ARGUMENT, f->count_name);
    }
    put_count(s, f->count_offset, f->count_size, 0);
    ask(q->slot, q->args); /* any answer: nothing of the array is looked at */
    put_pointer(s, f->offset, NULL);
}

static void ask_handle(asking *q, void *s, const face_field *f) {
    static const _Alignas(64) uint64_t junk[16] = {0};
    face_handle_kind other = f->kind == FACE_CLIENT ? FACE_BUFFER : FACE_CLIENT;
    const void *wrong[] = {junk, (const char *)junk + 1, nowhere, objects[other]};
    if (f->role != FACE_HANDLE_OR_NULL) {
        put_pointer(s, f->offset, NULL);
        expect_refused(q, "no handle", PJRT_INVALID_ARGUMENT, f->name);
    }
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        put_pointer(s, f->offset, wrong[i]);
        expect_refused(q, "a handle that is none", PJRT_FAILED_PRECONDITION, f->name);
    }
}

static void ask_struct_size(asking *q, void *s, const face_args *row) {
    const size_t sizes[] = {0, 8, row->minimum - 1};
    for (size_t i = 0; i < BASE_COUNT(sizes) && row->minimum > 8; i++) {
        memcpy(s, &sizes[i], sizeof sizes[i]);
        expect_refused(q, "a struct too short", PJRT_INVALID_ARGUMENT, "struct_size");
    }
}

/* Each field of a struct that the arguments point to, in turn. `at` is where the pointer to it is. */
static void ask_nested(asking *q, const face_args *row, void (*point)(asking *q, const face_field *f),
                       const face_field *to) {
    for (size_t i = 0; i < row->n; i++) {
        const face_field *f = &row->fields[i];
        fill_args(q->row, q->args, q->nested);
        fill_args(row, q->inner, q->deep);
        point(q, to);
        if (f->only) memcpy(q->inner + f->when_offset, &f->when, sizeof f->when);
        if (f->role == FACE_ARRAY) ask_array(q, q->inner, row, f);
        if (f->role == FACE_HANDLE || f->role == FACE_HANDLE_OR_NULL) ask_handle(q, q->inner, f);
        if (f->role == FACE_CHOICE) {
            put_count(q->inner, f->offset, f->size, (uint64_t)f->most);
            expect_refused(q, "a choice that is none", PJRT_INVALID_ARGUMENT, f->name);
            put_count(q->inner, f->offset, f->size, UINT64_MAX);
            expect_refused(q, "a negative choice", PJRT_INVALID_ARGUMENT, f->name);
        }
    }
    fill_args(q->row, q->args, q->nested);
    fill_args(row, q->inner, q->deep);
    point(q, to);
    ask_struct_size(q, q->inner, row);
}

static void point_to_struct(asking *q, const face_field *f) {
    static void *list[1];
    list[0] = q->inner;
    put_pointer(q->args, f->offset, f->pointers ? (void *)list : (void *)q->inner);
    if (f->role == FACE_ARRAY) put_count(q->args, f->count_offset, f->count_size, 1);
}

static void ask_field(asking *q, const face_field *f) {
    fill_args(q->row, q->args, q->nested);
    switch (f->role) {
    case FACE_ARRAY: ask_array(q, q->args, q->row, f); break;
    case FACE_HANDLE:
    case FACE_HANDLE_OR_NULL:
    case FACE_HANDLE_END: ask_handle(q, q->args, f); break;
    case FACE_NOT_NULL:
    case FACE_STRUCT:
        put_pointer(q->args, f->offset, NULL);
        expect_refused(q, "NULL", PJRT_INVALID_ARGUMENT, f->name);
        break;
    default: break;
    }
    if (f->of) ask_nested(q, f->of(), point_to_struct, f);
}

/* Structs of callers that are older and of such that are younger: nothing behind their end is written. */
static void ask_sizes(asking *q) {
    const size_t sizes[] = {q->row->minimum, q->row->size + 64};
    fill_args(q->row, q->args, q->nested);
    ask_struct_size(q, q->args, q->row);
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        char canary[ARGS_ROOM];
        fill_args(q->row, q->args, q->nested);
        size_t end = sizes[i] < q->row->size ? sizes[i] : q->row->size;
        memset(q->args + end, 0x5A, sizeof q->args - end);
        memset(canary, 0x5A, sizeof canary);
        memcpy(q->args, &sizes[i], sizeof sizes[i]);
        ask(q->slot, q->args);
        if (memcmp(q->args + end, canary, sizeof q->args - end) == 0) continue;
        fprintf(stderr, "PJRT_%s writes behind struct_size %zu\n", q->row->name, sizes[i]);
        q->wrong++;
    }
}

static int ask_all(void *user) {
    asking *q = user;
    if (!is_void(q->slot)) {
        answer none = ask(q->slot, NULL);
        if (none.code != PJRT_INVALID_ARGUMENT)
            fprintf(stderr, "PJRT_%s(NULL): code %d\n", q->row->name, none.code), q->wrong++;
    } else
        ask(q->slot, NULL);
    for (size_t i = 0; i < q->row->n; i++) ask_field(q, &q->row->fields[i]);
    if (!is_void(q->slot)) ask_sizes(q); /* last: it may end objects */
    return q->wrong > 0;
}

static void test_every_field(void **state) {
    (void)state;
    static asking q;
    int wrong = 0;
    setenv("XT_MEMORY_LIMIT", "64M", 1);
    for (int slot = 0; slot < FACE_SLOTS; slot++) {
        /* an error here would be asked for its payloads, without end */
        if (slot == FACE_SLOT_Error_ForEachPayload) continue;
        q = (asking){.slot = (face_slot)slot, .row = face_args_of((face_slot)slot)};
        int rc = in_child(ask_all, &q, 60);
        if (rc == 0) continue;
        print_error("PJRT_%s: %s %d\n", q.row->name, rc < 0 ? "signal" : "wrong answers, exit status",
                    rc < 0 ? -rc : rc);
        wrong++;
    }
    unsetenv("XT_MEMORY_LIMIT");
    assert_int_equal(wrong, 0);
}

/* --- lists of lists, and callbacks --- */
static void test_lists_of_execute(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile(client);
    PJRT_Buffer *w = upload4((float[]){1, 2, 3, 4}), *g = upload4((float[]){1, 1, 1, 1}), *out = NULL;
    PJRT_Buffer **in[] = {(PJRT_Buffer *[]){w, g}}, **outs[] = {&out}, **none[] = {NULL};
    PJRT_ExecuteOptions o = {.struct_size = PJRT_SIZE_OF(PJRT_ExecuteOptions)};
    PJRT_LoadedExecutable_Execute_Args a =
        PJRT_INIT(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = none, .num_devices = 1,
                  .num_args = 2, .output_lists = outs);
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&a), "argument_lists[0] is NULL"), PJRT_INVALID_ARGUMENT);
    a.argument_lists = in;
    a.output_lists = none;
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&a), "output_lists[0] is NULL"), PJRT_INVALID_ARGUMENT);
    a.output_lists = NULL;
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&a), "output_lists is NULL"), PJRT_INVALID_ARGUMENT);
    a.output_lists = outs;
    o.num_non_donatable_input_indices = 1;
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&a), "options: non_donatable_input_indices is NULL"),
                     PJRT_INVALID_ARGUMENT);
    o.non_donatable_input_indices = (int64_t[]){0};
    assert_int_equal(code_of(api->LoadedExecutable_Execute(&a), NULL), PJRT_OK);
    expect(out, 4, (float[]){0, 1, 2, 3});
    expect(w, 4, (float[]){1, 2, 3, 4});
    destroy(w), destroy(g), destroy(out);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

/* The plugin's callbacks are given what they gave out: once, and nothing else. */
static void test_callbacks_of_the_plugin(void **state) {
    (void)state;
    float got[4] = {0};
    PJRT_Buffer *b = upload4((float[]){1, 2, 3, 4});
    CALL(Buffer_CopyRawToHostFuture, .buffer = b, .transfer_size = 16);
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args read = {
        .struct_size = PJRT_SIZE_OF(PJRT_Buffer_CopyRawToHostFuture_Callback_Args), .callback_data = got, .dst = got};
    Buffer_CopyRawToHostFuture.future_ready_callback(NULL);
    Buffer_CopyRawToHostFuture.future_ready_callback(&read); /* callback_data is none of the plugin's */
    read.callback_data = NULL;
    Buffer_CopyRawToHostFuture.future_ready_callback(&read);
    read.callback_data = Buffer_CopyRawToHostFuture.callback_data;
    Buffer_CopyRawToHostFuture.future_ready_callback(&read);
    Buffer_CopyRawToHostFuture.future_ready_callback(&read);
    assert_int_equal(finish(Buffer_CopyRawToHostFuture.event, NULL), PJRT_OK);
    assert_true(got[3] == 4);
    assert_int_equal(code_of(api->Buffer_CopyRawToHostFuture(&Buffer_CopyRawToHostFuture), NULL), PJRT_OK);
    read.callback_data = Buffer_CopyRawToHostFuture.callback_data;
    read.error_code = PJRT_ABORTED;
    read.error_message_size = 4;
    Buffer_CopyRawToHostFuture.future_ready_callback(&read);
    assert_int_equal(finish(Buffer_CopyRawToHostFuture.event, "error_message is NULL"), PJRT_INVALID_ARGUMENT);
    CALL(Buffer_DonateWithControlDependency, .buffer = b);
    PJRT_Buffer_DonateWithControlDependency_Callback_Args done = {
        .struct_size = PJRT_SIZE_OF(PJRT_Buffer_DonateWithControlDependency_Callback_Args), .callback_data = got};
    Buffer_DonateWithControlDependency.dependency_ready_callback(NULL);
    Buffer_DonateWithControlDependency.dependency_ready_callback(&done);
    done.callback_data = Buffer_DonateWithControlDependency.callback_data;
    Buffer_DonateWithControlDependency.dependency_ready_callback(&done);
    Buffer_DonateWithControlDependency.dependency_ready_callback(&done);
    expect(Buffer_DonateWithControlDependency.out_buffer, 4, (float[]){1, 2, 3, 4});
    destroy(Buffer_DonateWithControlDependency.out_buffer);
    destroy(b);
}

static PJRT_Error *put_nothing(PJRT_KeyValuePutCallback_Args *a) {
    (void)a;
    return NULL;
}
static PJRT_Error *get_no_text(PJRT_KeyValueGetCallback_Args *a) {
    a->value = NULL;
    a->value_size = 5;
    return NULL;
}

static void test_callbacks_of_the_client(void **state) {
    (void)state;
    PJRT_NamedValue options[] = {int_value("num_nodes", 2), int_value("node_id", 0)};
    PJRT_Client_Create_Args a = PJRT_INIT(Client_Create, .create_options = options, .num_options = 2,
                                          .kv_get_callback = get_no_text, .kv_put_callback = put_nothing);
    assert_int_equal(code_of(api->Client_Create(&a), "value is NULL, but value_size is 5"), PJRT_INVALID_ARGUMENT);
}

/* Whoever makes an array sets its event; a client sets its own events, each once. */
static void test_whose_event(void **state) {
    (void)state;
    CALL(Client_CreateAliasBuffer, .client = client, .shape_element_type = PJRT_TYPE_F32, .shape_dims = (int64_t[]){4},
         .shape_num_dims = 1);
    PJRT_Buffer *alias = Client_CreateAliasBuffer.alias_buffer, *b = upload4((float[]){1, 2, 3, 4});
    CALL(Buffer_ReadyEvent, .buffer = alias);
    PJRT_Event_Set_Args set = PJRT_INIT(Event_Set, .event = Buffer_ReadyEvent.event);
    assert_int_equal(code_of(api->Event_Set(&set), "not made by"), PJRT_FAILED_PRECONDITION);
    CALL(Client_FulfillAliasBuffer, .client = client, .buffer = b,
         .fulfill_alias_buffer_cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb);
    assert_int_equal(finish(Buffer_ReadyEvent.event, NULL), PJRT_OK);
    CALL(Event_Create, .extension_start = NULL);
    set.event = Event_Create.event;
    assert_int_equal(code_of(api->Event_Set(&set), NULL), PJRT_OK);
    assert_int_equal(code_of(api->Event_Set(&set), "set already"), PJRT_FAILED_PRECONDITION);
    CALL(Event_Destroy, .event = set.event);
    destroy(alias), destroy(b);
}

/* --- the profiler's own ABI --- */
static void test_profiler(void **state) {
    (void)state;
    const PJRT_Extension_Base *e = api->extension_start;
    while (e->type != PJRT_EXTENSION_PROFILER) e = e->next;
    const PLUGIN_Profiler_Api *p = ((const PJRT_Profiler_Extension *)e)->profiler_api;
    PLUGIN_Profiler_Create_Args c = {.struct_size = sizeof c};
    assert_null(p->create(&c));
    PLUGIN_Profiler_Args own = {.struct_size = sizeof own, .profiler = c.profiler},
                         none = {.struct_size = sizeof none, .profiler = (void *)&c};
    PLUGIN_Profiler_Error *(*const with_args[])(PLUGIN_Profiler_Args *) = {p->start, p->stop, p->destroy};
    for (size_t i = 0; i < BASE_COUNT(with_args); i++) assert_true(with_args[i](NULL) && with_args[i](&none));
    assert_null(p->start(&own));
    assert_null(p->stop(&own));
    uint8_t one = 0x5A;
    PLUGIN_Profiler_CollectData_Args d = {.struct_size = sizeof d, .profiler = c.profiler};
    assert_null(p->collect_data(&d));
    assert_true(d.buffer_size_in_bytes > 1);
    d.buffer = &one;
    d.buffer_size_in_bytes = 1;
    PLUGIN_Profiler_Error *small = p->collect_data(&d);
    PLUGIN_Profiler_Error_Message_Args m = {.struct_size = sizeof m, .error = small};
    assert_true(small && one == 0x5A);
    assert_null(p->error_message(&m));
    assert_non_null(strstr(m.message, "smaller"));
    assert_true(p->collect_data(NULL) && p->create(NULL));
    assert_null(p->destroy(&own));
    assert_non_null(p->destroy(&own));
    assert_non_null(p->start(&own));
}

static int no_client(void **state) {
    (void)state;
    unsetenv("CPU_NUM_DEVICES");
    return 0;
}

int main(void) {
    api = GetPjrtApi();
    /* Children come first: a process that has a client has threads, which a child of its would lack. */
    const struct CMUnitTest first[] = {cmocka_unit_test(test_table_covers_structs), cmocka_unit_test(test_every_field)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists_of_execute),
                                       cmocka_unit_test(test_callbacks_of_the_plugin),
                                       cmocka_unit_test(test_callbacks_of_the_client),
                                       cmocka_unit_test(test_whose_event), cmocka_unit_test(test_profiler)};
    int failed = cmocka_run_group_tests(first, no_client, NULL);
    return cmocka_run_group_tests(tests, open_client, close_client) + failed;
}
