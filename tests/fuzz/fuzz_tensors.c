/* Fuzz target of safetensors files, whose mutator keeps the checksums right: what opens has entries within the file,
 * found by their names; a file with right checksums reads the same when it is written again. */
#include "format/safetensors.h"
#include "fuzz.h"
#include "mutate_tensors.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    return mutate_tensors(data, n, most, seed);
}

static void write_again(st_file *f) {
    st_writer *w = NULL;
    char folder[] = "/tmp/xt-fuzz-XXXXXX", path[64];
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/w", folder);
    xt_status s = st_create(path, &w);
    bool begun = !s;
    for (size_t i = 0; !s && i < st_count(f); i++)
        s = st_declare(w, st_at(f, i)->name, st_at(f, i)->dtype, st_at(f, i)->rank, st_at(f, i)->dims);
    for (size_t i = 0; !s && i < st_count(f); i++) {
        size_t n = (size_t)(st_at(f, i)->end - st_at(f, i)->begin);
        char *bytes = malloc(n + 1);
        if (!bytes) abort();
        s = st_read(f, st_at(f, i), bytes, n);
        if (!s) s = st_data(w, bytes, n);
        free(bytes);
    }
    if (!s)
        s = st_commit(w);
    else if (begun)
        st_abandon(w);
    if (!s) {
        st_file *again = NULL;
        if (st_open(path, &again) || st_count(again) != st_count(f)) abort();
        st_close(again);
    }
    xt_status_free(s);
    unlink(path);
    if (rmdir(folder)) abort(); /* nothing half written stays */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char path[64];
    st_file *f = NULL;
    int fd = fuzz_file(data, n, path);
    if (fd < 0) return 0;
    xt_status s = st_open(path, &f);
    if ((s != NULL) != (f == NULL)) abort();
    uint64_t all = 0;
    for (size_t i = 0; !s && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i), *found = st_find(f, e->name);
        if (e->end < e->begin || e->end > n || found != e) abort();
        all += e->end - e->begin;
    }
    if (!s && all < 1 << 20) {
        bool has;
        xt_status_free(st_check_sums(f, &has));
        st_get_meta(f, "position");
        if (n % 8 == 0) write_again(f);
    }
    st_close(f);
    xt_status_free(s);
    close(fd);
    return 0;
}
