/* Execution: checks and donation on the caller's thread, the program on the executor of its device.
 *
 * 1. Everything that can be refused is refused before anything changes: then no buffer is donated and no output exists.
 * 2. A task holds its inputs' values and its outputs' values. Outputs are handed to the client at once, not ready.
 * 3. A failed input, or a failed program, is the error of every output and of the completion event.
 * 4. Inputs are let go before outputs become ready, so memory that is free is seen to be free.
 * 5. A program with host callbacks has ended when the call returns: a callback's failure is the call's own error, and a
 *    client that ends its interpreter when no call of its own runs does not take it from under a callback. */
#include "pjrt/face.h"

typedef struct run_task {
    face_task task;
    PJRT_LoadedExecutable *exec;
    face_event *done;
    size_t n_in, n_out;
    face_value **in, **out; /* in: own references */
    array *arrays; /* n_in, then n_out */
    int *from; /* per output: the input whose memory it took, or -1 */
    bool *donated;
    bool apart; /* one device's part of a program of several, called for by itself */
    int32_t launch_id;
    PJRT_Device *device;
    face_promise promise; /* of memory, from when it was taken on */
    xt_status poison; /* guarded by the device's lock while the task waits: it fails with this instead of running */
} run_task;

static void run_free(run_task *t) {
    if (!t) return;
    face_promise_end(t->device, &t->promise);
    for (size_t i = 0; i < t->n_in; i++) face_value_release(t->in[i]);
    for (size_t i = 0; i < t->n_out; i++) face_value_release(t->out[i]);
    face_event_release(t->done);
    face_loaded_release(t->exec);
    base_free(t->in);
    base_free(t->arrays);
    base_free(t->from);
    base_free(t->donated);
    xt_status_free(t->poison);
    base_free(t);
}

/* --- on the executor --- */
static xt_status task_alloc(void *user, size_t n, void **out) {
    run_task *t = user;
    return face_alloc_promised(t->device, &t->promise, n, out);
}
static void task_dealloc(void *user, void *p, size_t n) {
    face_free(((run_task *)user)->device, p, n);
}

static xt_status gather_inputs(run_task *t) {
    for (size_t i = 0; i < t->n_in; i++) {
        face_value *v = t->in[i];
        XT_TRY(status_context(face_event_wait(v->ready), "input %zu of %s was not made", i,
                              cpu_exec_name(t->exec->program->exec)));
        t->arrays[i] = (array){cpu_exec_input_type(t->exec->program->exec, i), v->data};
    }
    /* Only now is it known who else holds a donated input: earlier tasks and reads have let go. */
    for (size_t i = 0; i < t->n_in; i++)
        t->donated[i] =
            t->donated[i] && !t->in[i]->borrowed && atomic_load_explicit(&t->in[i]->refs, memory_order_acquire) == 1;
    return NULL;
}

/* Moves results into the output values; memory an output took from an input changes owner. */
static void take_results(run_task *t) {
    array *results = t->arrays + t->n_in;
    for (size_t j = 0; j < t->n_out; j++) {
        t->out[j]->data = results[j].data;
        if (t->from[j] >= 0) t->in[t->from[j]]->data = NULL;
    }
}

/* A poisoned one fails with that. `device` NULL: on the caller's thread. */
static void run_on(run_task *t, cpu_device *device) {
    cpu_alloc memory = {t, task_alloc, task_dealloc};
    xt_status s = t->poison ? t->poison : gather_inputs(t);
    t->poison = NULL;
    if (!s) s = cpu_run(t->exec->program->exec, device, &memory, t->arrays, t->donated, t->arrays + t->n_in, t->from);
    if (!s) take_results(t);
    face_promise_end(t->device, &t->promise);
    for (size_t i = 0; i < t->n_in; i++) {
        face_value_release(t->in[i]);
        t->in[i] = NULL;
    }
    for (size_t j = 0; j < t->n_out; j++) face_event_set(t->out[j]->ready, status_clone(s));
    face_event *done = face_event_retain(t->done);
    if (t->apart) atomic_fetch_sub(&t->device->apart, 1);
    run_free(t); /* also before the client hears of it: it may destroy the executable then */
    face_event_set(done, s);
    face_event_release(done);
}

