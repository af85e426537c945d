/* Fuzz target of folders that others made: the first byte says which, the rest are its files, with a zero byte between
 * them. Hugging Face's folders of each kind (config.json), templates of conversations, an index of safetensors with a
 * shard, an adapter, texts as lines of JSON, tokens with what stands beside them; lists of hosts. Each ends in a status
 * or in what can be used and freed. */
#include <sys/stat.h>

#include <xtrain/xtrain.h>

#include "dist/hosts.h"
#include "format/safetensors.h"
#include "models/folder.h"
#include "models/records.h"
#include "models/token_file.h"
#include "nn/nn.h"
#include "fuzz.h"
#include "mutate_json.h"
#include "mutate_tensors.h"

static char folder[64];
typedef struct kind {
    const char *files[2];
    void (*look)(void);
} kind;

static char *path_of(const char *name, char out[128]) {
    snprintf(out, 128, "%s/%s", folder, name);
    return out;
}

static void read_as(const char *name) {
    model_options o = {0};
    static model_folder f;
    const model *said;
    xt_status_free(model_folder_read(name, folder, &o, &f));
    if (f.form == FOLDER_ENCODER) encoder_folder_free(&f.encoder);
    xt_status_free(model_folder_kind_of(folder, &said));
}
static void gpt2_folder(void) {
    read_as("gpt2");
}
static void llama_folder(void) {
    read_as("llama");
}
static void bert_folder(void) {
    read_as("bert");
}
static void vit_folder(void) {
    read_as("vit");
}
static void t5_folder(void) {
    read_as("t5");
}

static void chat(void) {
    const chat_template *t = NULL;
    static const chat_message talk[] = {{"system", " s "}, {"user", ""}, {"assistant", "\n"}, {"user", "u"}};
    char *text = NULL;
    const char *stop;
    size_t n;
    xt_status s = chat_template_of(folder, &t);
    if (s && t) abort();
    if (t && chat_prompt(t, talk, 4, &text, &n, &stop)) abort();
    free(text);
    xt_status_free(s);
}

static void index_of(void) {
    st_file *f = NULL;
    bool has;
    xt_status s = st_open(folder, &f);
    if ((s != NULL) != (f == NULL)) abort();
    for (size_t i = 0; f && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        char *bytes = malloc((size_t)(e->end - e->begin) + 1);
        if (bytes) xt_status_free(st_read(f, e, bytes, (size_t)(e->end - e->begin)));
        free(bytes);
    }
    if (f) xt_status_free(st_check_sums(f, &has));
    st_close(f);
    xt_status_free(s);
}

static void adapter(void) {
    lora_file l;
    xt_status s = lora_open(folder, &l);
    for (size_t i = 0; !s && i < l.n; i++) {
        const lora_part *p = &l.parts[i];
        float *a = NULL;
        xt_status_free(lora_read(&l, p->a, &a));
        base_free(a);
        int64_t dims[2] = {p->b->dims[0], p->a->dims[1]};
        float *w = dims[0] <= 4096 && dims[1] <= 4096 ? calloc((size_t)(dims[0] * dims[1]), sizeof *w) : NULL;
        if (w) xt_status_free(lora_merge(&l, p, ir_tensor(XT_F32, 2, dims), w));
        free(w);
    }
    if (!s) lora_close(&l);
    xt_status_free(s);
}

static void texts(void) {
    tokenizer *words = NULL;
    records *r = NULL;
    labelled *l = NULL;
    label_names names = {0};
    char path[128];
    if (tokenizer_open(NULL, &words)) abort(); /* bytes */
    records_opts o = {.words = words, .chat = chat_template_named("chatml"), .stop = -1, .vocab = 256};
    xt_status s = records_open(path_of("t.jsonl", path), &o, &r);
    if (!s) {
        records_learnt(r, 16);
        records_cut(r, 16);
        records_leave_unlearnt(r, 16);
        records_release(r);
    }
    xt_status_free(s);
    labelled_are(path);
    labelled_opts lo = {.words = words, .vocab = 256, .seq = 16, .labels = true, .names = &names};
    s = labelled_open(path, &lo, &l);
    if (!s) labelled_release(l);
    xt_status_free(s);
    label_names_free(&names);
    tokenizer_free(words);
}

