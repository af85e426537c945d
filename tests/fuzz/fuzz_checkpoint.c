/* Fuzz target of folders of checkpoints: one of the files is the input, behind right checksums, the others are those of
 * a run that was made when the target began. A fit goes on from the folder or refuses with a sentence, and what the
 * user has beside it stays as it is: a text and a checkpoint outside, and files in the folder of names that no saver
 * gives. The first byte says which of the files the input is and how it is named to the fit. */
#include <dirent.h>
#include <sys/stat.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "fuzz.h"
#include "mutate_tensors.h"

static char folder[64], kept[96], good[128], told[4096];
static char *whole; /* the run's checkpoint */
static size_t whole_size;

static void hear(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    snprintf(told, sizeof told, "%.*s", (int)n, text);
    for (const unsigned char *c = (const unsigned char *)told; *c; c++)
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f) abort(); /* a name moved the cursor */
}
static void forget(xt_status error, void *user) {
    (void)error, (void)user;
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_square(xt_forward(m, b.x)));
    xt_log("loss", loss);
    return loss;
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.01, .momentum = 0.9);
    xt_warm_restarts_schedule(o, .t_0 = 3);
    return o;
}

static int fit(int64_t epochs, const char *resume) {
    static float x[8][2];
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = epochs, .runs_dir = folder, .resume = resume, .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF, .logger = XT_OFF);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = kept, .monitor = "loss", .save_top_k = 1));
    xt_trainer_add(t, xt_early_stopping(.monitor = "loss", .patience = 100));
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.9));
    xt_dataset *samples = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, 8);
    int code = xt_fit(t, &task, xt_loader_new(samples, .batch = 4), NULL);
    xt_clear_error();
    xt_finish();
    return code;
}

static void path_of(const char *name, char out[160]) {
    snprintf(out, 160, "%s/%s", folder, name);
}

static void write_file(const char *name, const void *data, size_t n) {
    char path[160];
    path_of(name, path);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

static void must_be(const char *name, const void *data, size_t n) {
    char path[160], *now = NULL;
    size_t size;
    path_of(name, path);
    if (file_read_all(path, &now, &size) || size != n || memcmp(now, data, n) != 0) {
        fprintf(stderr, "%s is gone or another\n", path);
        abort();
    }
    base_free(now);
}

static void empty(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
}
static void remove_folder(void) {
    empty(kept);
    rmdir(kept);
    empty(folder);
    rmdir(folder);
    base_free(whole);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    snprintf(folder, sizeof folder, "/tmp/xt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
    snprintf(kept, sizeof kept, "%s/kept", folder);
    snprintf(good, sizeof good, "%s/last.ckpt", kept);
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_POSTMORTEM", "off", 1);
    setenv("XT_CACHE", "off", 1);
    xt_set_sink(hear, NULL);
    xt_on_error(forget, NULL);
    atexit(remove_folder);
    if (fit(1, NULL) || file_read_all(good, &whole, &whole_size)) {
        fprintf(stderr, "no checkpoint to begin with (is XT_PLUGIN_DIR right?): %s\n", told);
        abort();
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    if (n < 64 && most > whole_size) { /* the run's own, to begin with */
        memcpy(data + 1, whole, whole_size);
        data[0] = (uint8_t)(seed >> 8);
        n = whole_size + 1;
    }
    if (n < 2) return n;
    return 1 + mutate_tensors(data + 1, n - 1, most - 1, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const names[] = {"kept/last.ckpt", "kept/epoch=0-step=2.ckpt", "kept/epoch=9-step=90.ckpt"},
                             *const how[] = {"last", "best", NULL};
    if (n < 2) return 0;
    empty(kept);
    mkdir(kept, 0700);
    write_file("precious.txt", "precious", 8);
    write_file("precious.ckpt", whole, whole_size);
    write_file("kept/mine.ckpt", whole, whole_size);
    write_file("kept/notes.txt", "notes", 5);
    write_file("kept/last.ckpt", whole, whole_size);
    write_file(names[data[0] % 3], data + 1, n - 1);
    const char *resume = how[data[0] / 4 % 3];
    fit(2, resume ? resume : kept);
    must_be("precious.txt", "precious", 8);
    must_be("precious.ckpt", whole, whole_size);
    must_be("kept/mine.ckpt", whole, whole_size);
    must_be("kept/notes.txt", "notes", 5);
    return 0;
}
