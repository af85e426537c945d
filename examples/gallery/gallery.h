/* What the programs of doc/gallery.md share: their command line and the lines they print.
 *     NAME [--steps N] [--save FILE] [--data PATH]
 * --save writes the weights as they begin: what the PyTorch originals (tests/peers/gallery/) start from. */
#ifndef GALLERY_H
#define GALLERY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/plot.h>
#include <xtrain/xtrain.h>

static struct {
    int steps;
    const char *save, *data;
} gallery;

static inline void gallery_usage(const char *program, const char *option, const char *value) {
    fprintf(stderr, "%s: \"%s%s%s\" is not known here; [--steps N] [--save FILE] [--data PATH] are, N a whole number\n",
            program, option, value ? " " : "", value ? value : "");
    exit(2);
}

static inline void gallery_begin(int argc, char **argv, int steps, const char *data) {
    gallery.steps = steps;
    gallery.data = data;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (value && strcmp(argv[i], "--steps") == 0)
            gallery.steps = (int)strtol(value, &end, 10);
        else if (value && strcmp(argv[i], "--save") == 0)
            gallery.save = value;
        else if (value && strcmp(argv[i], "--data") == 0)
            gallery.data = value;
        else
            gallery_usage(argv[0], argv[i], value);
        if (end && (end == value || *end || gallery.steps < 0)) gallery_usage(argv[0], argv[i], value);
    }
    if (gallery.data && access(gallery.data, R_OK) != 0) {
        fprintf(stderr, "%s: %s cannot be read; --data PATH says what to train on\n", argv[0], gallery.data);
        exit(1);
    }
    xt_seed(1);
}

/* A status that has nowhere to go ends the program. */
static inline void gallery_try(xt_status s) {
    if (!s) return;
    fprintf(stderr, "%s\n", xt_status_message(s));
    xt_finish();
    exit(1);
}

/* The module's weights begin here: several modules are saved in turn as FILE, FILE.1, ... */
static inline void gallery_save(xt_module *m) {
    static int n;
    char path[512];
    if (!gallery.save) return;
    snprintf(path, sizeof path, n ? "%s.%d" : "%s", gallery.save, n);
    n++;
    gallery_try(xt_save(m, path));
}

/* "loss 3 0.251": the first ten steps, and every fiftieth. */
static inline void gallery_loss(const char *what, int step, xt_tensor loss) {
    if (step < 10 || step % 50 == 49) xt_master_printf("%s %d %t\n", what, step, loss);
}

#endif
