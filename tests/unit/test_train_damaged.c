/* Checkpoints with numbers that no run has, behind checksums that are right: each counter is refused by its name before
 * anything goes on from it, and no advice leads back to the file itself. */
#include "train_kept_test.h"

#include <cjson/cJSON.h>

static xt_optimizer *with_schedule(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    xt_warm_restarts_schedule(o, .t_0 = 3);
    return o;
}
static xt_tensor logging_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = step(m, b, user);
    xt_log("loss", loss);
    return loss;
}

static int run(int64_t epochs, const char *resume, const char *save) {
    static float x[8][2];
    xt_task task = {.net = net, .training_step = logging_step, .configure_optimizers = with_schedule};
    xt_trainer *t = kept_trainer(epochs, resume);
    xt_trainer_add(t, xt_early_stopping(.monitor = "loss", .patience = 100));
    xt_trainer_add(t, xt_weight_averaging(.decay = 0.9));
    xt_dataset *samples = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, 8);
    int code = xt_fit(t, &task, xt_loader_new(samples, .batch = 4), NULL);
    if (save && code == 0) {
        xt_status s = xt_trainer_save(t, save);
        if (s) fail_msg("%s", xt_status_message(s));
    }
    xt_finish();
    return code;
}

/* The number behind `"key":` in a text of JSON becomes `value`. */
static char *with_number(const char *text, const char *key, const char *value) {
    str s = STR_INIT;
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(text, quoted);
    if (!at) fail_msg("no %s in %s", quoted, text);
    at += strlen(quoted);
    str_printf(&s, "%.*s%s%s", (int)(at - text), text, value, at + strcspn(at, ",}"));
    return s.data;
}

static uint64_t offset_of(const cJSON *head, const char *name, int which) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(head, name),
                *at = cJSON_GetObjectItemCaseSensitive(e, "data_offsets");
    return (uint64_t)cJSON_GetArrayItem(at, which)->valuedouble;
}

/* The file with metadata `key` (or the number `part` in it) changed, and its header's checksum with it. */
static void forge(const char *from, const char *to, const char *key, const char *part, const char *value) {
    char *data;
    size_t n;
    uint64_t len;
    assert_null(file_read_all(from, &data, &n));
    memcpy(&len, data, 8);
    cJSON *head = cJSON_ParseWithLength(data + 8, len), *meta = cJSON_GetObjectItemCaseSensitive(head, "__metadata__");
    const char *was = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, key));
    if (!was) fail_msg("no %s", key);
    char *now = part ? with_number(was, part, value) : base_strdup(value);
    cJSON_ReplaceItemInObjectCaseSensitive(meta, key, cJSON_CreateString(now));
    char *text = cJSON_PrintUnformatted(head);
    uint64_t size = strlen(text);
    hash128 sum = hash_bytes(text, size, (hash128){0, 0});
    memcpy(data + 8 + len + offset_of(head, "xtrain:checksum", 0) + sizeof sum, &sum, sizeof sum);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    fwrite(&size, 1, 8, f);
    fwrite(text, 1, size, f);
    fwrite(data + 8 + len, 1, n - 8 - len, f);
    fclose(f);
    cJSON_free(text);
    cJSON_Delete(head);
    base_free(now);
    base_free(data);
}

#define MOST "9223372036854775807"
static const struct row {
    const char *key, *part, *value, *said;
} rows[] = {{"position", NULL, MOST " 0 0 0", "position's epoch is " MOST},
            {"position", NULL, "-1 0 2 8", "position's epoch is -1"},
            {"position", NULL, "1 " MOST " " MOST " 8", "position's batch is " MOST},
            {"position", NULL, "1 7 2 8", "batch 7 of an epoch, after 2 batches"},
            {"position", NULL, "1 0 " MOST " 8", "position's count of batches is " MOST},
            {"position", NULL, "1 0 2 -8", "position's count of samples is -8"},
            {"position", NULL, "1 0 2 1e9", "position's count of samples is 1e9"},
            {"position", NULL, "1 0 2", "its position is 1 0 2"},
            {"epoch", NULL, MOST, "its epoch is " MOST},
            {"epoch", NULL, "-1", "its epoch is -1"},
            {"global_step", NULL, MOST, "its global_step is " MOST},
            {"global_step", NULL, "-2", "its global_step is -2"},
            {"global_step", NULL, "2x", "its global_step is 2x"},
            {"elapsed_ns", NULL, MOST, "its elapsed_ns is " MOST},
            {"elapsed_ns", NULL, "-1", "its elapsed_ns is -1"},
            {"seed", NULL, "-1", "\"seed\""},
            {"seed", NULL, "99999999999999999999999", "\"seed\""},
            {"optimizer_state", "steps", MOST, "its steps is 9.2233720368547758e+18"},
            {"optimizer_state", "steps", "-1", "its steps is -1"},
            {"optimizer_state", "last_epoch", "1e300", "its last_epoch is"},
            {"optimizer_state", "last_epoch", "-2", "its last_epoch is -2"},
            {"optimizer_state", "t_i", "0", "its t_i is 0"},
            {"optimizer_state", "t_i", "1e18", "its t_i is"},
            {"optimizer_state", "t_cur", "-3", "its t_cur is -3"},
            {"callbacks", "waited", "1e300", "its waited is"},
            {"callbacks", "waited", "-1", "its waited is -1"},
            {"callbacks", "updates", "0.5", "its updates is 0.5"},
            {"callbacks", "updates", "-9e18", "its updates is -9"}};

