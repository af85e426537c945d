/* What cpu_stats says of memory (GetCompiledMemoryStats hands it on) against what the system counts: the resident set's
 * high mark over one run, with memory whose pages nobody touches beforehand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitizers.h"
#include "cpu/cpu.h"

static xt_status pages(void *user, size_t n, void **out) {
    (void)user;
    *out = mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*out == MAP_FAILED) return status_oom(n, "a test");
    madvise(*out, n ? n : 1, MADV_NOHUGEPAGE); /* every page counts for itself */
    return NULL;
}
static void give_pages(void *user, void *p, size_t n) {
    (void)user;
    munmap(p, n ? n : 1);
}

/* Bytes of a line of /proc/self/status, -1 when there is none. */
static int64_t status_line(const char *name) {
    char line[256];
    long long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), ": %lld", &kib);
    if (f) fclose(f);
    return kib < 0 ? -1 : kib * 1024;
}

static bool reset_high_mark(void) {
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    bool ok = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0) close(fd);
    return ok;
}

/* Softmax of a product, its transpose, sums, and a donated array that is updated: temporaries of 16 and 32 MiB, two of
 * them alive at most. */
static const char text[] =
    "func.func @main(%a: tensor<2048x64xf32>, %b: tensor<64x2048xf32>, %p: tensor<2048x2048xf32> {tf.aliasing_output = "
    "0 : i32}) -> "
    "(tensor<2048x2048xf32>, tensor<2048xf32>, tensor<2048x2048xbf16>) {\n"
    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x2048xf32>) -> "
    "tensor<2048x2048xf32>\n"
    "%1 = stablehlo.exponential %0 : tensor<2048x2048xf32>\n"
    "%2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, "
    "tensor<f32>) -> tensor<2048xf32>\n"
    "%3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>\n"
    "%4 = stablehlo.divide %1, %3 : tensor<2048x2048xf32>\n"
    "%5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>\n"
    "%6 = stablehlo.add %4, %5 : tensor<2048x2048xf32>\n"
    "%7 = stablehlo.subtract %p, %6 : tensor<2048x2048xf32>\n"
    "%8 = stablehlo.convert %6 : (tensor<2048x2048xf32>) -> tensor<2048x2048xbf16>\n"
    "return %7, %2, %8 : tensor<2048x2048xf32>, tensor<2048xf32>, tensor<2048x2048xbf16>\n}\n";

enum { SANITIZED = BUILT_WITH_ASAN || BUILT_WITH_TSAN }; /* shadow memory counts too */

static void the_peak_is_what_the_system_counts(void **state) {
    (void)state;
    enum { IN = 3, OUT = 3, SLACK = 6 << 20 /* oneDNN's code and buffers, stacks, counts that lag */ };
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    cpu_alloc alloc = {NULL, pages, give_pages};
    if (SANITIZED || status_line("VmHWM") < 0 || !reset_high_mark()) skip();
    assert_null(
        cpu_compile(text, strlen(text), &(cpu_compile_opts){.num_replicas = 1, .num_partitions = 1, .threads = 2}, &e));
    assert_null(cpu_device_new(2, NULL, &d));
    const cpu_stats *s = cpu_exec_stats(e);
    for (int run = 0; run < 2; run++) { /* the first one also makes what oneDNN keeps */
        array in[IN], out[OUT];
        bool donated[IN] = {false, false, true};
        int from[OUT];
        for (int i = 0; i < IN; i++) {
            in[i].type = cpu_exec_input_type(e, (size_t)i);
            assert_null(pages(NULL, ir_type_bytes(in[i].type), &in[i].data));
            for (int64_t k = 0; k < in[i].type->count; k++) ((float *)in[i].data)[k] = 0.001f * (float)(k % 100);
        }
        int64_t before = status_line("VmRSS");
        assert_true(reset_high_mark());
        assert_null(cpu_run(e, d, &alloc, in, donated, out, from));
        int64_t grown = status_line("VmHWM") - before, told = s->peak_bytes - s->argument_bytes;
        assert_int_equal(from[0], 2);
        if (run == 1 && (grown > told + SLACK || grown < told - told / 20 - SLACK / 2))
            fail_msg(
                "the resident set grew by %lld bytes, told were %lld (temporaries %lld, results %lld, taken over %lld)",
                (long long)grown, (long long)told, (long long)s->temp_bytes, (long long)s->output_bytes,
                (long long)s->alias_bytes);
        for (int j = 0; j < OUT; j++) give_pages(NULL, out[j].data, ir_type_bytes(out[j].type));
        for (int i = 0; i < 2; i++) give_pages(NULL, in[i].data, ir_type_bytes(in[i].type));
    }
    cpu_device_free(d);
    cpu_exec_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_peak_is_what_the_system_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
