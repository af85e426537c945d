/* A hash map that remembers the order of insertion: entries lie in one array in that order, and an open-addressed index
 * of entry numbers finds them. So iteration is the same in every run, and a removal only leaves a hole in the array,
 * which makes removing the current key during iteration safe. Invariant: the index has a power of two slots, at least a
 * quarter of them never used, and holes are squeezed out when the array would have to grow and half of it are holes. A
 * key takes the first dead slot on its way: one that comes and goes again and again stays where it was, and does not
 * leave a trail of dead slots that is searched each time. */
#include "base/base.h"

typedef struct entry {
    char *key; /* NULL marks a hole */
    size_t n;
    uint64_t hash;
    void *value;
} entry;

struct map {
    entry *entries;
    size_t used, cap; /* entries in use including holes */
    size_t count; /* keys */
    uint32_t *slots; /* entry number + 1; 0 = never used, SLOT_DEAD = its entry was removed */
    size_t slot_count, slots_used;
};

#define SLOT_DEAD UINT32_MAX

map *map_new(void) {
    return base_calloc(1, sizeof(map));
}

void map_free(map *m, void (*free_value)(void *)) {
    if (!m) return;
    for (size_t i = 0; i < m->used; i++) {
        if (!m->entries[i].key) continue;
        if (free_value) free_value(m->entries[i].value);
        base_free(m->entries[i].key);
    }
    base_free(m->entries);
    base_free(m->slots);
    base_free(m);
}

static uint64_t hash_key(const void *key, size_t n) {
    return hash_bytes(key, n, (hash128){0, 0}).lo;
}

/* The slot that holds the key, or NULL. */
static uint32_t *find(const map *m, const void *key, size_t n, uint64_t hash) {
    if (!m->slot_count) return NULL;
    size_t mask = m->slot_count - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t s = m->slots[i];
        if (s == 0) return NULL;
        if (s == SLOT_DEAD) continue;
        const entry *e = &m->entries[s - 1];
        if (e->hash == hash && e->n == n && (n == 0 || memcmp(e->key, key, n) == 0)) return &m->slots[i];
    }
}

static void place(map *m, uint64_t hash, size_t number) {
    size_t mask = m->slot_count - 1, i = hash & mask;
    while (m->slots[i] != 0 && m->slots[i] != SLOT_DEAD) i = (i + 1) & mask;
    m->slots_used += m->slots[i] == 0;
    m->slots[i] = (uint32_t)number + 1;
}

/* Squeezes holes out and rebuilds the index for `want` keys. Changes nothing on failure. */
static bool rebuild(map *m, size_t want) {
    size_t slots = 16;
    while (slots / 2 < want)
        if (!size_mul(slots, 2, &slots)) return false;
    if (slots >= SLOT_DEAD) return false;
    uint32_t *fresh = base_calloc(slots, sizeof *fresh);
    if (!fresh) return false;
    size_t kept = 0;
    for (size_t i = 0; i < m->used; i++)
        if (m->entries[i].key) m->entries[kept++] = m->entries[i];
    m->used = kept;
    base_free(m->slots);
    m->slots = fresh;
    m->slot_count = slots;
    m->slots_used = 0;
    for (size_t i = 0; i < kept; i++) place(m, m->entries[i].hash, i);
    return true;
}

void *map_get(const map *m, const void *key, size_t n) {
    const uint32_t *slot = find(m, key, n, hash_key(key, n));
    return slot ? m->entries[*slot - 1].value : NULL;
}

bool map_put(map *m, const void *key, size_t n, void *value, void **out_old) {
    uint64_t hash = hash_key(key, n);
    uint32_t *slot = find(m, key, n, hash);
    if (out_old) *out_old = slot ? m->entries[*slot - 1].value : NULL;
    if (slot) {
        m->entries[*slot - 1].value = value;
        return true;
    }
    bool holes = m->used == m->cap && m->used - m->count > m->used / 2;
    if ((holes || (m->slots_used + 1) * 4 > m->slot_count * 3) && !rebuild(m, m->count * 2 + 1)) return false;
    if (!vec_grow((void **)&m->entries, &m->cap, m->used + 1, sizeof *m->entries)) return false;
    char *copy = base_malloc(n + 1);
    if (!copy) return false;
    if (n) memcpy(copy, key, n);
    copy[n] = '\0';
    m->entries[m->used] = (entry){copy, n, hash, value};
    place(m, hash, m->used++);
    m->count++;
    return true;
}

void *map_remove(map *m, const void *key, size_t n) {
    uint32_t *slot = find(m, key, n, hash_key(key, n));
    if (!slot) return NULL;
    entry *e = &m->entries[*slot - 1];
    void *value = e->value;
    base_free(e->key);
    *e = (entry){0};
    *slot = SLOT_DEAD;
    m->count--;
    return value;
}

size_t map_count(const map *m) {
    return m->count;
}

bool map_next(const map *m, size_t *iter, const void **key, size_t *n, void **value) {
    while (*iter < m->used && !m->entries[*iter].key) ++*iter;
    if (*iter >= m->used) return false;
    const entry *e = &m->entries[(*iter)++];
    if (key) *key = e->key;
    if (n) *n = e->n;
    if (value) *value = e->value;
    return true;
}