static void tokens(void) {
    char path[128];
    token_file *f = NULL;
    xt_status s = token_file_open(path_of("t.bin", path), &f);
    if (!s) token_file_close(f);
    xt_status_free(s);
}

static void hosts(void) {
    host_list l = {0};
    char path[128];
    host_choice c = {.n = 4};
    str text = STR_INIT;
    int ranks;
    bool enough;
    xt_status s = hosts_read(path_of("hosts", path), &l);
    for (size_t i = 0; !s && i < l.n; i++) {
        if (strpbrk(l.all[i].name, " ;$`'\"\\\n@") || l.all[i].name[0] == '-') abort(); /* it goes to a command line */
        l.all[i].answers = true;
    }
    if (!s) xt_status_free(hosts_choose(&l, &c, &enough, &text, &ranks));
    str_free(&text);
    hosts_free(&l);
    xt_status_free(s);
}

static const kind kinds[] = {{{"config.json"}, gpt2_folder},
                             {{"config.json"}, llama_folder},
                             {{"config.json"}, bert_folder},
                             {{"config.json"}, vit_folder},
                             {{"tokenizer_config.json", "chat_template.jinja"}, chat},
                             {{"model.safetensors.index.json", "a.safetensors"}, index_of},
                             {{"adapter_config.json", "adapter_model.safetensors"}, adapter},
                             {{"t.jsonl"}, texts},
                             {{"t.bin.json", "t.bin"}, tokens},
                             {{"hosts"}, hosts},
                             {{"config.json"}, t5_folder}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void silent(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)text, (void)n, (void)user;
}
static void forget(xt_status error, void *user) {
    (void)error, (void)user;
}

static void remove_files(void) {
    char path[128];
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < 2 && kinds[i].files[k]; k++) unlink(path_of(kinds[i].files[k], path));
}
static void remove_folder(void) {
    remove_files();
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    xt_set_sink(silent, NULL);
    xt_on_error(forget, NULL);
    snprintf(folder, sizeof folder, "/tmp/xt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
    atexit(remove_folder);
    return 0;
}

/* Where the second file begins, behind its zero byte. */
static size_t second(const uint8_t *data, size_t n) {
    const uint8_t *zero = n > 1 ? memchr(data + 1, 0, n - 1) : NULL;
    return zero ? (size_t)(zero - data) + 1 : n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    static uint8_t tail[1 << 16];
    size_t at = second(data, n), rest = n - at, first = at < n || (n > 1 && !data[n - 1]) ? at - 2 : at - 1;
    if (n < 3 || seed % 3 == 0 || rest > sizeof tail || most < n) return LLVMFuzzerMutate(data, n, most);
    if (seed % 3 == 1 && rest > 8) return at + mutate_tensors(data + at, rest, most - at, seed / 3);
    size_t gap = n - 1 - first; /* the second file, with the zero in front of it */
    if (gap) memcpy(tail, data + 1 + first, gap);
    size_t k = mutate_json(data + 1, first, most - 1 - gap, seed / 3);
    if (gap) memcpy(data + 1 + k, tail, gap);
    return 1 + k + gap;
}

static void put(const char *name, const uint8_t *data, size_t n) {
    char path[128];
    FILE *f = fopen(path_of(name, path), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    const kind *k = &kinds[data[0] % KINDS];
    size_t at = second(data, n), first = at < n || (n > 1 && !data[n - 1]) ? at - 2 : at - 1;
    remove_files();
    put(k->files[0], data + 1, first);
    if (k->files[1] && at < n) put(k->files[1], data + at, n - at);
    k->look();
    return 0;
}
