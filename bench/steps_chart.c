/* Tables and the picture of doc/benchmarks.md, made from the figures of one run of xtrain_bench beside its peers.
 *
 *     build/xtrain_bench --peers DIR --json FIGURES && build/steps_chart FIGURES [--png FILE] [--same FILE] [--table]
 *
 * --png draws step times relative to the best peer; --same compares a picture with the one that the figures give, pixel
 * by pixel; --table prints steps, starts and peak memory as Markdown: no figure in the document is copied by hand. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include <xtrain/plot.h>
#include <xtrain/xtrain.h>

#include "base/base.h"
#include "bench/peers.h"
#include "format/png.h"

static double number(const cJSON *o, const char *key) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(e) ? e->valuedouble : NAN;
}

static const char *word(const cJSON *o, const char *key, const char *otherwise) {
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return s ? s : otherwise;
}

static const char *label(const cJSON *step) {
    return word(step, "label", word(step, "row", "?"));
}

/* Three digits at most behind the zeros, all of those before the point. */
static const char *figure(double v, char *buf, size_t n) {
    if (isnan(v))
        snprintf(buf, n, "-");
    else
        snprintf(buf, n, v >= 99.95 ? "%.0f" : "%.3g", v);
    return buf;
}

/* The peer with the shortest step; PEERS where none has a time. */
static int best_peer(const cJSON *step) {
    int best = PEERS;
    for (int p = 0; p < PEERS; p++) {
        double ms = number(step, peer_names[p]);
        if (!isnan(ms) && (best == PEERS || ms < number(step, peer_names[best]))) best = p;
    }
    return best;
}

static cJSON *read_figures(const char *path) {
    char *text = NULL;
    size_t n = 0;
    xt_status s = file_read_all(path, &text, &n);
    cJSON *all = s ? NULL : cJSON_ParseWithLength(text, n);
    if (s)
        fprintf(stderr, "steps_chart: %s\n", xt_status_message(s));
    else if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(all, "steps"))) {
        fprintf(stderr, "steps_chart: %s has no steps; wanted: the figures of `xtrain_bench --json %s`\n", path, path);
        cJSON_Delete(all);
        all = NULL;
    }
    xt_status_free(s);
    base_free(text);
    return all;
}

/* --- the picture --- */
enum { MOST = 64 };
static bool draw(const cJSON *all, const char *png) {
    xt_plot_bar bars[MOST];
    char notes[MOST][96], below[256], own[32], other[32];
    int n = 0;
    const cJSON *step;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(all, "steps")) {
        int best = best_peer(step);
        double ms = number(step, "ms_median");
        if (best == PEERS || isnan(ms) || n == MOST) continue;
        double peer_ms = number(step, peer_names[best]);
        figure(ms, own, sizeof own);
        figure(peer_ms, other, sizeof other);
        snprintf(notes[n], sizeof notes[n], "%.2f  %s ms, %s %s", ms / peer_ms, own, full_names[best], other);
        bars[n] = (xt_plot_bar){label(step), ms / peer_ms, notes[n]};
        n++;
    }
    if (!n) {
        fprintf(stderr, "steps_chart: no row has a step of xtrain and one of a peer (xtrain_bench --peers DIR)\n");
        return false;
    }
    const char *cpu = word(all, "processor", "a processor not named");
    const char *date = word(all, "date", "no date"), *commit = word(all, "commit", "not known");
    const char *title = "Training step of xtrain relative to its best peer (grey, 1): shorter is faster";
    snprintf(below, sizeof below, "%s, %g processors; %s, commit %s", cpu, number(all, "processors"), date, commit);
    xt_status s = xt_plot_bars(png, title, below, bars, n, 1);
    if (s) fprintf(stderr, "steps_chart: %s\n", xt_status_message(s));
    bool ok = !s;
    xt_status_free(s);
    return ok;
}

/* Pixels, not bytes: another version of zlib packs the same picture in another way. */
static bool same_picture(const char *a, const char *b) {
    int wa = 0, ha = 0, wb = 0, hb = 0;
    uint8_t *pa = NULL, *pb = NULL;
    xt_status s = png_read_rgb(a, &wa, &ha, &pa);
    if (!s) s = png_read_rgb(b, &wb, &hb, &pb);
    bool same = !s && wa == wb && ha == hb && memcmp(pa, pb, (size_t)wa * (size_t)ha * 3) == 0;
    if (s) fprintf(stderr, "steps_chart: %s\n", xt_status_message(s));
    xt_status_free(s);
    base_free(pa);
    base_free(pb);
    return same;
}

