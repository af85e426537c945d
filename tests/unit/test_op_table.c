/* Each row of ops.def, judged by what its readers need: an op that is added and whose row says something wrong
 * fails here and not when a program first uses it. What is missing altogether (the type rule, the interpreter's
 * function, the derivative) does not build; the value of an elementwise op is missed by test_interp_elementwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/bytecode.h"
#include "format/bytecode_int.h"
#include "ir/interp.h"
#include "ir/text.h"

/* Properties that hold several attributes of the IR, or none. */
static bool is_group(const char *name) {
    static const char *const groups[] = {"arg_attrs",
                                         "res_attrs",
                                         "no_inline",
                                         "channel_handle",
                                         "dimension_numbers",
                                         "dot_dimension_numbers",
                                         "ragged_dot_dimension_numbers",
                                         "scatter_dimension_numbers"};
    for (size_t i = 0; i < BASE_COUNT(groups); i++)
        if (strcmp(groups[i], name) == 0) return true;
    return false;
}

static int wrong; /* rows, of a test */
static void complain(const ir_op_info *info, const char *what, const char *which) {
    print_error("%s.%s: %s %s\n", info->dialect, info->name, what, which);
    wrong++;
}

/* Bytecode has properties by place, so their order is part of the format: the alphabet's. */
static void properties_are_attributes_in_order(void **state) {
    (void)state;
    wrong = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const ir_op_info *info = &ir_op_infos[i];
        char before[64] = "";
        for (const char *p = info->properties; *p;) {
            size_t n = strcspn(p, " "), bare = n - (p[n - 1] == '?');
            char name[64];
            assert_true(n < sizeof name);
            snprintf(name, sizeof name, "%.*s", (int)bare, p);
            if (!is_group(name) && !ir_attr_key_from_name(name, bare)) complain(info, "attrs.def does not have", name);
            if (strcmp(before, name) >= 0) complain(info, "out of the alphabet's order or twice:", name);
            snprintf(before, sizeof before, "%s", name);
            p += n + (p[n] == ' ');
        }
    }
    assert_int_equal(wrong, 0);
}

static bool has_property(const ir_op_info *info, const char *name, bool *grouped) {
    *grouped = false;
    for (const char *p = info->properties; *p;) {
        size_t n = strcspn(p, " "), bare = n - (p[n - 1] == '?');
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)bare, p);
        if (strcmp(one, name) == 0) return true;
        *grouped |= is_group(one);
        p += n + (p[n] == ' ');
    }
    return false;
}

static void clauses_spell_properties(void **state) {
    (void)state;
    wrong = 0;
    for (int i = 0; i < OP_COUNT; i++)
        for (size_t k = 0; k < PRETTY_CLAUSES && pretty_rows[i].clauses[k].word; k++) {
            const clause *c = &pretty_rows[i].clauses[k];
            bool grouped;
            const char *first = ir_attr_key_name(c->key), *second = c->key2 ? ir_attr_key_name(c->key2) : NULL;
            if (!has_property(&ir_op_infos[i], first, &grouped) && !grouped)
                complain(&ir_op_infos[i], "the text has an attribute that is no property:", first);
            if (second && !has_property(&ir_op_infos[i], second, &grouped) && !grouped)
                complain(&ir_op_infos[i], "the text has an attribute that is no property:", second);
        }
    assert_int_equal(wrong, 0);
}

/* Of each op of StableHLO there is one form a version, from the first that has it on. */
static void vhlo_has_each_op_of_stablehlo(void **state) {
    (void)state;
    wrong = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const ir_op_info *info = &ir_op_infos[i];
        if (strcmp(info->dialect, "stablehlo") != 0) continue;
        const vhlo_row *now = vhlo_at(info->name, BYTECODE_NEWEST);
        if (!now) {
            complain(info, "no row in vhlo.def, and since is 0", "");
            continue;
        }
        if (vhlo_find(now->name, strlen(now->name), now->version) != now) complain(info, "two rows of a version", "");
        for (int v = now->version; v > 1; v--) {
            const vhlo_row *later = vhlo_find(now->name, strlen(now->name), v),
                           *sooner = vhlo_find(now->name, strlen(now->name), v - 1);
            if (!later || !sooner || sooner->until + 1 != later->since)
                complain(info, "versions that do not follow each other", "");
        }
    }
    assert_int_equal(wrong, 0);
}

