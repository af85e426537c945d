/* xtrain new: a starting project. Its Makefile takes the tree or installation that this command belongs to while that
 * is there, and pkg-config's otherwise. */
#include "cli/cli.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Texts of the files: @NAME@, @LIB@, @INCLUDE@ and @XTRAIN@ are replaced. */
static const char model_c[] =
    "/* @NAME@: a model of your own. `make && xtrain fit ./@NAME@.so` trains it with every option of the trainer; "
    "main.c is a plain program that trains it too. */\n"
    "#include <math.h>\n"
    "#include <xtrain/xtrain.h>\n"
    "\n"
    "/* The network. x: [N,2] -> scores of two classes [N,2]. The first call makes the parameters; later calls find "
    "them by name. */\n"
    "static xt_tensor net(xt_module *m, xt_tensor x, void *user) {\n"
    "    (void)user;\n"
    "    x = xt_relu(xt_linear(m, \"fc1\", x, 32));\n"
    "    x = xt_relu(xt_linear(m, \"fc2\", x, 32));\n"
    "    return xt_linear(m, \"fc3\", x, 2);\n"
    "}\n"
    "\n"
    "static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {\n"
    "    (void)user;\n"
    "    xt_tensor out = xt_forward(m, b.x), loss = xt_cross_entropy(out, b.y);\n"
    "    xt_log(\"train/loss\", loss);\n"
    "    return loss;\n"
    "}\n"
    "\n"
    "static void validation_step(xt_module *m, xt_batch b, void *user) {\n"
    "    (void)user;\n"
    "    xt_tensor out = xt_forward(m, b.x);\n"
    "    xt_log(\"val/loss\", xt_cross_entropy(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);\n"
    "    xt_log_metric(\"val/acc\", xt_accuracy(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);\n"
    "}\n"
    "\n"
    "/* Settings: --model.lr 0.01 on the command line, or in a file given by --config. */\n"
    "static double lr;\n"
    "static xt_optimizer *configure(xt_module *m, void *user) {\n"
    "    (void)user;\n"
    "    return xt_adamw(m, .lr = lr);\n"
    "}\n"
    "\n"
    "static xt_task task(xt_trainer *t) {\n"
    "    lr = xt_trainer_number(t, \"model.lr\", 0.003);\n"
    "    return (xt_task){.net = net, .training_step = training_step, .validation_step = validation_step, .test_step = "
    "validation_step, .configure_optimizers = configure};\n"
    "}\n"
    "\n"
    "/* The data: points of two crescents that lie in one another. Put your own here: fill sample i; it is called by "
    "several loader threads. */\n"
    "static xt_status sample(void *user, int64_t i, void *x, void *y) {\n"
    "    (void)user;\n"
    "    int64_t label = i % 2;\n"
    "    double turn = 3.14159265358979 * fmod((double)i * 0.6180339887, 1), off = 0.4 * (fmod((double)i * "
    "0.7548776662, 1) - 0.5);\n"
    "    ((float *)x)[0] = (float)(label ? 1 - (1 + off) * cos(turn) : (1 + off) * cos(turn));\n"
    "    ((float *)x)[1] = (float)(label ? 0.5 - (1 + off) * sin(turn) : (1 + off) * sin(turn));\n"
    "    *(int64_t *)y = label;\n"
    "    return NULL; /* or xt_status_new(XT_INVALID_ARGUMENT, \"...\"): the message reaches xt_fit with the sample's "
    "number */\n"
    "}\n"
    "\n"
    "static xt_loader *points(xt_trainer *t, int64_t count, xt_switch shuffle) {\n"
    "    xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc), .count = count, .x "
    "= {XT_F32, {2}}, .y = {XT_I64, {0}}, .get = sample, .name = \"crescents\"});\n"
    "    return xt_loader_new(d, .batch = (int64_t)xt_trainer_number(t, \"data.batch\", 64), .shuffle = shuffle);\n"
    "}\n"
    "static xt_loader *train(xt_trainer *t, void *user) { (void)user; return points(t, 4096, XT_ON); }\n"
    "static xt_loader *val(xt_trainer *t, void *user) { (void)user; return points(t, 512, XT_OFF); }\n"
    "\n"
    "/* What `xtrain fit ./@NAME@.so` looks for. */\n"
    "const xt_model_desc xt_model = {.struct_size = sizeof(xt_model_desc), .name = \"@NAME@\", .help = \"@NAME@: two "
    "crescents; settings: --model.lr, --data.batch\", .task = task, .train = train, .val = val, .test = val};\n";

