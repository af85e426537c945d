/* Which sanitizers watch this build: BUILT_WITH_ASAN and BUILT_WITH_TSAN are 0 or 1. gcc says so by macros, clang by
 * __has_feature. */
#ifndef XT_SRC_BASE_SANITIZERS_H
#define XT_SRC_BASE_SANITIZERS_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BUILT_WITH_ASAN 1
#else
#define BUILT_WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BUILT_WITH_TSAN 1
#else
#define BUILT_WITH_TSAN 0
#endif

#endif
