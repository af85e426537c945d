/* What plan needs of XLA's program text (HLO): the op and our ordinal behind an instruction's name, the collectives,
 * and what instructions read and write. */
#ifndef XT_SRC_PLAN_HLO_H
#define XT_SRC_PLAN_HLO_H

#include "plan/plan.h"

typedef struct hlo_op {
    int64_t ordinal; /* -1: its metadata names none of our ops */
    uint32_t op, name; /* interned */
    bool root;
    size_t computation; /* index */
    const char *type, *operands, *attributes; /* in the text */
} hlo_op;
typedef struct hlo_computation {
    size_t first, n; /* its instructions */
    size_t caller; /* of one that is fused: index + 1 of the instruction; 0: none */
} hlo_computation;
typedef struct hlo {
    map *by_name; /* name -> index + 1 */
    hlo_op *ops;
    size_t n, cap;
    map *computation_by_name; /* name -> index + 1 */
    hlo_computation *computations;
    size_t n_computations, cap_computations;
    size_t entry; /* index + 1 of the main one; 0: none */
} hlo;
/* Writes into the text, which must outlive `out`. */
xt_status hlo_read(char *text, hlo *out);
void hlo_deinit(hlo *h);
/* The next operand of a list, behind which *at stands then: "%a", "%b#1" (a part of a tuple: *out_part, else -1) or,
 * printed with types, "f32[2]{0} %a". NULL: there is none. */
const hlo_op *hlo_next_operand(const hlo *h, const char **at, int *out_part);
/* The instruction or computation of the name at the beginning of `text`, a leading '%' apart; NULL: unknown. *out_n:
 * the name's length with the '%'. */
const hlo_op *hlo_op_at(const hlo *h, const char *text, size_t *out_n);
const hlo_computation *hlo_computation_at(const hlo *h, const char *text);
/* The parameter of this number; NULL: there is none. */
const hlo_op *hlo_parameter(const hlo *h, const hlo_computation *c, int number);
bool hlo_is(const hlo_op *op, const char *name);
/* One array type at *text, behind which *text stands then ("f32[16,64]{1,0:T(8,128)S(1)}"): its bytes without padding
 * and its memory space (0: device memory). False: *text stands on something else. */
bool hlo_array_read(const char **text, int64_t *out_bytes, int *out_space);
typedef struct hlo_origin { /* what of ours is behind an instruction: an op, or else an input */
    int64_t ordinal;
    int32_t input; /* each -1: unknown */
} hlo_origin;
/* Of an instruction of this name, and what it does. One that the compiler made by itself and gave no name of ours
 * answers for what it moves, what it is fused of, or its reader, in this order. False: the name is unknown. */
bool hlo_find(const hlo *h, const char *name, hlo_origin *out, uint32_t *out_op);
hlo_origin hlo_origin_of(const hlo *h, const hlo_op *op);
/* "f32[16,64,128]{2,1,0:T(8,128)}": shape "16x64x128", dtype "f32", bytes without padding (-1 for tuples). */
void hlo_type_read(const char *type, uint32_t *out_shape, uint32_t *out_dtype, int64_t *out_bytes);

/* --- hlo_links.c --- */
/* The program's collectives. One that the compiler merged of many is one for each part. False: no memory. */
bool hlo_links(const hlo *h, plan_memory *out);

/* --- traffic.c --- */
/* Bytes that a run of the program reads from device memory and writes to it, loops as often as they turn; -1: there is
 * no main computation. */
double hlo_traffic(const hlo *h);

#endif
