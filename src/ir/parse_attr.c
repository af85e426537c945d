/* Attributes. Of an op's own attributes the kind is known from attrs.def, so each is read as what it must be;
 * all others are read as they come, and what this IR has no kind for is kept as its text (OPAQUE), to be printed
 * back unchanged. */
#include "ir/interp.h"
#include "ir/parse_int.h"
#include "ir/sdy.h"
#include "ir/text.h"

/* A splat of dims in an attribute is unfolded; no op has more numbers than this. */
enum { MAX_ATTR_INTS = 1 << 16, SHORT_ATTRS = 16 };

static bool same_name(const ir_attr *a, const ir_attr *b) {
    return a->key ? b->key == a->key : b->key == 0 && !strcmp(b->name, a->name);
}

/* The place of the attribute in a long list's table, or that which it would have. */
static uint32_t *place_of(const attr_list *l, const ir_attr *a) {
    size_t at = (size_t)hash_bytes(a->name, strlen(a->name), (hash128){0, 0}).lo;
    while (l->places[at & (l->n_places - 1)] && !same_name(a, &l->items[l->places[at & (l->n_places - 1)] - 1])) at++;
    return &l->places[at & (l->n_places - 1)];
}

static bool grow_places(parser *p, attr_list *l) {
    size_t n = l->n_places ? 2 * l->n_places : 8 * SHORT_ATTRS;
    uint32_t *places = arena_alloc(p->m->mem, n * sizeof *places);
    if (!places) return parse_oom(p);
    memset(places, 0, n * sizeof *places);
    l->places = places;
    l->n_places = n;
    for (size_t i = 0; i < l->n; i++) *place_of(l, &l->items[i]) = (uint32_t)i + 1;
    return true;
}

/* Two of one name are an error. A few are looked through; who writes thousands has them found by a table. */
static bool is_new(parser *p, attr_list *l, const ir_attr *a) {
    bool twice = false;
    if (l->n < SHORT_ATTRS)
        for (size_t i = 0; i < l->n && !twice; i++) twice = same_name(a, &l->items[i]);
    else {
        if (2 * (l->n + 1) > l->n_places && !grow_places(p, l)) return false;
        uint32_t *place = place_of(l, a);
        twice = *place != 0;
        if (!twice) *place = (uint32_t)l->n + 1;
    }
    return !twice || parse_fail(p, "attribute '%s' is given twice", a->name);
}

bool attr_push(parser *p, attr_list *l, ir_attr a) {
    if (!is_new(p, l, &a)) return false;
    if (l->n == l->cap) { /* in the arena: the lists before are at most as much again */
        size_t cap = l->cap ? 2 * l->cap : 8;
        ir_attr *grown = arena_alloc(p->m->mem, cap * sizeof *grown);
        if (!grown) return parse_oom(p);
        if (l->n) memcpy(grown, l->items, l->n * sizeof *grown);
        l->items = grown;
        l->cap = cap;
    }
    l->items[l->n++] = a;
    return true;
}

bool attr_push_ints(parser *p, attr_list *l, ir_attr_key k, size_t n, const int64_t *v) {
    return attr_push(
        p, l,
        (ir_attr){
            .key = k, .kind = ir_attr_key_kind(k), .name = ir_attr_key_name(k), .dtype = XT_I64, .n = n, .v.ints = v});
}

/* The text from `from` to the end of the token before the current one. */
static bool keep_text(parser *p, const char *from, ir_attr *out) {
    const char *to = p->last_end;
    char *s = arena_alloc(p->m->mem, (size_t)(to - from) + 1);
    if (!s) return parse_oom(p);
    memcpy(s, from, (size_t)(to - from));
    *out = (ir_attr){.kind = IR_AK_OPAQUE, .n = (size_t)(to - from), .v.s = s};
    return true;
}

/* --- Aliases: `#name` is read again where its value was defined --- */

static bool alias_enter(parser *p, lex_state *out_back) {
    const lex_state *value = p->tok.kind == TOK_HASH ? map_get(p->attr_aliases, p->tok.text, p->tok.n) : NULL;
    if (!value) return false;
    if (++p->alias_uses > PARSE_MAX_ALIAS_USES)
        return parse_fail(p, "attribute aliases are used more than %d times", PARSE_MAX_ALIAS_USES);
    if (!parse_enter(p) || !lex_advance(p)) return false;
    *out_back = lex_save(p);
    lex_restore(p, *value);
    return true;
}

static void alias_leave(parser *p, lex_state back) {
    parse_leave(p);
    lex_restore(p, back);
}

/* --- Any attribute --- */

