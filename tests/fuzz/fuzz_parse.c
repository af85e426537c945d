/* Fuzz target of the StableHLO text parser: what parses must print, and what is printed must parse and print the same
 * again. */
#include "ir/ir.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL, *again = NULL;
    str one = STR_INIT, two = STR_INIT;
    xt_status s = ir_parse((const char *)data, n, "fuzz", &m);
    for (unsigned form = 0; !s && form < 2; form++) {
        str_clear(&one);
        str_clear(&two);
        if (ir_print(m, form, &one)) abort();
        if (ir_parse(str_cstr(&one), one.len, "printed", &again)) abort();
        if (ir_print(again, form, &two) || one.len != two.len || memcmp(one.data, two.data, one.len)) abort();
        ir_module_free(again);
    }
    xt_status_free(s);
    ir_module_free(m);
    str_free(&one);
    str_free(&two);
    return 0;
}
