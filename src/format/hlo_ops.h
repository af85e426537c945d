/* Attributes of one op on their way from HLO; what adds those of each kind of instruction. A failure is in s->r->status or s->b.status. */
#ifndef XT_SRC_FORMAT_HLO_OPS_H
#define XT_SRC_FORMAT_HLO_OPS_H

#include "format/hlo_int.h"

typedef struct hlo_attrs {
    ir_attr v[24];
    size_t n;
} hlo_attrs;
/* Field 14 "dimensions" as attribute k, a list or its first. */
void hlo_dimensions_attr(hlo_scope *s, hlo_msg inst, ir_attr_key k, hlo_attrs *a);
void hlo_attrs_batch_norm(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_cholesky(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_collective(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_compare(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_convolution(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_custom_call(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_dot(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_dynamic_slice(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_fft(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_gather(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_pad(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_permute(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_reduce_precision(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_reduce_window(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_rng(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_rng_bit_generator(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_scatter(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_select_and_scatter(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_slice(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_sort(hlo_scope *s, hlo_msg inst, hlo_attrs *a);
void hlo_attrs_triangular_solve(hlo_scope *s, hlo_msg inst, hlo_attrs *a);

#endif
