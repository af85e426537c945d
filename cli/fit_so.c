/* `xtrain fit ./model.so`, validate, test and predict: a model of the user's own, by the variable xt_model of its
 * shared object (include/xtrain/train.h). All options are the trainer's, and the model's own settings. */
#include "cli/config.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --json and the short words of the command, in the trainer's terms. */
static const char *const words[][2] = {{"--epochs", "--max_epochs"},
                                       {"--steps", "--max_steps"},
                                       {"--accumulate", "--accumulate_grad_batches"},
                                       {"--log-every", "--log_every_n_steps"},
                                       {"--limit-batches", "--limit_train_batches"},
                                       {"--lr", "--model.lr"},
                                       {"--batch", "--data.batch"},
                                       {"--data", "--data.path"},
                                       {"--val-every", "--val_every"},
                                       {"--clip", "--gradient_clip_val"}};

/* The rate is that of the optimizer that trains, which may be one by name. */
static const char *word_for(size_t i, bool optimizer) {
    return optimizer && strcmp(words[i][0], "--lr") == 0 ? "--optimizer.lr" : words[i][1];
}

static char *translated(const char *arg, bool optimizer) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i][0]);
        if (strncmp(arg, words[i][0], n) != 0 || (arg[n] && arg[n] != '=')) continue;
        size_t room = strlen(word_for(i, optimizer)) + strlen(arg + n) + 1;
        char *text = malloc(room);
        if (text) snprintf(text, room, "%s%s", word_for(i, optimizer), arg + n);
        return text;
    }
    return strdup(arg);
}

bool fit_command_word(const char *arg, char *out, size_t n) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i][1]);
        bool same = !strchr(words[i][1], '.') && strncmp(arg, words[i][0], strlen(words[i][0])) != 0;
        for (size_t k = 0; k < len && same; k++)
            same = arg[k] == words[i][1][k] || (k > 1 && arg[k] == '-' && words[i][1][k] == '_');
        if (!same || (arg[len] && arg[len] != '=')) continue;
        snprintf(out, n, "%s", words[i][0]);
        return true;
    }
    return false;
}

/* What the trainer's own help, which follows, does not know of. */
static void print_help(const char *about) {
    if (about) cli_text(stdout, about, strlen(about));
    if (about) cli_printf("\n\n");
    cli_printf("usage: xtrain fit|validate|test|predict MODEL.so [options]\n"
               "  --json                      one line of JSON with the results at the end\n"
               "  --device D                  CPU, TPU, CUDA or the path of a PJRT plugin\n"
               "  --output FILE               predict: where the rows go (predictions.npy)\n");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) cli_printf("  %-27s %s\n", words[i][0], words[i][1]);
}

static int check(const char *command, const char *path, const xt_model_desc *m) {
    if (!m)
        return cli_fail(command,
                        "%s has no variable xt_model; a model for `xtrain fit` defines `const xt_model_desc xt_model = "
                        "{...}` (xtrain/train.h)",
                        path);
    if (m->struct_size < sizeof(size_t) * 4 || m->struct_size > 4096)
        return cli_fail(command, "%s: xt_model.struct_size is %zu; it must be sizeof(xt_model_desc)", path,
                        m->struct_size);
    if (!m->task || !m->train) return cli_fail(command, "%s: xt_model has no .%s", path, m->task ? "train" : "task");
    return 0;
}

typedef struct so_options {
    fit_stage stage;
    const char *output; /* of a prediction */
    bool json, help;
} so_options;

/* What the arguments, a file of theirs or the environment ask for; what is wrong with a file, the trainer says. */
typedef struct asked {
    bool weights, optimizer; /* which a pass takes; that takes the place of the model's own */
} asked;

static xt_status note(const char *name, const char *value, void *user) {
    static const char *const weights[] = {"ckpt", "resume", "trainer.ckpt", "trainer.resume"};
    asked *a = user;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0] && *value; i++)
        a->weights = a->weights || strcmp(name, weights[i]) == 0;
    a->optimizer = a->optimizer || strcmp(name, "optimizer") == 0 || strcmp(name, "optimizer.name") == 0;
    return NULL;
}

static asked asked_for(int argc, char **argv) {
    const char *ckpt = getenv("XT_TRAINER_CKPT"), *resume = getenv("XT_TRAINER_RESUME");
    asked a = {.weights = (ckpt && *ckpt) || (resume && *resume)};
    for (int i = 0; i < argc; i++) {
        size_t n = strcspn(argv[i], "=");
        char name[64];
        if (strncmp(argv[i], "--", 2) != 0 || n - 2 >= sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - 2), argv[i] + 2);
        const char *value = argv[i][n] ? argv[i] + n + 1 : i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "config") != 0)
            note(name, "given", &a);
        else if (value)
            xt_status_free(xt_config_read(value, note, &a));
    }
    return a;
}

