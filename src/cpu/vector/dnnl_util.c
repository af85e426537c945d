/* The engine, streams and primitives of oneDNN. */
#include "cpu/vector/dnnl_util.h"
#include "cpu/thread/openmp.h"
#include "cpu/vector/addresses.h"
#include "cpu/vector/simd.h"

#include <pthread.h>
#include <sys/mman.h>

static dnnl_engine_t engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static void engine_make(void) {
    /* oneDNN follows XT_CPU_FEATURES unless ONEDNN_MAX_CPU_ISA says more; it has no level below SSE4.1. */
    if (env_get("XT_CPU_FEATURES") && simd_level() < 2)
        dnnl_set_max_cpu_isa(simd_level() == 1 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41);
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
}
dnnl_engine_t dnnl_util_engine(void) {
    pthread_once(&engine_once, engine_make);
    return engine;
}

/* Sets are bits: each has those of the sets that it holds. */
static bool has(unsigned isa) {
    return dnnl_util_engine() && ((unsigned)dnnl_get_effective_cpu_isa() & isa) == isa;
}
bool dnnl_util_has_tiles(void) {
    return has(dnnl_cpu_isa_avx512_core_amx);
}
bool dnnl_util_has_winograd(void) {
    return has(dnnl_cpu_isa_avx512_core);
}

bool dnnl_type_of(xt_dtype t, dnnl_data_type_t *out) {
    *out = t == XT_F32 ? dnnl_f32 : dnnl_bf16;
    return t == XT_F32 || t == XT_BF16;
}

bool dnnl_product_types(xt_dtype in, xt_dtype sum, dnnl_data_type_t out[2]) {
    if (in == XT_I8 && sum == XT_I32) {
        out[0] = dnnl_s8, out[1] = dnnl_s32;
        return dnnl_util_has_tiles();
    }
    return dnnl_type_of(in, &out[0]) && dnnl_type_of(sum, &out[1]) && (in == XT_BF16 || sum == XT_F32);
}

xt_status dnnl_status_of(dnnl_status_t s, const char *what) {
    if (s == dnnl_success) return NULL;
    return status_new(s == dnnl_out_of_memory ? XT_RESOURCE_EXHAUSTED : XT_INTERNAL, NULL,
                      "oneDNN: %s failed with status %d", what, (int)s);
}

/* oneDNN's generators (2.6.3) write their code to where they were given no memory for it: nobody looks at the failure
 * of Xbyak's allocator, and containers throw through C. Both ask for addresses, of which a process may have few
 * (`ulimit -v`, `ulimit -d`, strict accounting of memory), so a primitive is only made where as many are free as the
 * kernels of the largest take, with room to spare. Looking costs 2 us, making one 100 and more. */
enum { PRIMITIVE_ROOM = 64 << 20 };
static xt_status look_for_room(void) {
    void *p = mmap(NULL, PRIMITIVE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                          "no address space is left for oneDNN to make code in: %d MiB must be free; raise the limit "
                          "of this process (ulimit -v, ulimit -d), or make the program smaller",
                          PRIMITIVE_ROOM >> 20);
    munmap(p, PRIMITIVE_ROOM);
    return NULL;
}

/* oneDNN fixes how a primitive splits its work when it is made, by the OpenMP setting of the thread that makes it. */
static xt_status make(dnnl_primitive_desc_t pd, int threads, dnnl_prim *out) {
    XT_TRY(look_for_room());
    out->md = base_calloc(DNNL_PRIM_ARGS + 1, sizeof *out->md);
    if (!out->md) return status_oom((DNNL_PRIM_ARGS + 1) * sizeof *out->md, "a primitive's arguments");
    openmp_threads before = team_set_openmp(threads);
    dnnl_status_t s = dnnl_primitive_create(&out->primitive, pd);
    openmp_put_threads(before);
    if (s != dnnl_success) {
        base_free(out->md);
        *out = (dnnl_prim){0};
        return dnnl_status_of(s, "making a primitive");
    }
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (md) {
        out->md[DNNL_PRIM_ARGS] = *md;
        out->scratch_bytes = dnnl_memory_desc_get_size(md);
    }
    return NULL;
}