static bool parse_attr_items(parser *p, ir_attr *out) {
    ir_attr *items = NULL, a;
    size_t n = 0, cap = 0;
    bool ok = lex_advance(p);
    while (ok && !parse_at(p, ']')) {
        ok = parse_attr(p, &a) && (VEC_PUSH(items, n, cap, a) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' in a list of attributes");
    }
    ok = ok && lex_advance(p);
    *out = (ir_attr){.kind = IR_AK_ARRAY, .n = n, .v.list = arena_copy(p->m->mem, items, n * sizeof *items)};
    base_free(items);
    return ok && (n == 0 || out->v.list || parse_oom(p));
}

static bool parse_number_attr(parser *p, ir_attr *out) {
    const char *from = p->tok.text;
    bool negative = parse_accept(p, '-'), is_float = p->tok.kind == TOK_FLOAT;
    token number = p->tok;
    int64_t v = 0;
    if (p->status) return false;
    if (is_float ? !lex_advance(p) : !parse_integer_bits(p, &v)) return false;
    xt_dtype t = is_float ? XT_F64 : XT_I64;
    p->saw_index = false;
    bool typed = parse_accept(p, ':');
    if (p->status || (typed && !parse_dtype(p, &t))) return false;
    if (p->saw_index) return keep_text(p, from, out);
    if (ir_dtype_is_float(t)) {
        double f = is_float ? number_parse(number.text, number.n) : 0;
        if (!is_float) { /* bits in hexadecimal, or a whole number */
            uint64_t cell[2] = {0};
            lex_state here = lex_save(p);
            lex_restore(p, (lex_state){number, number.text + number.n, number.line, number.text});
            if (!parse_element(p, t, cell)) return false;
            lex_restore(p, here);
            f = array_get(&(array){ir_scalar(t), cell}, 0);
        }
        *out = (ir_attr){.kind = IR_AK_FLOAT, .dtype = t, .v.f = negative ? -f : f};
        return true;
    }
    if (is_float) return parse_fail_at(p, number, "a number with a fraction cannot have type %s", ir_dtype_mlir(t));
    *out = (ir_attr){.kind = IR_AK_INT, .dtype = t, .v.i = negative ? (int64_t)(0 - (uint64_t)v) : v};
    return true;
}

/* StableHLO's dimension numbers outside their op stay text too, but must be well formed. */
static bool check_struct(parser *p) {
    static const char *const structs[][2] = {{"#stablehlo.dot", "dot_dimension_numbers"},
                                             {"#stablehlo.conv", "dimension_numbers"},
                                             {"#stablehlo.gather", "dimension_numbers"},
                                             {"#stablehlo.scatter", "scatter_dimension_numbers"}};
    for (size_t i = 0; i < BASE_COUNT(structs); i++) {
        if (p->tok.kind != TOK_HASH || p->tok.n != strlen(structs[i][0]) ||
            memcmp(p->tok.text, structs[i][0], p->tok.n))
            continue;
        attr_list unused = {0};
        bool known;
        lex_state here = lex_save(p);
        if (!parse_struct_attr(p, structs[i][1], &unused, &known)) return false;
        lex_restore(p, here);
    }
    return true;
}

/* #dialect.name<...>, #dialect<...>, affine_map<...>: text. */
static bool parse_opaque(parser *p, ir_attr *out) {
    const char *from = p->tok.text, *text;
    size_t n;
    if (!check_struct(p)) return false;
    if (!lex_advance(p)) return false;
    if (parse_at(p, '<') && !(lex_advance(p) && lex_skip_angle(p, &text, &n) && lex_advance(p))) return false;
    return keep_text(p, from, out);
}

static bool parse_word_attr(parser *p, ir_attr *out) {
    const char *from = p->tok.text;
    bool b;
    if (parse_at_word(p, "true") || parse_at_word(p, "false")) {
        if (!parse_bool_word(p, &b)) return false;
        *out = (ir_attr){.kind = IR_AK_BOOL, .v.b = b};
        return true;
    }
    if (parse_at_word(p, "unit")) {
        *out = (ir_attr){.kind = IR_AK_UNIT};
        return lex_advance(p);
    }
    if (parse_at_word(p, "dense")) {
        ir_literal lit;
        p->saw_index = false;
        if (!parse_dense(p, &lit)) return false;
        if (p->saw_index) return keep_text(p, from, out);
        *out = (ir_attr){.kind = IR_AK_DENSE, .v.dense = lit};
        return true;
    }
    if (parse_at_word(p, "dense_resource"))
        return parse_fail(p, "dense_resource refers to data outside the program; write the literal with its elements");
    if (parse_at_word(p, "tensor") || parse_at_word(p, "tuple")) {
        const ir_type *t;
        if (!parse_type(p, &t)) return false;
        *out = (ir_attr){.kind = IR_AK_TYPE, .v.type = t};
        return true;
    }
    if (parse_at_word(p, "loc")) {
        if (!parse_op_loc(p, NULL)) return false;
        return keep_text(p, from, out);
    }
    return parse_opaque(p, out); /* array<...>, affine_map<...>, f32 */
}

static bool parse_attr_inner(parser *p, ir_attr *out) {
    switch (p->tok.kind) {
    case TOK_STRING: *out = (ir_attr){.kind = IR_AK_STRING}; return parse_string(p, &out->v.s, &out->n);
    case TOK_SYMBOL: {
        const char *from = p->tok.text;
        *out = (ir_attr){.kind = IR_AK_SYMBOL};
        if (!parse_symbol(p, &out->v.s, &out->n)) return false;
        if (!parse_at(p, ':') || p->next == p->end || *p->next != ':') return true;
        while (parse_accept(p, ':')) /* @a::@b */
            if (!parse_expect(p, ':', "in a nested symbol") ||
                (p->tok.kind != TOK_SYMBOL && !parse_expected(p, "a symbol")) || !lex_advance(p))
                return false;
        return !p->status && keep_text(p, from, out);
    }
    case TOK_INT:
    case TOK_FLOAT: return parse_number_attr(p, out);
    case TOK_WORD: return parse_word_attr(p, out);
    case TOK_HASH: return parse_opaque(p, out);
    case TOK_BANG: {
        const ir_type *t;
        if (!parse_type(p, &t)) return false;
        *out = (ir_attr){.kind = IR_AK_TYPE, .v.type = t};
        return true;
    }
    default: break;
    }
    if (parse_at(p, '-')) return parse_number_attr(p, out);
    if (parse_at(p, '[')) return parse_attr_items(p, out);
    if (parse_at(p, '{')) {
        attr_list l = {0};
        if (!parse_attr_dict(p, &l)) return false;
        *out = (ir_attr){.kind = IR_AK_DICT, .n = l.n, .v.list = l.items};
        return true;
    }
    if (parse_at(p, '(')) { /* a function type */
        const char *from = p->tok.text;
        type_list in, res;
        return parse_function_type(p, &in, &res) && keep_text(p, from, out);
    }
    return parse_expected(p, "an attribute");
}

bool parse_attr(parser *p, ir_attr *out) {
    lex_state back;
    if (!parse_enter(p)) return false;
    bool alias = alias_enter(p, &back);
    if (p->status) return false;
    bool ok = alias ? parse_attr(p, out) : parse_attr_inner(p, out);
    if (alias && ok) alias_leave(p, back);
    if (ok && !out->name) out->name = ""; /* an element of a list; members of dictionaries are named by the caller */
    parse_leave(p);
    return ok;
}

/* --- An op's own attributes, by kind --- */

static bool push_int(parser *p, int64_t **v, size_t *n, size_t *cap, int64_t x) {
    if (VEC_PUSH(*v, *n, *cap, x)) return true;
    return parse_oom(p);
}

static bool parse_array_ints(parser *p, int64_t **v, size_t *n, size_t *cap) {
    xt_dtype t;
    if (!lex_advance(p) || !parse_expect(p, '<', "after array") || !parse_dtype(p, &t)) return false;
    if (parse_accept(p, ':')) {
        do {
            int64_t x;
            bool b;
            if (t == XT_BOOL && p->tok.kind == TOK_WORD) {
                if (!parse_bool_word(p, &b)) return false;
                x = b;
            } else if (!parse_integer(p, &x)) {
                return false;
            }
            if (!push_int(p, v, n, cap, x)) return false;
        } while (parse_accept(p, ','));
    }
    return !p->status && parse_expect(p, '>', "at the end of array<...>");
}

static bool literal_ints(parser *p, token at, const ir_literal *l, int64_t **v, size_t *n, size_t *cap) {
    size_t size = xt_dtype_size(l->type->dtype);
    if (l->type->count > MAX_ATTR_INTS)
        return parse_fail_at(p, at, "%lld numbers in an attribute; at most %d are allowed", (long long)l->type->count,
                             MAX_ATTR_INTS);
    if (!ir_dtype_is_int(l->type->dtype) && l->type->dtype != XT_BOOL)
        return parse_fail_at(p, at, "expected integers, found %s", ir_dtype_mlir(l->type->dtype));
    for (int64_t i = 0; i < l->type->count; i++) {
        const char *src = (const char *)l->data + (l->splat ? 0 : (size_t)i * size);
        int64_t x = 0;
        memcpy(&x, src, size);
        if (size < 8 && ir_dtype_is_signed(l->type->dtype))
            x = (int64_t)((uint64_t)x << (64 - 8 * size)) >> (64 - 8 * size);
        if (!push_int(p, v, n, cap, x)) return false;
    }
    return true;
}

/* #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>, the mesh being one that stands before. */
static bool parse_mesh_groups(parser *p, ir_attr *a) {
    ir_attr text;
    int64_t n, width, *ids;
    token at = p->tok;
    if (!parse_attr(p, &text)) return false;
    if (text.kind != IR_AK_OPAQUE || !ir_sdy_is_groups(text.v.s))
        return parse_fail_at(p, at, "expected a list of integers for attribute '%s'", a->name);
    xt_status s = ir_sdy_groups_of(p->m, text.v.s, &n, &width, &ids);
    if (s) {
        parse_fail_at(p, at, "%s", status_text(s));
        xt_status_free(s);
        return false;
    }
    a->n = (size_t)(n * width);
    a->rank2 = (uint32_t)width;
    a->v.ints = arena_copy(p->m->mem, ids, a->n * sizeof *ids);
    base_free(ids);
    return a->v.ints || parse_oom(p);
}

/* array<i64: 1, 2>, dense<[1, 2]> : tensor<2xi64>, [1, 2]. */
static bool parse_ints_attr(parser *p, ir_attr *a) {
    int64_t *v = NULL;
    size_t n = 0, cap = 0;
    bool ok;
    token at = p->tok;
    if (at.kind == TOK_HASH) return parse_mesh_groups(p, a);
    if (parse_at_word(p, "array")) {
        ok = parse_array_ints(p, &v, &n, &cap);
    } else if (parse_at_word(p, "dense")) {
        ir_literal lit;
        ok = parse_dense(p, &lit) && literal_ints(p, at, &lit, &v, &n, &cap);
        if (ok && lit.type->rank == 2) a->rank2 = (uint32_t)lit.type->dims[1];
        if (ok && lit.type->rank > 2) ok = parse_fail_at(p, at, "a list of numbers has at most two dimensions");
    } else {
        int64_t *list;
        if (!parse_at(p, '[')) return parse_expected(p, "a list of integers (array<i64: ...>, dense<...> or [...])");
        if (!parse_integer_list(p, "at the start of a list of integers", &list, &n)) return false;
        a->n = n, a->v.ints = list;
        return true;
    }
    a->n = n;
    a->v.ints = arena_copy(p->m->mem, v, n * sizeof *v);
    base_free(v);
    return ok && (n == 0 || a->v.ints || parse_oom(p));
}

/* #stablehlo<comparison_direction EQ>, #chlo<...>, or the bare name in quotes. */
static bool parse_enum_attr(parser *p, ir_attr_key key, int64_t *out) {
    lex_state back;
    bool alias = alias_enter(p, &back);
    if (p->status) return false;
    if (alias) {
        bool ok = parse_enum_attr(p, key, out);
        alias_leave(p, back);
        return ok;
    }
    if (p->tok.kind == TOK_STRING) {
        if (!ir_enum_from_name(key, p->tok.text + 1, p->tok.n - 2, out))
            return parse_expected(p, "a member of the enumeration");
        return lex_advance(p);
    }
    if (p->tok.kind != TOK_HASH) return parse_expected(p, "an enumeration such as #stablehlo<precision DEFAULT>");
    if (!lex_advance(p) || !parse_expect(p, '<', "after the dialect's name")) return false;
    lex_state word = lex_save(p);
    if (!lex_advance(p)) return false;
    if (parse_at(p, '>')) lex_restore(p, word); /* #stablehlo.precision<DEFAULT> */
    return parse_enum_word(p, key, out) && parse_expect(p, '>', "after the member's name");
}

static bool parse_enums_attr(parser *p, ir_attr *a) {
    int64_t *v = NULL, x;
    size_t n = 0, cap = 0;
    bool ok = parse_expect(p, '[', "at the start of a list");
    while (ok && !parse_at(p, ']')) {
        ok = parse_enum_attr(p, a->key, &x) && push_int(p, &v, &n, &cap, x);
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' in a list");
    }
    ok = ok && lex_advance(p);
    a->n = n;
    a->v.ints = arena_copy(p->m->mem, v, n * sizeof *v);
    base_free(v);
    return ok && (n == 0 || a->v.ints || parse_oom(p));
}

static const char *const kind_names[] = {
    [IR_AK_INT] = "an integer",
    [IR_AK_FLOAT] = "a number",
    [IR_AK_BOOL] = "true or false",
    [IR_AK_STRING] = "a string",
    [IR_AK_SYMBOL] = "a symbol such as @f",
    [IR_AK_DENSE] = "dense<...>",
    [IR_AK_TYPE] = "a type",
    [IR_AK_ARRAY] = "a list",
    [IR_AK_DICT] = "a dictionary",
    [IR_AK_UNIT] = "nothing (its presence says it)",
    [IR_AK_OPAQUE] = "an attribute",
};

static bool parse_keyed_attr(parser *p, ir_attr *a) {
    ir_attr any;
    token at = p->tok;
    lex_state back;
    bool alias = alias_enter(p, &back);
    if (p->status) return false;
    if (alias) {
        bool ok = parse_keyed_attr(p, a);
        alias_leave(p, back);
        return ok;
    }
    switch (a->kind) {
    case IR_AK_INTS:
    case IR_AK_BOOLS: return parse_ints_attr(p, a);
    case IR_AK_ENUM: return parse_enum_attr(p, a->key, &a->v.i);
    case IR_AK_ENUMS: return parse_enums_attr(p, a);
    default: break;
    }
    if (!parse_attr(p, &any)) return false;
    bool fits = any.kind == a->kind || a->kind == IR_AK_OPAQUE;
    if (a->kind == IR_AK_FLOAT && any.kind == IR_AK_INT)
        fits = true, any.v.f = (double)any.v.i, any.kind = IR_AK_FLOAT, any.dtype = XT_F32;
    if (!fits) {
        char what[96];
        lex_restore(p, (lex_state){at, at.text + at.n, at.line, at.text});
        snprintf(what, sizeof what, "%s for attribute '%s'", kind_names[a->kind], a->name);
        return parse_expected(p, what);
    }
    any.key = a->key;
    any.name = a->name;
    *a = any;
    return true;
}

/* name, or "name" */
static bool parse_attr_name(parser *p, const char **out, size_t *out_n) {
    if (p->tok.kind == TOK_STRING) return parse_string(p, out, out_n);
    if (p->tok.kind != TOK_WORD) return parse_expected(p, "the name of an attribute");
    char *copy = arena_alloc(p->m->mem, p->tok.n + 1);
    if (!copy) return parse_oom(p);
    memcpy(copy, p->tok.text, p->tok.n);
    *out = copy;
    *out_n = p->tok.n;
    return lex_advance(p);
}

bool parse_op_attr(parser *p, attr_list *out) {
    const char *name;
    size_t n;
    if (!parse_attr_name(p, &name, &n)) return false;
    ir_attr a = {.key = ir_attr_key_from_name(name, n), .name = name};
    if (!parse_accept(p, '=')) {
        a.kind = IR_AK_UNIT;
        return !p->status && attr_push(p, out, a);
    }
    bool known;
    if (!parse_struct_attr(p, name, out, &known)) return false;
    if (known) return true;
    if (!a.key) {
        ir_attr any;
        if (!parse_attr(p, &any)) return false;
        any.name = name;
        return attr_push(p, out, any);
    }
    a.kind = ir_attr_key_kind(a.key);
    a.name = ir_attr_key_name(a.key);
    a.dtype = XT_I64;
    if (a.kind == IR_AK_UNIT) { /* unit, or a boolean where it is one */
        bool b = true;
        if (!parse_accept_word(p, "unit") && (p->status || !parse_bool_word(p, &b))) return false;
        return !b || attr_push(p, out, a);
    }
    return parse_keyed_attr(p, &a) && attr_push(p, out, a);
}

bool parse_op_attr_dict(parser *p, attr_list *out) {
    if (!parse_expect(p, '{', "at the start of attributes")) return false;
    while (!parse_at(p, '}')) {
        if (!parse_op_attr(p, out)) return false;
        if (!parse_at(p, '}') && !parse_expect(p, ',', "or '}' in attributes")) return false;
    }
    return lex_advance(p);
}

bool parse_attr_dict(parser *p, attr_list *out) {
    if (!parse_expect(p, '{', "at the start of attributes")) return false;
    while (!parse_at(p, '}')) {
        const char *name;
        size_t n;
        ir_attr a = {.kind = IR_AK_UNIT};
        if (!parse_attr_name(p, &name, &n)) return false;
        if (parse_accept(p, '=') && !parse_attr(p, &a)) return false;
        if (p->status) return false;
        a.name = name;
        if (!attr_push(p, out, a)) return false;
        if (!parse_at(p, '}') && !parse_expect(p, ',', "or '}' in attributes")) return false;
    }
    return lex_advance(p);
}
