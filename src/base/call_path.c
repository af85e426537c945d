/* Paths are few, one for each place of the program that is looked at, and are kept for the whole process. Where the
 * compiler copied a call (a loop that it unrolled) one place has several paths. */
#include "base/call_path.h"
#include "base/src_place.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unwind.h>

enum { FRAMES_MAX = 512, PATHS_MAX = 1 << 14 };

typedef struct path {
    src_id line; /* of the call itself, which needs no debug information */
    const char *what; /* is called */
    size_t n;
    const void *at[]; /* the call's own first */
} path;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static map *ids; /* the addresses -> number; under the lock, as what follows */
static path **paths;
static size_t n_paths, cap_paths;

static call_path add(const void *const *at, size_t n, src_id line, const char *what) {
    path *p = n_paths < PATHS_MAX ? base_malloc(sizeof *p + n * sizeof *at) : NULL;
    if (!p) return 0;
    p->n = n;
    p->line = line;
    p->what = what;
    memcpy(p->at, at, n * sizeof *at);
    call_path id = (call_path)(n_paths + 1);
    if (VEC_PUSH(paths, n_paths, cap_paths, p) && map_put(ids, at, n * sizeof *at, (void *)(uintptr_t)id, NULL))
        return id;
    if (n_paths == id) n_paths--;
    base_free(p);
    return 0;
}

/* Where the function begins that the call is in; of the library's own, which call functions of the program's that may
 * call them again, each has its place. */
static const void *function_of(const void *returns_to) {
    Dl_info it, own;
    const void *call = (const char *)returns_to - 1;
    const void *begin = _Unwind_FindEnclosingFunction((void *)(uintptr_t)call);
    bool known = begin && dladdr(call, &it) && dladdr(&paths, &own),
         of_library = known && own.dli_fbase == it.dli_fbase;
    return known && !of_library ? begin : NULL;
}

/* A function that calls itself is a loop: of each that is under way more than once, the innermost alone is left. */
static size_t without_recursion(const void *const *at, size_t n, const void **out) {
    const void *functions[FRAMES_MAX];
    size_t kept = 0; /* from the outside in, at the end of `out` */
    for (size_t i = n; i-- > 0;) {
        const void *f = function_of(at[i]);
        for (size_t k = 0; f && k < kept; k++)
            if (functions[k] == f) kept = k;
        functions[kept] = f;
        out[n - ++kept] = at[i];
    }
    memmove(out, out + n - kept, kept * sizeof *out);
    return kept;
}

static call_path known(const void *const *at, size_t n) {
    return (call_path)(uintptr_t)map_get(ids, at, n * sizeof *at);
}

