/* 100,000 small steps with validation and checkpoints: no false alarm of the growth detector, and the resident set
 * stays within 1 MiB of what it was at step 1,000.
 *
 *     steady [STEPS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

static int alarms;
static void sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    if (sev >= XT_SEV_WARNING) alarms++;
    fwrite(text, 1, n, stderr);
}

static long rss_kib(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_relu(xt_linear(m, "in", x, 16)), 1);
}

int main(int argc, char **argv) {
    int64_t steps = argc > 1 ? atoll(argv[1]) : 100000;
    static float data[16 * 8];
    for (int i = 0; i < 16 * 8; i++) data[i] = (float)(i % 11) / 11;
    xt_set_sink(sink, NULL);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    char path[64];
    snprintf(path, sizeof path, "/tmp/xtrain_steady_%d.safetensors", (int)getpid());
    long settled = 0, most = 0;
    for (int64_t i = 0; i < steps; i++) {
        xt_tensor x = xt_from_array(data, XT_F32, 16, 8);
        xt_backward(xt_mean(xt_square(xt_add_scalar(xt_forward(m, x), -1))));
        xt_optimizer_step(adam);
        if (!xt_mark_step()) break;
        if (i % 500 == 499) {
            xt_no_grad_begin();
            for (int v = 0; v < 10; v++) {
                xt_when_ready(xt_mean(xt_forward(m, xt_from_array(data, XT_F32, 16, 8))), NULL, NULL);
                if (!xt_mark_step()) break;
            }
            xt_no_grad_end();
        }
        if (i % 5000 == 4999) xt_status_free(xt_save(m, path));
        if (i == 1000) settled = rss_kib();
        if (i > 1000 && i % 1000 == 0 && rss_kib() > most) most = rss_kib();
    }
    unlink(path);
    int code = xt_finish();
    printf("%lld steps: resident %ld KiB after step 1,000, at most %ld later; %d warnings\n", (long long)steps, settled,
           most, alarms);
    return code || alarms || most - settled > 1024;
}
