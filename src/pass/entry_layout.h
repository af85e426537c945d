/* How arrays lie in memory where a program begins and ends. A program says it by mhlo.layout_mode of an argument or
 * result: "default" (row-major), "{0,1}" (dims from minor to major) or "auto" (for us to choose). pass_lower_auto
 * writes what it comes to, where that is not row-major, into the attribute ENTRY_LAYOUT (dims from major to minor);
 * pass_lower_layout then makes memory's shape the type. */
#ifndef XT_SRC_PASS_ENTRY_LAYOUT_H
#define XT_SRC_PASS_ENTRY_LAYOUT_H

#include "pass/pass.h"

#define ENTRY_LAYOUT "xtrain.layout"

ir_func *entry_func(const ir_module *m); /* main, or else the first public function with a body; NULL without one */
const ir_attr *entry_arg_attr(const ir_func *f, size_t arg, const char *name); /* NULL when it has none of that name */
const ir_attr *entry_result_attr(const ir_func *f, size_t result, const char *name);
/* The order that an ENTRY_LAYOUT says for arrays of this type; NULL where it says none: the attribute may be the
 * client's own. */
const int64_t *entry_order(const ir_attr *layout, const ir_type *t);

#endif
