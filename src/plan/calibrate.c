/* Three small programs on the CPU plugin, the fastest of some runs each: products of 768x768 in f32 and bf16, and a sum
 * of two arrays of 32 MiB. */
#include "plan/calibrate.h"

static void fastest(device_client *c, const char *text, size_t n_in, const int64_t *dims, size_t rank, xt_dtype type,
                    double *out_seconds) {
    device_exec *e = NULL;
    device_buffer *in[2] = {NULL, NULL};
    size_t bytes = xt_dtype_size(type);
    for (size_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
    const void *zeros = base_zeros(bytes);
    xt_status s = zeros ? device_compile(c, text, strlen(text), NULL, &e) : status_oom(bytes, "zeros");
    for (size_t i = 0; i < n_in && !s; i++) s = device_upload(c, type, rank, dims, zeros, &in[i]);
    int64_t best = INT64_MAX;
    for (int k = 0; k < 12 && !s; k++) {
        device_buffer *out = NULL;
        int64_t began = clock_ns();
        s = device_execute(e, n_in, in, NULL, &out, NULL, NULL);
        if (!s) s = device_buffer_wait(out);
        int64_t took = clock_ns() - began;
        if (!s && took > 0 && took < best) best = took;
        device_buffer_release(out);
    }
    *out_seconds = !s && best < INT64_MAX ? (double)best * 1e-9 : 0;
    xt_status_free(s);
    for (size_t i = 0; i < n_in; i++) device_buffer_release(in[i]);
    device_exec_release(e);
}

static double product(device_client *c, const char *name, xt_dtype type) {
    char text[400];
    double seconds;
    snprintf(text, sizeof text,
             "module @m {\n"
             " func.func public @main(%%a: tensor<768x768x%s>, %%b: tensor<768x768x%s>) -> tensor<768x768x%s> {\n"
             "  %%0 = stablehlo.dot_general %%a, %%b, contracting_dims = [1] x [0] : (tensor<768x768x%s>, "
             "tensor<768x768x%s>) -> tensor<768x768x%s>\n"
             "  return %%0 : tensor<768x768x%s>\n"
             " }\n"
             "}\n",
             name, name, name, name, name, name, name);
    fastest(c, text, 2, (const int64_t[]){768, 768}, 2, type, &seconds);
    return seconds > 0 ? 2.0 * 768 * 768 * 768 / seconds : 0;
}

plan_host plan_host_measure(void) {
    static plan_host host;
    static bool done;
    device_client *c;
    if (done) return host;
    done = true;
    xt_status s = device_open(&(device_open_opts){.spec = "CPU", .local_devices = 1}, &c);
    if (s) {
        xt_status_free(s);
        return host;
    }
    host.flops_f32 = product(c, "f32", XT_F32);
    host.flops_bf16 = product(c, "bf16", XT_BF16);
    double seconds;
    fastest(c,
            "module @m {\n"
            " func.func public @main(%a: tensor<8388608xf32>, %b: tensor<8388608xf32>) -> tensor<8388608xf32> {\n"
            "  %0 = stablehlo.add %a, %b : tensor<8388608xf32>\n"
            "  return %0 : tensor<8388608xf32>\n"
            " }\n"
            "}\n",
            2, (const int64_t[]){8388608}, 1, XT_F32, &seconds);
    host.bytes_per_s = seconds > 0 ? 3.0 * 8388608 * 4 / seconds : 0;
    device_close(c);
    return host;
}