static call_path number_of(const void *const *at, size_t n, src_id line, const char *what) {
    const void *once[FRAMES_MAX];
    pthread_mutex_lock(&lock);
    if (!ids) ids = map_new();
    call_path id = ids ? known(at, n) : 0;
    if (ids && !id) {
        size_t left = without_recursion(at, n, once);
        id = known(once, left);
        if (!id) id = add(once, left, line, what);
        if (id && left < n && map_count(ids) < PATHS_MAX) map_put(ids, at, n * sizeof *at, (void *)(uintptr_t)id, NULL);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

call_path call_path_now(const void *returns_to, src_id line, const char *what) {
    void *stack[FRAMES_MAX];
    int n = backtrace(stack, FRAMES_MAX);
    for (int i = 0; i < n; i++)
        if (__builtin_extract_return_addr(stack[i]) == returns_to)
            return number_of((const void *const *)&stack[i], (size_t)(n - i), line, what);
    return 0;
}

static const path *path_of(call_path id) {
    pthread_mutex_lock(&lock);
    const path *p = id && id <= n_paths ? paths[id - 1] : NULL;
    pthread_mutex_unlock(&lock);
    return p;
}

/* The lines of a path from the outside in, those of inlined functions too. */
typedef struct lines {
    const path *p;
    size_t frames; /* that are left */
    src_id chain[SRC_CHAIN_MAX];
    int columns[SRC_CHAIN_MAX];
    size_t n, next;
    bool unknown; /* there was a frame without debug information */
} lines;

/* As src_chain_from_return_address, but of a function that was inlined in itself the innermost line alone. */
static size_t chain_of(const void *at, src_id chain[SRC_CHAIN_MAX], int columns[SRC_CHAIN_MAX]) {
    size_t n = src_chain_from_return_address(at, chain), kept = 0;
    src_columns_from_return_address(at, columns);
    for (size_t i = 0; i < n; i++) {
        const xt_src *line = src_get(chain[i]);
        for (size_t k = 0; line->line > 0 && k < kept; k++)
            if (src_get(chain[k])->func == line->func && src_get(chain[k])->file == line->file) kept = k;
        columns[kept] = columns[i];
        chain[kept++] = chain[i];
    }
    return kept;
}

static src_id next_line(lines *l) { /* 0: not known, or there is none left */
    if (l->next == l->n) {
        if (!l->frames) return 0;
        l->n = chain_of(l->p->at[--l->frames], l->chain, l->columns);
        l->next = 0;
    }
    src_id id = l->chain[l->next++];
    if (id && src_get(id)->line > 0) return id;
    l->unknown = true;
    return 0;
}

/* Of the line that next_line gave last. */
static int column_of(const lines *l) {
    return l->next ? l->columns[l->next - 1] : 0;
}

/* 0: of two functions, or not known. */
static int lines_between(src_id a, src_id b) {
    if (!a || !b) return 0;
    const xt_src *x = src_get(a), *y = src_get(b);
    return x->file == y->file && x->func == y->func ? x->line - y->line : 0; /* interned */
}

/* One call as the program has it, as far as its line and what is called there tell. */
static bool same_call(const path *p, const path *q) {
    return p->line == q->line && strcmp(p->what, q->what) == 0;
}

/* Of frame i of p and frame j of q, which are of one function. */
static int order_of_addresses(const path *p, size_t i, const path *q, size_t j) {
    uintptr_t to_p = (uintptr_t)p->at[i], to_q = (uintptr_t)q->at[j];
    return (to_p > to_q) - (to_p < to_q);
}

/* A call in another one's arguments comes first and stands behind, and an `if` may have its code moved: columns and
 * addresses that do not agree say nothing. Those of a macro's calls are the same. */
static int order_on_line(const path *p, size_t i, const path *q, size_t j, int columns) {
    int order = order_of_addresses(p, i, q, j);
    return columns && (columns < 0) != (order < 0) ? 0 : order;
}

static int order_without_lines(const path *p, size_t i, const path *q, size_t j) {
    bool themselves = i == 0 && j == 0;
    if (themselves && (p->line != q->line || same_call(p, q))) return lines_between(p->line, q->line);
    return order_of_addresses(p, i, q, j);
}

int call_path_order(call_path a, call_path b, bool *out_copies) {
    const path *p = path_of(a), *q = path_of(b);
    bool copies = p && p == q;
    if (out_copies) *out_copies = copies;
    if (!p || !q || copies) return 0;
    size_t i = p->n, j = q->n;
    while (i && j && p->at[i - 1] == q->at[j - 1]) i--, j--;
    if (i == p->n) return 0; /* of threads that began elsewhere */
    if (!i) i = 1; /* a call of a function of the program's own that this library calls back from */
    if (!j) j = 1;
    lines to_a = {.p = p, .frames = i}, to_b = {.p = q, .frames = j};
    src_id x = next_line(&to_a), y = next_line(&to_b);
    bool one_line = x && x == y; /* both parts of the way begin on one */
    int columns = 0; /* of the first that tell them apart there */
    while (x && x == y) {
        if (!columns && column_of(&to_a) && column_of(&to_b)) columns = column_of(&to_a) - column_of(&to_b);
        x = next_line(&to_a);
        y = next_line(&to_b);
    }
    bool known = !to_a.unknown && !to_b.unknown;
    copies = known && !x && !y && same_call(p, q);
    if (out_copies) *out_copies = copies;
    if (!known && to_a.frames == i - 1 && to_b.frames == j - 1) return order_without_lines(p, i - 1, q, j - 1);
    int order = lines_between(x, y);
    return order || copies || !one_line ? order : order_on_line(p, i - 1, q, j - 1, columns);
}

size_t call_path_common(call_path a, call_path b, bool *out_block) {
    const path *p = path_of(a), *q = path_of(b);
    src_scope of_a[SRC_SCOPES_MAX], of_b[SRC_SCOPES_MAX];
    size_t i = p ? p->n : 0, j = q ? q->n : 0, depth = 0;
    if (out_block) *out_block = false;
    while (i && j && p->at[i - 1] == q->at[j - 1]) i--, j--;
    if (!i || !j) return 0;
    size_t n_a = src_scopes_from_return_address(p->at[i - 1], of_a),
           n_b = src_scopes_from_return_address(q->at[j - 1], of_b);
    while (depth < n_a && depth < n_b && of_a[depth].id == of_b[depth].id) depth++;
    if (!depth) return 0;
    if (out_block) *out_block = of_a[depth - 1].block;
    return (p->n - i) * (SRC_SCOPES_MAX + 1) + depth;
}
