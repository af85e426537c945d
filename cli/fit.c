/* xtrain fit, validate, test and predict with a built-in model. */
#include "cli/fit.h"

#include "cli/config.h"
#include "models/gpt2_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fit_stage_names[] = {"fit", "validate", "test", "predict"};
const char fit_needs_weights[] = "--ckpt is needed: a checkpoint, a folder with one, 'last' or 'best'";
static fit_stage stage;
static const model *chosen; /* what the task's functions train; one fit a process */
static fit_options *opt;
static cli_config config;
static const tokenizer *words; /* of a text that is trained on by one process: samples are made of it */
static generator *samples;
static int64_t all_steps; /* optimizer steps of the whole training, for the schedule */

static void log_extra(xt_tensor loss) {
    for (int64_t i = 0; i < opt->metrics; i++) {
        char name[32];
        snprintf(name, sizeof name, "extra/%lld", (long long)i);
        xt_log(name, xt_mul_scalar(loss, (double)(i + 1)));
    }
}

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    if (model_is_staged(chosen, &opt->of_model)) {
        xt_tensor whole = chosen->staged(net, b.x, b.y, &opt->of_model);
        xt_log("train/loss", whole);
        log_extra(whole);
        return whole;
    }
    xt_tensor out = xt_forward(net, b.x), loss = chosen->loss(out, b.y);
    xt_log("train/loss", loss);
    if (chosen->classifies) xt_log_metric("train/acc", xt_accuracy(out, b.y));
    log_extra(loss);
    return opt->of_model.experts > 1 ? model_loss(chosen, &opt->of_model, net, out, b.y) : loss;
}

static void validation_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x);
    xt_log("val/loss", chosen->loss(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);
    if (chosen->classifies) xt_log_metric("val/acc", xt_accuracy(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);
}

static void test_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x);
    xt_log("test/loss", chosen->loss(out, b.y), .sync_dist = XT_ON);
    if (chosen->classifies) xt_log_metric("test/acc", xt_accuracy(out, b.y), .sync_dist = XT_ON);
}

static xt_tensor predict_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    return xt_forward(net, b.x);
}

/* Samples are an extra: an error in them is said, and training goes on without them. */
static void after_validation(xt_module *net, int64_t epoch, void *user) {
    (void)epoch;
    (void)user;
    if (!words || opt->sample < 1) return;
    xt_status s = fit_sample(&samples, net, &opt->of_model, words, opt->sample, opt->json ? stderr : stdout);
    if (!s) return;
    cli_fail_status("fit: no sample", s);
    words = NULL;
}

/* The rate rises for `warmup` steps, the first at a hundredth, and falls along a cosine to a tenth; one step of warm-up
 * has the whole rate. Rates are data of the step, so nothing is compiled for it. The default warm-up has a step even in
 * a run too short for one: a schedule has the same parts whatever its length, so that such a run too is resumed with
 * more epochs. */
static void schedule(xt_optimizer *o) {
    const char *kind = opt->schedule ? opt->schedule : chosen->cosine ? "cosine" : "constant";
    bool brief = opt->warmup < 0 && chosen->cosine && all_steps < 20;
    int64_t warmup = opt->warmup >= 0 ? opt->warmup
                     : brief          ? 1
                     : chosen->cosine ? (all_steps / 20 < 200 ? all_steps / 20 : 200)
                                      : 0;
    int64_t rest = all_steps > warmup ? all_steps - warmup : 1;
    xt_scheduler *then =
        strcmp(kind, "cosine") == 0
            ? xt_cosine_schedule(o, .t_max = rest, .eta_min = 0.1 * xt_optimizer_lr(o), .interval = XT_EACH_STEP)
            : NULL;
    if (warmup > 0)
        xt_warmup_schedule(o, warmup, then, .start_factor = warmup == 1 ? 1 : 0.01, .interval = XT_EACH_STEP);
}

static xt_trainer *of; /* the process's one trainer */

/* What was asked for on the command line, as arguments of the trainer's: they win over XT_TRAINER_*, which wins over
 * what the program says. */