static void run(face_task *task, PJRT_Device *d) {
    run_task *t = (run_task *)task;
    if (!t->poison) t->poison = face_executor_join(d, t->exec);
    run_on(t, d->cpu);
}

/* Handing a program over wakes two threads, which takes 10 us: BRIEF ones run here. SHORT ones do if the client waits
 * for what it starts. Whether it does shows when one is handed over: the client asks for what is not ready. Then it
 * runs the next TURNS itself before that is looked at again; a client that does something else meanwhile is let go on.
 */
static bool runs_sooner_here(const run_task *t, PJRT_Device *d) {
    enum { BRIEF_NS = 20000, SHORT_NS = 100000, TURNS = 64 };
    int64_t ns = cpu_exec_usual_ns(t->exec->program->exec);
    if (ns == 0 || ns > SHORT_NS) return false;
    if (ns <= BRIEF_NS) return true;
    int left = atomic_load_explicit(&d->turns, memory_order_relaxed);
    if (left == 0 && !atomic_exchange(&d->awaited, false)) return false;
    atomic_store_explicit(&d->turns, left == 0 ? TURNS : left - 1, memory_order_relaxed);
    return true;
}

/* A program of some microseconds costs less than waking a thread for it: on an idle device it runs here, and its events
 * are set on return. A tiny one needs none of the device, another has all of it meanwhile. */
static bool run_here(run_task *t, PJRT_Device *d) {
    const bool tiny = cpu_exec_tiny(t->exec->program->exec);
    if (!tiny && !runs_sooner_here(t, d)) return false;
    for (size_t i = 0; i < t->n_in; i++)
        if (!face_event_is_ready(t->in[i]->ready)) return false;
    if (!face_executor_borrow(d)) return false;
    if (tiny)
        run_on(t, NULL);
    else
        run(&t->task, d);
    face_executor_give_back(d);
    return true;
}

/* --- on the caller's thread --- */
static bool is_kept(const PJRT_ExecuteOptions *o, size_t i) {
    for (size_t k = 0; o && k < o->num_non_donatable_input_indices; k++)
        if (o->non_donatable_input_indices[k] == (int64_t)i) return true;
    return false;
}

/* A token may come as an array without elements: so JAX begins a chain of ordered effects. */
static bool fits(const ir_type *got, const ir_type *want) {
    return got == want || (want == ir_token() && got->kind == IR_TENSOR && got->count == 0);
}

static xt_status wrong_layout(const PJRT_LoadedExecutable *e, const PJRT_Buffer *b, size_t i) {
    str got = STR_INIT, want = STR_INIT;
    face_layout_text(b->layout, b->type->rank, &got);
    face_layout_text(e->program->orders[i], b->type->rank, &want);
    xt_status s =
        status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of %s lies in memory as %s; the program was compiled for %s",
                   i, cpu_exec_name(e->program->exec), str_cstr(&got), str_cstr(&want));
    str_free(&got);
    str_free(&want);
    return s;
}

static xt_status check_input(const PJRT_LoadedExecutable *e, PJRT_Device *d, PJRT_Buffer *b, size_t i) {
    const char *name = cpu_exec_name(e->program->exec);
    if (!b) return status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of %s is NULL", i, name);
    if (!face_hold(b, FACE_BUFFER))
        return status_context(face_no_handle(b, FACE_BUFFER, "LoadedExecutable_Execute", "an argument"),
                              "input %zu of %s", i, name);
    const ir_type *want = e->program->types[i];
    char got_text[200], want_text[200];
    if (!fits(b->type, want))
        return status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of %s is %s; the program takes %s", i, name,
                          face_type_text(b->type, got_text, sizeof got_text),
                          face_type_text(want, want_text, sizeof want_text));
    if (b->layout != e->program->orders[i] && !face_layout_same(b->layout, e->program->orders[i], b->type))
        return wrong_layout(e, b, i);
    if (b->device != d)
        return status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of %s is on %s; the program runs on %s", i, name,
                          b->device->description.text, d->description.text);
    return NULL;
}

