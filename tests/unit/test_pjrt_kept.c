/* Blocks kept for reuse, against a list that is searched from its oldest block on: the same answers through thousands
 * of calls, with few sizes (many equal blocks) and with many, the list often full and often empty. */
#include "pjrt/kept.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct model {
    face_block all[FACE_KEPT]; /* oldest first */
    size_t n;
} model;

static face_block model_take_at(model *m, size_t i) {
    face_block b = m->all[i];
    memmove(&m->all[i], &m->all[i + 1], (--m->n - i) * sizeof b);
    return b;
}

static face_block model_take(model *m, size_t n) {
    size_t best = m->n;
    for (size_t i = 0; i < m->n; i++) {
        size_t size = m->all[i].size;
        if (size >= n && size - n <= size / 4 && (best == m->n || size <= m->all[best].size)) best = i;
    }
    return best == m->n ? (face_block){0} : model_take_at(m, best);
}

static size_t model_largest(const model *m) {
    size_t most = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->all[i].size > most) most = m->all[i].size;
    return most;
}

static void same(face_block a, face_block b) {
    assert_ptr_equal(a.p, b.p);
    assert_int_equal(a.size, b.size);
}

static void same_as_a_list(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 7, 1000, 1u << 20};
    for (size_t round = 0; round < BASE_COUNT(sizes); round++) {
        face_kept *k = face_kept_new();
        model m = {.n = 0};
        uint64_t seen_full = 0, seen_empty = 0, served = 0;
        assert_non_null(k);
        for (uint64_t i = 1; i < 20000; i++) {
            uint64_t r = rng_bits(round, 1, i);
            bool filling = i / 1500 % 2 == 0; /* for a while more is given than taken, then the other way round */
            size_t size = 4096 + (size_t)(r >> 32) % sizes[round];
            if (r % 4 < (filling ? 3u : 1u)) {
                face_block b = {(void *)(uintptr_t)(i * 64), size};
                bool room = m.n < FACE_KEPT;
                assert_int_equal(face_kept_add(k, b), room);
                if (room) m.all[m.n++] = b;
                seen_full += !room;
            } else if (r >> 8 & 1) {
                face_block b = face_kept_take(k, size);
                same(b, model_take(&m, size));
                served += b.p != NULL;
            } else {
                seen_empty += m.n == 0;
                same(face_kept_take_oldest(k), m.n ? model_take_at(&m, 0) : (face_block){0});
            }
            assert_int_equal(k->n, m.n);
            assert_int_equal(face_kept_largest(k), model_largest(&m));
        }
        assert_true(seen_full > 0 && seen_empty > 0 && served > 1000);
        base_free(k);
    }
}

/* At most a quarter of a block is left over. */
static void a_quarter_may_be_left(void **state) {
    (void)state;
    face_kept *k = face_kept_new();
    assert_non_null(k);
    assert_true(face_kept_add(k, (face_block){k, 4000}));
    assert_null(face_kept_take(k, 2999).p);
    assert_null(face_kept_take(k, 4001).p);
    assert_ptr_equal(face_kept_take(k, 3000).p, k);
    assert_null(face_kept_take_oldest(k).p);
    base_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_a_list), cmocka_unit_test(a_quarter_may_be_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
