/* Copies by all threads; the strided one, between two windows of equal dims, is for whoever brings an array into
 * another layout. */
#ifndef XT_SRC_CPU_VECTOR_MOVE_H
#define XT_SRC_CPU_VECTOR_MOVE_H

#include "cpu/thread/team.h"
#include "cpu/vector/access.h"

typedef struct cpu_move { /* strides in elements; dims of both views are equal */
    view dst, src;
    size_t elem;
} cpu_move;
bool cpu_move_make(const view *dst, const view *src, xt_dtype t, cpu_move *out); /* false: nothing to move */
/* As cpu_kernel.access, of a thunk of one input and one result that this copy writes whole, as `value`: the read, then
 * the write. */
bool cpu_move_access(const cpu_move *m, const ir_value *value, uint32_t k, cpu_access *out);
void cpu_copy_run(const cpu_team *team, void *dst, const void *src, size_t bytes); /* memcpy by all threads */
void cpu_clear_run(const cpu_team *team, void *dst, size_t bytes); /* zeros by all threads */
void cpu_move_run(const cpu_team *team, const cpu_move *m, void *dst, const void *src);
/* A collapsed view whose rows lie across memory, which is contiguous along the dim in front of the last. Its elements
 * [begin, begin + n): as many rows at a time as a line of memory has elements, or each line is read anew for each. */
bool cpu_is_turned(const view *v, size_t elem);
void cpu_gather_turned(size_t elem, void *dst, const void *src, const view *v, int64_t begin, int64_t n);
/* Of such a view, in elements: whole rows, as many as a loop should gather at a time; 0: it is no such view, or its
 * rows are too long to be gathered near. */
int64_t cpu_turned_block(const view *v, size_t elem);
/* As cpu_move_run; what of dst's `count` elements it does not write gets `value`. */
void cpu_pad_run(const cpu_team *team, const cpu_move *m, void *dst, const void *src, const void *value, int64_t count);
/* n elements as another type, by all threads: dst, or src itself where the types are equal. */
const char *cpu_converted(const cpu_team *team, xt_dtype from, const char *src, xt_dtype to, char *dst, int64_t n);

#endif