static void give_arguments(xt_trainer *t, const fit_options *o, const char *val_every) {
    const struct {
        const char *name;
        bool given;
        double number;
        const char *text;
    } all[] = {{"max_epochs", o->epochs > 0, (double)o->epochs, NULL},
               {"max_steps", o->steps > 0, (double)o->steps, NULL},
               {"accumulate_grad_batches", o->accumulate > 0, (double)o->accumulate, NULL},
               {"log_every_n_steps", o->log_every > 0, (double)o->log_every, NULL},
               {"limit_train_batches", o->limit > 0, (double)o->limit, NULL},
               {"limit_val_batches", o->val_limit > 0, (double)o->val_limit, NULL},
               {"gradient_clip_val", o->clip >= 0, o->clip, NULL},
               {"val_every", val_every, 0, val_every},
               {"precision", o->precision, 0, o->precision},
               {"strategy", o->strategy, 0, o->strategy},
               {"resume", o->resume, 0, o->resume}};
    static char text[sizeof all / sizeof *all][4200];
    char *argv[sizeof all / sizeof *all + 1] = {"xtrain fit"};
    int n = 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].given) continue;
        if (all[i].text)
            snprintf(text[i], sizeof text[i], "--%s=%s", all[i].name, all[i].text);
        else
            snprintf(text[i], sizeof text[i], "--%s=%.17g", all[i].name, all[i].number);
        argv[n++] = text[i];
    }
    xt_trainer_args(t, n, argv);
}

static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    int64_t planned = xt_trainer_planned_steps(of);
    if (planned > 0) all_steps = planned;
    xt_optimizer *o = chosen->optimizer(net, opt->lr);
    if (o && opt->init) xt_optimizer_set_state_dtype(o, XT_F32); /* beside weights of bf16, too */
    if (o && !xt_trainer_text(of, "scheduler.name", NULL)) schedule(o); /* --scheduler NAME takes its place */
    return o;
}

/* "200b": batches of the epoch, as this command has always counted them; other units are the trainer's. */
static int64_t val_batches(const char *text) {
    char *end;
    long long n = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && n > 0 && strcmp(end, "b") == 0 ? n : 0;
}

/* Steps an epoch, of the accumulated windows. */
static int64_t count_steps(const fit_options *o, const fit_data *d, int64_t epochs) {
    int64_t batches = xt_loader_batches(d->train), k = o->accumulate ? o->accumulate : 1;
    if (o->limit && o->limit < batches) batches = o->limit;
    return o->steps ? o->steps : epochs * ((batches + k - 1) / k);
}

/* What was asked of the model and the data, for config.json and checkpoints: the same file trains the same run. */
static void note_settings(xt_trainer *t, const fit_options *o) {
    const model_options none = {0}, *sizes = o->init ? &none : &o->of_model; /* a folder says its own */
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"model.lr", o->lr},
                   {"model.warmup", (double)o->warmup},
                   {"model.seq", (double)o->of_model.seq},
                   {"model.context", (double)sizes->context},
                   {"model.layers", (double)sizes->layers},
                   {"model.width", (double)sizes->width},
                   {"model.heads", (double)sizes->heads},
                   {"model.experts", o->of_model.experts > 1 ? (double)o->of_model.experts : 0},
                   {"model.experts_per_token", o->of_model.experts > 1 ? (double)o->of_model.experts_per_token : 0},
                   {"model.dropout", o->of_model.dropout},
                   {"model.attention_tile", (double)o->of_model.attention_tile},
                   {"model.side", (double)o->of_model.side},
                   {"model.classes", (double)o->of_model.classes},
                   {"data.batch", (double)o->batch},
                   {"data.workers", (double)o->workers}};
    const struct {
        const char *name, *value;
    } texts[] = {
        {"model.name", chosen->name},  {"model.schedule", o->schedule},  {"model.load", o->load},
        {"data.path", o->data},        {"data.tokenizer", o->tokenizer}, {"data.augment", o->augment},
        {"model.init", o->init},       {"model.lora", o->lora},          {"model.lora_targets", o->lora_targets},
        {"model.adapter", o->adapter}, {"model.weights", o->weights}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].value) xt_trainer_text(t, texts[i].name, texts[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value > 0) xt_trainer_number(t, numbers[i].name, numbers[i].value);
}

/* What cannot begin is told once: not again by the end of the program. */
static int not_begun(int code) {
    xt_clear_error();
    setenv("XT_SUMMARY", "off", 1);
    xt_finish();
    return code;
}

