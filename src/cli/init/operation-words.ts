import { plainHeading } from "./headings.ts";

/** What a lab can ask for. HL7 has order control codes for the last four. */
export const OPERATION_NAMES = [
  "STORE",
  "RETRIEVAL",
  "REGISTER",
  "CANCEL",
  "HOLD",
  "RELEASE",
  "STATUS",
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

/**
 * Words for each operation in several languages. Only words that can't mean the other direction: a retrieval that is taken
 * for a storage, or the other way round, moves the wrong container. Single letters are left to a person.
 */
const WORDS: Readonly<Record<"STORE" | "RETRIEVAL" | "REGISTER" | "CANCEL", string>> = {
  STORE: `store storage freeze freezing cryostore cryostorage cryoin cryofreeze frz in checkin putin
    einlagern einlagerung einfrieren kryokonservieren kryokonservierung
    stocker stockage congeler congélation entreposer entrée miseenstock
    lagra inlagra inlagring frysa nedfrysning infrysning frysin
    almacenar almacenamiento guardar congelar congelación ingreso entrada
    conservare stoccare stoccaggio congelare congelamento entrata
    opslaan opslag invriezen inlagern oplagre nedfryse indfrysning`,
  RETRIEVAL: `retrieve retrieval withdraw withdrawal thaw thawing thw cryoretrieve cryoretrieval cryoout cryothaw out checkout
    takeout auslagern auslagerung auftauen auftauung entnehmen entnahme
    déstocker déstockage décongeler décongélation sortie sortir retrait retirer
    uttag utlämning hämta uthämtning tina upptining tinaupp
    retirar retirada salida descongelar descongelación extraer extracción
    scongelare scongelamento prelevare ritiro ritirare uscita
    ophalen uithalen ontdooien uitgifte uitname udtage optøning`,
  REGISTER: `register registration registrieren anlegen neuanlage enregistrer enregistrement inscription registrera
    registrering registrar alta registrare registrazione registreren`,
  CANCEL: `cancel cancellation storno stornieren stornierung annuler annulation avbryt annullera avboka anular cancelar
    cancelación annullare annullamento annuleren annulering`,
};

const NAME_BY_WORD = new Map<string, OperationName>([
  ...OPERATION_NAMES.map((name) => [plainHeading(name), name] as const),
  ...Object.entries(WORDS).flatMap(([name, words]) =>
    words.split(/\s+/).map((word) => [plainHeading(word), name as OperationName] as const),
  ),
]);

/** The operation that a lab's word stands for; undefined where a person has to say. */
export function operationOf(text: string): OperationName | undefined {
  return NAME_BY_WORD.get(plainHeading(text));
}

/**
 * The operation of a code with its text, as OBR-4 has them: `FRZ^Freeze semen`. The text counts by its first words, and only
 * when all of its words for an operation agree.
 */
export function operationOfCode(code: string, text: string | undefined): OperationName | undefined {
  const ofCode = operationOf(code);
  if (ofCode !== undefined || text === undefined) return ofCode;
  const found = new Set(
    [text, ...text.split(/[^\p{L}]+/u).filter((word) => word.length > 3)].flatMap(
      (word) => operationOf(word) ?? [],
    ),
  );
  const [only] = found;
  return found.size === 1 ? only : undefined;
}
