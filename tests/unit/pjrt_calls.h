/* What tests that call the plugin's table share: errors as codes, uploads, one small program, and a client for each
 * test program. */
#ifndef XT_TESTS_PJRT_CALLS_H
#define XT_TESTS_PJRT_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"
#include "pjrt/face.h"

const PJRT_Api *GetPjrtApi(void);
static const PJRT_Api *api;
static PJRT_Client *client;

/* The error's code; its message must mention `word` (NULL = any). Destroys it. */
static inline PJRT_Error_Code code_of(PJRT_Error *e, const char *word) {
    if (!e) return PJRT_OK;
    PJRT_Error_Message_Args m = PJRT_INIT(Error_Message, .error = e);
    api->Error_Message(&m);
    PJRT_Error_GetCode_Args c = PJRT_INIT(Error_GetCode, .error = e);
    assert_null(api->Error_GetCode(&c));
    char text[2000];
    snprintf(text, sizeof text, "%.*s", (int)m.message_size, m.message);
    if (word && !strstr(text, word)) fail_msg("'%s' does not mention '%s'", text, word);
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    api->Error_Destroy(&d);
    return c.code;
}
#define CALL(name, ...)                                     \
    PJRT_##name##_Args name = PJRT_INIT(name, __VA_ARGS__); \
    assert_int_equal(code_of(api->name(&name), NULL), PJRT_OK)

static inline PJRT_Error_Code finish(PJRT_Event *e, const char *word) {
    PJRT_Event_Await_Args w = PJRT_INIT(Event_Await, .event = e);
    PJRT_Error_Code code = code_of(api->Event_Await(&w), word);
    CALL(Event_Destroy, .event = e);
    return code;
}

static inline PJRT_Error *upload_error(PJRT_Client_BufferFromHostBuffer_Args *a, PJRT_Buffer **out) {
    PJRT_Error *e = api->Client_BufferFromHostBuffer(a);
    if (e) return e;
    assert_int_equal(finish(a->done_with_host_buffer, NULL), PJRT_OK);
    *out = a->buffer;
    return NULL;
}

static inline PJRT_Buffer *upload4(const float v[4]) {
    PJRT_Buffer *b = NULL;
    PJRT_Client_BufferFromHostBuffer_Args a = PJRT_INIT(Client_BufferFromHostBuffer, .client = client, .data = v,
                                                        .type = PJRT_TYPE_F32, .dims = (int64_t[]){4}, .num_dims = 1);
    assert_int_equal(code_of(upload_error(&a, &b), NULL), PJRT_OK);
    return b;
}

static inline void destroy(PJRT_Buffer *b) {
    CALL(Buffer_Destroy, .buffer = b);
}

static inline void expect(PJRT_Buffer *b, size_t n, const float *want) {
    float got[16];
    CALL(Buffer_ToHostBuffer, .src = b, .dst = got, .dst_size = n * sizeof *got);
    assert_int_equal(finish(Buffer_ToHostBuffer.event, NULL), PJRT_OK);
    assert_memory_equal(got, want, n * sizeof *got);
}

/* w - g, with w's memory given to the result. */
static const char step[] =
    "module @step {\n"
    "  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<4xf32>) -> tensor<4xf32> {\n"
    "    %0 = stablehlo.subtract %w, %g : tensor<4xf32>\n"
    "    return %0 : tensor<4xf32>\n"
    "  }\n"
    "}\n";
static const char one_device[] = "\x1a\x04\x20\x01\x28\x01";

static inline PJRT_LoadedExecutable *compile_text(PJRT_Client *c, const char *text) {
    PJRT_Program p = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                      .code = (char *)text,
                      .code_size = strlen(text),
                      .format = "mlir",
                      .format_size = 4};
    CALL(Client_Compile, .client = c, .program = &p, .compile_options = one_device, .compile_options_size = 6);
    return Client_Compile.executable;
}

static inline PJRT_LoadedExecutable *compile(PJRT_Client *c) {
    return compile_text(c, step);
}

static inline PJRT_Error *execute(PJRT_LoadedExecutable *e, PJRT_Buffer *w, PJRT_Buffer *g, PJRT_Device *on,
                                  PJRT_Buffer **out, PJRT_Event **done) {
    PJRT_ExecuteOptions o = {.struct_size = PJRT_ExecuteOptions_BASE_SIZE};
    PJRT_Buffer **args[] = {(PJRT_Buffer *[]){w, g}}, **outs[] = {out};
    PJRT_LoadedExecutable_Execute_Args a =
        PJRT_INIT(LoadedExecutable_Execute, .executable = e, .options = &o, .argument_lists = args, .num_devices = 1,
                  .num_args = 2, .output_lists = outs, .device_complete_events = done, .execute_device = on);
    return api->LoadedExecutable_Execute(&a);
}

static inline PJRT_Client *create(const PJRT_NamedValue *v, size_t n) {
    CALL(Client_Create, .create_options = v, .num_options = n);
    return Client_Create.client;
}

static inline PJRT_NamedValue int_value(const char *name, int64_t v) {
    return (PJRT_NamedValue){.struct_size = PJRT_SIZE_OF(PJRT_NamedValue),
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_VALUE_INT64,
                             .int64_value = v,
                             .value_size = 1};
}

static inline int open_client(void **state) {
    (void)state;
    unsetenv("CPU_NUM_DEVICES");
    client = create(NULL, 0);
    return 0;
}

static inline int close_client(void **state) {
    (void)state;
    CALL(Client_Destroy, .client = client);
    static const char *const kinds[] = {"plugin_client", "plugin_buffer", "plugin_executable", "plugin_event"};
    int left = 0;
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (xt_live_objects(kinds[i]))
            print_error("%lld of %s are left\n", (long long)xt_live_objects(kinds[i]), kinds[i]), left++;
    return left;
}

#endif
