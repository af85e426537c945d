#ifndef XT_SRC_CPU_VECTOR_ALIGN_H
#define XT_SRC_CPU_VECTOR_ALIGN_H

#define CPU_ALIGN 64 /* bytes: of every array's place. A cache line, and the widest vector. */

#endif
