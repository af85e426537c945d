/* Changes of a safetensors file behind which its checksums are right again, so that what a reader makes of the changed
 * numbers is what is tested. The header's text changes as JSON, and its length with it. */
#ifndef XT_TESTS_FUZZ_MUTATE_TENSORS_H
#define XT_TESTS_FUZZ_MUTATE_TENSORS_H

#include "format/safetensors.h"
#include "format/safetensors_int.h"
#include "mutate_json.h"

/* The sums of what the file now holds, where it has any. */
static inline void tensors_sum_again(uint8_t *data, size_t n) {
    char path[64];
    st_file *f = NULL;
    int fd = fuzz_file(data, n, path);
    xt_status s = fd >= 0 ? st_open(path, &f) : NULL;
    st_sums sums = {0};
    if (f) {
        const st_entry *own = st_find(f, ST_SUMS);
        char *text = memmem(data, n, ST_SUMS_BEGIN, sizeof ST_SUMS_BEGIN - 1);
        for (size_t i = 0; i < st_count(f); i++)
            if (st_at(f, i) != own)
                sums.data =
                    hash_bytes(data + st_at(f, i)->begin, (size_t)(st_at(f, i)->end - st_at(f, i)->begin), sums.data);
        sums.header = st_header(f);
        if (own && own->end - own->begin >= sizeof sums) memcpy(data + own->begin, &sums, sizeof sums);
        if (text && (size_t)((char *)data + n - text) > sizeof ST_SUMS_BEGIN + ST_SUMS_TEXT) {
            char hex[ST_SUMS_TEXT + 1];
            snprintf(hex, sizeof hex, "%016llx%016llx%016llx%016llx", (unsigned long long)sums.data.lo,
                     (unsigned long long)sums.data.hi, (unsigned long long)sums.header.lo,
                     (unsigned long long)sums.header.hi);
            memcpy(text + sizeof ST_SUMS_BEGIN - 1, hex, ST_SUMS_TEXT);
        }
    }
    st_close(f);
    xt_status_free(s);
    if (fd >= 0) close(fd);
}

static inline size_t mutate_tensors(uint8_t *data, size_t n, size_t most, unsigned seed) {
    uint64_t len;
    if (n < 10 || seed % 16 == 0) return LLVMFuzzerMutate(data, n, most);
    memcpy(&len, data, sizeof len);
    if (len > n - 8) return LLVMFuzzerMutate(data, n, most);
    if (seed % 16 == 1 && n > 8 + len) { /* the values */
        LLVMFuzzerMutate(data + 8 + len, n - 8 - (size_t)len, n - 8 - (size_t)len);
    } else {
        static uint8_t head[1 << 20];
        size_t was = (size_t)len, now;
        if (was > sizeof head / 2 || most < n) return n;
        memcpy(head, data + 8, was);
        size_t room = sizeof head < was + (most - n) ? sizeof head : was + (most - n);
        now = seed % 16 == 2 ? LLVMFuzzerMutate(head, was, room) : mutate_json(head, was, room, seed / 16);
        n = fuzz_splice(data, n, most, 8, was, head, now);
        len = now;
        memcpy(data, &len, sizeof len);
    }
    if (seed % 32 != 3) tensors_sum_again(data, n);
    return n;
}

#endif
