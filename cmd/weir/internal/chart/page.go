package chart

import (
	"html/template"
	"io"
)

// A Page is pictures with some text.
type Page struct {
	Title    string
	Lines    []string // of text below the title
	Table    [][]string
	Pictures []Picture
	Notes    []string // below the pictures
}

// Write writes the page as one file of HTML that asks nobody for anything.
func (p Page) Write(w io.Writer) error { return page.Execute(w, p) }

// Wide and Narrow are what the page has of each picture.
func (Page) Wide(p Picture) template.HTML   { return SVG(p, Wide) }
func (Page) Narrow(p Picture) template.HTML { return SVG(p, Narrow) }

func (Page) Style() template.CSS { return style }

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{{.Title}}</title>
<style>
{{.Style}}
:root { --page: #ffffff; --ink: #1b1f24; --quiet: #57606a; --rule: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --ink: #e6edf3; --quiet: #9aa4af; --rule: #323a43; } }
@media print { :root { --page: #ffffff; --ink: #000000; --quiet: #444444; --rule: #cccccc; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 0 auto; padding: 16px; }
h1 { font-size: 22px; margin: 8px 0; } p { margin: 4px 0; color: var(--quiet); overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 16px 0; } table { border-collapse: collapse; }
td, th { padding: 3px 12px 3px 0; text-align: right; font-variant-numeric: tabular-nums; border-bottom: 1px solid var(--rule); font-weight: 400; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; color: var(--quiet); } th { font-weight: 600; }
figure { margin: 20px 0; break-inside: avoid; } svg { max-width: 100%; height: auto; } .narrow { display: none; }
@media screen and (max-width: 700px) { .wide { display: none; } .narrow { display: block; } }
#tip { position: fixed; display: none; pointer-events: none; background: var(--ink); color: var(--page); padding: 4px 8px; border-radius: 4px; font-size: 13px; max-width: 300px; }
@media print { body { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Lines}}<p>{{.}}</p>
{{end}}
{{if .Table}}<div class="scroll"><table>
{{range $i, $row := .Table}}<tr>{{range $row}}{{if $i}}<td>{{.}}</td>{{else}}<th>{{.}}</th>{{end}}{{end}}</tr>
{{end}}</table></div>{{end}}
{{range .Pictures}}<figure><div class="wide">{{$.Wide .}}</div><div class="narrow">{{$.Narrow .}}</div></figure>
{{end}}
{{range .Notes}}<p>{{.}}</p>
{{end}}
<div id="tip"></div>
<script>
"use strict";
const tip = document.getElementById("tip");
for (const title of document.querySelectorAll("svg .tip > title")) {
	title.parentNode.dataset.tip = title.textContent;
	title.remove();
}
document.addEventListener("pointermove", (event) => {
	const group = event.target.closest && event.target.closest("[data-tip]");
	tip.style.display = group ? "block" : "none";
	if (!group) return;
	tip.textContent = group.dataset.tip;
	tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4)) + "px";
	tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 12) + "px";
});
</script>
</body>
</html>
`))
