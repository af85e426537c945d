/* Fuzz target of everything between the parser and a device: what verifies must go through the passes and verify again.
 */
#include "pass/pass.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL, *again = NULL;
    pass_ctx c = PASS_CTX_INIT;
    str text = STR_INIT;
    xt_status s = ir_parse((const char *)data, n, "fuzz", &m);
    if (!s) s = ir_verify(m);
    if (!s) s = pass_expand_chlo(m);
    if (!s) {
        s = pass_optimize(&c, m);
        if (!s && ir_verify(m)) abort();
        if (!s && (ir_print(m, 0, &text) || ir_parse(str_cstr(&text), text.len, "printed", &again) || ir_verify(again)))
            abort();
    }
    xt_status_free(s);
    ir_module_free(again);
    ir_module_free(m);
    str_free(&text);
    return 0;
}
