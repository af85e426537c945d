/* One page without anything from outside: the report as data, and a script that draws memory over the
 * program's life. */
#include "cli/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* cli/plan_page.html, which the build embeds; the report stands where it says @PLAN@. */
extern const char embed_plan_page_html[];

int plan_write_html(const char *path, const plan_case *c, const xt_plan_report *r, const plan_row *remedies,
                    int n_remedies) {
    char *page = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&page, &n);
    if (!f) return cli_fail("plan", "%s cannot be written: out of memory", path);
    static const char mark[] = "@PLAN@";
    const char *data = strstr(embed_plan_page_html, mark);
    assert(data);
    cli_raw(f, embed_plan_page_html, (size_t)(data - embed_plan_page_html));
    plan_write_json(f, c, r, remedies, n_remedies);
    cli_raw(f, data + strlen(mark), strlen(data) - strlen(mark));
    bool whole = !ferror(f);
    xt_status s = fclose(f) == 0 && whole ? xt_write_file(path, page, n)
                                          : xt_status_new(XT_RESOURCE_EXHAUSTED, "%s does not fit memory", path);
    free(page);
    return s ? cli_fail_status("plan", s) : 0;
}
