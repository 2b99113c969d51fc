import type { BuiltinProfileName } from "../../config/load.ts";
import { csvResults, hl7Results } from "./results.ts";
import type { ResultState } from "./results-schema.ts";
import { csvSettings, hl7Settings, type ProfileDefinition } from "./schema.ts";
import { defaultsOf } from "./settings.ts";

/** All but the steps on the way. */
const SENT = [
  "acknowledged",
  "refused",
  "waiting",
  "completed",
  "rejected",
  "cancelled",
  "failed",
  "parked",
  "discarded",
] satisfies ResultState[];

/** HL7 as most lab systems speak it; a profile of the site names what is different. */
const hl7Orders: ProfileDefinition = {
  format: "hl7",
  accept: ["ORM^O01", "OML^O21", "OML^O33", "ADT^A04", "ADT^A28", "ADT^A08", "ADT^A31", "ADT^A40"],
  ignore: [],
  register: ["ADT^A04", "ADT^A28"],
  update: ["ADT^A08", "ADT^A31"],
  merge: ["ADT^A40"],
  ...defaultsOf(hl7Settings, ["cancel", "control"]),
  versions: ["2.3", "2.4", "2.5", "2.6", "2.7", "2.8"],
  operation: {
    from: "OBR-4.1",
    as: "trim",
    table: { "CRYO-STORE": "STORE", "CRYO-RETRIEVE": "RETRIEVAL" },
  },
  facility: { from: ["PV1-3.4", "MSH-4.1"], as: "trim" },
  // The standard wants ORC-2 and OBR-2 to be the same number; where they are not, nobody can say which order is meant.
  placerOrderNumber: { from: ["ORC-2.1", "OBR-2.1"], as: "trim", agree: true },
  subject: {
    // Medical record number, else the sender's own patient number, else the one identifier there is.
    code: { from: ["PID-3[5=MR].1", "PID-3[5=PI].1", { only: "PID-3.1" }], as: "trim" },
    priorCode: { from: ["MRG-1[5=MR].1", "MRG-1[5=PI].1", { only: "MRG-1.1" }], as: "trim" },
    firstName: { from: ["PID-5[7=L].2", "PID-5.2"], as: "collapse" },
    lastName: { from: ["PID-5[7=L].1", "PID-5.1"], as: "collapse" },
    dateOfBirth: { from: "PID-7", as: "date" },
  },
  containers: {
    // ORM^O01 has no specimen segments: an OBX with the code CONTAINER names one, else OBR-15 of each OBR does.
    each: ["SAC", "SPM", "OBX[3.1=CONTAINER]", "OBR"],
    label: { from: ["SAC-3.1", "SPM-2.1.1", "SPM-2.2.1", "OBX-5.1", "OBR-15.3"], as: "trim" },
    description: { from: ["SPM-4.2", "SPM-14", "OBX-5.2", "OBR-15.1.2"], as: "collapse" },
  },
  results: {
    ...defaultsOf(hl7Results, ["format", "namespace", "timeZone"]),
    send: SENT,
  },
};

/** CSV with the columns of the documentation; every one can be named otherwise. */
const csvOrders: ProfileDefinition = {
  format: "csv",
  ...defaultsOf(csvSettings, ["delimiter", "quote", "header", "encoding"]),
  dateFormats: ["yyyy-MM-dd"],
  ...defaultsOf(csvSettings, ["wholeFile"]),
  operation: {
    from: "operation",
    as: "trim",
    table: {
      STORE: "STORE",
      RETRIEVAL: "RETRIEVAL",
      RETRIEVE: "RETRIEVAL",
      REGISTER: "REGISTER",
      CANCEL: "CANCEL",
      HOLD: "HOLD",
      RELEASE: "RELEASE",
      STATUS: "STATUS",
    },
  },
  facility: { from: "facility", as: "trim" },
  placerOrderNumber: { from: "order_number", as: "trim" },
  subject: {
    code: { from: "subject_code", as: "trim" },
    firstName: { from: "first_name", as: "collapse" },
    lastName: { from: "last_name", as: "collapse" },
    dateOfBirth: { from: "date_of_birth", as: "date" },
  },
  containers: {
    label: { from: "container_label", as: "trim" },
    description: { from: "container_description", as: "collapse" },
  },
  results: {
    ...defaultsOf(csvResults, ["timeZone"]),
    send: SENT,
  },
};

/** The profiles that `extends` finds without any file. */
export const builtinProfiles: Readonly<Record<string, ProfileDefinition>> = {
  "builtin/hl7-orders": hl7Orders,
  "builtin/csv-orders": csvOrders,
} satisfies Record<BuiltinProfileName, ProfileDefinition>;
