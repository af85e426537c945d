/* From a return address to a position, for src.c alone (which holds its lock around every call). */
#ifndef XT_SRC_BASE_SRC_DWARF_H
#define XT_SRC_BASE_SRC_DWARF_H

#include "base/src_place.h"

/* A position, and the calls around it that the compiler inlined. */
typedef struct dwarf_inlined {
    str file, func;
    int line, column;
} dwarf_inlined;

typedef struct dwarf_found {
    str file, func; /* file is "binary+0x1234" when there is no line */
    int line; /* 0 without debug information */
    int column; /* from 1; 0: not known */
    bool inside; /* the address lies in this library */
    dwarf_inlined *around; /* the innermost first, the machine's own function last; none: that is func itself */
    size_t n_around, cap_around;
    src_scope scopes[SRC_SCOPES_MAX]; /* functions and blocks around it, the outermost first */
    size_t n_scopes;
} dwarf_found;

void src_dwarf_find(const void *return_address, dwarf_found *out);
void src_dwarf_found_free(dwarf_found *f);
uint64_t src_dwarf_unloads(void); /* changes whenever a module of the process is unloaded */
void src_dwarf_forget(void); /* drop what is kept of modules that may be gone */

#endif
