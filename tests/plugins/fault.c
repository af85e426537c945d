/* A PJRT plugin that is another one (XT_FAULT_OF, a path) except that the functions named in XT_FAULT fail with a true error of that plugin; XT_FAULT=all fails
 * everything after loading. Functions that release things do so first: a fault must not look like a leak. XT_FAULT_MINOR pretends an older version,
 * XT_FAULT_TABLE a shorter table. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/pjrt_abi.h"

const PJRT_Api *GetPjrtApi(void);

static const PJRT_Api *real;
static PJRT_Api table;

static bool fails(const char *name) {
    const char *which = getenv("XT_FAULT");
    if (!which || !*which || strncmp(name, "Error_", 6) == 0 || strncmp(name, "Plugin_", 7) == 0) return false;
    return strcmp(which, name) == 0 || strcmp(which, "all") == 0;
}

/* An error object only the plugin can make: what it says to a call with an empty struct. */
static PJRT_Error *fault(void) {
    PJRT_Client_Devices_Args a = {.struct_size = 0};
    return real->Client_Devices(&a);
}

#define PJRT_FN(name, since, size, ...)                                                                                                              \
    static PJRT_Error *fault_##name(PJRT_##name##_Args *a) {                                                                                         \
        if (!fails(#name)) return real->name(a);                                                                                                     \
        if (strstr(#name, "Destroy")) {                                                                                                              \
            PJRT_Error *e = real->name(a);                                                                                                           \
            if (e) return e;                                                                                                                         \
        }                                                                                                                                            \
        return fault();                                                                                                                              \
    }
#define PJRT_FN_VOID(name, since, size, ...)                                                                                                         \
    static void fault_##name(PJRT_##name##_Args *a) { real->name(a); }
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void) {
    if (real) return &table;
    const char *path = getenv("XT_FAULT_OF"), *minor = getenv("XT_FAULT_MINOR"), *size = getenv("XT_FAULT_TABLE");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    PJRT_GetApi get = NULL;
    if (lib) *(void **)&get = dlsym(lib, "GetPjrtApi");
    real = get ? get() : NULL;
    if (!real) return NULL;
    memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
#define PJRT_FN(name, since, size, ...)                                                                                                              \
    if (PJRT_HAS(real, name)) table.name = fault_##name;
#define PJRT_FN_VOID PJRT_FN
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
    if (minor) table.pjrt_api_version.minor_version = atoi(minor);
    if (size) table.struct_size = (size_t)atol(size);
    return &table;
}
