/* Fuzz target of the bytecode reader: any bytes end in an error or in a program; one that verifies prints. The first
 * files of the corpus are plain StableHLO as JAX 0.10.2 writes it (module.operation.write_bytecode). */
#include "format/bytecode.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL;
    str text = STR_INIT;
    xt_status s = bytecode_read(data, n, "fuzz", &m);
    if ((s != NULL) != (m == NULL)) abort();
    if (!s) s = ir_verify(m);
    if (!s && ir_print(m, 0, &text)) abort();
    xt_status_free(s);
    ir_module_free(m);
    str_free(&text);
    return 0;
}
