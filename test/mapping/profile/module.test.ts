import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import { importFrom, type MessageView, type ModuleOrder } from "../../../src/mapping/profile/module.ts";
import { placeWith } from "../../support/places.ts";
import { withFolder } from "../../support/with-folder.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const TEXT = hl7Text("ORM^O01", [
  "PID|1||MRN-1^^^N^MR~OTHER||Beispiel&von^Anna||19800101",
  "ORC|NW|A-1",
  "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1",
  "OBR|2|A-1||CRYO-STORE|||||||||||SEM^^L-2",
]);

type OrderFunction = (order: ModuleOrder, message: MessageView) => unknown;

/** Maps TEXT (or another) through a profile with this module. */
async function mapWith(order: OrderFunction, text = TEXT) {
  return mapOne(await hl7Profile({ module: "./our-lab.ts" }, { order }), hl7Message(text));
}

describe("a site's module", () => {
  test("may change an order in place; the value then comes from it", async () => {
    const { orders } = await mapWith((order) => {
      order.facility = "SOUTH";
    });
    expect(orders[0]).toMatchObject({ facilityCode: "SOUTH", facilityId: 13 });
    expect(orders[0]?.sources).toMatchObject({ facility: "module ./our-lab.ts", operation: "OBR-4.1" });
  });

  test("may correct what was found wrong", async () => {
    const { verdict, orders } = await mapWith(
      (order) => {
        order.operation ??= "RETRIEVAL";
      },
      TEXT.replaceAll("CRYO-STORE", "OLD-CODE"),
    );
    expect([verdict, orders[0]?.operation]).toEqual(["accepted", "RETRIEVAL"]);
  });

  test("may split an order, each with a number of its own", async () => {
    const { orders } = await mapWith((order) =>
      order.containers.map((container, i) => ({
        ...order,
        placerOrderNumber: `${order.placerOrderNumber}-${i + 1}`,
        containers: [container],
      })),
    );
    expect(
      orders.map(({ placerOrderNumber, containers }) => [placerOrderNumber, containers[0]?.label]),
    ).toEqual([
      ["A-1-1", "L-1"],
      ["A-1-2", "L-2"],
    ]);
    expect(orders[1]?.sources["containers[0].label"]).toEqual("OBR[2]-15.3");
  });

  test("that splits an order without numbering the parts is refused", async () => {
    const { problems } = await mapWith((order) => [order, order]);
    expect(problems[0]).toMatchObject({
      code: "MAPPING_MODULE_FAILED",
      hint: expect.stringContaining("two orders with the number A-1"),
    });
  });

  test("refuses an order by throwing, in its own words", async () => {
    const { verdict, problems } = await mapWith(() => {
      throw new Error("no retrievals on Sundays");
    });
    expect(verdict).toBe("refused");
    expect(problems).toEqual([
      {
        code: "MAPPING_MODULE_REFUSED",
        place: "message 1",
        message: "no retrievals on Sundays",
        hint: "Read the reason: the rule is in module ./our-lab.ts, which the profile names. A running daemon takes a changed setting over by `cryobridge reload`.",
      },
    ]);
  });

  test("that breaks is reported without the words of its error, which may quote a patient's value", async () => {
    const { problems } = await mapWith((order) => {
      throw new TypeError(`cannot read ${order.subject.lastName}`);
    });
    expect(problems).toEqual([
      {
        code: "MAPPING_MODULE_FAILED",
        place: "message 1",
        message: "can't be processed: an error of the receiver, not of the message",
        hint: expect.stringContaining("Module ./our-lab.ts: its order function threw a TypeError."),
      },
    ]);
  });

  test.each<[string, OrderFunction]>([
    ["nothing to do", () => []],
    ["no order", () => 42],
    ["a promise", () => Promise.resolve()],
    ["a number for a label", (order) => ({ ...order, containers: [{ label: 7 }] })],
  ])("that returns %s is reported, and no order is lost silently", async (_, order) => {
    const { verdict, problems } = await mapWith(order);
    expect([verdict, problems[0]?.code]).toEqual(["refused", "MAPPING_MODULE_FAILED"]);
  });

  test("still has its orders judged", async () => {
    const { problems } = await mapWith((order) => {
      order.subject.dateOfBirth = "1.1.1980";
      order.containers.push({ label: "L-1" });
    });
    expect(problems.map(({ code }) => code)).toEqual([
      "MAPPING_DATE_INVALID",
      "MAPPING_CONTAINER_LABEL_TWICE",
    ]);
  });

  test("reads the message in hl7-standard's notation", async () => {
    const seen: unknown[] = [];
    await mapWith((_, message) => {
      seen.push(
        message.get("PID.5.1"),
        message.get("PID.5.1", 0, 0, 1),
        message.get("PID.3.1", 0, 1),
        message.get("OBR.15.3", 1),
        message.get("PID.8"),
        message.get("ZZZ.1.1"),
        message.count("OBR"),
      );
    });
    expect(seen).toEqual(["Beispiel", "von", "OTHER", "L-2", null, null, 2]);
  });

  test("reads CSV rows by column, whose accents may be characters of their own", async () => {
    const seen: unknown[] = [];
    const order: OrderFunction = (_, message) => {
      seen.push(message.get("operation"), message.get("noté".normalize("NFD"), 1), message.count("rows"));
    };
    const row = {
      operation: "STORE",
      facility: "NORTH",
      subject_code: "S",
      order_number: "A",
      container_label: "1",
    };
    mapOne(
      await csvProfile({ module: "./m.ts" }, { order }),
      csvMessage([row, { ...row, container_label: "2", ["noté".normalize("NFC")]: "x" }]),
    );
    expect(seen).toEqual(["STORE", "x", 2]);
  });

  test.each<[string, unknown, RegExp]>([
    ["without an order function", { other: 1 }, /does not export a function named order/],
    ["whose order function is async", { order: async () => {} }, /must not be async/],
  ])("%s keeps the profile from compiling", async (_, namespace, expected) => {
    const compiled = await compileProfile(
      "test",
      { extends: "builtin/hl7-orders", module: "./m.ts" },
      { loadModule: async () => namespace },
    );
    expect(compiled.ok ? [] : compiled.problems).toEqual([
      { place: "module", message: expect.stringMatching(expected) },
    ]);
  });

  test("is imported from TypeScript, relative to a folder; one that cannot be is reported", async () => {
    const folder = await mkdtemp(join(tmpdir(), "module-"));
    try {
      await writeFile(
        join(folder, "lab.ts"),
        "export function order(o: { facility?: string }): void { o.facility = 'SOUTH'; }",
      );
      const loadModule = importFrom(folder);
      const definition = { extends: "builtin/hl7-orders", module: "./lab.ts" };
      const compiled = await compileProfile("test", definition, { loadModule });
      if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
      expect(mapOne(compiled.profile, hl7Message(TEXT)).orders[0]?.facilityId).toBe(13);
      const missing = await compileProfile("test", { ...definition, module: "./no.ts" }, { loadModule });
      expect(missing.ok ? undefined : missing.problems[0]?.message).toMatch(/^\.\/no\.ts cannot be loaded: /);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("what a module returns is guarded like a value of a file:", () => {
  const ROW = {
    order_number: "A-1",
    operation: "STORE",
    facility: "NORTH",
    subject_code: "MRN-1",
    first_name: "Anna",
    last_name: "Beispiel",
    date_of_birth: "1980-01-01",
    container_label: "V1",
    raw: "",
  };
  type Set = (order: ModuleOrder, value: string) => void;
  const SETS: Record<string, Set> = {
    label: (order, value) => {
      order.containers = [{ label: value }];
    },
    "order number": (order, value) => {
      order.placerOrderNumber = value;
    },
    "subject code": (order, value) => {
      order.subject.code = value;
    },
  };
  const DAMAGED = [
    "1,23457E+14",
    "1.23E+05",
    "#N/A",
    "#NAME?",
    "=A1",
    "'=A1",
    "“V1”",
    "null",
    "4711.0",
    "1-Mar",
    "V1\u200b",
    "V\u00a01",
    "V\u00071",
    "V\0",
    "V\ud800",
    "V".repeat(201),
  ];

  test.each(
    Object.entries(SETS).flatMap(([what, set]) => DAMAGED.map((value) => [what, value, set] as const)),
  )("%s of %j is refused, of CSV and of HL7", async (_, value, set) => {
    const order = (given: ModuleOrder, message: MessageView) => {
      set(given, message.format === "csv" ? (message.get("raw") ?? "") : value);
    };
    const csv = mapOne(
      await csvProfile({ module: "./m.ts" }, { order }),
      csvMessage([{ ...ROW, raw: value }]),
    );
    for (const { verdict, orders, problems } of [csv, await mapWith(order)]) {
      expect([verdict, orders]).toEqual(["refused", []]);
      expect(problems.map(({ place }) => place)).toContainEqual(placeWith("module ./"));
    }
  });

  test.each(["V1;V2", "V1|V2", "V1, V2"])("a label of %j is refused, since it is several", async (label) => {
    const order = (given: ModuleOrder) => ({ ...given, containers: [{ label }] });
    expect(await mapWith(order)).toMatchObject({
      verdict: "refused",
      problems: [{ message: expect.stringContaining("several labels") }],
    });
  });

  test("a name that a failed formula left is refused", async () => {
    const order = (given: ModuleOrder) => ({ ...given, subject: { ...given.subject, lastName: "#NV" } });
    expect((await mapWith(order)).problems).toMatchObject([{ code: "MAPPING_VALUE_INVALID" }]);
  });

  test("a code of decomposed letters with blanks around is the same code as composed ones", async () => {
    const order = (given: ModuleOrder) => ({ ...given, containers: [{ label: " Ru\u0308-1 " }] });
    expect((await mapWith(order)).orders[0]?.containers).toMatchObject([{ label: "R\u00fc-1" }]);
  });

  test("more labels than an order may have are refused with their number", async () => {
    // Were the work quadratic, this would take many minutes.
    const containers = Array.from({ length: 400_001 }, (_, n) => ({ label: `V${n}` }));
    const { problems } = await mapWith((given: ModuleOrder) => ({ ...given, containers }));
    expect(problems).toMatchObject([
      { code: "MAPPING_TOO_MANY_LABELS", message: expect.stringContaining("400001 labels") },
    ]);
  });
});

const isPosix = process.platform !== "win32";
const isRoot = process.geteuid?.() === 0;

/** What is wrong with a profile whose module stands in a folder as it is then. */
async function troubleOf(folder: string, specifier = "./lab.mjs"): Promise<string> {
  const loadModule = importFrom(folder);
  const compiled = await compileProfile(
    "ours",
    { extends: "builtin/hl7-orders", module: specifier },
    { loadModule },
  );
  return compiled.ok ? "" : compiled.problems.map(({ place, message }) => `${place}: ${message}`).join("\n");
}

async function writeModule(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await chmod(folder, 0o755);
  const file = join(folder, "lab.mjs");
  await writeFile(file, "export const order = (order) => order;", { mode: 0o644 });
  await chmod(file, 0o644);
  return file;
}

describe.runIf(isPosix)("a module of a profile", () => {
  test("is loaded where only the daemon's user may write it", () =>
    withFolder(async (folder) => {
      await writeModule(folder);
      expect(await troubleOf(folder)).toBe("");
    }));

  test.each([0o664, 0o646, 0o666, 0o777, 0o620, 0o602])("of mode %o is refused, naming the file", (mode) =>
    withFolder(async (folder) => {
      const file = await writeModule(folder);
      await chmod(file, mode);
      expect(await troubleOf(folder)).toContain(
        `${file} may be written by others (mode ${mode.toString(8)}); take that away with chmod go-w`,
      );
    }),
  );

  test.each([0o775, 0o757, 0o777, 0o1777])("in a folder of mode %o is refused, naming the folder", (mode) =>
    withFolder(async (folder) => {
      await writeModule(folder);
      await chmod(folder, mode);
      expect(await troubleOf(folder)).toContain(
        `${folder} may be written by others (mode ${mode.toString(8)})`,
      );
    }),
  );

  test("is looked at where a link leads, and where the link stands", () =>
    withFolder(async (folder) => {
      const target = await writeModule(join(folder, "target"));
      const links = join(folder, "links");
      await mkdir(links, { mode: 0o755 });
      await chmod(links, 0o755);
      await symlink(target, join(links, "lab.mjs"));
      expect(await troubleOf(links)).toBe("");
      await chmod(target, 0o666);
      expect(await troubleOf(links)).toContain(target);
      await chmod(target, 0o644);
      await chmod(links, 0o777);
      expect(await troubleOf(links)).toContain(`${links} may be written`);
    }));

  test.runIf(isRoot)("that belongs to another user is refused, and so is one in another's folder", () =>
    withFolder(async (folder) => {
      const file = await writeModule(folder);
      await chown(file, 4711, 0);
      expect(await troubleOf(folder)).toContain(`${file} belongs to another user (uid 4711)`);
      await chown(file, 0, 0);
      await chown(folder, 4711, 0);
      expect(await troubleOf(folder)).toContain(`${folder} belongs to another user (uid 4711)`);
      await chown(folder, 0, 0);
    }),
  );

  test("that isn't there is reported as such", () =>
    withFolder(async (folder) => {
      expect(await troubleOf(folder, "./none.mjs")).toContain(
        "./none.mjs cannot be loaded: there is no such file",
      );
    }));
});