static xt_status make_module(fit_options *o, xt_module **net) {
    if (o->init) {
        XT_TRY(fit_init_module(o, net));
        if (xt_rank() == 0 && !o->json && stage == STAGE_FIT) fit_init_tell(o, *net);
        return NULL;
    }
    *net = xt_module_new(chosen->net, &o->of_model);
    return o->load ? gpt2_load(*net, o->load) : NULL;
}

/* The folder that other programs read: of text models, where one was named. Of a model that lies divided over the ranks
 * all of them come here, and rank 0 writes. */
static xt_status write_folder(const fit_options *o, xt_module *net, const tokenizer *of_text) {
    const char *dir = o->output ? o->output : o->ckpt;
    if ((!chosen->tokens && !o->init) || !dir) return NULL;
    if (o->init) return fit_init_save(o, net, dir);
    xt_status s = o->output && xt_rank() == 0 ? fit_save_text(dir, &o->of_model, of_text) : NULL;
    xt_status saved = gpt2_save(net, dir);
    if (s) xt_status_free(saved);
    return s ? s : saved;
}

static void let_go_of(fit_data *data) {
    xt_dataset_free(data->pictures);
    generator_free(samples);
    tokenizer_free(data->words);
    *data = (fit_data){0};
    samples = NULL;
}

static int train_on(int rank, fit_data *data) {
    fit_options *o = opt;
    int64_t epochs = o->epochs ? o->epochs : o->steps ? -1 : chosen->epochs;
    char why[256];
    xt_seed((uint64_t)o->seed);
    xt_mesh *mesh = o->mesh ? cli_mesh_make(fit_stage_names[stage], o->mesh) : NULL;
    if (o->mesh && !mesh) return not_begun(1);
    xt_status s = fit_open_data(chosen, o, data);
    if (s) return not_begun(cli_fail_status(fit_stage_names[stage], s));
    if (!data->train) return not_begun(1);
    if (!model_settle(chosen, &o->of_model, why, sizeof why))
        return not_begun(cli_fail(fit_stage_names[stage], "%s", why));
    if ((xt_mesh_size(mesh, "stage") > 1 || o->of_model.pipeline) && (o->output || o->ckpt || o->load || o->init))
        return not_begun(cli_fail(fit_stage_names[stage],
                                  "blocks are stacked in stages and with --pipeline, so no folder or file with single "
                                  "blocks is written or read; leave out --output, --ckpt, --load and --init. "
                                  "--callbacks model_checkpoint writes checkpoints, from which any mesh goes on "
                                  "(--resume; with --pipeline gpipe one without stages too), and xtrain convert "
                                  "LAST.ckpt model.safetensors --unstack h writes single blocks"));
    o->of_model.window = o->of_model.seq;
    all_steps = count_steps(o, data, epochs);
    xt_trainer *t = xt_trainer_new(.max_epochs = epochs, .max_steps = o->steps ? o->steps : -1,
                                   .val_every = val_batches(o->val_every) ? NULL : o->val_every,
                                   .val_every_n_batches = val_batches(o->val_every), .precision = o->precision,
                                   .strategy = o->strategy, .run_name = chosen->name, .resume = o->resume,
                                   .ckpt = stage == STAGE_FIT ? NULL : o->ckpt,
                                   .gradient_clip_val = o->clip >= 0 ? o->clip : chosen->clip);
    of = t;
    give_arguments(t, o, val_batches(o->val_every) ? NULL : o->val_every);
    xt_trainer_args(t, config.trainer.argc, config.trainer.argv);
    if (o->ckpt && stage == STAGE_FIT) xt_trainer_add(t, xt_model_checkpoint(.dirpath = o->ckpt));
    int refused = fit_init_resumed(fit_stage_names[stage], o, t);
    if (refused) return not_begun(refused);
    note_settings(t, o);
    xt_trainer_add(t, xt_throughput_monitor(.window = 100, .items_per_sample = chosen->tokens ? o->of_model.seq : 0));
    xt_module *net = NULL;
    s = make_module(o, &net);
    if (!s && chosen->tokens && o->data && o->ckpt && rank == 0 && stage == STAGE_FIT && !o->init)
        s = fit_save_text(o->ckpt, &o->of_model, data->words);
    if (s) return not_begun(cli_fail_status(fit_stage_names[stage], s));
    words = rank == 0 && xt_world_size() == 1 ? data->words : NULL;
    if (mesh) cli_mesh_apply(mesh, net, o->fsdp);
    xt_task task = {.module = net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .test_step = test_step,
                    .predict_step = predict_step,
                    .configure_optimizers = configure,
                    .on_validation_epoch_end = after_validation};
    int code = 0;
    if (stage == STAGE_FIT) {
        code = xt_fit(t, &task, data->train, data->test);
        bool trained = xt_trainer_global_step(t) > 0; /* not after --print-config */
        double accuracy = -1;
        bool divided = xt_mesh_size(NULL, NULL) > 1; /* by --mesh, or a strategy of whatever source */
        xt_fit_result r = xt_trainer_result(t);
        if (!code && trained && rank == 0 && data->pictures && !divided)
            accuracy = fit_report_digits(net, data->pictures, o->no_pictures ? NULL : xt_trainer_run_dir(t), o->json);
        if (!code && trained && (rank == 0 || divided) && (s = write_folder(o, net, data->words)))
            code = cli_fail_status("fit", s);
        if (!code && trained && rank == 0 && o->json) fit_print_json(chosen->name, &r, accuracy);
    } else {
        code = fit_pass(stage, t, &task, data->test ? data->test : data->train, o->output);
        if (!code && rank == 0 && o->json) fit_print_pass_json(stage, chosen->name, t);
    }
    let_go_of(data);
    fflush(stdout);
    setenv("XT_SUMMARY", "off", 1); /* xt_fit has printed what it cost */
    return cli_end(code);
}

