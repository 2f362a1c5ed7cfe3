"""HTML, CSS and script of the page; kept as code so that changes rebuild the report."""

from __future__ import annotations

CSS = """
:root { color-scheme: light; --paper: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4;
  --tint: #f6f8fa; --blue: #0b5c94; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --paper: #14181d; --ink: #e4e8ec; --soft: #a5aeb8; --line: #343c45;
    --tint: #1d232a; --blue: #82bdf0; }
  figure > .wide { background: #fff; border-radius: 6px; padding: .4rem; }  /* figures are drawn on white */
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 17px/1.55 Georgia, "Times New Roman", serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1, h2, h3, nav, table, summary, .caption, .where {
  font-family: system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .8rem; padding-top: .9rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.02rem; margin: 2rem 0 .5rem; }
a { color: var(--blue); }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
.kicker { font: 600 .8rem system-ui, sans-serif; letter-spacing: .08em; text-transform: uppercase;
  color: var(--soft); margin: 0 0 .4rem; }
.summary { background: var(--tint); border-left: 4px solid var(--blue); padding: .9rem 1.15rem;
  margin: 1.2rem 0; }
.summary p, .summary ul { margin: 0; }
.summary ul { padding: .3rem 0 0 1.2rem; }
.summary li { margin-top: .4rem; }
nav { font-size: .9rem; }
nav ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; }
.shown { margin: 1.6rem 0 2.2rem; }
figure { margin: 0; }
figure img { display: block; min-width: var(--least); max-width: 100%; height: auto; margin: 0 auto; }
figcaption { font-size: .93rem; line-height: 1.5; margin-top: .7rem; }
details { margin-top: .6rem; font-size: .85rem; }
summary { cursor: pointer; color: var(--blue); font-weight: 600; padding: .25rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; line-height: 1.4; width: 100%; margin: .4rem 0; }
.caption { color: var(--soft); font-size: .85rem; line-height: 1.4; margin: 0 0 .4rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); }
.scores tbody th { white-space: nowrap; }
thead th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
.scores th, .scores td { padding-right: .5rem; }
td.long { min-width: 8rem; }
tr.total td, tr.total th { border-top: 1.5px solid var(--ink); border-bottom: 0; font-weight: 600; }
tbody th { font-weight: 500; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
td.values { min-width: 12rem; overflow-wrap: anywhere; }
.where { color: var(--soft); font-size: .85rem; margin: .3rem 0; }
.limits li { margin: .45rem 0; }
.references { list-style: none; padding: 0; font-size: .9rem; }
.references li { margin: .35rem 0; padding-left: 1.5rem; text-indent: -1.5rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) {
  body { font-size: 16px; }
  main { padding: 1.4rem .9rem 3rem; }
  h1 { font-size: 1.5rem; }
}
@media print {
  @page { margin: 18mm 16mm; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  nav, details, .where { display: none; }
  figure img { min-width: 0; max-height: max(88mm, var(--paper-high)); width: auto; }
  figure, tr { break-inside: avoid; }
  h2, h3, .caption { break-after: avoid; }
  .caption { break-inside: avoid; }
  tr.total { break-before: avoid; }
  .wide { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding-right: .5rem; }
  td.number, .scores tbody th { white-space: normal; }
  td.long, td.values { min-width: 0; }
}
""".strip()

# Parts that are wider than the page are tab stops; without scripts, all parts that may be wider are.
SCRIPT = """
const parts = document.querySelectorAll(".wide");
const look = new ResizeObserver(() => parts.forEach(part =>
  part.scrollWidth > part.clientWidth ? part.tabIndex = 0 : part.removeAttribute("tabindex")));
parts.forEach(part => { look.observe(part); look.observe(part.firstElementChild); });
""".strip()

