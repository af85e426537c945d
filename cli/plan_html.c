/* One page without anything from outside: the report as data, and a script that draws memory over the
 * program's life. */
#include "cli/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char page_head[] =
    "<!doctype html>\n<meta charset=\"utf-8\">\n<title>xtrain plan</title>\n<style>\n"
    "body{font:14px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 "
    "1em;color:#222;background:#fff}\n"
    "h1{font-size:1.3em}table{border-collapse:collapse;width:100%}td,th{padding:2px "
    "8px;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}\n"
    "td.n{text-align:right;white-space:nowrap}.no{color:#b00020;font-weight:bold}.yes{color:#0a6b2d;font-weight:bold}\n"
    "svg{width:100%;height:320px;border:1px solid "
    "#ccc;background:#fafafa}#tip{min-height:9em;white-space:pre;font:12px/1.4 "
    "ui-monospace,monospace;background:#f4f4f4;padding:6px;overflow:auto}\n"
    "</style>\n"
    "<h1 id=\"title\"></h1>\n"
    "<p id=\"verdict\"></p>\n"
    "<h2>Memory over the program's life</h2>\n"
    "<svg id=\"chart\" viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\"></svg>\n"
    "<p id=\"legend\"></p>\n"
    "<div id=\"tip\">Move over the picture: what is alive there, by line.</div>\n"
    "<h2>By kind</h2>\n"
    "<table id=\"kinds\"></table>\n"
    "<h2>Alive at the peak</h2>\n"
    "<table id=\"rows\"></table>\n"
    "<div id=\"more\"></div>\n<script>\n{ /* a block: names of our own beside the window's */\nconst plan = ";

