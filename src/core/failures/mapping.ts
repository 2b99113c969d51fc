import { byReload } from "../hint.ts";

/** Reported of messages that were read, but are not orders by the connector's profile. */
export const MAPPING_FAILURES = {
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The profile neither accepts nor ignores this message type.",
    hint: byReload(
      "List the type with the others as `accept` or `ignore` of the profile, or stop the sender from sending it here.",
    ),
  },
  MAPPING_VERSION_UNSUPPORTED: {
    class: "permanent",
    reaches: "hl7",
    meaning: "MSH-12 is empty, or the profile does not accept that HL7 version.",
    hint: byReload(
      "Have the sender use an accepted version, or list it with the others as `versions` of the profile.",
    ),
  },
  MAPPING_PROCESSING_ID: {
    class: "permanent",
    reaches: "hl7",
    meaning: "MSH-11 (test, debugging or production) is not what this connector is set for.",
    hint: byReload(
      "Send test messages to a test instance, or correct `processingId` of the configuration or the profile.",
    ),
  },
  MAPPING_PROCESSING_MODE: {
    class: "permanent",
    reaches: "hl7",
    meaning: "MSH-11.2 says that the message comes from an archive or an initial load.",
    hint: byReload(
      "Keep such messages off this interface, or name the mode in `processingModes` of the profile.",
    ),
  },
  MAPPING_NO_PATIENT: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The message has no PID segment.",
    hint: "Have the sender include PID with the subject code.",
  },
  MAPPING_SECOND_PATIENT: {
    class: "permanent",
    reaches: "hl7",
    meaning: "The message has several PID segments.",
    hint: "Have a message sent for each patient. Only merges may have several pairs of PID and MRG.",
  },
  MAPPING_NO_ORDER: {
    class: "permanent",
    reaches: "any",
    meaning: "The order message holds no order: no ORC, no OBR, no row.",
    hint: "Have the sender include ORC and OBR for each order.",
  },
  MAPPING_NO_CONTAINER: {
    class: "permanent",
    reaches: "any",
    meaning: "An order to store or retrieve names no container, or one without a label.",
    hint: byReload(
      'Have the sender name each container, or name its segment and the place of its label in the profile, such as `containers: { each: "OBX[3.1=VIAL]", label: OBX-5.1 }`.',
    ),
  },
  MAPPING_TOO_MANY_LABELS: {
    class: "permanent",
    reaches: "any",
    meaning: "The order names more containers than `guards.labelsPerOrder` allows.",
    hint: "Check that many orders do not share one number, or set it higher, such as `guards: { labelsPerOrder: 2000 }`, and restart the daemon.",
  },
  MAPPING_CONTAINER_LABEL_TWICE: {
    class: "permanent",
    reaches: "any",
    meaning: "Two containers of one order have the same label.",
    hint: "Correct one label, or remove the duplicate.",
  },
  MAPPING_CONTAINER_UNEXPECTED: {
    class: "permanent",
    reaches: "any",
    meaning:
      "A registration names a container, or a segment does where none is read (before its OBR, or beside specimens).",
    hint: "Have the sender leave the container out of a registration. Otherwise have it send each container below its OBR, and all in one way: by specimens (SPM, SAC), or by other segments.",
  },
  MAPPING_OPERATION_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "The operation code is not in the profile's table.",
    hint: "Add the code to `operation.table` of the profile, then `cryobridge reload`: waiting messages go on. Or have the lab correct it.",
  },
  MAPPING_FACILITY_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "The facility code is not in the profile's table, or not under `facilities`.",
    hint: "Add the code to the table that is named: `facility.table` of the profile, or `facilities`. Then `cryobridge reload`: waiting messages go on. Or have the lab correct it.",
  },
  MAPPING_CODE_UNKNOWN: {
    class: "permanent",
    reaches: "any",
    meaning: "A value is not in the profile's table for it.",
    hint: "Add the value to the profile's table, `cryobridge reload`, then `cryobridge messages replay ID`. Or have the lab correct it.",
  },
  MAPPING_EARLIER_WAITS: {
    class: "transient",
    reaches: "any",
    meaning: "An earlier message of the same subject waits for a code, and must not be overtaken.",
    hint: "`cryobridge messages waiting` lists the code: add it, or discard the earlier message.",
  },
  MAPPING_ORDER_CONTROL_UNSUPPORTED: {
    class: "permanent",
    reaches: "hl7",
    meaning:
      "The profile does not take this ORC-1, or a new order carries the status of an ended one (ORC-5, OBR-25).",
    hint: byReload(
      "Arrange the change with the storage staff, or add the code to `cancel` or `control` of the profile. Have ORC-5 and OBR-25 left empty in new orders.",
    ),
  },
  MAPPING_VALUE_MISSING: {
    class: "permanent",
    reaches: "any",
    meaning: "A required value is empty or absent.",
    hint: 'Have the sender fill in the place that is named. `""` counts as empty.',
  },
  MAPPING_VALUE_INVALID: {
    class: "permanent",
    reaches: "any",
    meaning: "A value does not have the expected form.",
    hint: byReload("Correct the value at the place that is named, or the profile's transform."),
  },
  MAPPING_VALUE_TOO_LONG: {
    class: "permanent",
    reaches: "any",
    meaning: "A value is too long.",
    hint: byReload("Shorten the value, or correct what the profile reads there."),
  },
  MAPPING_CHARACTER_INVALID: {
    class: "permanent",
    reaches: "any",
    meaning: "A value holds a character that can't be stored, or a code holds a control character.",
    hint: "Have the sender leave the character out, or correct its character set.",
  },
  MAPPING_DATE_INVALID: {
    class: "permanent",
    reaches: "any",
    meaning: "A date is incomplete, does not exist, or has another form than expected.",
    hint: byReload(
      "Have the lab send a whole date that exists, or name the sender's form in the profile: HL7 `subject: { dateOfBirth: { as: { date: dd.MM.yyyy } } }`, CSV `dateFormats: [dd.MM.yyyy]`.",
    ),
  },
  MAPPING_VALUES_DISAGREE: {
    class: "permanent",
    reaches: "any",
    meaning: "Two places of one order that must agree differ, or a message requests two things of it.",
    hint: "Have the sender correct the place that is wrong, or send a message for each request.",
  },
  MAPPING_SUBJECT_AMBIGUOUS: {
    class: "permanent",
    reaches: "any",
    meaning: "PID-3 (or MRG-1) has several identifiers, and the profile selects none.",
    hint: byReload(
      "Select one in the profile, such as `PID-3[4.1=LAB&5=MR].1`. For several prior identifiers, send a PID and an MRG for each.",
    ),
  },
  MAPPING_MODULE_REFUSED: {
    class: "permanent",
    reaches: "people",
    meaning: "The site's own module refused the order.",
    hint: "Read the module's reason.",
  },
  MAPPING_MODULE_FAILED: {
    class: "permanent",
    reaches: "any",
    meaning: "The site's own module failed, or returned something that is not an order.",
    hint: "Correct the module that the profile names, `cryobridge reload`, then `cryobridge messages replay ID`.",
  },
} as const;
