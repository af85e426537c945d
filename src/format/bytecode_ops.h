/* Ops of the bytecode reader: what the functions and the module around them (bytecode_module.c) need of their regions
 * and ops (bytecode_ops.c). */
#ifndef XT_SRC_FORMAT_BYTECODE_OPS_H
#define XT_SRC_FORMAT_BYTECODE_OPS_H

#include "format/bytecode_int.h"

/* An op as the file has it, up to its regions. */
typedef struct bc_op_head {
    const unsigned char *at;
    const bc_op_name *name;
    bc_loc loc;
    const bc_attr *dict; /* NULL: none */
    const bc_cursor *props; /* NULL: none */
    const unsigned char *types_at, *operands_at;
    size_t n_types, n_operands, n_regions;
    size_t *types, *operands; /* indices */
    bool isolated;
} bc_op_head;

typedef struct bc_prop {
    const char *name;
    const bc_attr *a;
} bc_prop;
typedef struct bc_props {
    bc_prop *items;
    size_t n;
} bc_props;

/* Where the regions of an op lie: in a section of their own with values from zero, or in place. */
typedef struct bc_nest {
    bc_cursor own, *c;
    size_t base;
} bc_nest;

bool bc_read_head(bc_reader *r, bc_cursor *c, bc_op_head *h);
bool bc_skip_use_orders(bc_reader *r, bc_cursor *c, size_t n_values);
/* One region into `block`; *out_empty when it has no block at all. */
bool bc_read_region(bc_reader *r, bc_cursor *c, ir_block *block, bool *out_empty);
bool bc_enter_nest(bc_reader *r, bc_cursor *c, const bc_op_head *h, bc_nest *n);
bool bc_leave_nest(bc_reader *r, const bc_nest *n);
/* Properties as their row spells them, then the dictionary. */
bool bc_read_props(bc_reader *r, const bc_op_head *h, bc_props *out);
bool bc_not_known(bc_reader *r, const bc_op_head *h);

#endif