/* What oneDNN 2.6.3 would take if it were right:
 *  - the AVX2 kernel for the weight gradient of strided 1x1 convolutions over channels-last images gathers eight
 *    channels a pixel where there are fewer: it writes behind its scratchpad, and sums come out of what lies there;
 *  - the bf16 kernel of AVX-512 for the weight gradient of a convolution in groups over channels-last images sums what
 *    lies behind its groups where these have no whole vectors of channels: results are off by half, or NaN;
 *  - the generator of AMX kernels for masked blocks of pixels (brgconv) reads behind the list of rows that its mask
 *    leaves: where no memory follows that list, the process dies. The next implementation uses AMX too.
 * tests/cli/guarded.sh runs convolutions with no memory behind any allocation. */
static bool is_faulty(const_dnnl_primitive_desc_t pd) {
    const char *name = NULL;
    const dnnl_convolution_desc_t *c = NULL;
    if (dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name) return false;
    if (dnnl_primitive_desc_query(pd, dnnl_query_convolution_d, 0, (void *)&c) != dnnl_success || !c) return false;
    if (strstr(name, "brgconv:avx512_core_amx")) return true;
    const dnnl_memory_desc_t *src = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
                             *w = dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0);
    bool weights = c->prop_kind == dnnl_backward_weights, strided = false,
         last =
             weights && src && src->format_desc.blocking.inner_nblks == 0 && src->format_desc.blocking.strides[1] == 1;
    if (last && w && w->ndims > src->ndims && (w->dims[1] % 16 || w->dims[2] % 16) && strstr(name, "jit_bf16:avx512"))
        return true;
    for (int i = 0; i < c->src_desc.ndims - 2; i++) strided = strided || c->strides[i] > 1;
    return strided && weights && strstr(name, "jit_1x1:avx2") && c->src_desc.dims[1] % 8;
}

/* The first of oneDNN's implementations, which stand in the order of their speed, that is right; NULL: there is none.
 */
static dnnl_primitive_desc_t first_right(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint,
                                         const_dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_iterator_t it = NULL;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_primitive_desc_iterator_create(&it, desc, attr, engine, hint) != dnnl_success) return NULL;
    do {
        pd = dnnl_primitive_desc_iterator_fetch(it);
        if (!pd || !is_faulty(pd)) break;
        dnnl_primitive_desc_destroy(pd);
        pd = NULL;
    } while (dnnl_primitive_desc_iterator_next(it) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(it);
    return pd;
}

static __thread int64_t spent;
int64_t dnnl_util_spent(void) {
    return spent;
}

static xt_status prim_make(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint, int threads, dnnl_prim *out,
                           dnnl_primitive_desc_t *out_pd, bool *out_ok) {
    *out = (dnnl_prim){0};
    *out_ok = false;
    if (out_pd) *out_pd = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    if (!dnnl_util_engine()) return NULL;
    xt_status s = dnnl_status_of(dnnl_primitive_attr_create(&attr), "making attributes");
    if (!s)
        s = dnnl_status_of(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                           "setting the scratchpad mode");
    openmp_threads before = team_set_openmp(threads);
    if (!s) pd = first_right(desc, hint, attr);
    openmp_put_threads(before);
    if (pd && !dnnl_desc_is_slow(pd)) {
        s = make(pd, threads, out);
        *out_ok = !s;
    }
    if (*out_ok && out_pd)
        *out_pd = pd;
    else if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return s;
}

xt_status dnnl_prim_make(const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint, int threads, dnnl_prim *out,
                         dnnl_primitive_desc_t *out_pd, bool *out_ok) {
    int64_t began = clock_ns();
    xt_status s = prim_make(desc, hint, threads, out, out_pd, out_ok);
    spent += clock_ns() - began;
    return s;
}

