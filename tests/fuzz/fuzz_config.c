/* Fuzz target of configuration files (JSON) and of single options: what a trainer takes from one is written as a
 * configuration that a second trainer takes, and that one writes the same. */
#include <xtrain/xtrain.h>

#include "train/train_int.h"
#include "fuzz.h"
#include "mutate_json.h"

static void silent(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)text, (void)n, (void)user;
}
static void forget(xt_status error, void *user) {
    (void)error, (void)user;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    xt_set_sink(silent, NULL);
    xt_on_error(forget, NULL);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    return seed % 3 == 0 ? LLVMFuzzerMutate(data, n, most) : mutate_json(data, n, most, seed / 3);
}

/* As a fit would write it: the options that were given are those it has. */
static char *text_of(xt_trainer *t) {
    t->o = t->given;
    return config_text(t);
}

static xt_status read_into(xt_trainer *t, const void *text, size_t n) {
    char path[64];
    int fd = fuzz_file(text, n, path);
    if (fd < 0) return NULL;
    xt_status s = config_read(t, path);
    close(fd);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    xt_trainer *t = xt_trainer_new(.logger = XT_OFF), *again = xt_trainer_new(.logger = XT_OFF);
    if (!t || !again) abort();
    xt_status s = read_into(t, data, n);
    char *one = s ? NULL : text_of(t), *two = NULL;
    if (one) {
        xt_status second = read_into(again, one, strlen(one));
        if (second) {
            fprintf(stderr, "%s\n%s\n", xt_status_message(second), one);
            abort();
        }
        two = text_of(again);
        if (!two || strcmp(one, two) != 0) {
            fprintf(stderr, "%s\nagain:\n%s\n", one, two);
            abort();
        }
    }
    base_free(one);
    base_free(two);
    xt_status_free(s);
    xt_trainer_free(t);
    xt_trainer_free(again);
    return 0;
}
