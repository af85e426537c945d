/* xtrain convert: files of weights, from one form to another. */
#include "cli/cli.h"
#include "models/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xtrain/module.h>
#include <xtrain/program.h>

static const char usage[] =
    "usage: xtrain convert FROM TO [options]\n\n"
    "Writes weights anew: in shards or in one file, as another dtype, under other names. FROM is a .safetensors file, "
    "an "
    "index of shards or a folder with either;\n"
    "TO is a .safetensors file or a folder, which then gets FROM's other files (config.json, tokenizer.json, ...) "
    "too.\n\n"
    "  xtrain convert llama llama-bf16 --dtype bf16 --max-shard-size 2GB\n"
    "  xtrain convert llama llama-int4 --weights int4\n"
    "  xtrain convert llama/model.safetensors.index.json whole.safetensors\n"
    "  xtrain convert llama llama-tuned --merge adapter\n"
    "  xtrain convert gpt2/model.safetensors mine.safetensors --rename 'transformer.*=*' --transpose '*.c_*.weight'\n";

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* "5GB", "300M" (1024s), "2GiB", plain bytes; -1 for what is none. */
static int64_t bytes_of(const char *text) {
    static const struct {
        const char *name;
        double times;
    } units[] = {{"", 1},        {"KB", 1e3},       {"MB", 1e6},   {"GB", 1e9},      {"K", 1024},
                 {"M", 1048576}, {"G", 1073741824}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
    char *end;
    double n = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && n * units[i].times >= 1 && n * units[i].times < 9e18)
            return (int64_t)(n * units[i].times);
    return -1;
}

static xt_dtype dtype_of(const char *name) {
    static const struct {
        const char *name;
        xt_dtype dtype;
    } all[] = {{"f32", XT_F32},     {"bf16", XT_BF16},     {"f16", XT_F16},    {"f64", XT_F64},
               {"float32", XT_F32}, {"bfloat16", XT_BF16}, {"float16", XT_F16}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].dtype;
    return XT_DTYPE_NONE;
}

static bool same_folder(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What is wrong with the options; NULL: nothing. */
static const char *refuse(const char *weights, int bits, bool folders, const xt_convert_opts *o, bool dtype) {
    bool others = dtype || o->rename || o->keep || o->leave_out || o->transposed || o->unstacked || o->merge;
    return !weights   ? NULL
           : !bits    ? "--weights is int8 or int4 (floats: --dtype)"
           : others   ? "--weights goes with --max-shard-size alone; convert twice"
           : !folders ? "--weights is for two folders: a model's, with a config.json, and another"
                      : NULL;
}

/* made: a folder for what was not written then; one that has something in it stays. NULL: there is none. */
static int refused(xt_status s, const char *made) {
    if (made) rmdir(made);
    return cli_fail_status("convert", s);
}

static int run(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *dtype = NULL, *size = NULL, *weights = NULL;
    xt_convert_opts o = {.struct_size = sizeof o};
    const cli_option table[] = {
        {"FROM", CLI_STRING, &from, NULL, "weights: a .safetensors file, an index of shards, or a folder with either"},
        {"TO", CLI_STRING, &to, NULL, "a .safetensors file, or a folder"},
        {"--dtype", CLI_STRING, &dtype, "T", "what floats become: f32, bf16, f16 or f64 (as they are)"},
        {"--weights", CLI_STRING, &weights, "W",
         "of a model's folder: linear layers become int8 or int4, in groups of 32; xtrain generate, evaluate and fit "
         "--lora read it as it is, and start sooner (floats)"},
        {"--max-shard-size", CLI_STRING, &size, "BYTES",
         "5GB, 300M: a larger whole becomes shards of at most that, with an index (one file)"},
        {"--rename", CLI_STRING, &o.rename, "RULES",
         "'OLD=NEW,OLD=NEW': new names; each '*' of NEW is what the same '*' of OLD matched"},
        {"--keep", CLI_STRING, &o.keep, "PATTERN", "only tensors whose names fit, '*' is any text (all)"},
        {"--leave-out", CLI_STRING, &o.leave_out, "PATTERN", "not these (none)"},
        {"--transpose", CLI_STRING, &o.transposed, "PATTERN", "matrices whose old names fit are turned around (none)"},
        {"--unstack", CLI_STRING, &o.unstacked, "NAME",
         "blocks of a pipeline (xt_pipeline, xtrain fit --mesh stage=2: h): NAME.x [12,...] becomes NAME.0.x to "
         "NAME.11.x (none)"},
        {"--merge", CLI_STRING, &o.merge, "DIR",
         "an adapter of LoRA's (xtrain fit --lora, or peft's save_pretrained): its products are added to the weights "
         "(none)"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    o.dtype = dtype ? dtype_of(dtype) : XT_DTYPE_NONE;
    o.max_shard_size = size ? bytes_of(size) : 0;
    if (!from || !to || (dtype && o.dtype == XT_DTYPE_NONE) || o.max_shard_size < 0) {
        cli_fprintf(stderr, "xtrain convert: %s; xtrain convert --help\n",
                    !from || !to           ? "two paths are needed: which weights, and where to?"
                    : o.max_shard_size < 0 ? "--max-shard-size is a number of bytes: 5GB, 300M"
                                           : "--dtype is f32, bf16, f16 or f64");
        return 2;
    }
    char path[4096];
    int bits = 0;
    xt_dtype unused;
    bool folder = !ends_in(to, ".safetensors");
    if (weights) model_weights_named(weights, &unused, &bits);
    const char *why = refuse(weights, bits, folder && is_folder(from), &o, dtype);
    if (why) {
        cli_fprintf(stderr, "xtrain convert: %s; xtrain convert --help\n", why);
        return 2;
    }
    if ((size_t)snprintf(path, sizeof path, folder ? "%s/model.safetensors" : "%s", to) >= sizeof path)
        return cli_fail("convert", "the path %.100s... is too long", to);
    bool made = false;
    xt_status s = folder ? xt_make_folder(to, &made) : NULL;
    if (s) return cli_fail_status("convert", s);
    if (folder && same_folder(from, to))
        return cli_fail("convert", "FROM and TO are the same folder, %s; another one is needed", to);
    if (bits) {
        setenv("XT_SUMMARY", "off", 0);
        s = model_folder_convert(from, to, path, bits, o.max_shard_size);
        return s ? refused(s, made ? to : NULL) : xt_finish();
    }
    s = xt_convert_weights_opt(from, path, o);
    if (!s && folder && is_folder(from)) s = model_folder_copy(from, to);
    if (!s && folder && is_folder(from) && o.dtype != XT_DTYPE_NONE) s = model_folder_say_dtype(to, o.dtype);
    return s ? refused(s, made ? to : NULL) : 0;
}

const cli_command cli_convert = {"convert", "write weights anew: shards, another dtype, other names", run};
