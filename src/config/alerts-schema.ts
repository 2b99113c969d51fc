import { z } from "zod";
import { ALERT_KINDS, type AlertKind, CONDITION_KINDS } from "../core/condition-kinds.ts";
import type { OrderState } from "../core/order-state.ts";
import { parseDays, parseMinute, type Weekly } from "../core/weekly.ts";
import { duration, durationOr, filePath, host, port, secret, secretUrl, section } from "./scalars.ts";

const percent = (description: string, usual: number) =>
  z.number().min(1).max(100).default(usual).describe(description);
const atLeast = z.int().min(1).default(5).describe("Of fewer within the hour nothing is concluded.");
const within = duration("How long before its end.").prefault("30d");

/** How old the last backup of a ledger may be that Cryobridge keeps itself: a night's that failed is known before the next one. */
export const BACKUP_AGE = "36h";

/** In a stage for this long an order is old, unless the configuration says. */
const OLD_AFTER = {
  received: "4h",
  submitting: "4h",
  submitted: "3d",
  accepted: "7d",
  in_progress: "1d",
} as const satisfies Partial<Record<OrderState, string>>;
type Stage = keyof typeof OLD_AFTER;

const stages = z
  .strictObject({
    received: duration("Waiting here.").prefault(OLD_AFTER.received),
    submitting: duration("Being submitted, or searched for.").prefault(OLD_AFTER.submitting),
    submitted: duration("Waiting for staff at the service.").prefault(OLD_AFTER.submitted),
    accepted: duration("Waiting for a device.").prefault(OLD_AFTER.accepted),
    in_progress: duration("In a device.").prefault(OLD_AFTER.in_progress),
  })
  .transform((msByStage): Readonly<Record<Stage, number>> => msByStage);

/** What the rules of some kinds have beside `after`. */
const OWN_RULES = {
  ordersOld: { above: stages.prefault({}).describe("How old the oldest order of each stage may be.") },
  ordersFailing: { above: percent("Share of the orders that may fail, in percent.", 20), atLeast },
  messagesRefused: { above: percent("Share of the messages that may be refused, in percent.", 20), atLeast },
  diskFilling: { above: percent("Share of the disk that may be in use, in percent.", 90) },
  certificateExpiring: { within },
  secretExpiring: { within },
  backupOld: {
    above: duration(
      `How old the last backup may be. Unless set, ${BACKUP_AGE} where Cryobridge keeps the ledger itself, else any age.`,
      { min: "1m" },
    ).optional(),
  },
};

type OwnRules = typeof OWN_RULES;
type OwnOf<Kind> = Kind extends keyof OwnRules ? OwnRules[Kind] : Record<never, never>;

function ruleOf<Kind extends AlertKind>(kind: Kind) {
  const { means, after: usual } = CONDITION_KINDS[kind];
  return section({
    on: z.boolean().default(true).describe("Whether alerts are sent."),
    after: durationOr(usual, "For how long it has to hold before an alert is sent."),
    ...((kind in OWN_RULES ? OWN_RULES[kind as keyof OwnRules] : {}) as OwnOf<Kind>),
  })
    .prefault({} as never)
    .describe(`${means} After ${usual} unless set.`);
}

const rules = z.strictObject(
  Object.fromEntries(ALERT_KINDS.map((kind) => [kind, ruleOf(kind)])) as {
    readonly [Kind in AlertKind]: ReturnType<typeof ruleOf<Kind>>;
  },
);

const placeName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, "expected a name of letters, digits, dots, - and _")
  .optional()
  .describe("What it is called; its type when not set.");
const address = z.string().regex(/^[^\s@<>,]+@[^\s@<>,]+$/, "expected an address such as lab@example.org");

