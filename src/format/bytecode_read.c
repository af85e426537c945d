/* Entry to the bytecode reader, and the choice between text, bytecode and HLO. */
#include "format/bytecode_int.h"
#include "format/hlo.h"

xt_status bytecode_read(const void *data, size_t n, const char *name, ir_module **out) {
    *out = NULL;
    if (!bytecode_is(data, n))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: this is no MLIR bytecode: it does not begin with ML\\xEFR",
                          name);
    bc_reader r = {.begin = data, .file = name ? name : "program", .m = ir_module_new(), .scratch = arena_new()};
    bool ok = (r.m && r.scratch) || bc_oom(&r);
    ok = ok && bc_read_tables(&r, data, n) && bc_read_module(&r);
    arena_free(r.scratch);
    base_free(r.ops);
    base_free(r.resources);
    base_free(r.values);
    if (ok && !r.status) {
        *out = r.m;
        return NULL;
    }
    ir_module_free(r.m);
    return r.status ? r.status : status_new(XT_INTERNAL, NULL, "%s: the bytecode reader failed without a reason", name);
}

xt_status program_read(const char *data, size_t n, const char *name, ir_module **out) {
    if (hlomod_is(data, n)) return hlomod_read(data, n, name, out);
    return bytecode_is(data, n) ? bytecode_read(data, n, name, out) : ir_parse(data, n, name, out);
}
