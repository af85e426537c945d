/* The table of pretty forms, from the column `text` of ops.def. Printer and parser read the same rows, so that they
 * cannot disagree. Ops with a syntax of their own (reduce, while, convolution, ...) are functions in print_pretty.c and
 * parse_pretty*.c; ops in neither place are written in generic form. Source: the assembly formats of the StableHLO
 * dialect. */
#include "ir/text.h"

#define FORM(form) \
    { .types = TYPES_##form }
#define CLAUSES(form, ...) \
    {                      \
        TYPES_##form, {    \
            __VA_ARGS__    \
        }                  \
    }
#define WORD(word, kind, key) \
    { word, CLAUSE_##kind, IR_A_##key, IR_A_none, false }
#define MAYBE(word, kind, key) \
    { word, CLAUSE_##kind, IR_A_##key, IR_A_none, true }
#define WORD2(word, kind, key, key2) \
    { word, CLAUSE_##kind, IR_A_##key, IR_A_##key2, false }
#define MAYBE2(word, kind, key, key2) \
    { word, CLAUSE_##kind, IR_A_##key, IR_A_##key2, true }
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, derivative, text, ...) [OP_##name] = text,
const pretty_row pretty_rows[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP

bool pretty_has_key(const pretty_row *row, ir_attr_key key) {
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        if (row->clauses[i].key == key || row->clauses[i].key2 == key) return key != IR_A_none;
    return false;
}

bool text_key_is_i32(ir_attr_key key) {
    return key == IR_A_index || key == IR_A_exponent_bits || key == IR_A_mantissa_bits || key == IR_A_api_version ||
           key == IR_A_version;
}

bool text_key_is_matrix(ir_attr_key key) {
    return key == IR_A_padding || key == IR_A_replica_groups || key == IR_A_source_target_pairs;
}