static const char page_script[] =
    ";\n"
    "const fmt = b => b >= 2**30 ? (b/2**30).toFixed(2)+' GiB' : b >= 2**20 ? (b/2**20).toFixed(2)+' MiB' : b >= 1024 "
    "? (b/1024).toFixed(2)+' KiB' : b+' B';\n"
    "const at = r => r.file.split('/').pop() + ':' + r.line;\n"
    "const el = (tag, text, cls) => { const e = document.createElement(tag); e.textContent = text; if (cls) "
    "e.className = cls; return e; };\n"
    "const put = (id, head, lines) => { const t = document.getElementById(id); const h = t.insertRow(); head.forEach(x "
    "=> h.appendChild(el('th', x)));\n"
    "  lines.forEach(l => { const row = t.insertRow(); l.forEach((x, i) => row.appendChild(el('td', x, i === 0 ? 'n' : "
    "''))); }); };\n"
    "document.getElementById('title').textContent = plan.name + ' on ' + plan.topology;\n"
    "const v = document.getElementById('verdict');\n"
    "v.appendChild(el('span', plan.fits ? 'fits' : 'does not fit', plan.fits ? 'yes' : 'no'));\n"
    "v.appendChild(el('span', ': peak ' + fmt(plan.peak_bytes) + (plan.limit_bytes > 0 ? ' of ' + "
    "fmt(plan.limit_bytes) + ' a device' : '') + (plan.step_ms_estimate > 0 ? '; a step is estimated at ' + "
    "plan.step_ms_estimate.toPrecision(3) + ' ms: ' + plan.formula : '') + '. Compiled by ' + plan.compiler + '.'));\n"
    "const points = plan.points + 1, total = new Float64Array(points + 1);\n"
    "plan.lives.forEach(l => { total[l.first] += l.bytes; total[l.last + 1] -= l.bytes; });\n"
    "let now = plan.steady_bytes, most = Math.max(plan.peak_bytes, 1); const curve = [];\n"
    "for (let i = 0; i < points; i++) { now += total[i]; curve.push(now); if (now > most) most = now; }\n"
    "if (plan.limit_bytes > 0 && plan.limit_bytes < 2 * most) most = Math.max(most, plan.limit_bytes);\n"
    "const ns = 'http://www.w3.org/2000/svg', svg = document.getElementById('chart');\n"
    "const draw = (tag, a) => { const e = document.createElementNS(ns, tag); for (const k in a) e.setAttribute(k, "
    "a[k]); svg.appendChild(e); return e; };\n"
    "const X = i => 1000 * i / Math.max(points - 1, 1), Y = b => 295 - 290 * b / most;\n"
    "draw('rect', {x: 0, y: Y(plan.steady_bytes), width: 1000, height: 295 - Y(plan.steady_bytes), fill: '#c9d8ea'});\n"
    "draw('path', {id: 'curve', fill: '#7fa7d655', stroke: '#245a9c', 'vector-effect': 'non-scaling-stroke', d: 'M0 ' "
    "+ Y(plan.steady_bytes) + curve.map((b, i) => 'L' + X(i).toFixed(2) + ' ' + Y(b).toFixed(2)).join('') + 'L1000 ' + "
    "Y(plan.steady_bytes) + 'Z'});\n"
    "if (plan.limit_bytes > 0 && plan.limit_bytes <= most) draw('line', {x1: 0, x2: 1000, y1: Y(plan.limit_bytes), y2: "
    "Y(plan.limit_bytes), stroke: '#b00020', 'vector-effect': 'non-scaling-stroke', 'stroke-dasharray': '6 4'});\n"
    "document.getElementById('legend').textContent = 'Height of the picture: ' + fmt(most) + '; across: instructions 0 "
    "to ' + (points - 1) + '. Dark band: alive throughout (' + fmt(plan.steady_bytes) + '); above it: temporaries' + "
    "(plan.limit_bytes > 0 && plan.limit_bytes <= most ? '; dashed: what the device has' : '') + '.';\n"
    "const mark = draw('line', {id: 'mark', x1: X(plan.peak_point), x2: X(plan.peak_point), y1: 0, y2: 300, stroke: "
    "'#444', 'vector-effect': 'non-scaling-stroke'});\n"
    "const show = i => { mark.setAttribute('x1', X(i)); mark.setAttribute('x2', X(i));\n"
    "  const live = plan.lives.filter(l => l.first <= i && l.last >= i).sort((a, b) => b.bytes - a.bytes);\n"
    "  document.getElementById('tip').textContent = 'instruction ' + i + ' of ' + (points - 1) + ': ' + fmt(curve[i]) "
    "+ ', of it throughout ' + fmt(plan.steady_bytes) + '\\n' +\n"
    "    live.slice(0, 12).map(l => fmt(l.bytes).padStart(12) + '  ' + at(l).padEnd(24) + ' ' + l.module + '  ' + "
    "l.dtype + ' ' + l.shape + '  ' + l.op + '  [' + l.first + '-' + l.last + ']').join('\\n') + (live.length > 12 ? "
    "'\\n  and ' + (live.length - 12) + ' more' : ''); };\n"
    "svg.addEventListener('mousemove', e => { const b = svg.getBoundingClientRect(); show(Math.min(points - 1, "
    "Math.max(0, Math.round((e.clientX - b.left) / b.width * (points - 1))))); });\n"
    "show(Math.min(plan.peak_point, points - 1));\n"
    "put('kinds', ['bytes', 'kind'], Object.entries(plan.by_kind).map(([k, b]) => [fmt(b), k]));\n"
    "put('rows', ['bytes', 'count', 'kind', 'line', 'module', 'type', 'op', 'life'], plan.at_peak.slice(0, 200).map(r "
    "=> [fmt(r.bytes), r.count, r.kind, at(r), r.module, r.dtype + ' ' + r.shape, r.op, r.first + '-' + r.last]));\n"
    "const more = document.getElementById('more');\n"
    "const table = (title, head, lines) => { if (!lines.length) return; more.appendChild(el('h2', title)); const t = "
    "el('table', ''); t.id = title; more.appendChild(t); put(title, head, lines); };\n"
    "table('Collectives', ['bytes', 'count', 'op', 'axis', 'line', 'module'], plan.collectives.map(c => [fmt(c.bytes), "
    "c.count, c.op, c.axis, at(c), c.module]));\n"
    "table('Remedies', ['peak', 'remedy', 'step estimate', 'fits'], plan.remedies.map(r => r.error ? ['-', r.name, "
    "r.error, ''] : [fmt(r.peak_bytes), r.name, r.step_ms_estimate.toPrecision(3) + ' ms', r.fits ? 'yes' : 'no']));\n"
    "}\n</script>\n";

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
    fputs(page_head, f);
    plan_write_json(f, c, r, remedies, n);
    fputs(page_script, f);
    bool bad = ferror(f) != 0;
    return fclose(f) != 0 || bad ? cli_fail("plan", "%s cannot be written: %s", path, strerror(errno)) : 0;
}
