/* A PJRT plugin that is another one (RECORD_OF, a path) and writes down how it was opened: into RECORD_TO.RANK the
 * variables of its process that TPUs and GPUs read, the create options, and, where it is given key-value callbacks,
 * what came of a round of them: each process puts a value, takes everyone's, and asks for one that nobody put. With
 * RECORD_PROFILE (a file) its profiler, whatever it saw, gives what the file holds: the trace of a device that is not
 * here. With RECORD_GPU the other plugin is spared what is said to a GPU, calls itself cuda, and the compile options go
 * to RECORD_TO.compile. Named libtpu.so it is opened as a TPU would be. RANK is XT_RANK, OMPI_COMM_WORLD_RANK or
 * CLOUD_TPU_TASK_ID. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/pjrt_abi.h"

extern char **environ;
const PJRT_Api *GetPjrtApi(void);

static const PJRT_Api *real;
static PJRT_Api table;

typedef struct seen_error {
    int code;
    char text[400];
} seen_error;
static seen_error seen;

/* The callbacks' errors are ours to make: one will do. */
static PJRT_Error *make_error(PJRT_Error_Code code, const char *text, size_t n) {
    seen.code = (int)code;
    snprintf(seen.text, sizeof seen.text, "%.*s", (int)n, text);
    return (PJRT_Error *)&seen;
}
static PJRT_CallbackError make = make_error;

static FILE *open_record(void) {
    static const char *const names[] = {"XT_RANK", "OMPI_COMM_WORLD_RANK", "CLOUD_TPU_TASK_ID"};
    const char *to = getenv("RECORD_TO"), *rank = NULL;
    char path[600];
    for (size_t i = 0; i < 3 && !rank; i++) rank = getenv(names[i]);
    snprintf(path, sizeof path, "%s.%s", to ? to : "/dev/null", rank ? rank : "0");
    return fopen(to ? path : "/dev/null", "w");
}

static void write_environment(FILE *f) {
    static const char *const wanted[] = {"TPU_", "CLOUD_TPU_", "CUDA_VISIBLE_DEVICES=", "XT_THREADS="};
    for (char **e = environ; e && *e; e++)
        for (size_t i = 0; i < 4; i++)
            if (strncmp(*e, wanted[i], strlen(wanted[i])) == 0) fprintf(f, "env %s\n", *e);
}

static int64_t write_options(FILE *f, const PJRT_Client_Create_Args *a) {
    int64_t nodes = 1;
    for (size_t i = 0; i < a->num_options; i++) {
        const PJRT_NamedValue *o = &a->create_options[i];
        fprintf(f, "option %.*s=", (int)o->name_size, o->name);
        if (o->type == PJRT_VALUE_STRING) fprintf(f, "'%.*s'\n", (int)o->value_size, o->string_value);
        if (o->type == PJRT_VALUE_FLOAT) fprintf(f, "%g\n", o->float_value);
        if (o->type == PJRT_VALUE_BOOL) fprintf(f, "%s\n", o->bool_value ? "true" : "false");
        if (o->type != PJRT_VALUE_INT64) continue;
        fprintf(f, "%lld\n", (long long)o->int64_value);
        if (o->name_size == 9 && memcmp(o->name, "num_nodes", 9) == 0) nodes = o->int64_value;
    }
    return nodes;
}

