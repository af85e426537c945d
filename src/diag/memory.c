/* The memory report: live device buffers by the line that made them. */
#include "diag/diag.h"

int xt_memory_rows(xt_memory_row *rows, int max) { return lazy_ledger_rows(rows, max); }

void xt_memory_report(void) {
    str t = STR_INIT;
    lazy_append_ledger(&t, 1000);
    str_putc(&t, '\n');
    log_raw(XT_SEV_INFO, t.data + 1, t.len - 1); /* without the newline it starts with */
    str_free(&t);
}