static const char main_c[] = "/* A plain program around the model of @NAME@.c:  ./@NAME@ [--max_epochs 5 ...]; --help "
                             "lists the trainer's options. */\n"
                             "#include <xtrain/xtrain.h>\n"
                             "\n"
                             "extern const xt_model_desc xt_model;\n"
                             "\n"
                             "int main(int argc, char **argv) {\n"
                             "    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .run_name = xt_model.name);\n"
                             "    xt_trainer_args(t, argc, argv);\n"
                             "    xt_task task = xt_model.task(t);\n"
                             "    xt_trainer_add(t, xt_model_checkpoint(.monitor = \"val/acc\", .mode = XT_MAX));\n"
                             "    return xt_fit(t, &task, xt_model.train(t, task.user), xt_model.val(t, task.user)); "
                             "/* prints the error with its line, if there is one */\n"
                             "}\n";

static const char makefile[] =
    "# make: the program ./@NAME@ and the model @NAME@.so; make run, make fit: train with either.\n"
    "XTRAIN_LIB     ?= @LIB@\n"
    "XTRAIN_INCLUDE ?= @INCLUDE@\n"
    "XTRAIN         ?= @XTRAIN@\n"
    "CC             ?= cc\n"
    "CFLAGS         ?= -O2 -g -Wall -Wextra\n"
    "\n"
    "# The xtrain that made this project; where that is gone, the installed one that pkg-config knows.\n"
    "ifneq ($(wildcard $(XTRAIN_INCLUDE)/xtrain/xtrain.h),)\n"
    "XT_CFLAGS := -I$(XTRAIN_INCLUDE)\n"
    "XT_LIBS   := -L$(XTRAIN_LIB) -lxtrain -Wl,-rpath,$(XTRAIN_LIB)\n"
    "else\n"
    "XT_CFLAGS := $(shell pkg-config --cflags xtrain)\n"
    "XT_LIBS   := $(shell pkg-config --libs xtrain)\n"
    "XTRAIN    := xtrain\n"
    "endif\n"
    "\n"
    "all: @NAME@ @NAME@.so\n"
    "\n"
    "@NAME@: main.c @NAME@.c\n"
    "\t$(CC) -std=c11 $(CFLAGS) $(XT_CFLAGS) -o $@ main.c @NAME@.c $(LDFLAGS) $(XT_LIBS) -lm\n"
    "\n"
    "@NAME@.so: @NAME@.c\n"
    "\t$(CC) -std=c11 $(CFLAGS) $(XT_CFLAGS) -shared -fPIC -o $@ @NAME@.c $(LDFLAGS) $(XT_LIBS) -lm\n"
    "\n"
    "run: @NAME@\n"
    "\t./@NAME@\n"
    "\n"
    "fit: @NAME@.so\n"
    "\t$(XTRAIN) fit ./@NAME@.so --max_epochs 3\n"
    "\n"
    "clean:\n"
    "\trm -rf @NAME@ @NAME@.so runs\n"
    "\n"
    ".PHONY: all run fit clean\n";

static const char readme[] =
    "# @NAME@\n"
    "\n"
    "A model trained with xtrain. `@NAME@.c` has the network, its steps and its data; `main.c` is a program around "
    "it.\n"
    "\n"
    "    make                                            # ./@NAME@ and ./@NAME@.so\n"
    "    ./@NAME@ --max_epochs 5                         # the plain program\n"
    "    xtrain fit ./@NAME@.so --max_epochs 5           # the same by the command\n"
    "    xtrain fit ./@NAME@.so --max_epochs 5 --model.lr 0.01 --data.batch 128\n"
    "    xtrain plot @NAME@ --name val/acc               # the curve of the last run\n"
    "    CPU_NUM_DEVICES=2 xtrain launch -- ./@NAME@     # two ranks: the loader shards, gradients are averaged\n"
    "    XT_DEBUG=compile ./@NAME@                       # why each program was compiled, with your line\n"
    "\n"
    "The Makefile uses the xtrain that made this project (`XTRAIN_LIB`, `XTRAIN_INCLUDE`, `XTRAIN`), or the installed "
    "one that pkg-config finds.\n"
    "What to change first: `sample` gives your data, `net` your network, `training_step` your loss. Runs, checkpoints "
    "and curves lie in `runs/@NAME@/`.\n";

static const char gitignore[] = "/@NAME@\n/@NAME@.so\n/runs/\n/xt-crash-*/\n";

