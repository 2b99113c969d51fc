/** One measured figure. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** `orders/s`, `MB`, `requests`, … */
  readonly unit: string;
  /** What it must keep to; a figure without one only informs. */
  readonly bound?: { readonly atMost: number } | { readonly atLeast: number };
}

/** What a bench measured. */
export interface BenchReport {
  readonly bench: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  /** Figures that belong side by side; the first row names the columns. */
  readonly tables?: readonly (readonly (readonly (string | number)[])[])[];
}

/** Whether a figure keeps to its bound. */
export function isKept({ value, bound }: Figure): boolean {
  if (bound === undefined) return true;
  return "atMost" in bound ? value <= bound.atMost : value >= bound.atLeast;
}

/** The report as lines for people. */
export function formatReport({ bench, title, figures, tables = [] }: BenchReport): string {
  const lines = [`${bench}: ${title}`, ...formatFigures(figures)];
  return [lines.join("\n"), ...tables.map(formatTable)].join("\n\n");
}

function formatTable(table: readonly (readonly (string | number)[])[]): string {
  const rows = table.map((row) => row.map((cell) => (typeof cell === "number" ? formatNumber(cell) : cell)));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")}`)
    .join("\n");
}

function formatFigures(figures: readonly Figure[]): string[] {
  const rows = figures.map((figure) => [
    figure.name,
    formatNumber(figure.value),
    figure.unit,
    formatBound(figure),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map(([name = "", value = "", unit = "", bound = ""]) =>
    `  ${name.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)} ${unit.padEnd(widths[2] ?? 0)}  ${bound}`.trimEnd(),
  );
}

function formatBound(figure: Figure): string {
  const { bound } = figure;
  if (bound === undefined) return "";
  const words =
    "atMost" in bound ? `at most ${formatNumber(bound.atMost)}` : `at least ${formatNumber(bound.atLeast)}`;
  return isKept(figure) ? `✓ ${words}` : `✗ ${words}`;
}

function formatNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });
}
