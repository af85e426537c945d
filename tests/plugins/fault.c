/* A PJRT plugin that is another one (FAULT_OF, a path) except that the functions named in FAULT fail with a true error
 * of that plugin; FAULT=all fails everything after loading. Functions that release things do so first: a fault must not
 * look like a leak. FAULT_MINOR pretends an older version, FAULT_TABLE a shorter table.
 *
 * FAULT_AT=N fails the N-th call of all, whichever it is; fault_calls counts them. As a compiler for topologies:
 * FAULT_SAYS is what an error says instead of that plugin's own words, FAULT_CODE its code (13).
 *
 * FAULT_TOPOLOGY is the name the other plugin gets, and FAULT_COMPILE is what compiling does instead: "hang", "abort"
 * or "refuse". */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/pjrt_abi.h"

const PJRT_Api *GetPjrtApi(void);

static const PJRT_Api *real;
static PJRT_Api table;

__attribute__((visibility("default"))) atomic_long fault_calls;

static bool fails(const char *name) {
    const char *which = getenv("FAULT"), *at = getenv("FAULT_AT");
    if (strncmp(name, "Error_", 6) == 0 || strncmp(name, "Plugin_", 7) == 0) return false;
    if (atomic_fetch_add(&fault_calls, 1) + 1 == (at ? atol(at) : 0)) {
        if (getenv("FAULT_SAY")) fprintf(stderr, "fault at %s\n", name);
        return true;
    }
    return which && (strcmp(which, name) == 0 || strcmp(which, "all") == 0);
}

/* What a plugin does with a topology's name, and a compiler that never ends or takes the process with it. */
static void before_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args *a) {
    const char *other = getenv("FAULT_TOPOLOGY");
    if (!other) return;
    a->topology_name = other;
    a->topology_name_size = strlen(other);
}

static bool before_Compile(void) {
    const char *what = getenv("FAULT_COMPILE");
    if (what && strcmp(what, "hang") == 0) sleep(600);
    if (what && strcmp(what, "abort") == 0) {
        fprintf(stderr, "Check failed: the compiler has had enough\n");
        abort();
    }
    return what && strcmp(what, "refuse") == 0;
}

/* An error object only the plugin can make: what it says to a call with an empty struct. With FAULT_SAYS it is ours,
 * and the three functions that read errors know it. */
static char said;
static PJRT_Error *fault(void) {
    if (getenv("FAULT_SAYS")) return (PJRT_Error *)&said;
    PJRT_Client_Devices_Args a = {.struct_size = 0};
    return real->Client_Devices(&a);
}

static void own_message(PJRT_Error_Message_Args *a) {
    if (a->error != (PJRT_Error *)&said) {
        real->Error_Message(a);
        return;
    }
    a->message = getenv("FAULT_SAYS");
    a->message_size = strlen(a->message);
}
static PJRT_Error *own_code(PJRT_Error_GetCode_Args *a) {
    const char *code = getenv("FAULT_CODE");
    if (a->error != (PJRT_Error *)&said) return real->Error_GetCode(a);
    a->code = code ? atoi(code) : 13;
    return NULL;
}
static void own_destroy(PJRT_Error_Destroy_Args *a) {
    if (a->error != (PJRT_Error *)&said) real->Error_Destroy(a);
}

#define PJRT_FN(name, since, size, ...)                                                                     \
    static PJRT_Error *fault_##name(PJRT_##name##_Args *a) {                                                \
        if (strcmp(#name, "TopologyDescription_Create") == 0) before_TopologyDescription_Create((void *)a); \
        if (!fails(#name) && !(strcmp(#name, "Compile") == 0 && before_Compile())) return real->name(a);    \
        if (strstr(#name, "Destroy")) {                                                                     \
            PJRT_Error *e = real->name(a);                                                                  \
            if (e) return e;                                                                                \
        }                                                                                                   \
        return fault();                                                                                     \
    }
#define PJRT_FN_VOID(name, since, size, ...)          \
    static void fault_##name(PJRT_##name##_Args *a) { \
        real->name(a);                                \
    }
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void) {
    if (real) return &table;
    const char *path = getenv("FAULT_OF"), *minor = getenv("FAULT_MINOR"), *size = getenv("FAULT_TABLE");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    PJRT_GetApi get = NULL;
    if (lib) *(void **)&get = dlsym(lib, "GetPjrtApi");
    real = get ? get() : NULL;
    if (!real) return NULL;
    memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
#define PJRT_FN(name, since, size, ...) \
    if (PJRT_HAS(real, name)) table.name = fault_##name;
#define PJRT_FN_VOID PJRT_FN
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
    table.Error_Message = own_message;
    table.Error_GetCode = own_code;
    table.Error_Destroy = own_destroy;
    if (minor) table.pjrt_api_version.minor_version = atoi(minor);
    if (size) table.struct_size = (size_t)atol(size);
    return &table;
}
