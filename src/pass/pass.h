/* Passes over IR modules. A pass changes the module in place and leaves it valid; on an error the module is still a tree, but of no use. */
#ifndef XT_SRC_PASS_H
#define XT_SRC_PASS_H

#include "ir/ir.h"

/* Takes every chlo op apart into StableHLO ops. Needs: static shapes at those ops. Leaves: no op of the chlo dialect. */
xt_status pass_lower_chlo(ir_module *m);

#endif
