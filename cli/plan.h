/* What the files of `xtrain plan` share. */
#ifndef XTRAIN_CLI_PLAN_H
#define XTRAIN_CLI_PLAN_H

#include "cli/cli.h"
#include "models/models.h"

#include <stdio.h>

/* One thing to plan: a model as it would train, or programs from files. */
typedef struct plan_case {
    const model *model; /* NULL: programs */
    const char *const *files;
    int n_files;
    const char *title; /* of programs: what the user typed */
    const char *topology, *mesh, *dump, *pipeline;
    int64_t batch, seq, side, accumulate, limit, experts, microbatches, attention_tile;
    bool bf16, checkpoint, fsdp, donate, quick, offload;
    double time_limit; /* seconds of a compilation; 0 = the library's default */
    int jobs; /* compilations at a time */
} plan_case;
/* A case beside the one asked for: a remedy, a batch, a mesh, a line of a sweep. Of each the figures alone are kept. */
typedef struct plan_row {
    char name[256];
    plan_case c;
    char mesh[64]; /* c.mesh when it was made here */
    int64_t peak_bytes, moved_bytes, batch;
    double step_ms; /* of an optimizer step */
    bool fits, failed;
    char why[400]; /* when it failed */
} plan_row;

/* plan_case.c */
xt_status plan_case_run(const plan_case *c, xt_plan **out);
int64_t plan_case_batch(const plan_case *c);
int64_t plan_case_positions(const plan_case *c); /* of a sample of text; 0: it is none */
void plan_case_name(const plan_case *c, char *buf, size_t n); /* "gpt2, batch 8, bf16, data=4" */

/* plan_text.c, plan_json.c, plan_html.c: one report. remedies may be NULL. */
void plan_print(const plan_case *c, const xt_plan_report *r, int rows);
void plan_print_remedies(const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n);
void plan_print_json(const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n);
/* 0, or 1 after a message */
int plan_write_html(const char *path, const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n);
/* with every buffer's life */
void plan_write_json(FILE *f, const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n);
const char *plan_bytes(int64_t bytes, char *buf, size_t n); /* "1.25 GiB" */
void plan_json_string(FILE *f, const char *s);

/* plan_rows.c: runs them, jobs at a time; a foreign compiler's each in a process of this command. */
void plan_rows_run(plan_row *rows, int n, int jobs);
int plan_row_print(const plan_case *c); /* --row: such a process's answer on stdout */

/* plan_search.c */
/* Gives how many; r: what c's own plan says. */
int plan_remedies(const plan_case *c, const xt_plan_report *r, plan_row *out, int max);
/* The largest array of attention scores that the program keeps, [...,T,T] of so many positions (0: of any number, made
 * by a product of matrices); NULL: there is none. */
const xt_plan_row *plan_scores(const xt_plan_report *r, int64_t positions);
/* How many of T positions a tile of attention's scores may have: at most 128, fewer than T; 0: T has no such divisor.
 */
int64_t plan_tile(int64_t positions);
int plan_max_batch(const plan_case *c, bool json);
int plan_mesh_auto(const plan_case *c, bool json);

/* plan_sweep.c */
enum { PLAN_MOST_ROWS = 64 };
int plan_sweep(const plan_case *c, const char *spec, bool json);
void plan_print_rows(const char *title, const plan_row *rows, int n, bool json);

#endif