static void numbers_are_bounded(void **state) {
    (void)state;
    char good[96], bad[96], again[128], advice[160];
    snprintf(good, sizeof good, "%s/good", dir);
    snprintf(bad, sizeof bad, "%s/bad.ckpt", dir);
    snprintf(again, sizeof again, "%s/again.ckpt", dir);
    assert_int_equal(run(1, NULL, good), 0);
    forge(good, bad, "epoch", NULL, "1"); /* what the forger does is right */
    assert_int_equal(run(2, bad, NULL), 0);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        forge(good, bad, r->key, r->part, r->value);
        unlink(again);
        assert_int_equal(link(bad, again), 0); /* the same file under another name */
        if (run(2, bad, NULL) == 0) fail_msg("%s = %s: the run went on", r->key, r->value);
        if (!strstr(told, r->said)) fail_msg("%s = %s: \"%s\" was not said in:\n%s", r->key, r->value, r->said, told);
        snprintf(advice, sizeof advice, "--resume %s", dir);
        if (strstr(told, advice)) fail_msg("%s = %s: what was said leads back:\n%s", r->key, r->value, told);
    }
}

/* The file without its tensor number `i`, and checksums that are right; the name in *out. False: there are fewer. */
static bool forge_without(const char *from, const char *to, int i, char *out, size_t room) {
    char *data;
    size_t n;
    uint64_t len;
    assert_null(file_read_all(from, &data, &n));
    memcpy(&len, data, 8);
    cJSON *head = cJSON_ParseWithLength(data + 8, len), *one;
    int at = 0;
    cJSON_ArrayForEach(one, head) {
        bool plain = strcmp(one->string, "__metadata__") != 0 && strcmp(one->string, "xtrain:checksum") != 0;
        if (plain && at++ == i) break;
    }
    bool there = one != NULL;
    if (there) {
        hash128 sums[2] = {{0, 0}, {0, 0}};
        char *own = data + 8 + len + offset_of(head, "xtrain:checksum", 0);
        snprintf(out, room, "%s", one->string);
        cJSON_DeleteItemFromObjectCaseSensitive(head, out);
        cJSON_ArrayForEach(one, head) {
            if (strcmp(one->string, "__metadata__") == 0 || strcmp(one->string, "xtrain:checksum") == 0) continue;
            uint64_t begin = offset_of(head, one->string, 0), end = offset_of(head, one->string, 1);
            sums[0] = hash_bytes(data + 8 + len + begin, end - begin, sums[0]);
        }
        char *text = cJSON_PrintUnformatted(head);
        uint64_t size = strlen(text);
        sums[1] = hash_bytes(text, size, (hash128){0, 0});
        memcpy(own, sums, sizeof sums);
        FILE *f = fopen(to, "wb");
        assert_non_null(f);
        fwrite(&size, 1, 8, f);
        fwrite(text, 1, size, f);
        fwrite(data + 8 + len, 1, n - 8 - len, f);
        fclose(f);
        cJSON_free(text);
    }
    cJSON_Delete(head);
    base_free(data);
    return there;
}

/* Parameters, averages, the optimizer's, sums of the logs: what would begin anew in the place of one that is lost would
 * be none of the run's. */
static void tensors_are_all_there(void **state) {
    (void)state;
    char good[96], bad[96], name[200], want[300];
    int n = 0;
    snprintf(good, sizeof good, "%s/good", dir);
    snprintf(bad, sizeof bad, "%s/bad.ckpt", dir);
    assert_int_equal(run(1, NULL, good), 0);
    for (; forge_without(good, bad, n, name, sizeof name); n++) {
        snprintf(want, sizeof want, "lacks the tensor %s, which the run has saved in it", name);
        if (run(2, bad, NULL) == 0) fail_msg("without %s: the run went on", name);
        if (!strstr(told, want)) fail_msg("\"%s\" was not said in:\n%s", want, told);
    }
    assert_true(n >= 6);
}

/* A path without a folder in it, whose file is found again as ./NAME. */
static void no_advice_to_itself(void **state) {
    (void)state;
    char good[96], here[4096];
    snprintf(good, sizeof good, "%s/good", dir);
    assert_int_equal(run(1, NULL, good), 0);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    forge(good, "bad.ckpt", "global_step", NULL, "-1");
    int code = run(2, "bad.ckpt", NULL);
    bool leads_back = strstr(told, "--resume ./bad.ckpt") != NULL;
    forge(good, "other.ckpt", "epoch", NULL, "1");
    int again = run(2, "bad.ckpt", NULL);
    bool offers = strstr(told, "--resume ./other.ckpt") != NULL;
    assert_int_equal(chdir(here), 0);
    assert_int_not_equal(code, 0);
    assert_int_not_equal(again, 0);
    assert_false(leads_back);
    assert_true(offers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_bounded, kept_setup, kept_teardown),
        cmocka_unit_test_setup_teardown(tensors_are_all_there, kept_setup, kept_teardown),
        cmocka_unit_test_setup_teardown(no_advice_to_itself, kept_setup, kept_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
