/* The door of the library: before a public function begins, its handles are looked at, its pointers that must not be
 * NULL, its options that are one of some words, and those that it does not read (unread.txt). tools/entries.py reads
 * include/xtrain and writes an entry for each function that takes any: it bears the public name, and what src/ defines
 * under that name is linked as unchecked_NAME, which is what the library itself calls. So there is no function without
 * its checks, and none has them by hand. The entry also says which function the thread is in: what the functions that
 * it is made of refuse is told in its name (lazy_calling).
 * exceptions.txt says what may be NULL, and what a function gives that cannot return an error, where that is not 0. */
#ifndef XT_SRC_API_ENTRY_H
#define XT_SRC_API_ENTRY_H

#include <stdatomic.h>

#include <xtrain/tensor.h>

#include "base/base.h"
#include "base/ending.h"
#include "base/handle.h"

/* One call from outside: the function's name, the line where it is known, else the place that it returns to. */
typedef struct api_call {
    const char *name;
    const xt_src *src;
    const void *returns_to;
} api_call;
#define API_CALL(name, src) (&(api_call){name, src, __builtin_extract_return_addr(__builtin_return_address(0))})

static inline bool api_bad(handle_kind kind, const void *p) {
    return __builtin_expect(handle_look(kind, p) != HANDLE_LIVES, false);
}
static inline bool api_bad_unless_null(handle_kind kind, const void *p) {
    return p && api_bad(kind, p);
}
/* a NULL or bad one among n */
bool api_bad_list(handle_kind kind, const void *const *list, int64_t n, const void **out_bad);

xt_status api_bad_handle(const api_call *call, handle_kind kind, const void *p, const char *argument);
xt_status api_null(const api_call *call, const char *argument);
xt_status api_null_list(const api_call *call, const char *argument, int64_t n);
/* Of an xt_list, which has room for so many and no more. */
xt_status api_bad_length(const api_call *call, const char *argument, int n);
/* Of an option that is one of some words: a number that is none of them. */
xt_status api_bad_word(const api_call *call, const char *option, int given, const char *known);

/* Of the size of a struct of the caller's: of another header's it may be another, but it is made of whole members, and
 * none is cut in two. */
enum { API_MOST = 1 << 20 }; /* bytes of such a struct, and tensors of a list */
static inline bool api_bad_size(size_t size, size_t align) {
    return size < align || size % align || size > API_MOST;
}
xt_status api_bad_struct(const api_call *call, const char *argument, size_t size, size_t known);
xt_status api_too_many(const api_call *call, const char *argument, int64_t n);

/* A function of tensors has given an error tensor, or none, and nothing is pending. */
bool api_silent_slowly(xt_tensor given);
static inline bool api_silent(xt_tensor given) {
    return (given.slot == 0 || xt_is_error(given)) && api_silent_slowly(given);
}
/* Where one of them is dead or none that is the error; true: it was told, or one of them has failed before. lenient:
 * some of them may be none, but not all. */
bool api_tell_tensors(const api_call *call, int64_t n, const xt_tensor *tensors, bool lenient);

/* Of an option that the function does not read (unread.txt), given all the same. */
xt_status api_unread(const api_call *call, const char *option, const char *instead);

/* Inside a function of the user's that the library has called, NULL where the call may go on. */
xt_status api_inside(const api_call *call);

/* Functions of the user's have called each other through the library until the stack is nearly full; NULL: go on. */
xt_status api_too_deep(const api_call *call);

/* The program does not belong to this library (lazy_refuses): no call of its begins. */
xt_status api_refused(const api_call *call);

/* What a free does instead of reading what is not there: true where it is to go on. */
bool api_may_free(const api_call *call, handle_kind kind, const void *p);

/* The status that a function gives to the program; gives s back. */
xt_status api_given(const api_call *call, xt_status s);

xt_tensor api_failed_tensor(const api_call *call, xt_status s);

/* A function that gives no tensor and no error, and an allocation has failed since `before`: memory ran out in it, and
 * nobody has said so. */
xt_tensor api_without_memory(const api_call *call, uint64_t before);
static inline uint64_t api_failed_allocations(void) {
    return atomic_load_explicit(&base_failed_allocations, memory_order_relaxed);
}
static inline xt_tensor api_made(const api_call *call, uint64_t before, xt_tensor t) {
    return __builtin_expect(t.generation, 1) ? t : api_without_memory(call, before);
}

#endif
