/* Fuzz target of what dead programs leave: a crash folder with a box in it, which a postmortem tells. The input is a
 * list of changes (place, 4 bytes; length, 1 byte; bytes) of a box that a program of this build could have left. What
 * is told holds no control characters but newlines and tabs, and is valid text to its end. */
#include <xtrain/program.h>

#include "crash/crash.h"
#include "diag/diag.h"
#include "fuzz.h"

static char folder[64], box_path[96];

static void remove_folder(void) {
    unlink(box_path);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    snprintf(folder, sizeof folder, "/tmp/xt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
    snprintf(box_path, sizeof box_path, "%s/1.xtbox", folder);
    setenv("XT_STATUS_DIR", folder, 1); /* nothing of other programs is read, or moved */
    atexit(remove_folder);
    return 0;
}

static void fill(blackbox *b) {
    memset(b, 0, sizeof *b);
    memcpy(b->magic, "xtbox003", sizeof b->magic);
    b->size = sizeof *b;
    b->pid = 0x7ffffff0;
    b->state = BOX_CRASHED;
    b->signal = 11;
    b->world = 2;
    b->oom_kills = b->oom_kills_end = -1;
    b->began_unix_s = 1700000000;
    snprintf(b->program, sizeof b->program, "train");
    snprintf(b->place, sizeof b->place, "train.c:41");
    snprintf(b->loss_name, sizeof b->loss_name, "loss");
    snprintf(b->places[1], BOX_PLACE, "train.c:12");
    snprintf(b->rows[0].where, sizeof b->rows[0].where, "train.c:12");
    b->step = 30, b->loss = 0.5, b->beat_ns = 1000000000, b->device_bytes = 1 << 20;
    b->n_rows = 1, b->n_history = 3, b->n_places = 2;
    for (int i = 0; i < 3; i++) b->history[i] = 1 << i;
    for (int k = 0; k < BOX_KIND_COUNT; k++)
        b->events[k] = (box_event){.ns = k, .a = k, .b = k, .step = (uint32_t)k, .kind = (uint16_t)k, .place = 1};
    b->n_events = BOX_KIND_COUNT;
    snprintf(b->report, sizeof b->report, "out of memory\n");
    b->report_bytes = (int64_t)strlen(b->report);
}

static void no_control(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static blackbox b;
    static box_file read;
    fill(&b);
    for (size_t at = 0; at + 5 <= n;) {
        uint32_t place;
        memcpy(&place, data + at, 4);
        size_t len = data[at + 4], room = n - at - 5;
        place %= sizeof b;
        if (len > room) len = room;
        if (len > sizeof b - place) len = sizeof b - place;
        memcpy((char *)&b + place, data + at + 5, len);
        at += 5 + (len ? len : 1);
    }
    FILE *f = fopen(box_path, "wb");
    if (!f || fwrite(&b, 1, n % 7 ? sizeof b : sizeof b - n % sizeof b, f) == 0 || fclose(f)) abort();
    str text = STR_INIT, line = STR_INIT;
    if (blackbox_load(box_path, &read)) {
        blackbox_explain(&read, &text);
        box_sparkline(&read.box, &line);
        no_control(str_cstr(&text));
    }
    str_free(&text);
    str_free(&line);
    char *told = NULL;
    xt_status s = read.box.state == BOX_RUNNING ? NULL : xt_postmortem(folder, &told);
    if (told) no_control(told);
    xt_text_free(told);
    xt_status_free(s);
    return 0;
}
