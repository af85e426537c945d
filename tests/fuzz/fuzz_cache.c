/* Fuzz target of kept programs: files of the compile cache and serialised executables. The first byte says whether the
 * rest is such a file, or the options and the text of one that is made here with checksums that are right (and one
 * byte of it turned, where the first byte asks for it). Loading ends in an error or in a program. */
#include <dirent.h>

#include "cpu/cpu.h"
#include "lazy/program/program.h"
#include "fuzz.h"
#include "mutate_text.h"

enum { OPTIONS = 16, HEAD = 2 + OPTIONS };

static void load(const char *data, size_t n) {
    cpu_exec *e = NULL;
    xt_status s = cpu_deserialize(data, n, 0, &e);
    if ((s != NULL) != (e == NULL)) abort();
    char *again = NULL;
    size_t size = 0;
    if (e && !cpu_serialize(e, &again, &size)) {
        cpu_exec *second = NULL;
        if (cpu_deserialize(again, size, 0, &second)) abort(); /* what was loaded can be kept again */
        cpu_exec_free(second);
    }
    base_free(again);
    cpu_exec_free(e);
    xt_status_free(s);
}

/* A serialised program whose options and text are the input's. */
static char *made(const uint8_t *data, size_t n, size_t *out_n) {
    static const char text[] = "func.func @main() {\nreturn\n}\n";
    cpu_exec *e = NULL;
    char *form = NULL;
    size_t size;
    if (cpu_compile(text, sizeof text - 1, &(cpu_compile_opts){.threads = 1}, &e) || cpu_serialize(e, &form, &size))
        abort();
    cpu_exec_free(e);
    size_t head = size - (sizeof text - 1), rest = n - HEAD;
    char *out = malloc(head + rest + 1);
    if (!out) abort();
    uint64_t len = rest;
    memcpy(out, form, head - sizeof len - OPTIONS);
    memcpy(out + head - sizeof len - OPTIONS, data + 2, OPTIONS);
    memcpy(out + head - sizeof len, &len, sizeof len);
    memcpy(out + head, data + HEAD, rest);
    base_free(form);
    hash128 sum = hash_bytes(out + 24, head + rest - 24, (hash128){0, 0});
    memcpy(out + 8, &sum.lo, 8);
    memcpy(out + 16, &sum.hi, 8);
    *out_n = head + rest;
    return out;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    if (n <= HEAD || seed % 4 == 0) return LLVMFuzzerMutate(data, n, most);
    return HEAD + mutate_text(data + HEAD, n - HEAD, most - HEAD, seed / 4u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < HEAD) return 0;
    if (data[0] % 4 == 0) {
        const char *why = lazy_cache_damage((const char *)data + 1, n - 1, (hash128){1, 2});
        if (!why && n < 9) abort();
        load((const char *)data + 1, n - 1);
        return 0;
    }
    size_t size;
    char *file = made(data, n, &size);
    if (data[0] % 4 == 3) file[data[1] * size / 256] ^= (char)(1 << (data[0] / 32));
    load(file, size);
    free(file);
    return 0;
}
