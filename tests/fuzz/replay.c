/* A fuzz target without libFuzzer: every file of tests/fuzz/corpus/NAME as it is and with a few changes, the same ones
 * each time. FUZZ_CHANGES says how many of each file. With files as arguments: these as they are, each named first. */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

enum { MOST = 1 << 20 };

static uint64_t state;

int __attribute__((weak)) LLVMFuzzerInitialize(int *argc, char ***argv) {
    return (void)argc, (void)argv, 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most) {
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', ']', '-', '9'};
    uint8_t piece[8];
    uint32_t at = fuzz_draw(&state, (uint32_t)n), len = 1 + fuzz_draw(&state, sizeof piece), to;
    if (n == 0) return 0;
    if (len > n - at) len = (uint32_t)(n - at);
    switch (fuzz_draw(&state, 5)) {
    case 0: data[at] ^= (uint8_t)(1 << fuzz_draw(&state, 8)); return n;
    case 1: data[at] = edges[fuzz_draw(&state, sizeof edges)]; return n;
    case 2: return fuzz_splice(data, n, most, at, len, NULL, 0);
    case 3:
        memcpy(piece, data + fuzz_draw(&state, (uint32_t)n - len + 1), len);
        return fuzz_splice(data, n, most, at, 0, piece, len);
    default:
        to = fuzz_draw(&state, (uint32_t)n - len + 1);
        memmove(data + to, data + at, len);
        return n;
    }
}

#pragma weak LLVMFuzzerCustomMutator
static size_t change(uint8_t *data, size_t n, size_t most) {
    if (!LLVMFuzzerCustomMutator || fuzz_draw(&state, 4) == 0) return LLVMFuzzerMutate(data, n, most);
    return LLVMFuzzerCustomMutator(data, n, most, fuzz_draw(&state, 1u << 31));
}

/* In memory of its own, so that a read behind the end is seen. */
static void once(const uint8_t *bytes, size_t n) {
    uint8_t *data = malloc(n ? n : 1);
    if (!data) abort();
    memcpy(data, bytes, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
}

static int replay(const char *path, int changes) {
    static uint8_t bytes[MOST], changed[MOST];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        return 0;
    }
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    printf("%s\n", path); /* the last one printed is the one that crashed */
    fflush(stdout);
    once(bytes, n);
    state = n;
    for (int i = 0; i < changes; i++) {
        memcpy(changed, bytes, n);
        size_t m = n;
        for (uint32_t k = 1 + fuzz_draw(&state, 3); k > 0; k--)
            m = change(changed, m, n + 4096 < MOST ? n + 4096 : MOST);
        once(changed, m);
    }
    return 1;
}

int main(int argc, char **argv) {
    char folder[300], path[600];
    const char *own = strrchr(argv[0], '/'), *given = getenv("FUZZ_CHANGES");
    int changes = given ? atoi(given) : 12, good = 0, files = argc - 1;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) good += replay(argv[i], 0);
    if (argc > 1) return good == files ? 0 : 1;
    own = own ? own + 1 : argv[0];
    if (strncmp(own, "test_fuzz_", 10) == 0) own += 10;
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", own);
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0) fprintf(stderr, "cannot read %s: %s; run this in the project's folder\n", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.') files++, good += replay(path, changes);
        free(names[i]);
    }
    free(names);
    printf("%d passed, %d failed\n", good, files - good);
    return good > 0 && good == files ? 0 : 1;
}
