/* OpenBLAS's sets of kernels, one for each kind of processor. */
#ifndef CPU_VECTOR_BLAS_CORES_H
#define CPU_VECTOR_BLAS_CORES_H

#include <stdbool.h>

/* Whether this processor has the instructions of a set (OpenBLAS's name, "Haswell", of any case). Others than those of
 * x86-64 count as runnable: OpenBLAS itself knows no such name then, and chooses by the processor. */
bool blas_core_runs(const char *core);
/* OPENBLAS_CORETYPE makes OpenBLAS use a set whatever the processor is. Before OpenBLAS is loaded: a wish that would
 * end the process by an illegal instruction is taken out of the environment, with a warning. */
void blas_cores_check_wish(void);

#endif
