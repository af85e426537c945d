/* Fuzz target of a tokenizer's folder (vocab.json, merges.txt, config.json) and of texts: what opens encodes any bytes
 * to ids below its vocabulary, and they decode to the same bytes. The input is the three files and a text, with a zero
 * byte between them; a vocabulary that begins with '+' is added to one of all single bytes. */
#include <sys/stat.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "models/gpt2_files.h"
#include "models/tokenizer.h"
#include "fuzz.h"
#include "mutate_json.h"

static char folder[64];

static void remove_folder(void) {
    static const char *const names[] = {"vocab.json", "merges.txt", "config.json"};
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    snprintf(folder, sizeof folder, "/tmp/xt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
    atexit(remove_folder);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    return seed % 3 == 0 ? LLVMFuzzerMutate(data, n, most) : mutate_json(data, n, most, seed / 3);
}

/* GPT-2's names of the 256 bytes, as members of a JSON object. */
static void single_bytes(str *out) {
    int beyond = 0;
    for (int b = 0; b < 256; b++) {
        bool prints = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        int code = prints ? b : 0x100 + beyond++;
        str_printf(out, "%s\"\\u%04x\": %d", b ? ", " : "", (unsigned)code, b);
    }
}

static void write_file(const char *name, const char *text, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f)) abort();
}

static void there_and_back(const tokenizer *t, const char *text, size_t n) {
    int32_t *ids = NULL;
    size_t n_ids, at = 0;
    xt_status s = tokenizer_encode(t, text, n, &ids, &n_ids);
    for (size_t i = 0; !s && i < n_ids; i++) {
        size_t len;
        const char *bytes = tokenizer_token(t, ids[i], &len);
        if (ids[i] < 0 || ids[i] >= tokenizer_vocab(t) || len > n - at || memcmp(bytes, text + at, len) != 0) abort();
        at += len;
    }
    if (!s && at != n) abort();
    xt_status_free(s);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *part[4] = {"", "", "", ""}, *p = (const char *)data, *end = p + n;
    size_t len[4] = {0};
    for (int i = 0; i < 4; i++) {
        const char *zero = i < 3 && p < end ? memchr(p, 0, (size_t)(end - p)) : NULL;
        part[i] = p;
        len[i] = (size_t)((zero ? zero : end) - p);
        p = zero ? zero + 1 : end;
    }
    str vocab = STR_INIT;
    if (len[0] && part[0][0] == '+') {
        str_append(&vocab, "{");
        single_bytes(&vocab);
        str_appendn(&vocab, part[0] + 1, len[0] - 1);
    } else {
        str_appendn(&vocab, part[0], len[0]);
    }
    write_file("vocab.json", str_cstr(&vocab), vocab.len);
    write_file("merges.txt", part[1], len[1]);
    write_file("config.json", part[2], len[2]);
    str_free(&vocab);
    tokenizer *t = NULL;
    xt_status s = tokenizer_open(folder, &t);
    if ((s != NULL) != (t == NULL)) abort();
    if (t) there_and_back(t, part[3], len[3]);
    tokenizer_free(t);
    xt_status_free(s);
    model_options o = {0};
    xt_status_free(gpt2_read_config(folder, &o));
    return 0;
}
