/* Fuzz target of the bytecode reader: any bytes end in an error or in a program; one that verifies prints. Built as
 * fuzz_parse.c, with src/format/bytecode*.c and src/format/vhlo.c beside the others; then ./a.out
 * tests/fuzz/corpus/bytecode, whose files tests/unit/test_bytecode.c replays. The first ones there are plain StableHLO
 * as JAX 0.10.2 writes it (module.operation.write_bytecode). */
#include <stdint.h>
#include <stdlib.h>

#include "format/bytecode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

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
