/* The plugin's table: the order of an array's dims in memory, as a program says it for its arguments and results
 * (mhlo.layout_mode) and a client for its buffers. */
#include "pjrt_calls.h"

/* y = transpose(x) + 1 and x * x, of x [2,3]; %s: the modes of x and the two results. */
static const char turned[] = "module @turned {\n"
                             "  func.func public @main(%%x: tensor<2x3xf32> {mhlo.layout_mode = \"%s\"}) -> "
                             "(tensor<3x2xf32> {mhlo.layout_mode = \"%s\"}, "
                             "tensor<2x3xf32> {mhlo.layout_mode = \"%s\"}) {\n"
                             "    %%one = stablehlo.constant dense<1.0> : tensor<3x2xf32>\n"
                             "    %%0 = stablehlo.transpose %%x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
                             "    %%1 = stablehlo.add %%0, %%one : tensor<3x2xf32>\n"
                             "    %%2 = stablehlo.multiply %%x, %%x : tensor<2x3xf32>\n"
                             "    return %%1, %%2 : tensor<3x2xf32>, tensor<2x3xf32>\n"
                             "  }\n"
                             "}\n";
static const float x[6] = {1, 2, 3, 4, 5, 6}, x_columns[6] = {1, 4, 2, 5, 3, 6};
static const float y[6] = {2, 5, 3, 6, 4, 7}, y_columns[6] = {2, 3, 4, 5, 6, 7};
static const float square[6] = {1, 4, 9, 16, 25, 36}, square_columns[6] = {1, 16, 4, 25, 9, 36};

static PJRT_Buffer_MemoryLayout order(int64_t *minor_to_major, size_t n) {
    return (PJRT_Buffer_MemoryLayout){.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
                                      .type = PJRT_LAYOUT_TILED,
                                      .tiled = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Tiled),
                                                .minor_to_major = minor_to_major,
                                                .minor_to_major_size = n}};
}

static PJRT_Buffer *upload(bool columns, int64_t *strides) {
    PJRT_Buffer *b = NULL;
    PJRT_Buffer_MemoryLayout layout = order((int64_t[]){0, 1}, 2);
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = strides ? x_columns : x, .type = PJRT_TYPE_F32,
                  .dims = (int64_t[]){2, 3}, .num_dims = 2, .byte_strides = strides,
                  .num_byte_strides = strides ? 2 : 0, .device_layout = columns ? &layout : NULL);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    return b;
}

/* What lies in memory, what a read without a layout gives (the same), and what a row-major read gives. */
static void holds(PJRT_Buffer *b, const float stored[6], const float rows[6]) {
    float got[6];
    PJRT_Buffer_MemoryLayout layout = order((int64_t[]){1, 0}, 2);
    CALL(Buffer_CopyRawToHost, .buffer = b, .dst = got, .transfer_size = sizeof got);
    assert_int_equal(finish(Buffer_CopyRawToHost.event, NULL), PJRT_OK);
    assert_memory_equal(got, stored, sizeof got);
    expect(b, 6, stored);
    CALL(Buffer_ToHostBuffer, .src = b, .dst = got, .dst_size = sizeof got, .host_layout = &layout);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, rows, sizeof got);
    CALL(Buffer_GetMemoryLayout, .buffer = b);
    assert_int_equal(Buffer_GetMemoryLayout.layout.tiled.minor_to_major_size, 2);
    assert_int_equal(Buffer_GetMemoryLayout.layout.tiled.minor_to_major[0], stored == rows ? 1 : 0);
}