static void exchange(FILE *f, PJRT_Client_Create_Args *a, int64_t nodes) {
    char key[64], value[64];
    const char *rank = getenv("XT_RANK") ? getenv("XT_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    snprintf(key, sizeof key, "record/%s", rank);
    snprintf(value, sizeof value, "said by %s", rank);
    PJRT_KeyValuePutCallback_Args p = {sizeof p, NULL,          key,   strlen(key),
                                       value,    strlen(value), &make, a->kv_put_user_arg};
    fprintf(f, "put %s\n", a->kv_put_callback(&p) ? seen.text : "ok");
    for (int64_t i = 0; i < nodes; i++) {
        snprintf(key, sizeof key, "record/%lld", (long long)i);
        PJRT_KeyValueGetCallback_Args g = {.struct_size = sizeof g,
                                           .key = key,
                                           .key_size = strlen(key),
                                           .timeout_in_ms = 30000,
                                           .callback_error = &make,
                                           .user_arg = a->kv_get_user_arg};
        if (a->kv_get_callback(&g)) {
            fprintf(f, "get %s: %s\n", key, seen.text);
            continue;
        }
        fprintf(f, "get %s: '%.*s'\n", key, (int)g.value_size, g.value);
        if (g.value_deleter_callback) g.value_deleter_callback(g.value);
    }
    PJRT_KeyValueTryGetCallback_Args t = {.struct_size = sizeof t,
                                          .key = "record/none",
                                          .key_size = 11,
                                          .callback_error = &make,
                                          .user_arg = a->kv_try_get_user_arg};
    if (!a->kv_try_get_callback) return;
    seen.code = 0;
    a->kv_try_get_callback(&t);
    fprintf(f, "try_get of nothing: code %d\n", seen.code);
}

/* What is not said to a CPU: a GPU's options. That it is to be called what it pretends to be is said instead. */
static PJRT_Error *create_as_gpu(PJRT_Client_Create_Args *a) {
    static const char name[] = "platform_name", value[] = "cuda";
    PJRT_NamedValue platform = {.struct_size = sizeof platform,
                                .name = name,
                                .name_size = sizeof name - 1,
                                .type = PJRT_VALUE_STRING,
                                .string_value = value,
                                .value_size = sizeof value - 1};
    a->create_options = &platform;
    a->num_options = 1;
    return real->Client_Create(a);
}

/* The compile options as they are; the compiler gets the plainest. */
static PJRT_Error *record_Client_Compile(PJRT_Client_Compile_Args *a) {
    const char *to = getenv("RECORD_TO");
    char path[600];
    snprintf(path, sizeof path, "%s.compile", to ? to : "/dev/null");
    FILE *f = fopen(to ? path : "/dev/null", "w");
    if (f) fwrite(a->compile_options, 1, a->compile_options_size, f);
    if (f) fclose(f);
    static const char one[] = {0x1a, 4, 0x20, 1, 0x28, 1}; /* one replica, one partition */
    a->compile_options = one;
    a->compile_options_size = sizeof one;
    return real->Client_Compile(a);
}

static PJRT_Error *record_Client_Create(PJRT_Client_Create_Args *a) {
    FILE *f = open_record();
    if (f) {
        write_environment(f);
        int64_t nodes = write_options(f, a);
        if (nodes > 1 && a->kv_put_callback && a->kv_get_callback) exchange(f, a, nodes);
        fclose(f);
    }
    if (getenv("RECORD_GPU")) return create_as_gpu(a);
    return real->Client_Create(a);
}

/* --- a trace from a file --- */
static PLUGIN_Profiler_Api profiler;
static PJRT_Profiler_Extension profiles = {.base = {sizeof profiles, PJRT_EXTENSION_PROFILER, NULL},
                                           .profiler_api = &profiler};

static PLUGIN_Profiler_Error *from_file(PLUGIN_Profiler_CollectData_Args *a) {
    static uint8_t data[1 << 16];
    FILE *f = fopen(getenv("RECORD_PROFILE"), "rb");
    a->buffer = data;
    a->buffer_size_in_bytes = f ? fread(data, 1, sizeof data, f) : 0;
    if (f) fclose(f);
    return NULL;
}

static void give_profiles(void) {
    PJRT_Extension_Base *e = real->extension_start;
    while (e && e->type != PJRT_EXTENSION_PROFILER) e = e->next;
    if (!e || !getenv("RECORD_PROFILE")) return;
    profiler = *((PJRT_Profiler_Extension *)e)->profiler_api;
    profiler.collect_data = from_file;
    profiles.base.next = real->extension_start;
    table.extension_start = &profiles.base;
}

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void) {
    if (real) return &table;
    const char *path = getenv("RECORD_OF");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    PJRT_GetApi get = NULL;
    if (lib) *(void **)&get = dlsym(lib, "GetPjrtApi");
    real = get ? get() : NULL;
    if (!real) return NULL;
    memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
    table.Client_Create = record_Client_Create;
    if (getenv("RECORD_GPU")) table.Client_Compile = record_Client_Compile;
    give_profiles();
    return &table;
}
