/* The device's bytes of a role, by the rows of the ledger. */
#ifndef XT_TESTS_UNIT_BYTES_OF_ROLE_H
#define XT_TESTS_UNIT_BYTES_OF_ROLE_H

#include <string.h>

#include <xtrain/diag.h>

static inline int64_t bytes_of(const char *role) {
    xt_memory_row rows[256];
    int n = xt_memory_rows(rows, 256);
    int64_t sum = 0;
    for (int i = 0; i < n && i < 256; i++)
        if (strcmp(rows[i].role, role) == 0) sum += rows[i].bytes;
    return sum;
}

#endif
