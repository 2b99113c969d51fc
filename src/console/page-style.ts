/** Style of the console's pages: system fonts, strong contrast, nothing that only colour says. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ground: #f4f6f8; --card: #fff; --ink: #14202b; --soft: #4a5a68; --line: #cfd8df;
  --good: #0b6b3a; --bad: #a3121b; --bad-ground: #fdecec; --wait: #7a4b00; --link: #0b5394; }
@media (prefers-color-scheme: dark) { :root { --ground: #10171d; --card: #1a242d; --ink: #eef3f7; --soft: #aebcc8;
  --line: #36444f; --good: #6fd39c; --bad: #ff9a9a; --bad-ground: #3a1d1f; --wait: #f0c060; --link: #8cc4ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header { max-width: 1240px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 16px; padding-top: 16px; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 28px 0 8px; }
.note { color: var(--soft); font-size: .9rem; }
#updated { margin-left: auto; }
.badge { display: inline-block; border: 2px solid currentColor; border-radius: 6px; padding: 1px 10px; font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
.alert { border: 2px solid var(--bad); border-radius: 8px; background: var(--bad-ground); margin: 14px 0 0; padding: 10px 14px; }
.alert p { margin: 2px 0; }
#attention { list-style: none; margin: 14px 0 0; padding: 0; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
#attention li { display: flex; gap: 8px; padding: 10px 14px; border-top: 1px solid var(--line); border-left: 6px solid var(--line); overflow-wrap: anywhere; color: var(--ink); }
#attention li:first-child { border-top: 0; border-top-left-radius: 8px; } #attention li:last-child { border-bottom-left-radius: 8px; }
#attention li.act { border-left-color: var(--bad); } #attention li.wait { border-left-color: var(--wait); }
#attention .what::first-letter { text-transform: uppercase; }
.sign { font-weight: 700; min-width: 1em; }
code { font-family: ui-monospace, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
.command code { user-select: all; }
.groups { display: grid; grid-template-columns: repeat(auto-fit, minmax(250px, 1fr)); gap: 12px; }
.group { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.group h3 { font-size: .95rem; margin: 0 0 6px; color: var(--soft); }
.group table { width: 100%; border-collapse: collapse; }
.group th { text-align: left; vertical-align: top; font-weight: 500; padding: 3px 0; }
.group th .note { display: block; font-weight: 400; }
.group td { text-align: right; vertical-align: top; padding: 1px 0 1px 12px; font-weight: 700; font-size: 1.1rem; font-variant-numeric: tabular-nums; }
.group .none { color: var(--soft); font-weight: 400; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.wide table { width: 100%; border-collapse: collapse; }
.wide th, .wide td { text-align: left; vertical-align: top; padding: 8px 12px; border-top: 1px solid var(--line); }
.wide thead th { border-top: 0; font-size: .9rem; color: var(--soft); white-space: nowrap; }
.wide tbody tr:nth-child(even) { background: color-mix(in srgb, var(--line) 22%, transparent); }
.code { font-family: ui-monospace, Consolas, "DejaVu Sans Mono", monospace; font-size: .85rem; color: var(--soft); }
.wide strong, .wide td .note { display: inline-block; max-width: 26ch; white-space: normal; overflow-wrap: break-word; }
.empty { padding: 12px 14px; margin: 0; }
.keep { white-space: nowrap; }
footer { max-width: 1240px; margin: 24px auto; padding: 0 20px; }
button { font: inherit; padding: 4px 14px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: var(--ink); cursor: pointer; }
input { font: inherit; padding: 8px 10px; width: 100%; border: 1px solid var(--soft); border-radius: 6px; background: var(--card); color: var(--ink); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
@media (max-width: 760px) {
  .wide table, .wide tbody, .wide tr, .wide td { display: block; }
  .wide thead { display: none; }
  .wide tr { border-top: 1px solid var(--line); padding: 8px 12px; }
  .wide td { border: 0; padding: 2px 0; display: grid; grid-template-columns: 7.5em 1fr; overflow-wrap: anywhere; }
  .wide td::before { content: attr(data-head); grid-row: span 9; color: var(--soft); font-size: .9rem; }
  .wide td > * { justify-self: start; grid-column: 2; }
  .wide td br { display: none; }
  .wide td:empty { display: none; }
  .wide strong, .wide td .note { max-width: 100%; overflow-wrap: anywhere; }
}
.login { max-width: 420px; margin: 12vh auto 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 24px; }
.login label { display: block; margin: 14px 0 4px; font-weight: 600; }
.login button { margin-top: 14px; padding: 8px 20px; }
`;
