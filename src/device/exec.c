/* Programs: compile, run, serialise. An executable runs on one device of this process; with several replicas each
 * process of the run has one. */
#include "device/device_int.h"

/* --- what the executable makes --- */
static xt_status read_outputs(device_exec *e) {
    const PJRT_Api *api = e->client->api;
    PJRT_Executable_NumOutputs_Args n = PJRT_INIT(Executable_NumOutputs, .executable = e->pjrt);
    XT_TRY(DEVICE_CALL(api, Executable_NumOutputs, &n, "counting outputs"));
    PJRT_Executable_OutputElementTypes_Args t = PJRT_INIT(Executable_OutputElementTypes, .executable = e->pjrt);
    XT_TRY(DEVICE_CALL(api, Executable_OutputElementTypes, &t, "reading the outputs' types"));
    PJRT_Executable_OutputDimensions_Args d = PJRT_INIT(Executable_OutputDimensions, .executable = e->pjrt);
    XT_TRY(DEVICE_CALL(api, Executable_OutputDimensions, &d, "reading the outputs' dims"));
    if (t.num_output_types != n.num_outputs || d.num_outputs != n.num_outputs)
        return status_new(XT_INTERNAL, NULL, "the plugin names %zu outputs, %zu types and %zu shapes", n.num_outputs,
                          t.num_output_types, d.num_outputs);
    e->n_out = n.num_outputs;
    size_t total = 0;
    for (size_t i = 0; i < e->n_out; i++) total += d.dim_sizes[i];
    e->out = base_calloc(e->n_out + 1, sizeof *e->out);
    e->dims = base_calloc(total + 1, sizeof *e->dims);
    if (!e->out || !e->dims) return status_oom(total * sizeof *e->dims, "an executable");
    if (total) memcpy(e->dims, d.dims, total * sizeof *e->dims);
    for (size_t i = 0, at = 0; i < e->n_out; at += e->out[i++].rank) {
        e->out[i].dtype = (xt_dtype)t.output_types[i];
        e->out[i].rank = d.dim_sizes[i];
        e->out[i].dims = e->dims + at;
        atomic_init(&e->out[i].device_bytes, -1);
    }
    return NULL;
}

/* execute passes one argument list: the executable must live on one device of this process. */
static xt_status check_devices(device_exec *e) {
    PJRT_LoadedExecutable_AddressableDevices_Args a =
        PJRT_INIT(LoadedExecutable_AddressableDevices, .executable = e->loaded);
    XT_TRY(DEVICE_CALL(e->client->api, LoadedExecutable_AddressableDevices, &a, "reading the program's devices"));
    if (a.num_addressable_devices == 1) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "the program is for %zu devices of this process; xtrain runs one device a process",
                      a.num_addressable_devices);
}

static void exec_free(device_exec *e) {
    const PJRT_Api *api = e->client->api;
    if (e->pjrt) {
        PJRT_Executable_Destroy_Args d = PJRT_INIT(Executable_Destroy, .executable = e->pjrt);
        xt_status_free(DEVICE_CALL(api, Executable_Destroy, &d, "releasing a program"));
    }
    if (e->loaded) {
        PJRT_LoadedExecutable_Destroy_Args d = PJRT_INIT(LoadedExecutable_Destroy, .executable = e->loaded);
        xt_status_free(DEVICE_CALL(api, LoadedExecutable_Destroy, &d, "releasing a program"));
    }
    base_free(e->out);
    base_free(e->dims);
    base_free(e->donates);
    device_client *c = e->client;
    base_free(e);
    live_add(LIVE_executable, -1);
    device_client_unref(c);
}

/* Takes `loaded` over. */
static xt_status exec_new(device_client *c, PJRT_LoadedExecutable *loaded, device_exec **out) {
    device_exec *e = base_calloc(1, sizeof *e);
    if (!e) {
        PJRT_LoadedExecutable_Destroy_Args d = PJRT_INIT(LoadedExecutable_Destroy, .executable = loaded);
        xt_status_free(DEVICE_CALL(c->api, LoadedExecutable_Destroy, &d, "releasing a program"));
        return status_oom(sizeof *e, "an executable");
    }
    e->client = c;
    e->loaded = loaded;
    device_watch_exit(true);
    device_client_retain(c);
    live_add(LIVE_executable, 1);
    PJRT_LoadedExecutable_GetExecutable_Args g = PJRT_INIT(LoadedExecutable_GetExecutable, .loaded_executable = loaded);
    xt_status s = DEVICE_CALL(c->api, LoadedExecutable_GetExecutable, &g, "describing a program");
    if (!s) e->pjrt = g.executable;
    if (!s) s = read_outputs(e);
    if (!s) s = check_devices(e);
    if (s)
        exec_free(e);
    else
        *out = e;
    return s;
}

