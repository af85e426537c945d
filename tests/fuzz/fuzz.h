/* What fuzz targets share. Each tests/fuzz/fuzz_NAME.c is one target: LLVMFuzzerTestOneInput, and where bytes have an
 * inner structure a LLVMFuzzerCustomMutator that keeps it. A target is built twice: with replay.c as the unit test
 * test_fuzz_NAME, which replays tests/fuzz/corpus/NAME and some changes of each file (any compiler), and with
 * libFuzzer as fuzz_NAME (tests/slow/fuzz.sh; clang). What was found joins the corpus. */
#ifndef XT_TESTS_FUZZ_H
#define XT_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most); /* libFuzzer's, or replay.c's */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

/* A file of these bytes, which has a name while it is open; -1: there is none. */
static inline int fuzz_file(const void *data, size_t n, char path[64]) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0) return -1;
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    if (write(fd, data, n) == (ssize_t)n) return fd;
    close(fd);
    return -1;
}

/* Small numbers from a seed: each call gives the next. */
static inline uint32_t fuzz_draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return below ? (uint32_t)(*state >> 33) % below : 0;
}

/* buf[at, at+old) becomes text[0, len), which lies elsewhere; the new size, or n where there is no room. */
static inline size_t fuzz_splice(uint8_t *buf, size_t n, size_t most, size_t at, size_t old, const void *text,
                                 size_t len) {
    if (at > n || old > n - at || n - old + len > most) return n;
    memmove(buf + at + len, buf + at + old, n - at - old);
    if (len) memcpy(buf + at, text, len);
    return n - old + len;
}

#endif
