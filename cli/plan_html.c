/* One page without anything from outside: the report as data, and a script that draws memory over the
 * program's life. */
#include "cli/plan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* cli/plan_page.html, which the build embeds; the report stands where it says @PLAN@. */
extern const char embed_plan_page_html[];

/* A FIFO that nobody reads is not waited for (ENXIO). */
static FILE *open_page(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !f) close(fd);
    return f;
}

int plan_write_html(const char *path, const plan_case *c, const xt_plan_report *r, const plan_row *remedies, int n) {
    FILE *f = open_page(path);
    if (!f && errno == ENXIO) return cli_fail("plan", "%s cannot be written: it is a FIFO that nobody reads", path);
    if (!f) return cli_fail("plan", "%s cannot be written: %s", path, strerror(errno));
    static const char mark[] = "@PLAN@";
    const char *data = strstr(embed_plan_page_html, mark);
    assert(data);
    fwrite(embed_plan_page_html, 1, (size_t)(data - embed_plan_page_html), f);
    plan_write_json(f, c, r, remedies, n);
    fputs(data + strlen(mark), f);
    bool bad = ferror(f) != 0;
    return fclose(f) != 0 || bad ? cli_fail("plan", "%s cannot be written: %s", path, strerror(errno)) : 0;
}
