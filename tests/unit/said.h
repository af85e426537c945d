/* What the library says, kept for a test to look at: xt_set_sink(sink, NULL), then `said`. */
#ifndef XT_TESTS_SAID_H
#define XT_TESTS_SAID_H

#include <string.h>

#include <xtrain/xtrain.h>

static char said[60000];
static void sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    size_t have = strlen(said);
    if (n > sizeof said - 1 - have) n = sizeof said - 1 - have;
    memcpy(said + have, text, n);
    said[have + n] = 0;
}

#endif
