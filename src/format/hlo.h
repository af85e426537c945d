/* Programs as PyTorch/XLA sends them: HloModuleProto, alone ("hlo"), with a configuration ("hlo_with_config"), or as
 * XLA's own dumps wrap it (HloProto); the last two both carry the module as field 1. Read into StableHLO: tuples are
 * flattened (a tuple parameter is several arguments, a tuple root several results), the computations that ops call
 * become their regions, those of `call` private functions. Layouts inside the program say nothing about values and are
 * ignored; parameters and literals must be row-major.
 *
 * Any bytes may be given: damage is an error that names the byte's offset, and memory stays within a constant
 * times the size. */
#ifndef XT_SRC_FORMAT_HLO_H
#define XT_SRC_FORMAT_HLO_H

#include "ir/ir.h"

/* begins as a module in one of the three forms does; StableHLO text and bytecode never do */
bool hlomod_is(const void *data, size_t n);
xt_status hlomod_read(const void *data, size_t n, const char *name, ir_module **out);

#endif
