/* Stable codes for messages, and what they mean at length in two languages: codes.def is the table. */
#include "diag/diag.h"

typedef struct code_row {
    const char *id, *phrase, *en, *zh;
} code_row;

static const code_row rows[] = {
#define CODE(id, phrase, en, zh) {id, phrase, en, zh},
#include "diag/codes.def"
#undef CODE
};

const char *xt_code_at(int i) {
    return i >= 0 && (size_t)i < BASE_COUNT(rows) ? rows[i].id : NULL;
}

const char *diag_code_phrase(int i) {
    return i >= 0 && (size_t)i < BASE_COUNT(rows) ? rows[i].phrase : NULL;
}

const char *xt_explain(const char *code, const char *language) {
    for (size_t i = 0; code && i < BASE_COUNT(rows); i++)
        if (strcmp(rows[i].id, code) == 0) return language && strncmp(language, "zh", 2) == 0 ? rows[i].zh : rows[i].en;
    return NULL;
}

const char *xt_status_id(xt_status s) {
    if (!s) return "XT000";
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (*rows[i].phrase && strstr(status_text(s), rows[i].phrase)) return rows[i].id;
    char id[8];
    snprintf(id, sizeof id, "XT%03d", (int)status_code(s) % 1000);
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (strcmp(rows[i].id, id) == 0) return rows[i].id;
    return "XT002";
}