/* --- elementwise ops --- */
/* Those without attributes, on a type that they take. */
static ir_module *program_of(ir_opcode code, xt_dtype t) {
    const int64_t dims[] = {2, 3};
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    ir_builder b = ir_at_end(m, ir_func_block(f));
    ir_value *in[3] = {NULL};
    for (int k = 0; k < ir_op_infos[code].n_in; k++) in[k] = ir_func_arg(f, ir_tensor(t, 2, dims));
    if (code == OP_select) in[0]->type = ir_tensor(XT_BOOL, 2, dims);
    ir_op *op = ir_build(&b, code, (size_t)ir_op_infos[code].n_in, in, 0, NULL, 0, NULL, 0, NULL);
    if (op) ir_return(&b, 1, (ir_value *[]){&op->out[0]});
    bool built = op != NULL;
    xt_status_free(b.status);
    if (built) return m;
    ir_module_free(m);
    return NULL;
}

static bool is_plain(ir_opcode code) {
    const ir_op_info *info = &ir_op_infos[code];
    bool accuracy = strcmp(info->properties, "result_accuracy?") == 0; /* says nothing of the meaning */
    return (info->flags & IR_ELEMENTWISE) && (accuracy || !*info->properties) && code != OP_convert;
}

static char *text_of(const ir_module *m, unsigned flags) {
    str s = STR_INIT;
    assert_null(ir_print(m, flags, &s));
    return s.data;
}

static void same_text(const ir_module *m, const char *text) {
    char *again = text_of(m, 0);
    assert_string_equal(text, again);
    base_free(again);
}

static void text_round_trip(const ir_module *m) {
    char *text = text_of(m, 0);
    for (int generic = 0; generic < 2; generic++) {
        ir_module *back = NULL;
        char *written = text_of(m, generic ? IR_PRINT_GENERIC : 0);
        xt_status s = ir_parse(written, strlen(written), "op", &back);
        if (s) fail_msg("%s\n%s", xt_status_message(s), written);
        same_text(back, text);
        base_free(written);
        ir_module_free(back);
    }
    base_free(text);
}

static void bytecode_round_trip(const ir_module *m) {
    str bytes = STR_INIT;
    ir_module *back = NULL;
    char *text = text_of(m, 0);
    xt_status s = bytecode_write(m, &(bytecode_opts){.version = BYTECODE_NEWEST}, &bytes);
    if (!s) s = bytecode_read(bytes.data, bytes.len, "op", &back);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    same_text(back, text);
    base_free(text);
    str_free(&bytes);
    ir_module_free(back);
}

static void elementwise_ops_read_back(void **state) {
    static const xt_dtype types[] = {XT_F32, XT_I32, XT_C64, XT_BOOL};
    size_t n = 0;
    (void)state;
    for (int code = 0; code < OP_COUNT; code++) {
        if (!is_plain((ir_opcode)code)) continue;
        int taken = 0;
        for (size_t t = 0; t < BASE_COUNT(types); t++) {
            ir_module *m = program_of((ir_opcode)code, types[t]);
            if (!m) continue;
            taken++;
            text_round_trip(m);
            bytecode_round_trip(m);
            ir_module_free(m);
        }
        if (!taken) fail_msg("%s.%s takes none of the types", ir_op_infos[code].dialect, ir_op_infos[code].name);
        n++;
    }
    assert_true(n > 60);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_attributes_in_order),
        cmocka_unit_test(clauses_spell_properties),
        cmocka_unit_test(vhlo_has_each_op_of_stablehlo),
        cmocka_unit_test(elementwise_ops_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
