/* A process that brings libgomp in front of everything, as PyTorch does: a program with a product that oneDNN makes
 * in threads of its own, and a loop that takes most of the time. Prints the milliseconds of the two threads that
 * worked most. */
#include <xtrain/xtrain.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

static void most_busy(double out[2]) {
    DIR *d = opendir("/proc/self/task");
    out[0] = out[1] = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300];
        double ns = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%lf", &ns) != 1) ns = 0;
        if (f) fclose(f);
        double ms = ns / 1e6, less = ms < out[0] ? ms : out[0];
        if (ms > out[0]) out[0] = ms;
        if (less > out[1]) out[1] = less;
    }
    if (d) closedir(d);
}

int main(void) {
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "libgomp.so.1 cannot be opened: %s\n", dlerror());
        return 2;
    }
    xt_tensor x = xt_cast(xt_ones(XT_F32, 256, 256), XT_BF16), w = xt_cast(xt_randn(XT_F32, 256, 256), XT_BF16);
    xt_tensor y = xt_arange(8 << 20, XT_F32);
    for (int i = 0; i < 20; i++) y = xt_sin(y);
    float sum = xt_item(xt_add(xt_sum(y), xt_sum(xt_cast(xt_matmul(x, w), XT_F32))));
    double ms[2];
    most_busy(ms);
    printf("sum %g, %.0f and %.0f ms\n", (double)sum, ms[0], ms[1]);
    return xt_finish();
}