const place = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("log").describe("The daemon's log."), name: placeName }),
    z.strictObject({
      type: z.literal("webhook").describe("JSON by POST, signed."),
      name: placeName,
      url: secretUrl(`Address; where it holds a credential, write that as \${NAME}.`, ["https:", "http:"]),
      secret: secret(`Key of the signature, at least 16 characters; write it as \${NAME}.`, 16),
      ca: filePath("Certificates (PEM) to trust instead of the public authorities.").optional(),
    }),
    z.strictObject({
      type: z.literal("email").describe("E-mail by SMTP."),
      name: placeName,
      host: host("The mail server."),
      port: port("TCP port.").default(587),
      tls: z
        .enum(["starttls", "tls", "none"])
        .default("starttls")
        .describe("TLS after a greeting in clear (usual on 587), from the beginning (465), or none."),
      ca: filePath("Certificates (PEM) to trust instead of the public authorities.").optional(),
      user: z.string().min(1).optional().describe("User name at the mail server."),
      password: secret(`Password at the mail server; write it as \${NAME}.`).optional(),
      from: address.describe("Address of the sender."),
      to: z.array(address).min(1).describe("Addresses that alerts are sent to."),
    }),
    z.strictObject({
      type: z.literal("command").describe("A program that gets JSON on its standard input."),
      name: placeName,
      command: z
        .array(z.string().min(1))
        .min(1)
        .describe("The program and its arguments; run without a shell, with PATH alone as its environment."),
    }),
  ])
  .transform((given) => ({ ...given, name: given.name ?? given.type }));

const days = z
  .string()
  .refine((text) => parseDays(text) !== undefined, {
    error: "expected days such as mon-fri, mon,wed,fri or daily",
  })
  .default("daily")
  .describe("Days of the week, such as mon-fri, mon,wed,fri or daily.");
const time = (description: string) =>
  z
    .string({ error: 'expected a time in quotes, such as "07:00"' })
    .refine((text) => parseMinute(text) !== undefined, { error: 'expected a time such as "07:00"' })
    .describe(description);
const hours = {
  days,
  from: time("Beginning, in the machine's own time."),
  to: time('End, later on the same day; "24:00" is midnight.'),
};
const EXPECTED_HOURS = { error: "expected an end after the beginning, on the same day", path: ["to"] };
function toWeekly(given: { readonly days: string; readonly from: string; readonly to: string }): Weekly {
  return {
    days: parseDays(given.days) ?? new Set(),
    fromMinute: parseMinute(given.from) ?? 0,
    toMinute: parseMinute(given.to) ?? 0,
  };
}
const areHours = ({ from, to }: { readonly from: string; readonly to: string }) =>
  (parseMinute(from) ?? 0) < (parseMinute(to) ?? 0);
const moment = (description: string) =>
  z
    .string()
    .refine((text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text)), {
      error: "expected a time such as 2026-12-01T20:00",
    })
    .describe(description);

/** The section `alerts` of the configuration. */
export const alertsSchema = section({
  to: z.array(place).default([]).describe("Where alerts are sent; nowhere when there is none."),
  rules: rules.prefault({}).describe("When alerts are sent, by the kind of alert."),
  checkEvery: duration("How often everything is looked at.", { min: "100ms", max: "10m" }).prefault("10s"),
  overAfter: duration("For how long it has to be gone before it is over.").prefault("1m"),
  expectTraffic: z
    .array(
      section({
        connector: z.string().min(1).describe("Name of the connector."),
        ...hours,
        quietFor: duration("How long no message may come, counted within these hours.", { min: "1s" }),
      })
        .refine(areHours, EXPECTED_HOURS)
        .transform(({ connector, quietForMs, ...own }) => ({ connector, quietForMs, ...toWeekly(own) })),
    )
    .default([])
    .describe("When messages should come."),
  expiries: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(100).describe("What ends, such as service.auth.clientSecret."),
        on: z.iso.date({ error: "expected a day such as 2027-01-31" }).describe("The day on which it ends."),
      }),
    )
    .default([])
    .describe("Tokens and secrets with an end that only you know."),
  maintenance: z
    .array(
      z.union([
        z
          .strictObject({ start: moment("Beginning."), end: moment("End.") })
          .refine(({ start, end }) => Date.parse(start) < Date.parse(end), {
            error: "expected an end after the beginning",
            path: ["end"],
          })
          .transform(({ start, end }) => ({ start: new Date(start), end: new Date(end) })),
        z.strictObject(hours).refine(areHours, EXPECTED_HOURS).transform(toWeekly),
      ]),
    )
    .prefault([])
    .describe("When no alert is announced: once (start, end) or each week (days, from, to)."),
});

export type AlertsConfig = z.output<typeof alertsSchema>;
/** A place that alerts are sent to, by its type. */
export type AlertPlaceConfig = AlertsConfig["to"][number];
