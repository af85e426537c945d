/* --mesh data=2,tensor=2 and --fsdp: the mesh of the run and the recipes its axes stand for. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_mesh_parse(const char *spec, char *names, size_t room, xt_axis *axes) {
    int n = 0;
    if (strlen(spec) >= room) return false;
    strcpy(names, spec);
    for (char *p = names, *next; *p; p = next) {
        char *comma = strchr(p, ','), *equal = strchr(p, '='), *end;
        next = comma ? comma + 1 : p + strlen(p);
        if (comma) *comma = 0;
        if (!equal || equal > next || n == XT_MESH_AXES) return false;
        *equal = 0;
        axes[n].name = p;
        axes[n++].size = strtoll(equal + 1, &end, 10);
        if (end == equal + 1 || *end) return false;
    }
    axes[n].name = NULL;
    return n > 0;
}

xt_mesh *cli_mesh_make(const char *command, const char *spec) {
    char names[256];
    xt_axis axes[XT_MESH_AXES + 1];
    if (!cli_mesh_parse(spec, names, sizeof names, axes)) {
        if (command)
            cli_fail(command,
                     "--mesh %s: names and sizes are expected, as data=4,tensor=2 (a size of 0 takes what is left)",
                     spec);
        return NULL;
    }
    return xt_mesh_new_at(XT_HERE, axes); /* which says what is wrong */
}

void cli_mesh_apply(xt_mesh *mesh, xt_module *net, bool fsdp) {
    static const char *const tensor[] = {"tensor", "model"};
    for (int i = 0; i < 2; i++)
        if (xt_mesh_size(mesh, tensor[i])) xt_mesh_tensor_parallel(mesh, net, tensor[i]);
    if (xt_mesh_size(mesh, "expert")) xt_mesh_expert_parallel(mesh, net, "expert");
    if (xt_mesh_size(mesh, "stage")) xt_mesh_pipeline_parallel(mesh, net, "stage");
    if (xt_mesh_size(mesh, "context")) xt_mesh_context_parallel(mesh, net, "context");
    if (xt_mesh_size(mesh, "fsdp"))
        xt_mesh_fsdp(mesh, net, "fsdp");
    else if (fsdp && xt_mesh_size(mesh, "data"))
        xt_mesh_fsdp(mesh, net, "data");
    /* replicas of a divided model, and devices of experts, have batches of their own */
    static const char *const axes[] = {"data", "fsdp", "expert"};
    char batch[32] = "";
    for (int i = 0; i < 3; i++)
        if (xt_mesh_size(mesh, axes[i]))
            snprintf(batch + strlen(batch), sizeof batch - strlen(batch), "%s%s", *batch ? "+" : "", axes[i]);
    if (*batch) xt_mesh_batch(mesh, batch);
}
