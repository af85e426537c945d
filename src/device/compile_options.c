/* What a compiler is told beside the program: the smallest CompileOptionsProto every plugin takes, field 3 (build
 * options) with 4 (replicas), 5 (partitions) and, when there are several processes, 9 (device assignment: 1 replicas, 2
 * partitions, 3 one list of device ids per partition), and 7 (overrides of its flags). */
#include "base/proto.h"
#include "device/device_int.h"

static xt_status check_count(const device_client *c, int n, const char *what) {
    if (n == 1 || n == c->n_processes) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "a program of %d %s needs %d processes with a device each; this client joins %d", n, what, n,
                      c->n_processes);
}

/* Device lists of the assignment: one a partition, each with the device of every replica. */
static void assign_devices(const device_client *c, int replicas, int partitions, str *assignment) {
    proto_int(assignment, 1, replicas);
    proto_int(assignment, 2, partitions);
    for (int p = 0; p < partitions; p++) {
        str ids = STR_INIT, list = STR_INIT;
        for (int r = 0; r < replicas; r++)
            proto_varint(&ids, (uint64_t)(int64_t)(replicas * partitions == 1 ? c->device_id
                                                                              : c->replica_ids[replicas > 1 ? r : p]));
        proto_message(&list, 1, &ids);
        proto_message(assignment, 3, &list);
        str_free(&ids), str_free(&list);
    }
}

/* XLA's CPU compiler takes liberties with NaN and rounding unless told not to, and ours takes some of XLA's for guests;
 * the numbers of a run should not depend on that. */
static const char *const strict_math[] = {"xla_cpu_enable_fast_math", "xla_cpu_enable_fast_min_max"};

/* PJRT's minor version: seen in 0.81, no more in 0.115 (PyPI's plugins have nothing between) */
enum { XLA_SUMS_IN_PARTS = 115 };

bool device_sums_in_one_accumulator(const device_client *c) {
    return c->plugin->family == DEVICE_FAMILY_XLA_CPU && c->info.api_major == 0 &&
           c->info.api_minor < XLA_SUMS_IN_PARTS;
}

const int64_t *device_text_version(const device_client *c) {
    static const int64_t any[3] = {0};
    return c->dry || c->plugin->family == DEVICE_FAMILY_CPU ? any : c->info.stablehlo;
}

/* name -> value, a message of the alternatives 1 text and 2 bool. */
static void override(str *options, const char *name, const str *value) {
    str entry = STR_INIT;
    proto_bytes(&entry, 1, name, strlen(name));
    proto_message(&entry, 2, value);
    proto_message(options, 7, &entry);
    options->failed |= entry.failed || value->failed;
    str_free(&entry);
}

void device_option_bool(str *options, const char *name, bool v) {
    str value = STR_INIT;
    proto_int(&value, 2, v);
    override(options, name, &value);
    str_free(&value);
}

void device_option_text(str *options, const char *name, const char *v) {
    str value = STR_INIT;
    proto_bytes(&value, 1, v, strlen(v));
    override(options, name, &value);
    str_free(&value);
}

/* XLA's GPU compiler measures kernels for fusions and products; what it found is read in the next process where it has
 * a folder for that. */
static void tell_cuda(const device_client *c, const device_compile_opts *o, str *options) {
    char *data = device_cuda_data_dir(c->plugin->path);
    if (data) device_option_text(options, "xla_gpu_cuda_data_dir", data);
    base_free(data);
    if (o && o->tuning_dir) device_option_text(options, "xla_gpu_per_fusion_autotune_cache_dir", o->tuning_dir);
}

xt_status device_compile_options_bytes(device_client *c, const device_compile_opts *o, char **out, size_t *out_size) {
    int replicas = o && o->num_replicas > 0 ? o->num_replicas : 1;
    int partitions = o && o->num_partitions > 0 ? o->num_partitions : 1;
    XT_TRY(check_count(c, replicas, "replicas"));
    XT_TRY(check_count(c, partitions, "partitions"));
    if (replicas > 1 && partitions > 1)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "a program has replicas or partitions over the processes of a run, not both");
    str assignment = STR_INIT, build = STR_INIT, options = STR_INIT;
    proto_int(&build, 4, replicas);
    proto_int(&build, 5, partitions);
    if (partitions > 1) proto_int(&build, 6, 1); /* use_spmd_partitioning */
    if (c->n_nodes > 1) {
        assign_devices(c, replicas, partitions, &assignment);
        proto_message(&build, 9, &assignment);
    }
    proto_message(&options, 3, &build);
    if (c->plugin->family == DEVICE_FAMILY_XLA_CPU)
        for (size_t i = 0; i < BASE_COUNT(strict_math); i++) device_option_bool(&options, strict_math[i], false);
    if (c->plugin->family == DEVICE_FAMILY_CPU) device_option_bool(&options, "xtrain_as_written", true);
    if (c->plugin->family == DEVICE_FAMILY_CUDA) tell_cuda(c, o, &options);
    *out_size = options.len;
    *out = options.failed ? NULL : base_malloc(options.len); /* bytes, zeros among them: no string */
    if (*out) memcpy(*out, options.data, options.len);
    str_free(&assignment), str_free(&build), str_free(&options);
    return *out ? NULL : status_oom(64, "compile options");
}
