/* Fuzz target of the reader of device traces: any bytes give spans within reach of the begin, and a file for
 * TensorBoard. The first files of the corpus are a TPU's and a GPU's form as tests/unit/test_diag_xspace.c makes them,
 * which also damages them byte by byte. Which programs ran is made up here. */
#include "diag/profile.h"
#include "fuzz.h"

bool lazy_program_origin(int64_t program, size_t ordinal, src_id *out_src, uint32_t *out_path) {
    *out_src = (src_id)program;
    *out_path = 0;
    return ordinal < 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const int64_t programs[] = {1, 1, 2}, steps[] = {1, 2, 3};
    const diag_runs runs = {programs, steps, n % 4 < 3 ? n % 4 : 3, 5000000000};
    diag_trace t = {0};
    str out = STR_INIT;
    diag_read_xspace(&t, (const char *)data, n, &runs);
    for (size_t i = 0; i < t.n; i++)
        if (t.spans[i].ns < 0 || t.spans[i].self_ns < 0 || t.spans[i].self_ns > t.spans[i].ns || t.spans[i].flops < 0)
            abort();
    diag_write_xspace(t.spans, t.n, runs.began_ns, (const char *)data, n, &out);
    str_free(&out);
    base_free(t.spans);
    base_free(t.lines);
    return 0;
}
