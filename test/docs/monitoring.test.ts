import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../../src/console/metrics.ts";
import { ALERT_KINDS, CONDITION_KINDS } from "../../src/core/condition-kinds.ts";
import { findProgram, machineHas } from "../support/needs.ts";
import { ROOT } from "./markdown.ts";

const RULES = join(ROOT, "config/monitoring/alert-rules.yaml");
const DASHBOARD = join(ROOT, "config/monitoring/grafana-dashboard.json");
/** What Prometheus adds to every series, and the label of a histogram's buckets. */
const ADDED = ["job", "instance", "le"];

/** Every series that a daemon has; `test/integration/metrics.test.ts` holds that these are the metrics of a real one. */
const { definitions } = createMetrics("0");
const labelsBySeries = new Map(
  definitions.flatMap(({ name, type, labels }): [string, readonly string[]][] => {
    const names = type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name];
    return names.map((each) => [each, [...labels, ...ADDED]]);
  }),
);
labelsBySeries.set("up", ADDED);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const groups = (parse(readFileSync(RULES, "utf8")) as { groups: { name: string; rules: Rule[] }[] }).groups;
const dashboard = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
};

/** What an expression or template names that no daemon has. */
function unknownIn(expr: string, words = ""): string[] {
  const used = [...expr.matchAll(/\b(?:cryobridge|nodejs|process)_\w+|\bup\b/g)].map(([name]) => name);
  if (used.length === 0) return [`no metric in ${expr}`];
  const selected = [...expr.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, name = "", matchers = ""]) =>
    [...matchers.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = ""]) => [name, label] as const),
  );
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/));
  const shown = [...words.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label = ""]) => label);
  const ofSome = (label: string) => used.some((name) => labelsBySeries.get(name)?.includes(label));
  return [
    ...used.filter((name) => !labelsBySeries.has(name)),
    ...selected
      .filter(([name, label]) => !labelsBySeries.get(name)?.includes(label))
      .map(([name, label]) => `${name}{${label}}`),
    ...[...grouped, ...shown].filter((label) => !ofSome(label)).map((label) => `${label} in ${expr}`),
  ];
}

describe("the alert rules for Prometheus", () => {
  test("name only metrics and labels that a daemon has", () => {
    const rules = groups.flatMap((group) => group.rules);
    const unknown = rules.flatMap(({ expr, annotations }) =>
      unknownIn(expr, Object.values(annotations).join(" ").replaceAll("{{ $value }}", "")),
    );
    expect(unknown).toEqual([]);
  });

  test("have a rule for each kind of alert, which lasts as long", () => {
    const rules = groups.find(({ name }) => name === "cryobridge-conditions")?.rules ?? [];
    const inRules = rules.map((rule) => [/kind="(\w+)"/.exec(rule.expr)?.[1], rule.for]);
    expect(inRules).toEqual(ALERT_KINDS.map((kind) => [kind, CONDITION_KINDS[kind].after]));
  });

  test.runIf(machineHas("promtool"))("are right in promtool's eyes, and fire when they should", () => {
    const promtool = (...args: string[]) =>
      spawnSync(findProgram("promtool") as string, args, { encoding: "utf8", cwd: ROOT });
    for (const args of [
      ["check", "rules", "--lint=all", "--lint-fatal", RULES],
      ["test", "rules", "test/fixtures/monitoring/alert-rules.test.yaml"],
    ]) {
      const { status, stdout, stderr } = promtool(...args);
      expect(stderr).toBe("");
      expect(status, stdout).toBe(0);
    }
  });
});

describe("the dashboard for Grafana", () => {
  test("names only metrics and labels that a daemon has", () => {
    const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.flatMap(({ expr, legendFormat }) => unknownIn(expr, legendFormat))).toEqual([]);
    const variables = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    for (const definition of variables) {
      const [, name = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
      expect(labelsBySeries.get(name), definition).toContain(label);
    }
  });

  test("has a row for each part of the program, and every panel a title of its own", () => {
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toEqual(["What needs a person", "Connectors", "Stages", "Service", "Workers", "Database"]);
    const titles = dashboard.panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });
});