/* A donated buffer may not be an input twice: the program would write what it still reads. Most have no other holder
 * than the client and this task. */
static xt_status check_donation(const run_task *t, PJRT_Buffer *const *in) {
    for (size_t i = 0; i < t->n_in; i++) {
        if (!t->donated[i] || atomic_load_explicit(&t->in[i]->refs, memory_order_relaxed) <= 2) continue;
        for (size_t k = 0; k < t->n_in; k++)
            if (k != i && in[k] == in[i])
                return status_new(XT_INVALID_ARGUMENT, NULL,
                                  "input %zu of %s is donated and is input %zu too: pass a copy, or do not donate it",
                                  i, cpu_exec_name(t->exec->program->exec), k);
    }
    return NULL;
}

/* A task with checked inputs and fresh outputs; nothing is donated yet. */
static xt_status run_new(PJRT_LoadedExecutable *e, PJRT_Device *d, PJRT_Buffer *const *in, const PJRT_ExecuteOptions *o,
                         run_task **out) {
    const face_program *p = e->program;
    run_task *t = base_calloc(1, sizeof *t);
    if (!t) return status_oom(sizeof *t, "an execution");
    t->task.run = run;
    t->device = d;
    t->launch_id = o ? o->launch_id : 0;
    t->exec = e;
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    t->in = base_calloc(p->n_in + p->n_out + 1, sizeof *t->in);
    t->arrays = base_calloc(p->n_in + p->n_out + 1, sizeof *t->arrays);
    t->from = base_malloc((p->n_out + 1) * sizeof *t->from);
    t->donated = base_calloc(p->n_in + 1, sizeof *t->donated);
    t->done = face_event_new();
    xt_status s = t->in && t->arrays && t->from && t->donated && t->done
                      ? NULL
                      : status_oom(p->n_in * sizeof *t->arrays, "an execution");
    if (t->done) face_event_made_by(t->done, d);
    for (size_t i = 0; !s && i < p->n_in; i++) {
        if ((s = check_input(e, d, in[i], i))) break;
        if (!(t->in[i] = face_buffer_value(in[i])))
            s = status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of %s has been deleted or donated", i,
                           cpu_exec_name(p->exec));
        t->n_in = i + 1;
        t->donated[i] = cpu_exec_alias(p->exec, i) >= 0 && !is_kept(o, i);
    }
    if (!s) s = check_donation(t, in);
    if (t->in) t->out = t->in + p->n_in;
    for (size_t j = 0; !s && j < p->n_out; j++) {
        s = face_value_new(d, p->types[p->n_in + j], p->orders[p->n_in + j], &t->out[j]);
        t->n_out = j + !s;
        if (!s) face_event_made_by(t->out[j]->ready, d);
    }
    if (s)
        run_free(t);
    else
        *out = t;
    return s;
}

/* Handles for the client; each adds a reference to the task's values. */
static xt_status make_outputs(run_task *t, PJRT_Buffer **out) {
    for (size_t j = 0; j < t->n_out; j++) {
        PJRT_Memory *memory = &t->out[j]->device->memory[t->exec->program->out_kinds[j]];
        xt_status s = face_buffer_new(face_value_retain(t->out[j]), memory, &out[j]);
        if (!s) continue;
        while (j-- > 0) face_Buffer_Destroy(&(PJRT_Buffer_Destroy_Args)PJRT_INIT(Buffer_Destroy, .buffer = out[j]));
        return s;
    }
    return NULL;
}

/* A call may be for one device: any of the client runs a program of one device; of a program for several, each runs its
 * own replica and partition, and waits in its collectives for the others' calls (PyTorch/XLA makes one a thread). */