static void test_buffers(void **state) {
    (void)state;
    PJRT_Buffer *rows = upload(false, NULL), *columns = upload(true, NULL), *strided = upload(true, (int64_t[]){4, 8}),
                *back = upload(false, (int64_t[]){4, 8});
    holds(rows, x, x);
    holds(columns, x_columns, x);
    holds(strided, x_columns, x);
    holds(back, x, x);
    CALL(Buffer_Memory, .buffer = columns);
    CALL(Buffer_CopyToMemory, .buffer = columns, .dst_memory = Buffer_Memory.memory);
    holds(Buffer_CopyToMemory.dst_buffer, x_columns, x);
    CALL(Buffer_Dimensions, .buffer = columns);
    assert_int_equal(Buffer_Dimensions.dims[0], 2);
    PJRT_Buffer_MemoryLayout gaps = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout),
                                     .type = PJRT_LAYOUT_STRIDES,
                                     .strides = {.struct_size = PJRT_SIZE_OF(PJRT_Buffer_MemoryLayout_Strides),
                                                 .byte_strides = (int64_t[]){4, 16},
                                                 .num_byte_strides = 2}};
    PJRT_Client_BufferFromHostBuffer_Args a =
        PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = x, .type = PJRT_TYPE_F32,
                  .dims = (int64_t[]){2, 3}, .num_dims = 2, .device_layout = &gaps);
    assert_int_equal(code_of(api->Client_BufferFromHostBuffer(&a), "gaps"), PJRT_UNIMPLEMENTED);
    destroy(rows);
    destroy(columns);
    destroy(strided);
    destroy(back);
    destroy(Buffer_CopyToMemory.dst_buffer);
}

/* A dim of one element lies anywhere: an alias that names it elsewhere is of the same order, one whose other dims are
 * turned around is not. */
static void test_alias(void **state) {
    (void)state;
    int64_t dims[] = {1, 2, 3};
    PJRT_Buffer *b = NULL;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = x,
                                                        .type = PJRT_TYPE_F32, .dims = dims, .num_dims = 3);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    CALL(Buffer_Memory, .buffer = b);
    for (int turned_around = 0; turned_around < 2; turned_around++) {
        PJRT_Buffer_MemoryLayout layout =
            turned_around ? order((int64_t[]){1, 2, 0}, 3) : order((int64_t[]){0, 2, 1}, 3);
        CALL(Client_CreateAliasBuffer, .client = client, .memory = Buffer_Memory.memory, .shape_dims = dims,
             .shape_num_dims = 3, .shape_element_type = PJRT_TYPE_F32, .shape_layout = &layout);
        PJRT_FulfillAliasBufferCallback *cb = Client_CreateAliasBuffer.fulfill_alias_buffer_cb;
        PJRT_Client_FulfillAliasBuffer_Args f =
            PJRT_INIT(Client_FulfillAliasBuffer, .client = client, .buffer = b, .fulfill_alias_buffer_cb = cb);
        assert_int_equal(code_of(api->Client_FulfillAliasBuffer(&f), NULL),
                         turned_around ? PJRT_INVALID_ARGUMENT : PJRT_OK);
        if (turned_around) {
            CALL(Client_FulfillAliasBuffer, .client = client, .status_code = PJRT_ABORTED, .error_message = "gone",
                 .error_message_size = 4, .fulfill_alias_buffer_cb = cb);
        } else
            expect(Client_CreateAliasBuffer.alias_buffer, 6, x);
        destroy(Client_CreateAliasBuffer.alias_buffer);
    }
    destroy(b);
}

static const PJRT_Layouts_Extension *extension(void) {
    const PJRT_Extension_Base *e = api->extension_start;
    while (e && e->type != PJRT_EXTENSION_LAYOUTS) e = e->next;
    assert_non_null(e);
    return (const PJRT_Layouts_Extension *)e;
}

static void layout_is(PJRT_Layouts_MemoryLayout *l, const char *want) {
    PJRT_Layouts_MemoryLayout_Serialize_Args s = {.struct_size = sizeof s, .layout = l};
    assert_null(extension()->MemoryLayout_Serialize(&s));
    assert_int_equal(s.serialized_bytes_size, strlen(want));
    assert_memory_equal(s.serialized_bytes, want, strlen(want));
    PJRT_Layouts_MemoryLayout_Destroy_Args d = {.struct_size = sizeof d, .layout = l};
    assert_null(extension()->MemoryLayout_Destroy(&d));
}

