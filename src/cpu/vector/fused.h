/* Included first by the files of vector loops for any machine of the architecture (*_base.c). Where a fused
 * multiply-add belongs to every processor of the architecture, their loops use it, as those for AVX2 do; meson.build
 * keeps compilers from fusing anywhere else. */
#ifndef XT_SRC_CPU_VECTOR_FUSED_H
#define XT_SRC_CPU_VECTOR_FUSED_H

#if defined(__aarch64__)
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#endif

#endif