static xt_status check_device(const PJRT_LoadedExecutable *e, PJRT_Device *d) {
    const char *name = cpu_exec_name(e->program->exec);
    if (d->client != e->client)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s cannot be run on %s: another client compiled it", name,
                          d->description.text);
    if (d->local_id < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s belongs to another process", d->description.text);
    bool found = e->program->options.replicas * e->program->options.partitions == 1;
    for (size_t i = 0; i < e->n_devices; i++) found |= e->devices[i] == d;
    return found ? NULL
                 : status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s cannot be run on %s: it is for %d replicas and %d partitions on other devices", name,
                              d->description.text, e->program->options.replicas, e->program->options.partitions);
}

static xt_status check_call(const PJRT_LoadedExecutable_Execute_Args *a) {
    const PJRT_LoadedExecutable *e = a->executable;
    const char *name = cpu_exec_name(e->program->exec);
    if (atomic_load(&e->client->closed))
        return status_new(XT_FAILED_PRECONDITION, NULL, "the client of %s has been destroyed", name);
    if (atomic_load(&e->deleted))
        return status_new(XT_FAILED_PRECONDITION, NULL, "the program %s has been deleted", name);
    if (a->options && (a->options->num_send_ops > 0 || a->options->num_recv_ops > 0))
        return status_new(XT_UNIMPLEMENTED, NULL, "host send and receive callbacks are not offered by this plugin");
    size_t want = a->execute_device ? 1 : e->n_devices;
    if (a->num_devices != want)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s runs on %zu devices of this process, %zu argument lists were given", name, want,
                          a->num_devices);
    if (a->num_args != e->program->n_in)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s takes %zu inputs, %zu were given", name, e->program->n_in,
                          a->num_args);
    XT_TRY(
        face_check_lists((void **)a->argument_lists, want, a->num_args, "LoadedExecutable_Execute", "argument_lists"));
    XT_TRY(face_check_lists((void **)a->output_lists, want, e->program->n_out, "LoadedExecutable_Execute",
                            "output_lists"));
    return a->execute_device ? check_device(e, a->execute_device) : NULL;
}

/* Its temporaries, and results that take no input's memory over: all of them where an input is kept. */
static void promise_memory(run_task *t) {
    if (t->device->limit <= 0) return;
    const cpu_stats *s = cpu_exec_stats(t->exec->program->exec);
    bool kept = false;
    for (size_t i = 0; i < t->n_in; i++) kept |= cpu_exec_alias(t->exec->program->exec, i) >= 0 && !t->donated[i];
    face_promise_make(t->device, s->temp_bytes + s->output_bytes - (kept ? 0 : s->alias_bytes), &t->promise);
}

/* From here on nothing is refused but by a client that is destroyed meanwhile: then the task reports it like a
 * failed program. */
static void launch(run_task *t, PJRT_Device *d, PJRT_Buffer *const *in) {
    for (size_t i = 0; i < t->n_in; i++)
        if (t->donated[i]) face_value_release(face_buffer_take(in[i])); /* the task's own reference stays */
    promise_memory(t);
    if (run_here(t, d)) return;
    xt_status s = face_executor_enqueue(d, &t->task);
    if (!s) return;
    for (size_t j = 0; j < t->n_out; j++) face_event_set(t->out[j]->ready, status_clone(s));
    face_event_set(t->done, s);
    if (t->apart) atomic_fetch_sub(&t->device->apart, 1);
    run_free(t);
}

static void drop_outputs(PJRT_LoadedExecutable_Execute_Args *a, size_t devices, size_t n_out) {
    for (size_t i = 0; i < devices; i++)
        for (size_t j = 0; j < n_out; j++)
            face_Buffer_Destroy(&(PJRT_Buffer_Destroy_Args)PJRT_INIT(Buffer_Destroy, .buffer = a->output_lists[i][j]));
}

/* Who calls for one device of several may have yet to call for those that it meets in its collectives; a callback that
 * runs a program with callbacks on its own device gets the error where it reads the result. */
