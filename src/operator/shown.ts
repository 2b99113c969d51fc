/**
 * What is shown of what others wrote to whoever did not ask for patients' data: of records of the service and bodies for it by key, of HL7
 * by field, of rows of results by column. What stands nowhere here is hidden, be it a text or a number: nobody knows what it holds.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(" ").filter((word) => word !== ""));

/** Whose values an object of the service holds: a procedure's `code` is its number, a subject's is the patient's. */
export type Owner = "person" | "procedure" | "container" | "place" | "order" | "unknown";

const TIME = /^[\d:.TZ+ -]{8,40}$/;
const WORD = /^[A-Za-z]\w{1,39}$|^in progress$/i;
const NUMBER = /^\d{1,16}$/;
/** A number, or what systems of other makers have in its place. */
const ID = /^\d{1,16}$|^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Keys of JSON whose values are shown, whatever they are about. */
export const SHOWN_KEYS = words("canister cane position slot storageName sampleContainerId page perPage");

/** Keys whose values are shown, and each in a list of such, where they have the form of what they are to be. */
export const SHOWN_FORMS: ReadonlyMap<string, RegExp> = new Map([
  ...["createdAt", "acceptedAt", "startedAt", "completedAt", "storedAt"].map((key) => [key, TIME] as const),
  ...["type", "status"].map((key) => [key, WORD] as const),
  ["id", ID],
  ...["facilityId", "storageId", "requestId", "procedureId", "subjectId"].map(
    (key) => [key, NUMBER] as const,
  ),
  ...["sampleContainerIds", "containerId", "containerIds"].map((key) => [key, NUMBER] as const),
]);

/** Further keys by what they are about. */
export const SHOWN_KEYS_OF: Readonly<Record<Owner, ReadonlySet<string>>> = {
  person: words(""),
  procedure: words("code"),
  container: words("name label"),
  // Its counts are of containers.
  place: words("name label used free count total capacity"),
  order: words(""),
  unknown: words(""),
};

/** Segments of HL7 of which all is shown but these fields, which name people or hold any text. */
export const SHOWN_BUT = fieldsOf({ MSH: "", SFT: "", EVN: "5", BHS: "10", FHS: "10", BTS: "2", FTS: "2" });

/**
 * Fields of other segments, and components of fields, by which an order is found and mapped: numbers, identifiers, places, times
 * and codes. No texts, and nothing that describes a specimen or a patient, as a container's description does.
 */
export const SHOWN_FIELDS = fieldsOf({
  MSA: "1 2 4 5 6.1 6.3",
  ERR: "1 2 3.1 3.3 4 5.1 5.3",
  ORC: "1 2 3 4 5 6 8 9 13 15 16.1 16.3 17.1 17.3 21 25.1 25.3 29.1 29.3",
  TQ1: "1 7 8 9.1 9.3",
  // Whose number it is and of which kind, which a mapping chooses by, but not the number.
  PID: "1 3.4 3.5",
  PV1: "1 3.1 3.2 3.3 3.4",
  OBR: "1 2 3 4.1 4.3 4.4 4.6 22 24 25",
  OBX: "1 2 3.1 3.3 3.4 3.6 4 11",
  SPM: "1 2 3 26",
  SAC: "1 2 3 4 8.1 8.3 10 11 13 14",
  NTE: "1 2",
  QRD: "1 2 3 4 5 6 7",
});

/** Further fields of what Cryobridge wrote itself, which name no patient. */
export const SHOWN_OWN_FIELDS = fieldsOf({ MSA: "3", ERR: "3 5 7 8", NTE: "3", ORC: "16" });

/** Of an observation of our own (OBX-3.1) its name, value and time; of any other one, and of a patient's earlier number, neither. */
export const SHOWN_OWN_OBSERVATION = words("3 5 14");
export const SHOWN_OBSERVATIONS = words(
  "CRYO-STATUS CRYO-PROCEDURE CRYO-MESSAGE CRYO-ORDER CRYO-REASON CRYO-REQUEST CRYO-CONTAINER CRYO-CONTAINER-ID CRYO-STORAGE " +
    "CRYO-CANISTER CRYO-CANE CRYO-POSITION CRYO-STORED-AT CRYO-TEXT",
);

/** What a column of CSV results may hold, to be shown. */
export const SHOWN_COLUMNS = words(
  "order_number operation container_label status request_id procedure_id procedure_code storage canister cane position stored_at error " +
    "updated_at error_code facility container_id input_file line",
);

/** Keys of a preview's document whose values are shown, of all but the subject. */
export const SHOWN_PARTS = words(
  "accepted refused ignored waiting place verdict code message operation placerOrderNumber placerAuthority facilityCode facilityId label " +
    "control fillerNumber kind id fileName",
);

function fieldsOf(textBySegment: Readonly<Record<string, string>>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(textBySegment).map(([segment, text]) => [segment, words(text)]));
}
