/* What a thread does between two looks at a word that another core will write: the processor's hint that this is a
 * loop of waiting, which leaves the core to its other threads and saves power. On Arm it is `isb`, which takes some
 * tens of nanoseconds as x86's `pause` does; `yield` does nothing on most processors. */
#ifndef XT_SRC_BASE_RELAX_H
#define XT_SRC_BASE_RELAX_H

static inline void base_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