static bool waits_for_end(const PJRT_LoadedExecutable_Execute_Args *a, run_task *const *tasks) {
    const face_program *p = a->executable->program;
    if (!cpu_exec_calls_host(p->exec) || (a->execute_device && p->options.replicas * p->options.partitions > 1))
        return false;
    for (size_t i = 0; i < a->num_devices; i++)
        if (face_executor_is_here(a->execute_device ? a->execute_device : a->executable->devices[i]) ||
            atomic_load(&tasks[i]->device->apart))
            return false;
    for (size_t i = 0; i < a->num_devices; i++)
        for (size_t k = 0; k < tasks[i]->n_in; k++) /* promised by the client, perhaps by this thread */
            if (face_event_is_promised(tasks[i]->in[k]->ready)) return false;
    return true;
}

/* The first error of all devices, all of which have ended. */
static xt_status wait_for_end(face_event *const *done, size_t n) {
    xt_status first = NULL;
    for (size_t i = 0; i < n; i++) {
        xt_status s = face_event_wait(done[i]);
        if (first)
            xt_status_free(s);
        else
            first = s;
    }
    return first;
}

FACE(LoadedExecutable_Execute) {
    PJRT_LoadedExecutable *e = a->executable;
    XT_TRY(check_call(a));
    run_task **tasks = base_calloc(a->num_devices, sizeof *tasks);
    face_event **done = base_calloc(a->num_devices, sizeof *done);
    xt_status s = tasks && done ? NULL : status_oom(a->num_devices * sizeof *tasks, "an execution");
    size_t made = 0, with_outputs = 0, n_out = e->program->n_out;
    for (; made < a->num_devices && !s; made += !s) {
        PJRT_Device *d = a->execute_device ? a->execute_device : e->devices[made];
        s = run_new(e, d, a->argument_lists ? a->argument_lists[made] : NULL, a->options, &tasks[made]);
    }
    for (; with_outputs < made && !s; with_outputs += !s)
        if (n_out > 0) s = make_outputs(tasks[with_outputs], a->output_lists[with_outputs]);
    bool launched = !s, wait = launched && waits_for_end(a, tasks);
    for (size_t i = 0; i < made; i++) {
        PJRT_Device *d = a->execute_device ? a->execute_device : e->devices[i];
        if (launched) {
            done[i] = face_event_retain(tasks[i]->done);
            if ((tasks[i]->apart =
                     a->execute_device && e->program->options.replicas * e->program->options.partitions > 1))
                atomic_fetch_add(&d->apart, 1);
            launch(tasks[i], d, a->argument_lists ? a->argument_lists[i] : NULL);
        } else
            run_free(tasks[i]);
    }
    if (wait) s = wait_for_end(done, made);
    if (s) drop_outputs(a, with_outputs, n_out);
    for (size_t i = 0; launched && i < made; i++) {
        if (!s && a->device_complete_events)
            FACE_GIVE(a->device_complete_events[i] = done[i]);
        else
            face_event_release(done[i]);
    }
    base_free(tasks);
    base_free(done);
    return s;
}

/* --- executions that must not run, and what belongs to one --- */
/* A run that still waits fails with the client's error; one that has begun ends as it will, and `poisoned` says so. */
FACE(Device_PoisonExecution) {
    PJRT_Device *d = a->device;
    bool found = false;
    pthread_mutex_lock(&d->lock);
    for (face_task *t = d->first; t; t = t->next) {
        run_task *r = (run_task *)t;
        if (t->run != run || r->launch_id != a->launch_id || r->poison) continue;
        r->poison = face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                                    "set by the client");
        found = true;
    }
    pthread_mutex_unlock(&d->lock);
    a->poisoned = found;
    return NULL;
}

/* A context carries what extensions add to an execution; none of ours does. */
struct PJRT_ExecuteContext {
    char unused;
};

FACE(ExecuteContext_Create) {
    a->context = face_handle_new(sizeof *a->context);
    if (!a->context) return status_oom(sizeof *a->context, "an execution context");
    FACE_GIVE(a->context);
    return NULL;
}

void face_context_end(void *handle) {
    face_handle_free(handle, sizeof(PJRT_ExecuteContext));
}

FACE(ExecuteContext_Destroy) {
    (void)a;
    return NULL;
}
