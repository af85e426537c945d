/* Which tokenizer a command works with; see words.h. */
#include "cli/words.h"
#include "cli/cli.h"

/* Bytes are the tokens of models that were trained on bytes. Of any other model they are other tokens than it has
 * learnt, which nothing else would show: the text is odd, or the training. */
static void tell_bytes(const char *dir, int64_t vocab, const tokenizer *words) {
    if (!dir || !vocab || !tokenizer_is_bytes(words) || vocab == tokenizer_vocab(words) || xt_rank() != 0) return;
    cli_fprintf(
        stderr,
        "%s has no tokenizer (no tokenizer.json, vocab.json, nor vocab.txt): each byte is taken as a token, though the "
        "model knows %lld of them; --tokenizer FOLDER names one\n",
        dir, (long long)vocab);
}

xt_status cli_open_words(const char *given, const char *dir, int64_t vocab, tokenizer **out) {
    XT_TRY(tokenizer_open(given ? given : dir && tokenizer_is_in(dir) ? dir : NULL, out));
    tell_bytes(dir, vocab, *out);
    return NULL;
}
