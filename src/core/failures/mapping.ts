import type { FailureEntry } from "./entry.ts";

/** Told of messages that were read and are no order by the connector's profile. */
export const MAPPING_FAILURES = {
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: {
    class: "permanent",
    meaning: "The message is of a type that the connector's profile neither takes nor ignores.",
    hint: "Add the type to `accept` or `ignore` of the profile, or stop the sender from sending it here.",
  },
  MAPPING_VERSION_UNSUPPORTED: {
    class: "permanent",
    meaning: "MSH-12 is empty or names an HL7 version that the profile does not take.",
    hint: "Have the sender use one of the versions named, or extend `versions` of the profile.",
  },
  MAPPING_PROCESSING_ID: {
    class: "permanent",
    meaning: "MSH-11 says test, debugging or production, and this connector is set for another.",
    hint: "Send test messages to a test instance, or correct `processingId` of the profile.",
  },
  MAPPING_PROCESSING_MODE: {
    class: "permanent",
    meaning:
      "MSH-11.2 says that the message comes from an archive or belongs to an initial load, so that what it orders was ordered before.",
    hint: "Leave this interface out of archive runs and initial loads. Where they are meant to be carried out, such as registrations of an initial load, name the mode in `processingModes` of the profile.",
  },
  MAPPING_NO_PATIENT: {
    class: "permanent",
    meaning: "The message has no PID segment, so nobody can tell whose samples it is about.",
    hint: "Have the sender include PID with the subject code.",
  },
  MAPPING_SECOND_PATIENT: {
    class: "permanent",
    meaning: "The message has more than one PID segment; which patient an order belongs to would be a guess.",
    hint: "Send the orders of each patient in a message of their own. Only merges (PID, MRG) may be several.",
  },
  MAPPING_NO_ORDER: {
    class: "permanent",
    meaning: "An order message without any order in it: neither ORC nor OBR, or no rows.",
    hint: "Have the sender include ORC and OBR for each order.",
  },
  MAPPING_NO_CONTAINER: {
    class: "permanent",
    meaning: "An order to store or retrieve names no container.",
    hint: "Name each container where the message says, or correct `containers` of the profile.",
  },
  MAPPING_TOO_MANY_LABELS: {
    class: "permanent",
    meaning: "An order names more containers than `guards.labelsPerOrder` allows.",
    hint: "Look whether one order number stands for many orders there; send several orders, or raise `guards.labelsPerOrder` where such orders are meant.",
  },
  MAPPING_CONTAINER_LABEL_TWICE: {
    class: "permanent",
    meaning: "Two containers of one order have the same label.",
    hint: "Give each container its own label, or remove the one that was entered twice.",
  },
  MAPPING_CONTAINER_UNEXPECTED: {
    class: "permanent",
    meaning:
      "A registration, which is about a person only, names a container; or an OBX names one where none is read: before its OBR, or beside specimens.",
    hint: "Use STORE or RETRIEVAL for containers, or leave the container columns empty. Have the sender put each OBX that names a container below its OBR, or each container into SAC or SPM.",
  },
  MAPPING_OPERATION_UNKNOWN: {
    class: "permanent",
    meaning: "The operation code of an order is not in the profile's table.",
    hint: "Add the code to `operation.table` of the profile and restart the daemon, which takes up what waits (or `cryobridge messages release`).",
  },
  MAPPING_FACILITY_UNKNOWN: {
    class: "permanent",
    meaning: "The facility code of an order is not under `facilities` of the configuration.",
    hint: "Add the code with the service's facility id to `facilities` and restart the daemon, which takes up what waits (or `cryobridge messages release`).",
  },
  MAPPING_CODE_UNKNOWN: {
    class: "permanent",
    meaning: "A value that the profile translates by a table is not in that table.",
    hint: "Add the value to the table of the profile, then replay the message.",
  },
  MAPPING_EARLIER_WAITS: {
    class: "transient",
    meaning:
      "An earlier message about the same subject waits for a code table, and this one must not overtake it.",
    hint: "Mend what the earlier message waits for, or discard that one; this one then goes on by itself.",
  },
  MAPPING_ORDER_CONTROL_UNSUPPORTED: {
    class: "permanent",
    meaning:
      "ORC-1 asks for something other than a new order (NW) or what `cancel` and `control` of the profile name; or it asks for a new one with the status of an order that has ended (ORC-5) or was reported on (OBR-25).",
    hint: "Make the change with the storage staff; a code that cancels at your site belongs into `cancel` of the profile. A sender that tells of an ended order by ORC-5 or OBR-25 should say in ORC-1 what it wants, and leave both empty in a new order.",
  },
  MAPPING_VALUE_MISSING: {
    class: "permanent",
    meaning: "A value that an order cannot do without is empty or absent.",
    hint: 'Fill in the place that is named; `""`, which deletes a value, does not count as one.',
  },
  MAPPING_VALUE_INVALID: {
    class: "permanent",
    meaning: "A value does not have the form that the profile or Cryobridge expects.",
    hint: "Correct the place that is named, or the transform of the profile.",
  },
  MAPPING_VALUE_TOO_LONG: {
    class: "permanent",
    meaning: "A value is longer than any order number, code, name or description is meant to be.",
    hint: "Shorten the value at the place that is named, or correct what the profile reads there.",
  },
  MAPPING_CHARACTER_INVALID: {
    class: "permanent",
    meaning:
      "A value holds a character that no record can keep (NUL, half of a character), or a code holds a control character.",
    hint: "Have the sender write the value at the place that is named without it, or correct the sender's character set.",
  },
  MAPPING_DATE_INVALID: {
    class: "permanent",
    meaning: "A date is incomplete, does not exist, or is written in another form than expected.",
    hint: "Send the full date with year, month and day, since a part of a date is never filled up; a form of the sender's own is named in the profile: HL7 `as: { date: dd.MM.yyyy }`, CSV `dateFormats: [dd.MM.yyyy]`.",
  },
  MAPPING_VALUES_DISAGREE: {
    class: "permanent",
    meaning:
      "Two places that must say the same within one order say different things; or one message wants two things of one order.",
    hint: "Correct the place that is wrong, or have a message sent for each thing; Cryobridge does not choose between them.",
  },
  MAPPING_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    meaning:
      "PID-3, or MRG-1 of a merge, has several identifiers, and the profile does not single out one of them.",
    hint: "Name the type or the assigning authority in the profile, such as `PID-3[4.1=LAB&5=MR].1`; have several prior identifiers sent with a PID and an MRG for each.",
  },
  MAPPING_MODULE_REFUSED: {
    class: "permanent",
    meaning: "The site's own module refused the order.",
    hint: "Read its reason; the rule stands in the module that the profile names.",
  },
  MAPPING_MODULE_FAILED: {
    class: "permanent",
    meaning: "The site's own module broke, or gave back something that is no order.",
    hint: "Correct the module that the profile names, then replay the message.",
  },
} as const satisfies Record<string, FailureEntry>;