static bool compare(const cJSON *all, const char *png) {
    char drawn[] = "/tmp/xtrain_steps_XXXXXX";
    int fd = mkstemp(drawn);
    if (fd < 0) return perror("steps_chart: /tmp"), false;
    close(fd);
    bool drew = draw(all, drawn), same = drew && same_picture(drawn, png);
    unlink(drawn);
    if (drew && !same) fprintf(stderr, "steps_chart: %s is not of these figures; --png %s draws it\n", png, png);
    return same;
}

/* --- the tables --- */
static void head(const char *what, const char *own, bool ratio) {
    printf("| %s | %s |", what, own);
    for (int p = 0; p < PEERS; p++) printf(" %s |", full_names[p]);
    printf(ratio ? " ratio |\n|---|---|" : "\n|---|---|");
    for (int p = 0; p < PEERS + ratio; p++) printf("---|");
    printf("\n");
}

static void peer_cells(const cJSON *step, const char *suffix, double scale) {
    char key[64], buf[32];
    for (int p = 0; p < PEERS; p++) {
        snprintf(key, sizeof key, "%s%s", peer_names[p], suffix);
        printf(" %s |", figure(number(step, key) * scale, buf, sizeof buf));
    }
}

static void table_steps(const cJSON *steps) {
    char own[32], loader[32];
    head("training step, ms", "xtrain (with a loader)", true);
    const cJSON *step;
    cJSON_ArrayForEach(step, steps) {
        int best = best_peer(step);
        double ms = number(step, "ms_median"), with_loader = number(step, "ms_median_loader");
        printf("| %s | %s", label(step), figure(ms, own, sizeof own));
        if (!isnan(with_loader)) printf(" (%s)", figure(with_loader, loader, sizeof loader));
        printf(" |");
        peer_cells(step, "", 1);
        if (best == PEERS)
            printf(" - |\n");
        else
            printf(" %.2f |\n", ms / number(step, peer_names[best]));
    }
}

/* From process start to the first finished step: with an empty cache, and the second start. */
static void table_starts(const cJSON *all) {
    char empty[32], second[32];
    const cJSON *step, *start;
    printf("\n");
    head("start to first step, s", "xtrain, empty cache; second start", false);
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(all, "steps")) {
        cJSON_ArrayForEach(start, cJSON_GetObjectItemCaseSensitive(all, "start")) {
            if (strcmp(word(start, "row", ""), word(step, "row", "?")) != 0) continue;
            printf("| %s | %s; %s |", label(step), figure(number(start, "empty_ms") / 1000, empty, sizeof empty),
                   figure(number(start, "second_ms") / 1000, second, sizeof second));
            peer_cells(step, "_start_ms", 1e-3);
            printf("\n");
        }
    }
}

static void table_memory(const cJSON *steps) {
    char own[32];
    const cJSON *step;
    printf("\n");
    head("peak memory, MiB", "xtrain", false);
    cJSON_ArrayForEach(step, steps) {
        double mib = number(step, "peak_rss_mib");
        if (isnan(mib)) continue;
        printf("| %s | %s |", label(step), figure(mib, own, sizeof own));
        peer_cells(step, "_rss_mib", 1);
        printf("\n");
    }
}

static int usage(void) {
    fprintf(stderr, "usage: steps_chart FIGURES.json [--png FILE] [--same FILE] [--table]\n");
    return 2;
}

int main(int argc, char **argv) {
    if (argc < 3) return usage();
    cJSON *all = read_figures(argv[1]);
    bool ok = all != NULL;
    for (int i = 2; i < argc && ok; i++) {
        const cJSON *steps = cJSON_GetObjectItemCaseSensitive(all, "steps");
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--table") == 0)
            table_steps(steps), table_starts(all), table_memory(steps);
        else if (strcmp(argv[i], "--png") == 0 && value)
            ok = draw(all, argv[++i]);
        else if (strcmp(argv[i], "--same") == 0 && value)
            ok = compare(all, argv[++i]);
        else {
            cJSON_Delete(all);
            return usage();
        }
    }
    cJSON_Delete(all);
    return !ok;
}