static int train(int rank, void *arg) {
    (void)arg;
    fit_data data = {0};
    int code = train_on(rank, &data);
    let_go_of(&data); /* where it was not begun */
    return code;
}

int fit_pass(fit_stage of_stage, xt_trainer *t, const xt_task *task, xt_loader *loader, const char *output) {
    if (of_stage == STAGE_VALIDATE) return xt_validate(t, task, loader);
    if (of_stage == STAGE_TEST) return xt_test(t, task, loader);
    xt_trainer_add(t, xt_prediction_writer(.path = output ? output : "predictions.npy"));
    return xt_predict(t, task, loader, NULL, NULL);
}

static const char usage[] =
    "usage: xtrain fit MODEL [options]\n\n"
    "Trains a model and says how well it did and what it cost. Logs, checkpoints and pictures go to "
    "runs/MODEL/version_N.\n\n"
    "  xtrain fit mnist                                        digits drawn by the library; --data DIR: the IDX files "
    "there\n"
    "  xtrain fit resnet18 --data DIR --augment crop,flip      CIFAR's binary files, or one folder of PNG files a "
    "class; without --data: generated pictures\n"
    "  xtrain fit gpt2-mini --data shakespeare.txt --ckpt out  a text as bytes; then: xtrain generate gpt2-mini --ckpt "
    "out --prompt 'To be'\n"
    "  xtrain fit gpt2 --data FILE --tokenizer DIR             GPT-2's tokens, from the vocab.json and merges.txt in "
    "DIR\n"
    "  xtrain fit llama --init DIR --lora r=8 --data FILE       a model's folder of Hugging Face's, trained further\n"
    "  xtrain fit ./mine.so --model.lr 0.1                     a model of your own (xtrain/train.h, xt_model)\n"
    "  xtrain fit --config run.json --trainer.max_epochs 5     options from a file; --print-config prints what it all "
    "comes to, config.json beside the logs has it\n\n"
    "An option has up to two names. Those listed below are this command's own words (--lr, --batch, --epochs, --data). "
    "Configuration files and --print-config use the\n"
    "names of the library, in sections: --trainer.NAME is any option of the Trainer (--trainer.max_epochs is --epochs, "
    "--trainer.accumulate_grad_batches is --accumulate;\n"
    "xtrain fit MODEL --trainer.help lists them), --model.NAME and --data.NAME are settings of the model and its data "
    "(--model.lr is --lr, --data.batch is --batch), and\n"
    "--optimizer NAME, --optimizer.lr X, --scheduler NAME take the place of the model's own, --callbacks NAME,NAME "
    "(early_stopping, lr_monitor, ...; --callbacks.early_stopping.monitor val/loss) adds to its callbacks. Either name "
    "may be given; "
    "of two the later one counts. A model of\n"
    "your own (./mine.so) has the second kind only: it asks for its settings itself.\n";