# Parts that may be wider than the page scroll on their own, with the arrow keys too once they have the focus.
PAGE = (
    """{% macro wide(label) -%}
<div class="wide" role="group" aria-label="{{ label }}" tabindex="0">{{ caller() }}</div>
{%- endmacro -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ page.title }}: {{ page.kind | lower }}</title>
<style>
"""
    + CSS
    + """
</style>
</head>
<body>
<main>
<header>
<p class="kicker">{{ page.kind }}</p>
<h1>{{ page.title }}</h1>
<div class="summary">
<p>{{ page.overview }}</p>
<ul>
{% for section in page.sections %}{% for sentence in section.findings -%}
<li>{{ sentence | marked }}</li>
{% endfor %}{% endfor -%}
</ul>
</div>
<nav aria-label="Contents"><ul>
{% for section in page.sections -%}
<li><a href="#{{ section.id }}">{{ section.title }}</a></li>
{% endfor -%}
{% if page.limits %}<li><a href="#limits">What cannot be said</a></li>
{% endif -%}
<li><a href="#settings">Settings</a></li>
<li><a href="#versions">Versions</a></li>
</ul></nav>
</header>
{% for section in page.sections %}
<section id="{{ section.id }}">
<h2>{{ section.title }}</h2>
{% for paragraph in section.paragraphs -%}
<p>{{ paragraph | unbroken }}</p>
{% endfor -%}
{% if section.references %}<h3>References</h3>
<ul class="references">
{% for reference in section.references -%}
<li>{{ reference }}</li>
{% endfor -%}
</ul>
{% endif -%}
{% for figure in section.figures %}
{%- set image = images[figure.name] %}
<div class="shown" id="{{ figure.name }}">
<figure>
{% call wide("Figure " ~ figure.number) -%}
<img src="data:image/png;base64,{{ image.data }}" width="{{ image.width }}" height="{{ image.height }}"
 style="--least: {{ image.least }}px; --paper-high: {{ image.paper }}px" alt="{{ figure.alt }}">
{%- endcall %}
<figcaption><strong>Figure {{ figure.number }}. {{ figure.title }}.</strong> {{
 figure.caption | unbroken }}</figcaption>
</figure>
<p class="where">Beside this page, as {% for format in formats -%}
<a href="figures/{{ figure.name }}.{{ format }}"
 aria-label="Figure {{ figure.number }} as {{ format | upper }}">{{ format | upper }}</a>
{%- if not loop.last %}, {% endif %}{% endfor %}{% if figure.file %}; its numbers as
<a href="{{ figure.file }}" aria-label="Numbers of figure {{ figure.number }} as CSV">CSV</a>{% endif %}</p>
<details>
<summary>Where this comes from</summary>
{% call wide("Where figure " ~ figure.number ~ " comes from") -%}
<table>
<thead><tr><th scope="col">Stage</th><th scope="col">Jobs</th><th scope="col">Options</th>
<th scope="col">Versions</th></tr></thead>
<tbody>
{% for row in figure.provenance -%}
<tr><th scope="row">{{ row.stage }}</th>
<td>{% for partition, job in row.jobs %}{% if partition %}{{ partition }}: {% endif -%}
<code>{{ job }}</code>{% if not loop.last %}<br>{% endif %}{% endfor %}</td>
<td class="values">{% for name, text in row.options %}{{ name }} = {{ text }}
{%- if not loop.last %}<br>{% endif %}{% endfor %}</td>
<td class="values">{% for name, text in row.versions %}{{ name }} {{ text }}
{%- if not loop.last %}<br>{% endif %}{% endfor %}</td></tr>
{% else -%}
<tr><td colspan="4">No jobs were recorded.</td></tr>
{% endfor -%}
</tbody>
</table>
{%- endcall %}
{% set partition, job = last_job(figure.provenance) -%}
{% if job -%}
<p class="where">{% if partition %}{{ partition }}: {% endif -%}
<a href="{{ board }}{{ job }}">{{ job }}</a>, {{ board_note }}.</p>
{% endif -%}
</details>
</div>
{% endfor %}{% for table in section.tables %}{% set sort = "word" if table.words else "number" %}
{% set id = section.id ~ "-table-" ~ loop.index %}
<h3 id="{{ id }}">{{ table.title }}</h3>
<p class="caption" id="{{ id }}-caption">{{ table.caption | unbroken }}</p>
{% call wide(section.title ~ ": " ~ table.title) -%}
<table class="scores" aria-labelledby="{{ id }}" aria-describedby="{{ id }}-caption">
<thead><tr><th scope="col">{{ table.of }}</th>
{% for head in table.columns -%}
<th scope="col" class="{{ sort }}">{{ head | unbroken }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows -%}
<tr{% if row.total %} class="total"{% endif %}><th scope="row">{{ row.name }}</th>
{%- for cell in row.cells -%}
<td class="{{ sort }}{% if cell | length > 24 %} long{% endif %}">{{ cell | unbroken }}</td>{% endfor %}</tr>
{% endfor -%}
</tbody>
</table>
{%- endcall %}
{% if table.file %}<p class="where">Beside this page, as
<a href="{{ table.file }}" aria-label="{{ table.title }} as CSV">CSV</a></p>
{% endif %}{% endfor %}{% for link in section.links -%}
<p><a href="{{ link.path }}">{{ link.path }}</a>: {{ link.text }}</p>
{% endfor %}</section>
{% endfor %}
{% if page.limits %}<section id="limits">
<h2>What cannot be said</h2>
<ul class="limits">
{% for limit in page.limits -%}
<li>{{ limit | marked }}</li>
{% endfor -%}
</ul>
</section>
{% endif -%}
{% for title, head, second, rows, note in pairs -%}
<section id="{{ title | lower }}">
<h2>{{ title }}</h2>
{% call wide(title) -%}
<table>
<thead><tr><th scope="col">{{ head }}</th><th scope="col">{{ second }}</th></tr></thead>
<tbody>
{% for name, text in rows -%}
<tr><th scope="row"><code>{% for part in name | parts %}{{ part }}{% if not loop.last %}<wbr>{% endif %}
{%- endfor %}</code></th><td class="values">{{ text }}</td></tr>
{% endfor -%}
</tbody>
</table>
{%- endcall %}
{% if note %}<p>{{ note }}</p>{% endif %}
</section>
{% endfor -%}
</main>
<script>
"""
    + SCRIPT
    + """
</script>
</body>
</html>
"""
)