static void program_says(PJRT_LoadedExecutable *e, const char *in, const char *first, const char *second) {
    CALL(LoadedExecutable_GetExecutable, .loaded_executable = e);
    PJRT_Executable *x_of = LoadedExecutable_GetExecutable.executable;
    PJRT_Layouts_Executable_GetParameterLayouts_Args p = {.struct_size = sizeof p, .executable = x_of};
    assert_null(extension()->Executable_GetParameterLayouts(&p));
    assert_int_equal(p.num_parameters, 1);
    layout_is(p.layouts[0], in);
    PJRT_Layouts_Executable_GetOutputLayouts_Args o = {.struct_size = sizeof o, .executable = x_of};
    assert_null(extension()->Executable_GetOutputLayouts(&o));
    assert_int_equal(o.num_outputs, 2);
    layout_is(o.layouts[0], first);
    layout_is(o.layouts[1], second);
    CALL(Executable_OutputDimensions, .executable = x_of);
    assert_int_equal(Executable_OutputDimensions.dims[0], 3);
    CALL(Executable_Destroy, .executable = x_of);
}

static PJRT_Error *run(PJRT_LoadedExecutable *e, PJRT_Buffer *in, PJRT_Buffer **out) {
    PJRT_ExecuteOptions o = {.struct_size = PJRT_ExecuteOptions_BASE_SIZE};
    PJRT_Buffer **args[] = {&in}, **outs[] = {out};
    PJRT_LoadedExecutable_Execute_Args a =
        PJRT_INIT(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = args, .num_devices = 1,
                  .num_args = 1, .output_lists = outs);
    return api->LoadedExecutable_Execute(&a);
}

static void test_programs(void **state) {
    (void)state;
    static const struct {
        const char *in, *first, *second; /* asked for */
        bool columns[3]; /* given */
    } rows[] = {
        {"default", "default", "default", {false, false, false}}, {"{0,1}", "default", "{1,0}", {true, false, false}},
        {"default", "{0,1}", "{0,1}", {false, true, true}},       {"auto", "auto", "auto", {false, true, false}},
        {"{0,1}", "auto", "auto", {true, false, true}},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[1000];
        snprintf(text, sizeof text, turned, rows[i].in, rows[i].first, rows[i].second);
        PJRT_LoadedExecutable *e = compile_text(client, text);
        static const char *const said[] = {"{1,0}", "{0,1}"};
        program_says(e, said[rows[i].columns[0]], said[rows[i].columns[1]], said[rows[i].columns[2]]);
        PJRT_Buffer *in = upload(rows[i].columns[0], NULL), *other = upload(!rows[i].columns[0], NULL), *out[2];
        assert_int_equal(code_of(run(e, other, out), "lies in memory as"), PJRT_INVALID_ARGUMENT);
        assert_int_equal(code_of(run(e, in, out), NULL), PJRT_OK);
        holds(out[0], rows[i].columns[1] ? y_columns : y, y);
        holds(out[1], rows[i].columns[2] ? square_columns : square, square);
        destroy(in);
        destroy(other);
        destroy(out[0]);
        destroy(out[1]);
        CALL(LoadedExecutable_Destroy, .executable = e);
    }
}

static void refused(const char *mode, PJRT_Error_Code want, const char *word) {
    char text[1000];
    snprintf(text, sizeof text, turned, mode, "default", "default");
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = text,
                      .code_size = strlen(text),
                      .format = "mlir",
                      .format_size = 4};
    PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = client, .program = &p,
                                           .compile_options = one_device, .compile_options_size = 6);
    assert_int_equal(code_of(api->Client_Compile(&a), word), want);
}