static const char pass_usage[] =
    "usage: xtrain validate|test|predict MODEL --ckpt PATH [options]\n"
    "       xtrain validate|test|predict FOLDER [options]\n\n"
    "One pass over the held-out data with the weights of a checkpoint: a table of the loss and the metrics, or "
    "(predict) the network's outputs, a row a sample,\n"
    "in a .npy file. PATH is a checkpoint, a folder with one, or 'last' or 'best' of the model's runs.\n\n"
    "  xtrain test mnist --ckpt last                        the newest run's weights\n"
    "  xtrain validate gpt2-mini --data shakespeare.txt --ckpt out\n"
    "  xtrain predict DIR --data FILE                       a model's folder of Hugging Face's\n"
    "  xtrain predict ./mine.so --ckpt best --output p.npy  a model of your own\n";

static int fit_model(int argc, char **argv);

static int run_stage(fit_stage s, int argc, char **argv) {
    stage = s;
    if (argc > 1 && cli_is_shared_object(argv[1])) return fit_shared_object(s, argv[1], argc - 2, argv + 2);
    int code = cli_config_expand(argc, argv, &config);
    if (code) {
        cli_config_free(&config);
        return code > 1 ? 2 : 1;
    }
    /* The configuration of a run of one's own names its shared object, and the trainer reads the file itself. */
    const char *object = NULL;
    for (int i = 1; i < config.plain.argc && !object; i++)
        if (cli_is_shared_object(config.plain.argv[i]) && strcmp(config.plain.argv[i - 1], "--device") != 0)
            object = config.plain.argv[i];
    if (object)
        code = fit_shared_object(s, object, argc - 1, argv + 1);
    else
        code = fit_model(config.plain.argc, config.plain.argv);
    cli_config_free(&config);
    return code;
}
static int run(int argc, char **argv) {
    return run_stage(STAGE_FIT, argc, argv);
}
static int run_validate(int argc, char **argv) {
    return run_stage(STAGE_VALIDATE, argc, argv);
}
static int run_test(int argc, char **argv) {
    return run_stage(STAGE_TEST, argc, argv);
}
static int run_predict(int argc, char **argv) {
    return run_stage(STAGE_PREDICT, argc, argv);
}

/* What a pass is not told it takes from beside the weights, as `xtrain generate` does: sizes, the length of the windows
 * that were trained, the tokenizer. */
static int read_beside(fit_options *o, const char *weights) {
    static char dir[4096];
    const char *slash = strrchr(weights, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - weights) : 1, slash ? weights : ".");
    xt_status s = gpt2_read_config(dir, &o->of_model);
    if (s) return cli_fail_status(fit_stage_names[stage], s);
    if (!o->of_model.seq) o->of_model.seq = o->of_model.window;
    o->beside = dir;
    if (!o->tokenizer && tokenizer_is_in(dir)) o->tokenizer = dir;
    return 0;
}

/* What --ckpt names for a pass: words are the trainer's; a folder gives its newest checkpoint. */
static int find_weights(fit_options *o) {
    static char found[4096];
    if (!o->ckpt) return cli_fail(fit_stage_names[stage], "%s", fit_needs_weights) + 1;
    if (strcmp(o->ckpt, "last") == 0 || strcmp(o->ckpt, "best") == 0) return 0;
    if (!gpt2_find_weights(o->ckpt, found, sizeof found))
        return cli_fail(fit_stage_names[stage],
                        "%s is no checkpoint and no folder with one (last.ckpt, model.safetensors or *.ckpt)", o->ckpt);
    o->ckpt = found;
    if (!chosen->tokens || o->init) return 0;
    size_t n = strlen(found);
    if (n < 5 || strcmp(found + n - 5, ".ckpt") != 0) { /* no checkpoint of the trainer's: weights alone, ours or not */
        o->load = found;
        o->ckpt = NULL;
    }
    return read_beside(o, found);
}