void device_exec_release(device_exec *e) {
    if (e) exec_free(e);
}
size_t device_exec_outputs(const device_exec *e) {
    return e->n_out;
}

xt_status device_compile(device_client *c, const char *text, size_t n, const device_compile_opts *o,
                         device_exec **out) {
    *out = NULL;
    char *options = NULL;
    size_t options_size = 0;
    if (c->dry) return status_new(XT_FAILED_PRECONDITION, NULL, "a rehearsal has no compiler");
    XT_TRY(device_leaving());
    XT_TRY(device_compile_options_bytes(c, o, &options, &options_size));
    PJRT_Program program = {.struct_size = PJRT_SIZE_OF(PJRT_Program),
                            .code = (char *)text,
                            .code_size = n,
                            .format = "mlir",
                            .format_size = 4};
    PJRT_Client_Compile_Args a = PJRT_INIT(Client_Compile, .client = c->pjrt, .program = &program,
                                           .compile_options = options, .compile_options_size = options_size);
    xt_status s = DEVICE_WORK(c->api, Client_Compile, &a, "compiling");
    base_free(options);
    return s ? s : exec_new(c, a.executable, out);
}

/* --- serialisation --- */
xt_status device_serialize(device_exec *e, char **out, size_t *out_size) {
    *out = NULL;
    PJRT_Executable_Serialize_Args a = PJRT_INIT(Executable_Serialize, .executable = e->pjrt);
    XT_TRY(DEVICE_CALL(e->client->api, Executable_Serialize, &a, "serialising a program"));
    *out = base_malloc(a.serialized_bytes_size + 1);
    if (*out) {
        memcpy(*out, a.serialized_bytes, a.serialized_bytes_size);
        (*out)[a.serialized_bytes_size] = '\0';
        *out_size = a.serialized_bytes_size;
    }
    if (a.serialized_executable_deleter) a.serialized_executable_deleter(a.serialized_executable);
    return *out ? NULL : status_oom(a.serialized_bytes_size, "a serialised program");
}

xt_status device_deserialize(device_client *c, const char *data, size_t n, device_exec **out) {
    *out = NULL;
    PJRT_Executable_DeserializeAndLoad_Args a =
        PJRT_INIT(Executable_DeserializeAndLoad, .client = c->pjrt, .serialized_executable = data,
                  .serialized_executable_size = n);
    XT_TRY(DEVICE_WORK(c->api, Executable_DeserializeAndLoad, &a, "loading a serialised program"));
    return exec_new(c, a.loaded_executable, out);
}

/* --- execution --- */
typedef struct done_state {
    device_client *client;
    device_done_fn fn;
    void *user;
    bool first; /* run of the program */
} done_state;

static void executed(PJRT_Error *error, void *user_arg) {
    done_state *d = user_arg;
    device_client *c = d->client;
    int64_t now = clock_ns();
    if (d->first) device_rest_at_exit();
    d->fn(d->user, device_error(c->api, error, "running a program"), now);
    base_free(d);
    live_add(LIVE_event, -1);
    device_run_done(c);
}

/* Arranges for `done` to be called; the event is used up. Never fails: without a callback it waits and calls. */
static void when_executed(device_client *c, PJRT_Event *event, done_state *d) {
    live_add(LIVE_event, 1);
    device_run_add(c);
    if (!event) {
        executed(NULL, d);
        return;
    }
    PJRT_Event_OnReady_Args a = PJRT_INIT(Event_OnReady, .event = event, .callback = executed, .user_arg = d);
    xt_status s = DEVICE_CALL(c->api, Event_OnReady, &a, "running a program");
    if (!s) {
        device_event_destroy(c->api, event);
        return;
    }
    xt_status_free(s);
    s = device_event_finish(c->api, event, "running a program");
    d->fn(d->user, s, clock_ns());
    base_free(d);
    live_add(LIVE_event, -1);
    device_run_done(c);
}

static xt_status check_inputs(device_exec *e, size_t n_in, device_buffer *const *in) {
    for (size_t i = 0; i < n_in; i++) {
        char shape[200];
        const device_buffer *b = in[i];
        if (b->client->pjrt != e->client->pjrt)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "input %zu of the program lies on a device that was closed since: xt_finish, called by "
                              "another thread if not by this one, gave back what was there; make it again (modules and "
                              "optimizers too), or call xt_finish when no thread needs them any more",
                              i);
        if (atomic_load(&b->gone))
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "input %zu, %s, was donated to an earlier program or deleted", i,
                              device_shape_text(b->dtype, b->rank, b->dims, shape, sizeof shape));
    }
    return NULL;
}

