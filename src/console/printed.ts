import { type Content, html } from "./html.ts";

/** Looks like the console's own pages on paper. */
const STYLE = `
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1100px; margin: 1.5rem auto; padding: 0 1rem; color: #111; background: #fff; }
h1 { font-size: 1.5rem; margin: 0 0 0.25rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 0.4rem; }
.note, .nothing, footer { color: #47545f; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #cbd4db; padding: 0.25rem 0.6rem 0.25rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { white-space: nowrap; }
.whole { white-space: nowrap; }
.right { text-align: right; font-variant-numeric: tabular-nums; }
thead { display: table-header-group; }
tr { break-inside: avoid; }
a { color: inherit; text-decoration: none; }
@page { size: A4; margin: 15mm; }
@media print { body { font-size: 10pt; margin: 0; padding: 0; max-width: none; } }`;

/** A page of its own, to print, to keep or to send, which needs no other file. */
export function printed(title: string, body: Content): string {
  const head = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Cryobridge</title>`;
  return `<!doctype html>\n${head}\n<style>${STYLE}\n</style>\n</head>\n<body>\n${html`${body}`}\n</body>\n</html>\n`;
}