/* --- where xtrain is --- */
typedef struct places {
    char name[128], lib[PATH_MAX], include[PATH_MAX], xtrain[PATH_MAX];
} places;

static void find_places(places *p) {
    Dl_info info;
    char real[PATH_MAX];
    void *in_library = dlsym(RTLD_DEFAULT, "xt_version");
    ssize_t n = readlink("/proc/self/exe", p->xtrain, sizeof p->xtrain - 1);
    p->xtrain[n > 0 ? n : 0] = '\0';
    if (!in_library || !dladdr(in_library, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return;
    char *slash = strrchr(real, '/');
    if (slash) *slash = '\0';
    snprintf(p->lib, sizeof p->lib, "%s", real);
    while ((slash = strrchr(real, '/'))) { /* build/ beside include/, PREFIX/lib/ARCH below PREFIX/include */
        *slash = '\0';
        char header[PATH_MAX + 32];
        snprintf(header, sizeof header, "%s/include/xtrain/xtrain.h", real);
        if (access(header, R_OK) != 0) continue;
        if (snprintf(p->include, sizeof p->include, "%s/include", real) >= (int)sizeof p->include) p->include[0] = '\0';
        return;
    }
}

/* --- files --- */
static bool put_text(FILE *f, const char *text, const places *p) {
    const struct {
        const char *key, *value;
    } words[] = {{"@NAME@", p->name}, {"@LIB@", p->lib}, {"@INCLUDE@", p->include}, {"@XTRAIN@", p->xtrain}};
    while (*text) {
        size_t k = 0, n = sizeof words / sizeof words[0];
        while (k < n && strncmp(text, words[k].key, strlen(words[k].key)) != 0) k++;
        if (k < n) {
            fputs(words[k].value, f);
            text += strlen(words[k].key);
        } else
            fputc(*text++, f);
    }
    return !ferror(f);
}

static int write_project(const char *dir, const places *p) {
    char own[160];
    snprintf(own, sizeof own, "%s.c", p->name);
    const struct {
        const char *file, *text;
    } files[] = {
        {own, model_c}, {"main.c", main_c}, {"Makefile", makefile}, {"README.md", readme}, {".gitignore", gitignore}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", dir, files[i].file) >= (int)sizeof path)
            return cli_fail("new", "%s: the path is too long", dir);
        FILE *f = fopen(path, "wx");
        bool ok = f && put_text(f, files[i].text, p);
        if (f) ok = fclose(f) == 0 && ok;
        if (!ok) return cli_fail("new", "%s cannot be written: %s", path, strerror(errno));
    }
    return 0;
}

static bool is_empty(const char *dir) {
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));) empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (d) closedir(d);
    return empty;
}

static int run(int argc, char **argv) {
    const char *given = NULL;
    const cli_option options[] = {
        {"NAME", CLI_STRING, &given, NULL, "folder to make; its last part names the model (letters, digits, - and _)"}};
    int code = cli_parse(
        argc, argv,
        "usage: xtrain new NAME\n\n"
        "Makes a folder with a small model, a program around it, a Makefile and a README that say how to go on.\n",
        options, 1, NULL);
    if (code) return code - 1;
    if (!given) {
        fprintf(stderr, "xtrain new: which name? `xtrain new mymodel` makes a folder mymodel\n");
        return 2;
    }
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", given);
    while (strlen(dir) > 1 && dir[strlen(dir) - 1] == '/') dir[strlen(dir) - 1] = '\0';
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    places p = {.name = ""};
    if (!*name || strspn(name, allowed) != strlen(name) || *name == '-' || strlen(name) >= sizeof p.name ||
        strcmp(name, "main") == 0) {
        fprintf(stderr,
                "xtrain new: '%s' cannot name a model: letters, digits, - and _ are expected, not - first, and not "
                "main, the program's file\n",
                name);
        return 2;
    }
    snprintf(p.name, sizeof p.name, "%s", name);
    find_places(&p);
    if (mkdir(dir, 0777) != 0) {
        if (errno != EEXIST) return cli_fail("new", "%s cannot be made: %s", dir, strerror(errno));
        if (!is_empty(dir))
            return cli_fail("new", "%s exists already and is no empty folder; choose another name", dir);
    }
    if ((code = write_project(dir, &p))) return code;
    printf("%s has a model (%s.c), a program (main.c), a Makefile and a README.\n"
           "  cd %s && make && ./%s\n"
           "  xtrain fit ./%s.so --max_epochs 3\n",
           dir, name, dir, name, name);
    return 0;
}

const cli_command cli_new = {"new", "a starting project: model, program, Makefile", run};
