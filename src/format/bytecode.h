/* Programs as other tools send them: MLIR bytecode, in the dialects of a portable StableHLO artefact (vhlo) or plain (stablehlo, chlo, func), with
 * sdy's shardings among them. Read into the IR; what is read has the form MLIR's own conversion from VHLO to StableHLO gives: attributes that say
 * their default are left out, old versions of ops are upgraded.
 *
 *     ir_module *m;
 *     XT_TRY(program_read(data, size, "prog.mlir.bc", &m));   // text, bytecode or HLO, by its first bytes
 *
 * A function that the IR has no form for (quantized types, an op that the specification forbids) is left out, so that the rest of a file can be used; the program is refused with
 * the reason when that function is @main or another one names it.
 *
 * Any bytes may be given: damage is an error that names the byte's offset, and memory stays within a constant times the size. */
#ifndef XT_SRC_FORMAT_BYTECODE_H
#define XT_SRC_FORMAT_BYTECODE_H

#include "ir/ir.h"

bool bytecode_is(const void *data, size_t n); /* begins as MLIR bytecode does */
xt_status bytecode_read(const void *data, size_t n, const char *name, ir_module **out);
/* StableHLO text, bytecode, or HLO (hlo.h). `data` needs a NUL after its n bytes for text's sake, as ir_parse does. */
xt_status program_read(const char *data, size_t n, const char *name, ir_module **out);

#endif