static void drop_outputs(device_exec *e, device_buffer **out) {
    for (size_t i = 0; i < e->n_out; i++) {
        device_buffer_release(out[i]);
        out[i] = NULL;
    }
}

/* What will hold the outputs, made before the program runs: behind it donated inputs are gone, and nothing may fail. */
static xt_status blank_outputs(device_exec *e, device_buffer **out) {
    xt_status s = NULL;
    for (size_t i = 0; i < e->n_out; i++) out[i] = NULL;
    for (size_t i = 0; !s && i < e->n_out; i++)
        s = device_buffer_blank(e->client, e->out[i].dtype, e->out[i].rank, e->out[i].dims, &out[i]);
    if (s) drop_outputs(e, out);
    return s;
}

static void fill_outputs(device_exec *e, PJRT_Buffer **made, device_buffer **out) {
    for (size_t i = 0; i < e->n_out; i++) {
        device_output *o = &e->out[i];
        int64_t known = atomic_load_explicit(&o->device_bytes, memory_order_relaxed);
        device_buffer_fill(out[i], made[i], known);
        if (known < 0) atomic_store_explicit(&o->device_bytes, out[i]->device_bytes, memory_order_relaxed);
    }
}

/* Memory of one call: pointers to inputs and outputs, indices that are not to be donated. */
typedef struct call_lists {
    PJRT_Buffer **in, **out;
    int64_t *keep;
    size_t n_keep;
} call_lists;

static bool call_lists_new(call_lists *l, size_t n_in, size_t n_out, device_buffer *const *in, const bool *keep) {
    l->in = base_calloc(n_in + n_out + n_in + 1, sizeof(void *)); /* one block; int64_t is as wide as a pointer */
    if (!l->in) return false;
    static_assert(sizeof(int64_t) == sizeof(void *), "one block serves both");
    l->out = l->in + n_in;
    l->keep = (int64_t *)(l->out + n_out);
    l->n_keep = 0;
    for (size_t i = 0; i < n_in; i++) {
        l->in[i] = in[i]->pjrt;
        if (keep && keep[i]) l->keep[l->n_keep++] = (int64_t)i;
    }
    return true;
}

xt_status device_execute(device_exec *e, size_t n_in, device_buffer *const *in, const bool *keep, device_buffer **out,
                         device_done_fn done, void *user) {
    device_client *c = e->client;
    call_lists l;
    XT_TRY(device_leaving());
    XT_TRY(check_inputs(e, n_in, in));
    if (c->dry) {
        XT_TRY(device_dry_execute(e, n_in, in, keep, out));
        if (done) done(user, NULL, clock_ns());
        return NULL;
    }
    done_state *d = done ? base_malloc(sizeof *d) : NULL;
    if (d) *d = (done_state){c, done, user, !atomic_exchange(&e->ran, true)};
    if ((done && !d) || !call_lists_new(&l, n_in, e->n_out, in, keep)) {
        base_free(d);
        return status_oom(n_in * sizeof(void *), "an execution");
    }
    xt_status s = blank_outputs(e, out);
    if (s) {
        base_free(d);
        base_free(l.in);
        return s;
    }
    PJRT_Event *event = NULL;
    PJRT_ExecuteOptions options = {.struct_size = PJRT_SIZE_OF(PJRT_ExecuteOptions),
                                   .non_donatable_input_indices = l.keep,
                                   .num_non_donatable_input_indices = l.n_keep};
    PJRT_LoadedExecutable_Execute_Args a =
        PJRT_INIT(LoadedExecutable_Execute, .executable = e->loaded, .options = &options,
                  .argument_lists = (PJRT_Buffer * *[]){l.in}, .num_devices = 1, .num_args = n_in,
                  .output_lists = (PJRT_Buffer * *[]){l.out}, .device_complete_events = done ? &event : NULL);
    s = DEVICE_WORK(c->api, LoadedExecutable_Execute, &a, "running a program");
    if (s) {
        drop_outputs(e, out);
        base_free(d);
    } else {
        /* Consumed inputs leave the account before the outputs that took their memory enter it. */
        for (size_t i = 0; i < n_in; i++)
            if (!keep || !keep[i]) device_buffer_check_gone(in[i]);
        fill_outputs(e, l.out, out);
        if (done) when_executed(c, event, d);
    }
    base_free(l.in);
    return s;
}
