import { z } from "zod";
import { ORDER_STATES, type OrderState } from "../../core/order-state.ts";

/** The three answers to a message. */
export const ANSWERS = ["acknowledged", "refused", "waiting"] as const;

/** States of an order that the lab never hears of by themselves, only within an answer. */
const INTERNAL_STATES = ["received", "queued", "submitting"] as const satisfies readonly OrderState[];

const stateSchema = z.enum(ORDER_STATES).exclude(INTERNAL_STATES);
const resultStateSchema = z.enum([...ANSWERS, ...stateSchema.options]);

const statusSchema = z.strictObject({
  "ORC-1": z.string().min(1).max(2).optional(),
  "ORC-5": z.string().max(2).optional(),
  "OBR-25": z.string().max(1).optional(),
  "SAC-8": z.string().max(20).optional(),
});

const formatSchema = z.enum(["oru", "orm", "ssu"]);

const fieldValueSchema = z.union([z.string(), z.partialRecord(resultStateSchema, z.string())], {
  error: "expected a text, or a text for each state such as { rejected: … }",
});

const partySchema = z.strictObject({ application: z.string().optional(), facility: z.string().optional() });

/** How results are written back: the part `results` of a profile. */
export const resultsSchema = z.strictObject({
  format: formatSchema
    .optional()
    .describe(
      "ORU^R01 (what every lab system can file), ORM^O01 with ORC-1, or SSU^U03 with the places of containers.",
    ),
  formats: z
    .partialRecord(stateSchema, formatSchema)
    .optional()
    .describe("HL7: the format for single states, over `format`."),
  fields: z
    .record(z.string(), fieldValueSchema)
    .optional()
    .describe(
      "HL7: fields of what is sent, by path, with the text that is to stand there instead; {name} puts in a value.",
    ),
  batchResponse: z
    .enum(["all", "errors", "none"])
    .optional()
    .describe(
      "HL7: how a batch (BHS) is answered: by one batch with all answers, with those that report errors, or by single answers. Single answers for files and all for connections unless set.",
    ),
  namespace: z
    .string()
    .min(1)
    .max(20)
    .optional()
    .describe("Second component of our filler order number (ORC-3, OBR-3)."),
  send: z
    .array(resultStateSchema)
    .optional()
    .describe("Which answers and which changes of an order's state are sent to the lab."),
  timeZone: z
    .string()
    .optional()
    .describe("IANA zone or offset such as +02:00 of the timestamps; UTC unless set."),
  encoding: z
    .string()
    .optional()
    .describe(
      "Character set of what is sent, such as utf-8 (unless set), windows-1252 or 8859/1; as-received for that of the message it is about (HL7).",
    ),
  byteOrderMark: z
    .boolean()
    .optional()
    .describe(
      "CSV: whether files in UTF-8 begin with a byte order mark, by which some spreadsheets know UTF-8.",
    ),
  version: z
    .string()
    .regex(/^2\.[3-8](?:\.\d)?$/, "expected an HL7 version such as 2.5.1")
    .optional()
    .describe("MSH-12 of what is sent; the version of the message that is answered unless set."),
  sender: partySchema
    .optional()
    .describe("MSH-3 and MSH-4 of what is sent; the original's receiver unless set."),
  receiver: partySchema
    .optional()
    .describe("MSH-5 and MSH-6 of what is sent; the original's sender unless set."),
  statusMap: z
    .partialRecord(resultStateSchema, statusSchema)
    .optional()
    .describe("ORC-1, ORC-5, OBR-25 and SAC-8 by the answer or state that is sent."),
});

export type ResultsDefinition = z.infer<typeof resultsSchema>;
/** What can be sent to the lab: an answer to a message, or a state that an order reached. */
export type ResultState = z.infer<typeof resultStateSchema>;
