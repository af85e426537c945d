/* Attributes of one op on their way from HLO; what adds those of each kind of instruction. A failure is in s->r->status
 * or s->b.status. */
#ifndef XT_SRC_FORMAT_HLO_OPS_H
#define XT_SRC_FORMAT_HLO_OPS_H

#include "format/hlo_int.h"

typedef struct hlomod_attrs {
    ir_attr v[24];
    size_t n;
} hlomod_attrs;
/* Field 14 "dimensions" as attribute k, a list or its first. */
void hlomod_dimensions_attr(hlomod_scope *s, hlomod_msg inst, ir_attr_key k, hlomod_attrs *a);
void hlomod_attrs_batch_norm(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_cholesky(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_collective(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_compare(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_convolution(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_custom_call(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_dot(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_dynamic_slice(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_fft(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_gather(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_pad(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_permute(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_reduce_precision(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_reduce_window(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_rng(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_rng_bit_generator(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_scatter(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_select_and_scatter(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_slice(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_sort(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
void hlomod_attrs_triangular_solve(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);

#endif
