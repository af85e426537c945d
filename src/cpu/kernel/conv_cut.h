/* Convolutions by oneDNN whose bits do not depend on the number of threads.
 *
 * oneDNN divides the sums of a kernel's gradient over the threads that its primitive is made for; where it multiplies
 * matrices of copied windows, and in its kernels of batched products, the blocks of a sum follow their number. Such a
 * convolution is cut here, by its shape alone, into pieces: images of the batch, features (or groups) of the kernel.
 * One thread makes a piece, with a primitive that was made for one. The gradients of a kernel by several parts of the
 * batch are f32 and are added in their order. */
#ifndef XT_SRC_CPU_KERNEL_CONV_CUT_H
#define XT_SRC_CPU_KERNEL_CONV_CUT_H

#include "cpu/kernel/conv_choice.h"

typedef struct conv_cut conv_cut;
/* Takes what it needs from *scratch on. *out NULL: oneDNN has no primitive for the pieces (no error). */
xt_status conv_cut_make(const conv_desc *d, conv_layout last, double flops, int threads, size_t *scratch,
                        conv_cut **out);
bool conv_cut_is_winograd(const conv_cut *c);
/* tensors: SRC, WEI, DST, as the program has them */
xt_status conv_cut_run(const conv_cut *c, const cpu_team *team, void **stream, void *const tensors[3], char *scratch);
void conv_cut_free(conv_cut *c); /* NULL is fine */

#endif
