/* An optimizer's state as a file of its own: xt_optimizer_save and xt_optimizer_load. */
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "optim/optim.h"

/* What the file that was loaded holds of parameters that no pass has made since. */
static xt_status declare_waiting(void *user, const char *name, const ir_type *t, const void *data) {
    (void)data;
    return st_declare(user, name, t->dtype, (int)t->rank, t->dims);
}

static xt_status write_waiting(void *user, const char *name, const ir_type *t, const void *data) {
    (void)name;
    return st_data(user, data, ir_type_bytes(t));
}

static xt_status count_waiting(void *user, const char *name, const ir_type *t, const void *data) {
    (void)name, (void)t, (void)data;
    ++*(int64_t *)user;
    return NULL;
}

/* How many tensors there are: moments that a file has lost since would begin anew, as those of new layers do. */
static xt_status note_count(const xt_optimizer *o, st_writer *w) {
    char text[32];
    int64_t n = xt_optimizer_tensors(o);
    XT_TRY(optim_each_waiting(o, count_waiting, &n));
    snprintf(text, sizeof text, "%lld", (long long)n);
    return st_meta(w, "tensors", text);
}

static xt_status check_count(const st_file *f) {
    int64_t n;
    const char *text = st_get_meta(f, "tensors"); /* earlier versions wrote none */
    if (!text || (parse_i64(text, &n) && n == (int64_t)st_count(f))) return NULL;
    return status_new(XT_DATA_LOSS, NULL,
                      "it holds %zu tensors of the %s that were saved in it: the file is not whole; nothing was loaded",
                      st_count(f), text);
}

static xt_status write_all(const xt_optimizer *o, st_writer *w) {
    char *text = optim_state_text(o);
    xt_status s = text ? st_meta(w, "optimizer_state", text) : status_oom(64, "an optimizer's state");
    base_free(text);
    XT_TRY(s);
    XT_TRY(note_count(o, w));
    XT_TRY(st_with_sums(w));
    int n = xt_optimizer_tensors(o);
    for (int i = 0; i < n; i++) {
        const ir_type *t = lazy_type(xt_optimizer_tensor(o, i));
        if (!t) return status_new(XT_FAILED_PRECONDITION, NULL, "the state %s is gone", xt_optimizer_tensor_name(o, i));
        XT_TRY(st_declare(w, xt_optimizer_tensor_name(o, i), t->dtype, (int)t->rank, t->dims));
    }
    XT_TRY(optim_each_waiting(o, declare_waiting, w));
    for (int i = 0; i < n; i++) {
        size_t bytes = ir_type_bytes(lazy_type(xt_optimizer_tensor(o, i)));
        void *data = base_malloc(bytes + 1);
        s = data ? lazy_state_read(xt_optimizer_tensor(o, i), data, bytes)
                 : status_oom(bytes, xt_optimizer_tensor_name(o, i));
        if (!s) s = st_data(w, data, bytes);
        base_free(data);
        XT_TRY(s);
    }
    return optim_each_waiting(o, write_waiting, w);
}

xt_status xt_optimizer_save_at(const xt_src *src, xt_optimizer *o, const char *path) {
    if (!o || !path)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_optimizer_save: an optimizer and a path are needed");
    if (!lazy_boundary(LAZY_CHECKPOINT, src) || !optim_take_loaded(src, o) || !lazy_drain())
        return status_clone(lazy_pending());
    lazy_save shared = lazy_save_begin(path);
    xt_status s, theirs;
    if (lazy_save_is_rank_0s(&shared, false, &s)) return s;
    s = lazy_gather_states();
    st_writer *w = NULL;
    bool writes = !lazy_spmd() || world_get()->rank == 0; /* with a mesh rank 0 has it all now */
    if (!s && writes) s = st_create(path, &w);
    if (!s && writes) s = write_all(o, w);
    lazy_forget_states();
    bool aside = !s && w && lazy_save_is_rank_0s(&shared, true, &theirs);
    if (aside) s = theirs;
    if (w && !s && !aside)
        s = st_commit(w);
    else if (w)
        st_abandon(w);
    return lazy_save_end(&shared, s ? status_context(s, "saving %s", path) : NULL);
}

xt_status xt_optimizer_load_at(const xt_src *src, xt_optimizer *o, const char *path) {
    if (!o || !path)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_optimizer_load: an optimizer and a path are needed");
    if (!lazy_boundary(LAZY_CHECKPOINT, src) || !lazy_drain()) return status_clone(lazy_pending());
    st_file *f;
    if (rehearsal_on() && !file_exists(path)) return NULL; /* what the rehearsal itself saved was not written */
    XT_TRY(st_open(path, &f));
    const char *text = st_get_meta(f, "optimizer_state");
    bool has_sums;
    xt_status s = text ? st_check_sums(f, &has_sums) : status_new(XT_DATA_LOSS, NULL, "it holds no optimizer's state");
    if (!s) s = check_count(f);
    if (!s) s = optim_state_load(o, text);
    for (size_t i = 0; i < st_count(f) && !s; i++) {
        const st_entry *e = st_at(f, i);
        size_t n = (size_t)(e->end - e->begin);
        const ir_type *type = ir_tensor(e->dtype, (size_t)e->rank, e->dims);
        void *data = base_malloc(n + 1);
        s = data && type ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s) s = optim_restore(o, e->name, type, data);
        base_free(data);
    }
    st_close(f);
    return status_context(s, "loading %s", path);
}
