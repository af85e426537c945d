/* Names that all ranks agree on without having spoken: a word made of the launcher's variables, and names made of
 * another one. */
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "coll/core/group.h"

static void append_word(str *s, const char *text) {
    for (; *text; text++) str_putc(s, isalnum((unsigned char)*text) || *text == '_' ? *text : '-');
}

/* Each row: what names the job of a launcher; the second variable may be unset. */
static const struct {
    const char *first, *second;
} job_variables[] = {
    {"PMIX_NAMESPACE", NULL},
    {"OMPI_MCA_ess_base_jobid", NULL},
    {"SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"TPU_PROCESS_ADDRESSES", NULL},
};

xt_status job_word(char **out) {
    str word = STR_INIT;
    for (size_t i = 0; i < BASE_COUNT(job_variables) && !word.len; i++) {
        const char *first = getenv(job_variables[i].first);
        const char *second = job_variables[i].second ? getenv(job_variables[i].second) : NULL;
        if (!first || !*first) continue;
        str_append(&word, "job-");
        append_word(&word, first);
        str_putc(&word, '-');
        append_word(&word, second ? second : "");
    }
    /* Hydra's proxy starts all ranks of a host */
    if (!word.len && getenv("PMI_SIZE")) str_printf(&word, "pmi-%d", (int)getppid());
    if (word.len > 150) { /* a list of many addresses */
        char hex[33];
        hash_hex(hash_bytes(word.data, word.len, (hash128){0, 0}), hex);
        str_clear(&word);
        str_printf(&word, "job-%s", hex);
    }
    if (word.failed) {
        str_free(&word);
        return status_oom(40, "the name of the run");
    }
    *out = word.data;
    return NULL;
}

xt_status coll_derive_name(const char *name, const char *tag, char **out_name) {
    str text = STR_INIT;
    if (name[0] == '/') { /* pid, file number and token of the maker make a word */
        str_append(&text, "of");
        for (const char *p = name + strlen("/proc"); *p; p++) str_putc(&text, *p == '/' || *p == ':' ? '-' : *p);
    } else {
        str_append(&text, name);
    }
    str_printf(&text, ".%s", tag);
    if (text.failed) {
        str_free(&text);
        return status_oom(strlen(name) + strlen(tag) + 2, "the name of a group");
    }
    *out_name = text.data;
    return NULL;
}
