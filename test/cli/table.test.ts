import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printList } from "../../src/cli/output/list.ts";
import { fields, printDetails, table } from "../../src/cli/output/print-parts.ts";
import { renderFields, renderTable } from "../../src/cli/output/table.ts";
import type { Session } from "../../src/cli/session.ts";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { ageColumn, type Column, recordJson } from "../../src/operator/column.ts";
import { silent } from "../support/with-ledger.ts";

interface Row {
  readonly id: string;
  readonly count: number;
  readonly reason: string;
}

const columns: readonly Column<Row>[] = [
  { key: "id", title: "id" },
  { key: "count", title: "count", isRight: true },
  { key: "reason", title: "reason", isFlexible: true },
];
const rowOf = (id: string, count: number, reason: string): Row => ({ id, count, reason });

/** A session that remembers what was printed; painted text stands between `<` and `>`. */
function sessionOf(own: Partial<Session> = {}) {
  const printed: string[] = [];
  const notes: string[] = [];
  const print = (text = "") => {
    printed.push(`${text}\n`);
  };
  const session: Session = {
    io: {
      stdout: { write: (text) => printed.push(text) },
      stderr: { write: () => 0 },
      env: {},
      isTTY: false,
    },
    clock: systemClock,
    logger: silent,
    secrets: new SecretMask(),
    configFile: "",
    isJson: false,
    mayShowPhi: false,
    mayAskPhi: true,
    isVerbose: false,
    width: undefined,
    actor: "kim",
    paint: (_, text) => `<${text}>`,
    line: print,
    lines: (lines, indent = 0) => {
      for (const line of lines) print(`${" ".repeat(indent)}${line}`);
    },
    json: (value) => print(JSON.stringify(value)),
    result: () => undefined,
    isRead: async () => true,
    note: (text) => notes.push(text),
    in: () => session,
    ...own,
  };
  return { session, printed: () => printed.join(""), notes };
}

const render = (rows: readonly Row[], width?: number) =>
  renderTable(columns, rows, sessionOf({ width }).session);