/* A pass over a model's folder of the kinds that --init takes: the folder is what is judged. */
static void judged_folder(fit_options *o) {
    char path[4200];
    if (o->init || !o->ckpt || !o->model || model_find(o->model) || !model_folder_kind(o->model)) return;
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", o->ckpt) >= sizeof path) return;
    if (access(path, F_OK) != 0) return;
    o->init = o->ckpt;
    o->ckpt = NULL;
}

/* A folder in the place of the model's name: its config.json says which model, and it is what --init would be. Its name
 * may be a kind's, as it is where it was downloaded to; with --ckpt that is the kind. */
static void named_by_folder(fit_options *o) {
    char path[4200];
    const model *m = NULL;
    if (!o->model || o->init || model_find(o->model) || (o->ckpt && model_folder_kind(o->model))) return;
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", o->model) >= sizeof path) return;
    if (access(path, F_OK) != 0) return;
    xt_status_free(model_folder_kind_of(o->model, &m));
    if (!m) return;
    o->init = o->model;
    o->model = m->name;
}

/* --print-config is the trainer's; nothing is trained then. */
static bool prints_config(void) {
    for (int i = 0; i < config.trainer.argc; i++)
        if (strncmp(config.trainer.argv[i], "--print-config", 14) == 0 ||
            strncmp(config.trainer.argv[i], "--print_config", 14) == 0)
            return true;
    return false;
}

/* The trained model takes no place of what it began with, unless that is said. */
static int check_apart(const fit_options *o, const char *option, const char *dir) {
    char beside[4200];
    if (o->overwrite || !dir) return 0;
    int code = fit_adapts(o) ? 0 : cli_output_apart("fit", option, dir, "--init", o->init);
    if (!code) code = cli_output_apart("fit", option, dir, "--adapter", o->adapter);
    if (code || !o->load) return code;
    snprintf(beside, sizeof beside, "%s", o->load);
    char *slash = strrchr(beside, '/');
    if (slash) *slash = 0;
    return cli_output_apart("fit", option, dir, "--load's", slash ? beside : ".");
}

/* What is to be written, before anything is read or trained. */
static int check_outputs(const fit_options *o) {
    const char *name = fit_stage_names[stage];
    bool takes = stage == STAGE_PREDICT || (stage == STAGE_FIT && (chosen->tokens || o->init));
    if (o->output && !takes) {
        cli_fprintf(stderr, "xtrain %s: --output is for predict, and for the fit of a text model or of a folder%s\n",
                    name, stage == STAGE_FIT ? "; --ckpt names the folder of checkpoints" : "");
        return 2;
    }
    if (prints_config()) return 0;
    if (stage == STAGE_PREDICT) return cli_output_file(name, "--output", o->output);
    if (stage != STAGE_FIT) return 0;
    int code = cli_output_folder(name, "--ckpt", o->ckpt);
    if (!code) code = cli_output_folder(name, "--output", o->output);
    if (!code && chosen->tokens)
        code = check_apart(o, o->output ? "--output" : "--ckpt", o->output ? o->output : o->ckpt);
    if (!code) cli_output_due(name, "--output", o->output);
    return code;
}

