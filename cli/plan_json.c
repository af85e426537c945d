/* A plan as one JSON object on one line. */
#include "cli/plan.h"

void plan_json_string(FILE *f, const char *s) {
    cli_fprintf(f, "\"%s\"", s ? s : "");
}

static void rows(FILE *f, const xt_plan_row *list, int n) {
    for (int i = 0; i < n; i++) {
        const xt_plan_row *x = &list[i];
        cli_fprintf(f, "%s{\"file\": ", i ? ", " : "");
        plan_json_string(f, x->file);
        cli_fprintf(f, ", \"line\": %d, \"module\": ", x->line);
        plan_json_string(f, x->module);
        cli_fprintf(f, ", \"op\": ");
        plan_json_string(f, x->op);
        cli_fprintf(f, ", \"shape\": ");
        plan_json_string(f, x->shape);
        cli_fprintf(f, ", \"dtype\": ");
        plan_json_string(f, x->dtype);
        cli_fprintf(f, ", \"kind\": ");
        plan_json_string(f, xt_plan_kind_name(x->kind));
        cli_fprintf(f, ", \"bytes\": %lld, \"padding\": %lld, \"count\": %d, \"first\": %d, \"last\": %d}",
                    (long long)(x->bytes + x->padding), (long long)x->padding, x->count, x->first, x->last);
    }
}

static void remedies_json(FILE *f, const plan_row *list, int n) {
    for (int i = 0; i < n; i++) {
        cli_fprintf(f, "%s{\"name\": ", i ? ", " : "");
        plan_json_string(f, list[i].name);
        if (list[i].failed) {
            cli_fprintf(f, ", \"error\": ");
            plan_json_string(f, list[i].why);
        } else
            cli_fprintf(f, ", \"peak_bytes\": %lld, \"fits\": %s, \"step_ms_estimate\": %.6g",
                        (long long)list[i].peak_bytes, list[i].fits ? "true" : "false", list[i].step_ms);
        cli_fprintf(f, "}");
    }
}

static void write_object(FILE *f, const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n,
                         bool with_lives) {
    char name[256];
    plan_case_name(c, name, sizeof name);
    cli_fprintf(f, "{\"name\": ");
    plan_json_string(f, name);
    cli_fprintf(f, ", \"topology\": ");
    plan_json_string(f, r->topology);
    cli_fprintf(f, ", \"device\": ");
    plan_json_string(f, r->device);
    cli_fprintf(f, ", \"compiler\": ");
    plan_json_string(f, r->compiler);
    cli_fprintf(f, ", \"devices\": %d, \"hosts\": %d, \"partitions\": %d, \"programs\": %d, \"fits\": %s, ", r->devices,
                r->hosts, r->partitions, r->programs, r->fits ? "true" : "false");
    if (r->ended) {
        cli_fprintf(f, "\"ended\": ");
        plan_json_string(f, r->ended);
        cli_fprintf(f, ", ");
    }
    if (r->verdict) {
        cli_fprintf(f, "\"verdict\": ");
        plan_json_string(f, r->verdict);
        cli_fprintf(f, ", ");
    }
    cli_fprintf(
        f,
        "\"peak_bytes\": %lld, \"limit_bytes\": %lld, \"argument_bytes\": %lld, \"output_bytes\": %lld, "
        "\"temp_bytes\": %lld, \"alias_bytes\": %lld, \"code_bytes\": %lld, "
        "\"live_elsewhere_bytes\": %lld, \"compiler_peak_bytes\": %lld, \"flops\": %.9g, \"bytes_accessed\": %.9g, "
        "\"intensity\": %.6g, \"step_ms_estimate\": %.6g, \"program_ms_estimate\": %.6g, \"host_moved_bytes\": "
        "%lld, \"compile_ms\": %.1f, \"formula\": ",
        (long long)r->peak_bytes, (long long)r->limit_bytes, (long long)r->argument_bytes, (long long)r->output_bytes,
        (long long)r->temp_bytes, (long long)r->alias_bytes, (long long)r->code_bytes,
        (long long)r->live_elsewhere_bytes, (long long)r->compiler_peak_bytes, r->flops, r->bytes_accessed,
        r->bytes_accessed > 0 ? r->flops / r->bytes_accessed : 0, r->step_ms, r->program_ms,
        (long long)r->host_moved_bytes, r->compile_ms);
    plan_json_string(f, r->formula);
    cli_fprintf(f, ", \"by_kind\": {");
    for (int k = 0, first = 1; k < XT_PLAN_KINDS; k++) {
        if (r->kinds[k] == 0) continue;
        cli_fprintf(f, "%s\"%s\": %lld", first ? "" : ", ", xt_plan_kind_name(k), (long long)r->kinds[k]);
        first = 0;
    }
    cli_fprintf(f, "}, \"collectives\": [");
    for (int i = 0; i < r->n_collectives; i++) {
        const xt_plan_collective *x = &r->collectives[i];
        cli_fprintf(f, "%s{\"op\": \"%s\", \"axis\": ", i ? ", " : "", x->op);
        plan_json_string(f, x->axis);
        cli_fprintf(f, ", \"file\": ");
        plan_json_string(f, x->file);
        cli_fprintf(f, ", \"line\": %d, \"module\": ", x->line);
        plan_json_string(f, x->module);
        cli_fprintf(f, ", \"count\": %d, \"bytes\": %lld}", x->count, (long long)x->bytes);
    }
    cli_fprintf(f, "], \"peak_point\": %d, \"points\": %d, \"at_peak\": [", r->peak_point, r->n_points);
    rows(f, r->rows, r->n_rows);
    cli_fprintf(f, "], \"remedies\": [");
    remedies_json(f, remedies, n);
    cli_fprintf(f, "]");
    if (with_lives) {
        cli_fprintf(f, ", \"steady_bytes\": %lld, \"lives\": [", (long long)r->steady_bytes);
        rows(f, r->lives, r->n_lives);
        cli_fprintf(f, "]");
    }
    cli_fprintf(f, "}");
}

void plan_print_json(const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n) {
    write_object(stdout, c, r, remedies, n, false);
    cli_printf("\n");
}

void plan_write_json(FILE *f, const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n) {
    write_object(f, c, r, remedies, n, true);
}
