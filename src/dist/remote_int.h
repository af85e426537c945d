/* Inside remote calls: what travels, and performing one call (remote_serve.c). */
#ifndef XT_SRC_REMOTE_INT_H
#define XT_SRC_REMOTE_INT_H

#include <xtrain/remote.h>

#include "base/base.h"
#include "coll/mpi/channel.h"

typedef enum remote_kind { REMOTE_CALL, REMOTE_END, REMOTE_ANSWER } remote_kind;

/* The head of a message from rank 0; then module, symbol, build id, each with its NUL, then the argument. */
typedef struct remote_ask {
    uint32_t kind, call, module_n, symbol_n, build_n, unused;
    uint64_t arg_n;
} remote_ask;

/* The head of an answer; then the error's text without a NUL, then the reply. */
typedef struct remote_answer {
    uint32_t kind, call;
    int32_t code;
    uint32_t error_n;
    uint64_t data_n;
    uint32_t failed, replied;
} remote_answer;

typedef struct remote_call {
    const char *module, *symbol, *build;
    const void *arg;
    size_t arg_n;
} remote_call;

typedef struct remote_outcome {
    int code; /* -1: not called, or did not return */
    bool failed, replied;
    str error; /* without who and where */
    char *reply;
    size_t reply_n;
} remote_outcome;

/* Loads what is asked for and calls it here. A crash is an outcome; after one, every call has the outcome that this
 * rank is out of use. `leaving` is called, with the outcome so far, when the function calls exit; the process ends
 * when it returns. */
void remote_perform(const remote_call *c, void (*leaving)(remote_outcome *out, void *user), void *user,
                    remote_outcome *out);
void remote_outcome_free(remote_outcome *o);
int remote_broken(void); /* 128 + the signal of an earlier crash; 0 = none */

#endif