static int fit(const char *path, const xt_model_desc *m, int argc, char **argv, so_options o) {
    xt_trainer *t = xt_trainer_new(.run_name = m->name ? m->name : "model");
    xt_trainer_args(t, argc, argv);
    xt_trainer_text(t, "model.name", path); /* so that config.json names the model too */
    xt_task task = m->task(t);
    if (o.stage != STAGE_FIT && !o.help && !task.module && !asked_for(argc, argv).weights) {
        /* a module of the task's own may have been loaded by it */
        setenv("XT_SUMMARY", "off", 1);
        return cli_end(cli_fail(fit_stage_names[o.stage], "%s", fit_needs_weights) + 1);
    }
    bool has_val = m->struct_size > offsetof(xt_model_desc, val) && m->val,
         has_test = m->struct_size > offsetof(xt_model_desc, test) && m->test;
    xt_loader *train = o.stage == STAGE_FIT || (!has_val && !has_test) ? m->train(t, task.user) : NULL,
              *val = has_val ? m->val(t, task.user) : NULL, *test = has_test ? m->test(t, task.user) : NULL;
    const char *name = m->name ? m->name : "model";
    int code;
    if (o.stage == STAGE_FIT) {
        code = xt_fit(t, &task, train, val);
        xt_fit_result r = xt_trainer_result(t);
        if (!code && test && r.steps) code = xt_test(t, &task, test);
        if (!code && o.json && xt_rank() == 0) fit_print_json(name, &r, NAN);
    } else { /* what is there of the loader meant, the test's, the validation's, the training's */
        xt_loader *over = o.stage == STAGE_VALIDATE && val ? val : test ? test : val ? val : train;
        code = fit_pass(o.stage, t, &task, over, o.output);
        if (!code && o.json && xt_rank() == 0) fit_print_pass_json(o.stage, name, t);
    }
    fflush(stdout);
    setenv("XT_SUMMARY", "off", 1);
    return cli_end(code);
}

static const char *value_of(int argc, char **argv, const char *name) {
    const char *found = NULL;
    size_t n = strlen(name);
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], name, n) == 0 && (argv[i][n] == '=' || (!argv[i][n] && i + 1 < argc)))
            found = argv[i][n] ? argv[i] + n + 1 : argv[i + 1];
    return found;
}

/* What the trainer's messages call the program. */
static char *command_of(fit_stage stage) {
    char text[64];
    snprintf(text, sizeof text, "xtrain %s", fit_stage_names[stage]);
    return strdup(text);
}

int fit_shared_object(fit_stage stage, const char *path, int argc, char **argv) {
    const char *command = fit_stage_names[stage];
    char here[4096];
    if (!strchr(path, '/') && access(path, R_OK) == 0) { /* dlopen looks for a bare name in the system's folders only */
        snprintf(here, sizeof here, "./%s", path);
        path = here;
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* dlopen would wait for a FIFO's writer */
        return cli_fail(command, "%s is no regular file; a model's shared object is expected", path);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) return cli_fail(command, "%s", dlerror());
    const xt_model_desc *m = dlsym(so, "xt_model");
    int code = check(command, path, m), n = 0;
    if (code) return code;
    so_options o = {.stage = stage};
    bool optimizer = asked_for(argc, argv).optimizer;
    const char *lr = value_of(argc, argv, "--lr"), *named = value_of(argc, argv, "--optimizer.lr");
    if (optimizer && lr && named && (code = cli_config_two_rates(lr, named))) return code;
    char **args = calloc((size_t)argc + 2, sizeof *args);
    if (!args) return cli_fail(command, "out of memory");
    args[n++] = command_of(stage);
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            o.json = true;
        else if (stage == STAGE_PREDICT && strcmp(argv[i], "--output") == 0 && i + 1 < argc)
            o.output = argv[++i];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            setenv("XT_DEVICE", argv[++i], 1);
        else
            args[n++] = translated(argv[i], optimizer);
        if (n && !args[n - 1]) return cli_fail(command, "out of memory");
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        o.help = true;
        print_help(m->help);
    }
    fflush(stdout);
    code = fit(path, m, n, args, o);
    for (int i = 0; i < n; i++) free(args[i]);
    free(args);
    return code; /* the object stays loaded: threads may still be in it */
}