static void test_what_is_no_layout(void **state) {
    (void)state;
    refused("{0,0}", PJRT_INVALID_ARGUMENT, "no order of 2 dims");
    refused("{0}", PJRT_INVALID_ARGUMENT, "argument 0");
    refused("{0,2}", PJRT_INVALID_ARGUMENT, "no order");
    refused("{1,0,", PJRT_INVALID_ARGUMENT, "no order");
    refused("rows", PJRT_INVALID_ARGUMENT, "expected");
    refused("{1,0:T(8,128)}", PJRT_UNIMPLEMENTED, "tiles");
}

/* The attribute by which passes tell each other of orders, in a client's text: what is no order of these dims
 * says nothing. */
static void test_an_attribute_of_ours(void **state) {
    (void)state;
    static const char *const said[] = {"7, 9", "0, 0", "-1, 1", "0, 1, 2"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "module @said {\n"
                 "  func.func public @main(%%x: tensor<2x3xf32> {xtrain.layout = array<i64: %s>}) -> (tensor<2x3xf32> "
                 "{xtrain.layout = array<i64: %s>}) {\n"
                 "    %%0 = stablehlo.multiply %%x, %%x : tensor<2x3xf32>\n"
                 "    return %%0 : tensor<2x3xf32>\n"
                 "  }\n"
                 "}\n",
                 said[i], said[i]);
        PJRT_LoadedExecutable *e = compile_text(client, text);
        PJRT_Buffer *in = upload(false, NULL), *out[1];
        assert_int_equal(code_of(run(e, in, out), NULL), PJRT_OK);
        holds(out[0], square, square);
        destroy(in);
        destroy(out[0]);
        CALL(LoadedExecutable_Destroy, .executable = e);
    }
}

/* A donated argument and the result that takes its memory lie alike; a constraint says how a result that
 * is free lies. */
static void test_donation_and_constraint(void **state) {
    (void)state;
    PJRT_LoadedExecutable *e = compile_text(
        client,
        "module @given {\n"
        "  func.func public @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\", tf.aliasing_output = 1 : i32}) -> "
        "(tensor<3x2xf32> "
        "{mhlo.layout_mode = \"auto\"}, tensor<2x3xf32> {mhlo.layout_mode = \"auto\"}) {\n"
        "    %one = stablehlo.constant dense<1.0> : tensor<3x2xf32>\n"
        "    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "    %1 = stablehlo.add %0, %one : tensor<3x2xf32>\n"
        "    %c = stablehlo.custom_call @LayoutConstraint(%1) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], "
        "result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x2xf32>) -> tensor<3x2xf32>\n"
        "    %2 = stablehlo.multiply %x, %x : tensor<2x3xf32>\n"
        "    return %c, %2 : tensor<3x2xf32>, tensor<2x3xf32>\n"
        "  }\n"
        "}\n");
    program_says(e, "{0,1}", "{0,1}", "{0,1}");
    PJRT_Buffer *in = upload(true, NULL), *out[2];
    CALL(Buffer_UnsafePointer, .buffer = in);
    assert_int_equal(code_of(run(e, in, out), NULL), PJRT_OK);
    holds(out[0], y_columns, y);
    holds(out[1], square_columns, square);
    uintptr_t before = Buffer_UnsafePointer.buffer_pointer;
    Buffer_UnsafePointer.buffer = out[1];
    assert_null(api->Buffer_UnsafePointer(&Buffer_UnsafePointer));
    assert_int_equal(Buffer_UnsafePointer.buffer_pointer, before);
    CALL(Buffer_IsDeleted, .buffer = in);
    assert_true(Buffer_IsDeleted.is_deleted);
    destroy(in);
    destroy(out[0]);
    destroy(out[1]);
    CALL(LoadedExecutable_Destroy, .executable = e);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_buffers),
                                       cmocka_unit_test(test_alias),
                                       cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_what_is_no_layout),
                                       cmocka_unit_test(test_an_attribute_of_ours),
                                       cmocka_unit_test(test_donation_and_constraint)};
    return cmocka_run_group_tests(tests, open_client, close_client);
}
