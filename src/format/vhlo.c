/* The tables of the vhlo dialect that the reader and the writer share: versioned ops, element types, enumerations. */
#include "format/bytecode_int.h"

/* Those with a history first; then the others as ops.def has them, where `since` says so. */
static const vhlo_row rows[] = {
#define VHLO(name, version, since, until, props) {#name, version, since, until, props},
#define VHLO_NAMED(name, version, since, until, props) {name, version, since, until, props},
#include "format/vhlo.def"
#undef VHLO
#undef VHLO_NAMED
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, derivative, text, properties, since, doc) \
    {#name, 1, since, since ? VHLO_NOW : 0, properties},
#include "ir/ops.def"
#undef OP
};

const vhlo_row *vhlo_find(const char *name, size_t n, int version) {
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].since && rows[i].version == version && rows[i].name[0] == name[0] && strlen(rows[i].name) == n &&
            memcmp(rows[i].name, name, n) == 0)
            return &rows[i];
    return NULL;
}

const vhlo_row *vhlo_at(const char *name, int stablehlo) {
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0 && rows[i].since <= stablehlo && stablehlo <= rows[i].until)
            return &rows[i];
    return NULL;
}

/* Codes of element types, and the version of StableHLO that brought them. */
static const struct element_row {
    uint64_t code;
    xt_dtype dtype;
    int since;
} element_rows[] = {
    {0, XT_BOOL, 9},        {2, XT_BF16, 9},         {3, XT_F16, 9},          {4, XT_F32, 9},
    {5, XT_F64, 9},         {6, XT_F8E4M3FN, 9},     {7, XT_F8E5M2, 9},       {10, XT_I4, 9},
    {11, XT_I8, 9},         {12, XT_I16, 9},         {13, XT_I32, 9},         {14, XT_I64, 9},
    {15, XT_U4, 9},         {16, XT_U8, 9},          {17, XT_U16, 9},         {18, XT_U32, 9},
    {19, XT_U64, 9},        {27, XT_F8E4M3FNUZ, 10}, {28, XT_F8E5M2FNUZ, 10}, {29, XT_F8E4M3B11FNUZ, 11},
    {31, XT_I2, 102},       {32, XT_U2, 102},        {35, XT_F8E4M3, 107},    {36, XT_F8E3M4, 107},
    {37, XT_F4E2M1FN, 108}, {38, XT_F6E2M3FN, 108},  {39, XT_F6E3M2FN, 108},  {40, XT_F8E8M0FNU, 108},
};

bool vhlo_element(uint64_t code, xt_dtype *out) {
    for (size_t i = 0; i < BASE_COUNT(element_rows); i++)
        if (element_rows[i].code == code) {
            *out = element_rows[i].dtype;
            return true;
        }
    return false;
}

bool vhlo_element_code(xt_dtype t, uint64_t *out_code, int *out_since) {
    for (size_t i = 0; i < BASE_COUNT(element_rows); i++)
        if (element_rows[i].dtype == t) {
            *out_code = element_rows[i].code;
            *out_since = element_rows[i].since;
            return true;
        }
    return false;
}

/* Codes of the attributes that are a member of an enumeration: of vhlo, of stablehlo, of chlo (0: it has none, but for
 * chlo's first). */
static const struct enum_row {
    ir_attr_key key;
    int vhlo, stablehlo, chlo;
} enum_rows[] = {
    {IR_A_comparison_direction, 3, 2, 0}, {IR_A_compare_type, 4, 3, 1},
    {IR_A_api_version, 5, -1, -1},        {IR_A_fft_type, 7, 6, -1},
    {IR_A_precision_config, 11, 8, -1},   {IR_A_rng_algorithm, 12, 9, -1},
    {IR_A_rng_distribution, 13, 10, -1},  {IR_A_transpose_a, 16, 12, -1},
};

int vhlo_enum_code(ir_attr_key key, bc_dialect d) {
    for (size_t i = 0; i < BASE_COUNT(enum_rows); i++)
        if (enum_rows[i].key == key)
            return d == BC_VHLO                             ? enum_rows[i].vhlo
                   : d == BC_CHLO && enum_rows[i].chlo >= 0 ? enum_rows[i].chlo
                                                            : enum_rows[i].stablehlo;
    return -1;
}

/* What is spelt like an op and is none of the IR. */
static const struct plain_row {
    const char *dialect, *name, *props;
} plain_rows[] = {
    {"builtin", "module", "sym_name? sym_visibility?"},
    {"func", "func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"},
    {"sdy", "mesh", "mesh sym_name"},
    {"stablehlo", "cross-replica-sum", "replica_groups"},
};

const char *plain_props(const char *dialect, const char *name) {
    ir_opcode code;
    if (ir_opcode_from_name(dialect, name, &code))
        return *ir_op_infos[code].properties ? ir_op_infos[code].properties : NULL;
    for (size_t i = 0; i < BASE_COUNT(plain_rows); i++)
        if (strcmp(plain_rows[i].name, name) == 0 && strcmp(plain_rows[i].dialect, dialect) == 0)
            return plain_rows[i].props;
    return NULL;
}
