/* Texts to learn from, one by one: lines of JSON, and files of a folder. A record says what is to be learnt of it:
 *     {"text": "..."}                                              all of it
 *     {"prompt": "...", "completion": "..."}                       the completion
 *     {"messages": [{"role": "user", "content": "..."}, ...]}      what the assistant says
 * The label of a place is the token that follows it, or -100 (no loss) where that one is not to be learnt. */
#ifndef XTRAIN_MODELS_RECORDS_H
#define XTRAIN_MODELS_RECORDS_H

#include "models/chat.h"
#include "models/text.h"

typedef struct records {
    int32_t *ids; /* of all, one behind the other */
    unsigned char *learnt; /* of each: it is to be said */
    size_t n, cap;
    size_t *begins; /* record i is ids[begins[i]] to ids[begins[i + 1]] */
    size_t count, cap_begins;
    size_t bytes; /* of the files */
    size_t straddling; /* records in which one token is of two parts */
    bool all_learnt;
    int refs;
} records;
typedef struct records_opts {
    const tokenizer *words;
    const chat_template *chat; /* NULL: records of messages are an error, which says why there is none */
    const char *no_chat;
    int64_t stop; /* the token that ends a text; -1 = none */
    int64_t vocab; /* of the model: tokens are below */
} records_opts;

bool records_are(const char *path); /* a *.jsonl file, or a folder */
/* A folder's *.jsonl and *.txt files in the order of their names, each *.txt a record of its own. Errors name file and
 * line. */
xt_status records_open(const char *path, const records_opts *o, records **out);
void records_release(records *r);
/* Samples of seq tokens from records [first, end). A longer record loses its end.
 * packed: several whole records in one sample, x [2,seq]: tokens, and places within their records, which the network
 * keeps apart; otherwise one record a sample, x [seq], filled up with `pad`. y [seq]. */
xt_dataset *records_dataset(records *r, size_t first, size_t end, int64_t seq, bool packed, int64_t pad);
size_t records_cut(const records *r, int64_t seq); /* how many are longer than that */
size_t records_learnt(const records *r, int64_t seq); /* labels that such samples have */
/* Leaves out those that would be samples without a label, whose loss is a mean over nothing: all that is to be learnt
 * lies behind seq tokens, or there is nothing of the kind. Gives their number; before any dataset is made. */
size_t records_leave_unlearnt(records *r, int64_t seq);
/* All as one text, for text_windows; takes r over. */
xt_status records_as_text(records *r, int64_t vocab, text_corpus **out);

#endif