static xt_status reorder_make(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, int threads, dnnl_prim *out,
                              bool *out_ok) {
    *out = (dnnl_prim){0};
    *out_ok = false;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    xt_status s = dnnl_status_of(dnnl_primitive_attr_create(&attr), "making attributes");
    if (!s)
        s = dnnl_status_of(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
                           "setting the scratchpad mode");
    if (!s && dnnl_reorder_primitive_desc_create(&pd, from, dnnl_util_engine(), to, dnnl_util_engine(), attr) ==
                  dnnl_success) {
        s = make(pd, threads, out);
        *out_ok = !s;
        if (!s) dnnl_prim_add(out, DNNL_ARG_FROM, from);
        if (!s) dnnl_prim_add(out, DNNL_ARG_TO, to);
    }
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return s;
}

xt_status dnnl_reorder_make(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, int threads, dnnl_prim *out,
                            bool *out_ok) {
    int64_t began = clock_ns();
    xt_status s = reorder_make(from, to, threads, out, out_ok);
    spent += clock_ns() - began;
    return s;
}

void dnnl_prim_add(dnnl_prim *p, int arg, const dnnl_memory_desc_t *md) {
    p->arg[p->n] = arg;
    p->md[p->n++] = *md;
}

bool dnnl_desc_is_slow(const_dnnl_primitive_desc_t pd) {
    const char *name = NULL;
    if (dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name) return false;
    return strncmp(name, "ref", 3) == 0;
}

xt_status dnnl_stream_open(void **stream) {
    if (*stream) return NULL;
    return dnnl_status_of(dnnl_stream_create((dnnl_stream_t *)stream, dnnl_util_engine(), dnnl_stream_default_flags),
                          "opening a stream");
}

/* oneDNN writes machine code when a primitive runs for the first time, on whichever thread is first, and an exception
 * of C++ there (no memory) ends the process. */
static xt_status has_room(void) {
    static const size_t bytes = (size_t)64 << 20;
    if (addresses_are_free(bytes)) return NULL;
    return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                      "oneDNN is not called, as %zu MiB of addresses are not free; raise the limit of this process "
                      "(ulimit -v)",
                      bytes >> 20);
}

xt_status dnnl_prim_run(const dnnl_prim *p, void **stream, void *const *data, void *scratch) {
    dnnl_exec_arg_t args[DNNL_PRIM_ARGS + 1];
    int n = 0;
    dnnl_status_t s = dnnl_success;
    XT_TRY(has_room());
    XT_TRY(dnnl_stream_open(stream));
    for (size_t i = 0; i < p->n && s == dnnl_success; i++) {
        args[n].arg = p->arg[i];
        s = dnnl_memory_create(&args[n].memory, &p->md[i], engine, data[i]);
        if (s == dnnl_success) n++;
    }
    if (p->scratch_bytes && s == dnnl_success) {
        args[n].arg = DNNL_ARG_SCRATCHPAD;
        s = dnnl_memory_create(&args[n].memory, &p->md[DNNL_PRIM_ARGS], engine, scratch);
        if (s == dnnl_success) n++;
    }
    if (s == dnnl_success) s = dnnl_primitive_execute(p->primitive, *stream, n, args);
    if (s == dnnl_success) s = dnnl_stream_wait(*stream);
    for (int i = 0; i < n; i++) dnnl_memory_destroy(args[i].memory);
    return dnnl_status_of(s, "running a primitive");
}

void dnnl_prim_free(dnnl_prim *p) {
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    base_free(p->md);
    *p = (dnnl_prim){0};
}

void dnnl_stream_close(void **stream) {
    if (*stream) dnnl_stream_destroy(*stream);
    *stream = NULL;
}

/* --- one thread --- */
static void enter(int before[TEAM_LIBRARY_SETTINGS]) {
    openmp_threads b = openmp_set_threads(1);
    before[0] = b.runtime, before[1] = b.pool;
}
static void leave(const int before[TEAM_LIBRARY_SETTINGS]) {
    openmp_put_threads((openmp_threads){before[0], before[1]});
}
const team_library dnnl_library = {enter, leave};