describe("a table", () => {
  it("is as wide as its content, with numbers to the right", () => {
    expect(render([rowOf("o1", 7, "short"), rowOf("o117", 1200, "a longer reason")])).toEqual([
      "ID    COUNT  REASON",
      "o1        7  short",
      "o117   1200  a longer reason",
    ]);
  });

  it("leaves out times whose age it shows, and then lesser columns from the right, while the screen has no room", () => {
    const at = new Date("2026-03-01T08:00:00Z");
    const shown: readonly Column<Row>[] = [
      { key: "id", title: "id" },
      { title: "since", show: () => at },
      ageColumn<Row>(() => new Date()),
      { title: "request", isLesser: true, show: () => "118" },
      { title: "procedure", isLesser: true, show: () => "228" },
      { key: "reason", title: "reason", isFlexible: true },
    ];
    const titlesAt = (width?: number) =>
      renderTable(shown, [rowOf("o1", 7, "a reason that is long")], sessionOf({ width }).session)[0]?.split(
        / +/,
      );
    expect(titlesAt()).toEqual(["ID", "SINCE", "AGE", "REQUEST", "PROCEDURE", "REASON"]);
    expect(titlesAt(50)).toEqual(["ID", "AGE", "REQUEST", "PROCEDURE", "REASON"]);
    expect(titlesAt(30)).toEqual(["ID", "AGE", "REQUEST", "REASON"]);
    expect(titlesAt(18)).toEqual(["ID", "AGE", "REASON"]);
  });

  it("cuts flexible columns to the width of the screen and marks the cut", () => {
    expect(render([rowOf("o1", 7, "a reason that is far too long")], 26)).toEqual([
      "ID  COUNT  REASON",
      "o1      7  a reason that…",
    ]);
  });

  it("cuts nothing when nobody looks at a screen", () => {
    const reason = "x".repeat(500);
    expect(render([rowOf("o1", 7, reason)])[1]).toContain(reason);
  });

  it("never lets a value command the terminal or break the row", () => {
    expect(render([rowOf("o1", 7, "\u001b[2Jevil\r\nline\u202e")])[1]).toBe("o1      7  ?[2Jevil line?");
  });

  it("measures a painted cell by its text", () => {
    const [id, ...others] = columns;
    const painted: readonly Column<Row>[] = [
      { ...(id as Column<Row>), paint: ({ count }) => (count === 7 ? "red" : undefined) },
      ...others,
    ];
    const rows = [rowOf("o1", 7, "r"), rowOf("o117", 8, "r")];
    expect(renderTable(painted, rows, sessionOf().session).slice(1)).toEqual([
      "<o1  >      7  r",
      "o117      8  r",
    ]);
  });

  it("keeps every line within the screen as long as its fixed columns allow", () => {
    const rows = fc.tuple(fc.string({ maxLength: 6 }), fc.nat(99_999), fc.string({ maxLength: 200 }));
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 5 }), fc.integer({ min: 30, max: 120 }), (values, width) => {
        const lines = render(
          values.map((value) => rowOf(...value)),
          width,
        );
        for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("the columns of a record", () => {
  const person = {
    name: phi("Ottilie"),
    note: "asks for Ottilie",
    empty: "",
    gone: undefined,
    seenAt: new Date("2026-11-21T10:00:00Z"),
    labels: ["V-1", "V-2"],
  };
  const all: readonly Column<typeof person>[] = [
    { key: "name", title: "name" },
    { key: "note", title: "note", isHidden: (_, { mayShowPhi }) => !mayShowPhi },
    { key: "empty", title: "empty", isHidden: () => true },
    { key: "gone", title: "gone" },
    { key: "seenAt" },
    { key: "labels", title: "labels" },
    { title: "only in lists", only: "list", show: () => "here" },
    { title: "only in details", only: "details", show: () => "there" },
  ];

  it("give programs each value under its key, null for none, with the patient masked", () => {
    expect(recordJson(all, person, sessionOf().session)).toEqual({
      name: "••••",
      note: "••••",
      empty: "",
      gone: null,
      seenAt: person.seenAt,
      labels: ["V-1", "V-2"],
    });
    expect(recordJson(all, person, sessionOf({ mayShowPhi: true }).session)).toMatchObject({
      name: "Ottilie",
      note: "asks for Ottilie",
    });
  });

  it("give people a line each, without those that have no value, and with the patient masked", () => {
    expect(renderFields(all, person, sessionOf().session)).toEqual([
      "name             ••••",
      "note             ••••",
      "labels           V-1 V-2",
      "only in details  there",
    ]);
    expect(renderTable(all, [person], sessionOf().session)[0]).toBe(
      "NAME  NOTE  EMPTY  GONE  LABELS   ONLY IN LISTS",
    );
  });
});

describe("a list", () => {
  const form = { key: "orders", columns, nothing: "No orders." };

  it("is one JSON document for programs, and says whether there is more", () => {
    const { session, printed } = sessionOf({ isJson: true });
    printList(session, form, [rowOf("o1", 1, "a"), rowOf("o2", 2, "b")], 1);
    expect(JSON.parse(printed())).toEqual({ orders: [rowOf("o1", 1, "a")], hasMore: true });
  });

  it("notes for people that there is more, and says when there is nothing", () => {
    const { session, printed, notes } = sessionOf();
    printList(session, form, [rowOf("o1", 1, "a"), rowOf("o2", 2, "b")], 1);
    expect(notes).toEqual(["There are more than this one: --limit shows more."]);
    printList(session, form, [], 1);
    expect(printed()).toMatch(/^ID .*\no1 .*\nNo orders\.\n$/);
  });
});

describe("details", () => {
  const sections = (session: Session) => [
    fields(columns, rowOf("o1", 1, "a"), session),
    table(["others", "Others"], columns, [], session),
    table(["likes", "Likes"], columns, [rowOf("o2", 2, "b")], session),
  ];

  it("are one JSON document with the fields beside the lists", () => {
    const { session, printed } = sessionOf({ isJson: true });
    printDetails(session, ["Order o1"], sections(session));
    expect(JSON.parse(printed())).toEqual({
      ...rowOf("o1", 1, "a"),
      others: [],
      likes: [rowOf("o2", 2, "b")],
    });
  });

  it("keep lists within the screen though they are set in", () => {
    const { session, printed } = sessionOf({ width: 26 });
    const likes = [rowOf("o2", 2, "a reason that is far too long")];
    printDetails(session, [], [table(["likes", "Likes"], columns, likes, session)]);
    expect(printed()).toContain("\n  o2      2  a reason tha…\n");
  });

  it("leave empty lists out for people", () => {
    const { session, printed } = sessionOf();
    printDetails(session, ["Order o1"], sections(session));
    expect(printed()).toBe(
      "Order o1\n\nid      o1\ncount   1\nreason  a\n\n<Likes>\n  ID  COUNT  REASON\n  o2      2  b\n",
    );
  });
});
