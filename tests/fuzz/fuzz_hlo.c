/* Fuzz target of the HLO reader: any bytes end in an error or in a program; one that verifies prints, and is written as
 * bytecode or refused. The first files of the corpus are what PyTorch/XLA and JAX wrote; tests/unit/test_hlo_read.c
 * damages one of them byte by byte. */
#include "format/bytecode.h"
#include "format/hlo.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL;
    str text = STR_INIT, bytes = STR_INIT;
    xt_status s = hlomod_read(data, n, "fuzz", &m);
    if ((s != NULL) != (m == NULL)) abort();
    if (!s) s = ir_verify(m);
    if (!s && ir_print(m, 0, &text)) abort();
    if (!s) s = bytecode_write(m, NULL, &bytes);
    xt_status_free(s);
    ir_module_free(m);
    str_free(&text);
    str_free(&bytes);
    return 0;
}