static int fit_model(int argc, char **argv) {
    static fit_options o = {.lr = -1, .warmup = -1, .clip = -1, .sample = -1};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model, NULL, "mnist, resnet18, resnet50, gpt2, gpt2-mini or gpt2-tiny"},
        {"--data", CLI_STRING, &o.data, "PATH",
         "mnist: folder with the IDX files; resnet18: CIFAR's files, or a folder of class folders; text: a file, or "
         "the "
         "FILE.bin of xtrain tokenize or nanoGPT; with --init also FILE.jsonl, or a folder of *.txt and *.jsonl"},
        {"--tokenizer", CLI_STRING, &o.tokenizer, "DIR",
         "text: folder with tokenizer.json, or vocab.json and merges.txt (default: bytes)"},
        {"--augment", CLI_STRING, &o.augment, "LIST",
         "resnet18: crop (after padding by an eighth), flip, both with a comma (none)"},
        {"--epochs", CLI_COUNT, &o.epochs, "N", "passes over the data (default: the model's)"},
        {"--steps", CLI_COUNT, &o.steps, "N", "optimizer steps, instead of --epochs"},
        {"--batch", CLI_COUNT, &o.batch, "N", "samples a step and device (default: the model's)"},
        {"--lr", CLI_DOUBLE, &o.lr, "X", "learning rate (default: the model's), of --optimizer too"},
        {"--schedule", CLI_STRING, &o.schedule, "KIND",
         "cosine (down to a tenth at the last step) or constant (default: the model's; mnist constant)"},
        {"--warmup", CLI_INT, &o.warmup, "N",
         "steps in which the rate rises, from a hundredth; 1 and 0: the whole rate at once (a twentieth, at most 200; "
         "mnist 0)"},
        {"--clip", CLI_DOUBLE, &o.clip, "X", "largest norm of the gradients, 0 = any (text 1, else 0)"},
        {"--device", CLI_STRING, &o.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        {"--devices", CLI_COUNT, &o.devices, "N", "ranks to train on (default 1)"},
        {"--strategy", CLI_STRING, &o.strategy, "S",
         "what several ranks hold: ddp (everything, the default), zero2 (optimizer state and gradients divided), fsdp "
         "(parameters too)"},
        {"--mesh", CLI_STRING, &o.mesh, "AXES",
         "data=2,tensor=2: divides batches and blocks over the ranks; --batch counts samples of one part"},
        {"--fsdp", CLI_FLAG, &o.fsdp, NULL, "with --mesh: divides parameters and optimizer state over the data axis"},
        {"--precision", CLI_STRING, &o.precision, "P", "fp32, bf16 or 16-mixed"},
        {"--accumulate", CLI_COUNT, &o.accumulate, "K", "micro-batches an optimizer step (1)"},
        {"--log-every", CLI_COUNT, &o.log_every, "N", "optimizer steps between rows of the logs (50)"},
        {"--val-every", CLI_STRING, &o.val_every, "SPEC",
         "2epochs, 100steps, 200b (batches) or 10min between validations (every epoch)"},
        {"--limit-val", CLI_COUNT, &o.val_limit, "N", "batches of a validation (all)"},
        {"--ckpt", CLI_STRING, &o.ckpt, "DIR",
         "folder for checkpoints, one after each validation; of a pass: the weights"},
        {"--output", CLI_STRING, &o.output, "FILE",
         "predict: where the outputs go (predictions.npy); fit of a text model: the folder that the trained model or "
         "adapter is written to (--ckpt's)"},
        {"--overwrite", CLI_FLAG, &o.overwrite, NULL,
         "the trained model may take the place of what it began with (--init, --adapter, --load)"},
        {"--resume", CLI_STRING, &o.resume, "PATH",
         "checkpoint to go on from, or 'last'; give the other options again, but those that say what the network is "
         "(--lora, --weights): it stays the checkpoint's"},
        {"--load", CLI_STRING, &o.load, "FILE",
         "text: weights to begin with, our own or a model.safetensors of Hugging Face's"},
        {"--init", CLI_STRING, &o.init, "FOLDER",
         "llama (mistral, qwen2, qwen3), gpt2, t5, bert, vit: a model's folder of Hugging Face's, to train further: "
         "sizes "
         "from its config.json, its weights, its tokenizer"},
        {"--lora", CLI_STRING, &o.lora, "SPEC",
         "with --init: train adapters alone: r=8,alpha=16,dropout=0.05,rslora (alpha twice r, no dropout)"},
        {"--lora-targets", CLI_STRING, &o.lora_targets, "NAMES",
         "layers that get one, with commas: q_proj,v_proj, patterns with '*', or all-linear (q_proj,v_proj; gpt2 "
         "c_attn)"},
        {"--adapter", CLI_STRING, &o.adapter, "DIR",
         "with --init: an adapter's folder, ours or peft's, to go on with or to judge"},
        {"--weights", CLI_STRING, &o.weights, "W",
         "beside adapters: the model's linear layers as int8 or int4, in groups of 32, which are not trained (as they "
         "are)"},
        {"--packing", CLI_STRING, &o.packing, "FORM",
         "records (*.jsonl, a folder): windows of one long text, pack (several whole records a sample, kept apart) or "
         "pad (one) (windows; with prompts pad)"},
        {"--chat-template", CLI_STRING, &o.chat_template, "NAME",
         "records of messages: chatml, llama3 or llama2 (what the model's folder says)"},
        {"--sample", CLI_INT, &o.sample, "N",
         "text: a line of N tokens made by the model after each validation (160; with --init none; 0 = none)"},
        {"--seed", CLI_INT, &o.seed, "S", "seed of weights and order (0)"},
        {"--limit-batches", CLI_COUNT, &o.limit, "N", "batches an epoch (all)"},
        {"--workers", CLI_COUNT, &o.workers, "N", "threads that prepare batches (1)"},
        {"--metrics", CLI_INT, &o.metrics, "N", "log N extra metrics a step"},
        CLI_MODEL_OPTIONS(o.of_model),
        {"--no-pictures", CLI_FLAG, &o.no_pictures, NULL, "write no PNG files"},
        CLI_DIAG_ROWS(o.diag),
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line"},
    };
    for (int i = 1; i < argc; i++) {
        char word[64];
        if (!fit_command_word(argv[i], word, sizeof word)) continue;
        cli_fprintf(stderr,
                    "xtrain %s: there is no option %s; did you mean %s? The trainer's own name works as --trainer.%s\n",
                    fit_stage_names[stage], argv[i], word, argv[i] + 2);
        return 2;
    }
    int code = cli_parse(argc, argv, stage == STAGE_FIT ? usage : pass_usage, table,
                         (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    if ((code = cli_diag_apply(fit_stage_names[stage], &o.diag))) return code;
    named_by_folder(&o);
    chosen = o.model ? model_find(o.model) : NULL;
    opt = &o;
    o.predicts = stage == STAGE_PREDICT;
    o.judges = stage == STAGE_VALIDATE || stage == STAGE_TEST;
    if (stage != STAGE_FIT) judged_folder(&o);
    if (fit_init_wanted(o.model, &o) && (code = fit_init_open(fit_stage_names[stage], &o, &chosen))) return code;
    if (o.sample < 0) o.sample = o.init ? 0 : 160;
    if (!chosen) {
        static const char *const names[] = {"mnist", "resnet18", "resnet50", "gpt2", "gpt2-mini", "gpt2-tiny"};
        const char *near = o.model ? cli_nearest(o.model, strlen(o.model), names, 5) : NULL;
        cli_fprintf(
            stderr,
            "xtrain %s: %s%s%s%s%s; mnist, resnet18, resnet50, gpt2, gpt2-mini, gpt2-tiny and llama are known\n",
            fit_stage_names[stage], o.model ? o.model : "which model?", o.model ? " is no model" : "",
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        return 2;
    }
    if (o.devices > 4096) {
        cli_fprintf(stderr, "xtrain %s: --devices is %lld; at most 4096 are possible\n", fit_stage_names[stage],
                    (long long)o.devices);
        return 2;
    }
    char why[256];
    model_options asked = o.of_model; /* what the data decide is not known yet */
    if (!model_settle(chosen, &asked, why, sizeof why) ||
        (o.schedule && strcmp(o.schedule, "cosine") != 0 && strcmp(o.schedule, "constant") != 0)) {
        cli_fprintf(stderr, "xtrain %s: %s\n", fit_stage_names[stage],
                    o.schedule && strcmp(o.schedule, "cosine") != 0 && strcmp(o.schedule, "constant") != 0
                        ? "--schedule is cosine or constant"
                        : why);
        return 2;
    }
    if (o.load && !chosen->tokens) {
        cli_fprintf(stderr, "xtrain %s: --load is for text models; --resume goes on from any checkpoint\n",
                    fit_stage_names[stage]);
        return 2;
    }
    if ((code = check_outputs(&o))) return code;
    if (stage != STAGE_FIT && (!o.init || o.ckpt) && (code = find_weights(&o))) return code;
    if (o.device) setenv("XT_DEVICE", o.device, 1);
    if (o.devices <= 1) return cli_output_end(train(xt_rank(), NULL));
    char n[24];
    snprintf(n, sizeof n, "%lld", (long long)o.devices);
    setenv("CPU_NUM_DEVICES", n, 0);
    return cli_output_end(xt_launch(train, NULL, .nprocs = (int)o.devices));
}

const cli_command cli_fit = {"fit", "train a model", run},
                  cli_validate = {"validate", "loss and metrics of a checkpoint on held-out data", run_validate},
                  cli_test = {"test", "the same with the model's test step", run_test},
                  cli_predict = {"predict", "a checkpoint's outputs, as a .npy file", run_predict};
