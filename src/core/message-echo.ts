import { z } from "zod";
import { CONTROLS } from "./order-control.ts";

/*
 * What answers, results and batch answers repeat of an HL7 message, taken out of it once, when it was mapped: its segments as they
 * stand, and what the profile of that time read in them. The ledger keeps it as plain JSON, with the patient's values in clear.
 */

/** A number of something in a list of the echo, from 0. */
const INDEX = z.int().nonnegative();

/** Values that the site's own fields (`results.fields`) are to have in them, by the path that they name. */
const VALUES = z.record(z.string(), z.string());

/** What was found for such fields: for an order or for the whole message, and for each container. */
const FOUND = z.object({
  order: VALUES,
  /** A container of which nobody knows where it stands. */
  other: VALUES,
  containers: z.array(z.tuple([z.string(), VALUES])),
});

/** What belongs to one order of the message. */
const GROUP = z.object({
  orc: INDEX.optional(),
  obrs: z.array(INDEX),
  /** Those that stand before its ORC, where the structure puts them first: each a specimen with its containers. */
  specimens: z.array(INDEX).optional(),
  /** What it wants of an earlier order, the name of its ORC, and our number of the order. */
  control: z
    .object({
      kind: z.enum(CONTROLS),
      at: z.number().optional(),
      filler: z.object({ kind: z.enum(["request", "procedure"]), id: z.number() }).optional(),
    })
    .optional(),
  /** The order's number, as far as it could be read. */
  number: z.string().optional(),
  /** All that may be read as its number; that number alone where absent. */
  numbers: z.array(z.string()).optional(),
  /** Where its number stands; in ORC-2 where absent. */
  place: z.tuple([z.enum(["ORC", "OBR"]), z.number()]).optional(),
  /** The segments that stand for containers by their label, as far as there are any: SAC and SPM. */
  containers: z.array(z.tuple([z.string(), INDEX.nullable(), INDEX.nullable()])).optional(),
  /** With other orders beside it. */
  found: FOUND.optional(),
});

/** One of several merges of a message. */
const MERGE = z.object({
  subjectCode: z.string(),
  priorCode: z.string(),
  /** Its PID. */
  patient: INDEX,
  found: FOUND.optional(),
});

export const MESSAGE_ECHO = z.object({
  /** The character set that the message was read in; absent where its characters could not be read. */
  encoding: z.string().optional(),
  /** MSH; absent where there is none that could be read. */
  header: z.string().optional(),
  /** It acknowledges another message, and is not to be answered. */
  isAnswer: z.boolean().optional(),
  segments: z.array(z.string()),
  /** Its first PID. */
  patient: INDEX.optional(),
  /** Whether each OBR is an order; else each ORC. */
  isEachObr: z.boolean().optional(),
  specimens: z.array(z.array(INDEX)).optional(),
  groups: z.array(GROUP),
  /** Of a message that was not taken: to which groups the segments belong that its problems name. */
  owners: z.record(z.string(), z.array(INDEX)).optional(),
  merges: z.array(MERGE).optional(),
  found: FOUND.optional(),
});
export type MessageEcho = z.infer<typeof MESSAGE_ECHO>;
export type EchoGroup = z.infer<typeof GROUP>;
export type EchoFound = z.infer<typeof FOUND>;
