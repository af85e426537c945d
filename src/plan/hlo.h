/* What plan needs of XLA's program text (HLO): the op and our ordinal behind an instruction's name, and the
 * collectives. */
#ifndef XT_SRC_PLAN_HLO_H
#define XT_SRC_PLAN_HLO_H

#include "plan/plan.h"

typedef struct hlo_op {
    int64_t ordinal; /* -1: its metadata names none of our ops */
    uint32_t op, operand; /* interned names; operand: the first one */
} hlo_op;
typedef struct hlo {
    map *by_name; /* name -> index + 1 */
    hlo_op *ops;
    size_t n, cap;
} hlo;
xt_status hlo_read(char *text, hlo *out, plan_memory *links); /* writes into the text; appends collectives to links */
void hlo_deinit(hlo *h);
/* The ordinal of an instruction; one that moves or renames data answers for its operand. False: unknown. */
bool hlo_find(const hlo *h, const char *name, int64_t *out_ordinal, uint32_t *out_op);
/* "f32[16,64,128]{2,1,0:T(8,128)}": shape "16x64x128", dtype "f32", bytes without padding (-1 for tuples). */
void hlo_type_read(const char *type, uint32_t *out_shape, uint32_t *out_dtype, int64_t *out_bytes);

#endif
