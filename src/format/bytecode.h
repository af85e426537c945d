/* Programs as other tools send them and take them: MLIR bytecode, in the dialects of a portable StableHLO artefact
 * (vhlo) or plain (stablehlo, chlo, func), with sdy's shardings among them. Read into the IR; what is read has the form
 * MLIR's own conversion from VHLO to StableHLO gives: attributes that say their default are left out, old versions of
 * ops are upgraded.
 *
 *     ir_module *m;
 *     XT_TRY(program_read(data, size, "prog.mlir.bc", &m));   // text, bytecode or HLO, by its first bytes
 *
 * A function that the IR has no form for (quantized types, an op that the specification forbids) is left out, so
 * that the rest of a file can be used; the program is refused with the reason when that function is @main or another
 * one names it.
 *
 * Any bytes may be given: damage is an error that names the byte's offset, and memory stays within a constant
 * times the size. */
#ifndef XT_SRC_FORMAT_BYTECODE_H
#define XT_SRC_FORMAT_BYTECODE_H

#include "ir/ir.h"

/* The version of StableHLO, 100 * major + minor, of what bytecode_write writes when none is asked for: what the plugins
 * of this year read. */
enum { BYTECODE_VERSION = 113, BYTECODE_OLDEST = 100, BYTECODE_NEWEST = 120 };
typedef struct bytecode_opts {
    int version; /* 0: BYTECODE_VERSION */
    unsigned locs; /* IR_PRINT_LOC_ORDINAL, IR_PRINT_LOC_SOURCE, or both: the locations ir_print would print */
} bytecode_opts;
/* A portable artefact: MLIR bytecode (version 6) of the vhlo dialect. Sharding annotations stay ops of sdy, chlo's and
 * assertions stay ops of their dialects, with casts around them; all else is vhlo of that version. What it does not
 * know is INVALID_ARGUMENT with the op's name. Appended to out. */
xt_status bytecode_write(const ir_module *m, const bytecode_opts *o, str *out);

/* A program as a device reads it whose StableHLO has this version (zeros: it did not say): text in today's spelling, or
 * an artefact of its version when that is older than BYTECODE_NEWEST and has all that the program needs. */
xt_status program_print(const ir_module *m, const int64_t version[3], unsigned locs, str *out);
/* Takes away what is written out in a program and is the default all the same; an artefact cannot tell
 * the two apart. */
void program_drop_defaults(ir_module *m);

bool bytecode_is(const void *data, size_t n); /* begins as MLIR bytecode does */
xt_status bytecode_read(const void *data, size_t n, const char *name, ir_module **out);
/* StableHLO text, bytecode, or HLO (hlo.h). `data` needs a NUL after its n bytes for text's sake, as ir_parse does. */
xt_status program_read(const char *data, size_t n, const char *name, ir_module **out);

#endif
