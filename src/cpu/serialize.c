/* A serialised executable: a header with the build that wrote it and a checksum, the options, the source text. Loading
 * compiles the text again, so nothing in the file is ever executed or trusted: sizes are checked against what is there
 * before they are used. How many threads a program has is of the client that loads it: a run's results are not those
 * of whoever filled the cache.
 *
 *     "XTCPUEX2"  checksum of the rest (2 x u64)  build id size (u32)  build id  replicas, partitions, keep_divided,
 * as_xla (4 x i32)  text size (u64)  text
 *
 * Integers are in the machine's byte order; a build is of one architecture. */
#include "cpu/run/plan.h"

#include <dlfcn.h>
#include <sys/stat.h>

enum { OPTS = 4 }; /* numbers of the options */
static const char magic[8] = {'X', 'T', 'C', 'P', 'U', 'E', 'X', '2'};
#define HEADER_BYTES (sizeof magic + 2 * sizeof(uint64_t))

/* The file this code was loaded from, by size and time. The instruction set is not part of it: the text is
 * compiled again where it is loaded, so machines that share a folder, and runs under several XT_CPU_FEATURES,
 * share its files. */
static void build_id(char *buf, size_t n) {
    Dl_info info;
    struct stat st = {0};
    if (!dladdr((const void *)&magic, &info) || !info.dli_fname || stat(info.dli_fname, &st) != 0) st.st_size = 0;
    snprintf(buf, n, "xtrain-cpu %s %lld %lld", XT_VERSION, (long long)st.st_size, (long long)st.st_mtime);
}

xt_status cpu_serialize(const cpu_exec *e, char **out, size_t *n) {
    char id[128];
    if (cpu_exec_calls_host(e))
        return status_new(XT_UNIMPLEMENTED, NULL, "%s calls back into this process: it cannot be serialised", e->name);
    str s = STR_INIT;
    build_id(id, sizeof id);
    uint32_t id_size = (uint32_t)strlen(id);
    int32_t opts[OPTS] = {e->opts.num_replicas, e->opts.num_partitions, e->opts.keep_divided, e->opts.as_xla};
    uint64_t text_size = e->source_size;
    str_appendn(&s, magic, sizeof magic);
    str_appendn(&s, (const char[2 * sizeof(uint64_t)]){0}, 2 * sizeof(uint64_t));
    str_appendn(&s, (const char *)&id_size, sizeof id_size);
    str_appendn(&s, id, id_size);
    str_appendn(&s, (const char *)opts, sizeof opts);
    str_appendn(&s, (const char *)&text_size, sizeof text_size);
    str_appendn(&s, e->source, e->source_size);
    if (s.failed) {
        str_free(&s);
        return status_oom(e->source_size, "a serialised program");
    }
    hash128 h = hash_bytes(s.data + HEADER_BYTES, s.len - HEADER_BYTES, (hash128){0, 0});
    memcpy(s.data + sizeof magic, &h.lo, sizeof h.lo);
    memcpy(s.data + sizeof magic + sizeof h.lo, &h.hi, sizeof h.hi);
    *out = s.data;
    *n = s.len;
    return NULL;
}

typedef struct reader {
    const char *p;
    size_t left;
} reader;
static const char *take(reader *r, uint64_t n) {
    if (n > r->left) return NULL;
    const char *p = r->p;
    r->p += n;
    r->left -= (size_t)n;
    return p;
}

xt_status cpu_deserialize(const char *data, size_t n, int threads, cpu_exec **out) {
    char id[128];
    uint64_t sum[2], text_size;
    uint32_t id_size;
    int32_t opts[OPTS];
    build_id(id, sizeof id);
    if (n < HEADER_BYTES || memcmp(data, magic, sizeof magic) != 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "these %zu bytes are no serialised xtrain CPU program", n);
    memcpy(sum, data + sizeof magic, sizeof sum);
    reader r = {data + HEADER_BYTES, n - HEADER_BYTES};
    hash128 h = hash_bytes(r.p, r.left, (hash128){0, 0});
    if (!hash_equal(h, (hash128){sum[0], sum[1]}))
        return status_new(XT_DATA_LOSS, NULL, "a serialised CPU program of %zu bytes is damaged: its checksum is wrong",
                          n);
    const char *p = take(&r, sizeof id_size);
    if (!p) goto cut;
    memcpy(&id_size, p, sizeof id_size);
    if (!(p = take(&r, id_size))) goto cut;
    if (id_size != strlen(id) || memcmp(p, id, id_size) != 0)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "a CPU program serialised by '%.*s' cannot be loaded by '%s': compile it again",
                          (int)(id_size < 200 ? id_size : 200), p, id);
    if (!(p = take(&r, sizeof opts))) goto cut;
    memcpy(opts, p, sizeof opts);
    if (!(p = take(&r, sizeof text_size))) goto cut;
    memcpy(&text_size, p, sizeof text_size);
    if (text_size != r.left) goto cut;
    cpu_compile_opts o = {.num_replicas = opts[0],
                          .num_partitions = opts[1],
                          .threads = threads,
                          .keep_divided = opts[2],
                          .as_xla = opts[3]};
    return cpu_compile(r.p, r.left, &o, out);
cut:
    return status_new(XT_DATA_LOSS, NULL, "a serialised CPU program of %zu bytes ends too early or is too long", n);
}
