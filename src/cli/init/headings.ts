import { ROW_OPERATIONS, type RowOperation } from "../../mapping/profile/operations.ts";

/** What a column of a lab's table can hold, by the names of the built-in columns. */
export const MEANINGS = [
  "order_number",
  "operation",
  "facility",
  "subject_code",
  "first_name",
  "last_name",
  "full_name",
  "date_of_birth",
  "container_label",
  "container_description",
] as const;
export type Meaning = (typeof MEANINGS)[number];

/**
 * A heading as it is compared: small letters and digits alone, without accents, and with `oe` as `ö`, so that `Röhrchen-Nr.`,
 * `ROEHRCHEN NR` and `rohrchennr` are one.
 */
export function plainHeading(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll("ø", "o")
    .replaceAll("æ", "a")
    .replaceAll("œ", "o")
    .replaceAll(/([aou])e/g, "$1")
    .replace(/[^a-z0-9]/g, "");
}

/** Words of several languages, as alternatives of a regex. */
function words(text: string): string {
  return text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(plainHeading)
    .sort((one, other) => other.length - one.length)
    .join("|");
}

const ORDER =
  words(`order placerorder auftrag auftr anforderung bestellung best commande demande cde prescription
  beställning remiss uppdrag orden pedido solicitud petición ordine richiesta opdracht aanvraag bestelling bestilling
  rekvisition accession requisition request encomenda zlecenie`);
const PATIENT =
  words(`patient pat subject donor patientin proband spender klient paciente paziente patiente donneur givare
  donante donatore person personne patiënt mrn pid ipp nhc nhs medicalrecord record chart dossier patientdossier journal`);
const CONTAINER =
  words(`container samplecontainer specimencontainer vial tube straw sample specimen barcode label cryovial cryotube röhrchen röhre probe proben
  behälter gefäß halm etikett barkode strichcode paillette échantillon flacon étiquette codebarre codebarres tube prov rör
  provrör strå streckkod muestra tubo pajuela etiqueta codigodebarras codigobarras campione provetta fiala paglietta etichetta
  contenitore codiceabarre monster buis rietje staal etiket récipient prøve rør`);
const OPERATION =
  words(`operation op action activity vorgang aktion tätigkeit massnahme opération acte mouvement åtgärd
  händelse operación acción movimiento operazione azione movimento handeling actie bewerking handling direction richtung
  orderart auftragsart ordertype auftragstyp typeoperation typedoperation ordertyp tipodeoperacion tipooperazione
  typecommande procedure prozedur procédure procedimiento procedura what`);
const FACILITY =
  words(`facility site location clinic center centre standort ort klinik einrichtung praxis établissement
  clinique sitio centro clínica sede sito struttura anläggning enhet klinik plats mottagning locatie kliniek vestiging
  instelling ubicación afdeling klinikk lieu laboratory branch`);
const FIRST =
  words(`firstname first givenname given forename vorname rufname prénom förnamn tilltalsnamn nombre nombres nome
  nomedibattesimo voornaam fornavn imię etunimi nomproprio nombredepila`);
const LAST =
  words(`lastname last surname familyname family nachname familienname zuname nom nomdefamille efternamn apellido
  apellidos cognome achternaam familienaam etternavn nazwisko sukunimi nomdenaissance nomusuel`);
const FULL = words(`name fullname vollername nominativo nomcomplet nometprénom nombrecompleto nombreyapellidos
  nomecompleto naam volledigenaam namn fullständigtnamn navn nomprénom nachnamevorname namevorname`);
const BIRTH =
  words(`dateofbirth birthdate birthday dob born birth geburtsdatum geburtstag geburt geb gebdat gebdatum geboren
  geborenam datedenaissance naissance datenaissance ddn née nele födelsedatum född födelsedag fechadenacimiento
  fechanacimiento nacimiento fnac fechanac fdn datadinascita datanascita nascita natoil geboortedatum geboorte gebdatum
  fødselsdato født dataurodzenia`);
const DESCRIPTION =
  words(`description content contents material inhalt beschreibung bezeichnung probenart probenmaterial
  materialart sampletype specimentype containerdescription contenu nature typeéchantillon typedéchantillon naturedeprélèvement
  désignation innehåll beskrivning provtyp provmaterial descripción contenido tipodemuestra tipomuestra descrizione
  contenuto tipocampione materiale inhoud omschrijving materiaal beskrivelse indhold what's type tissue gewebe tissu`);

const NUMBER =
  words(`number nummer nr no num numéro n id ident identifier kennung identifiant identificador identificativo
  code kod código codice kode nº key`);
const LABEL = words(`label name barcode etikett code étiquette etiqueta etichetta märkning
  kennzeichnung beschriftung bezeichnung marquage marcatura markering`);
const LINK = "(?:de|del|della|dell|di|du|des|d|van|von|der|of|do|da|la)?";
/** What joins parts of a word: Auftrag-s-nummer, Patient-en-nummer. */
const JOINT = "(?:n|en|s|es|e|er|ns)?";

interface Rule {
  readonly pattern: RegExp;
  readonly score: number;
}

/** A noun, better with `number` before or behind it: `Auftrag`, `Auftragsnummer`, `N° de commande`. */
function numbered(noun: string, number: string): Rule[] {
  return [
    { pattern: new RegExp(`^(?:${noun})${JOINT}(?:${number})$`), score: 3 },
    { pattern: new RegExp(`^(?:${number})${LINK}(?:${noun})$`), score: 3 },
    { pattern: new RegExp(`^(?:${noun})$`), score: 2 },
  ];
}

/** A noun alone, or said to be the patient's. */
function ofPatient(noun: string): Rule[] {
  return [
    { pattern: new RegExp(`^(?:${noun})$`), score: 3 },
    { pattern: new RegExp(`^(?:${PATIENT})${JOINT}(?:${noun})$`), score: 3 },
    { pattern: new RegExp(`^(?:${noun})${LINK}(?:${PATIENT})${JOINT}$`), score: 3 },
  ];
}

const RULES: Readonly<Record<Meaning, readonly Rule[]>> = {
  order_number: numbered(ORDER, NUMBER),
  operation: numbered(OPERATION, words("code type typ art kod")),
  facility: numbered(FACILITY, words("code name id nr kod nummer")),
  subject_code: numbered(PATIENT, NUMBER),
  first_name: ofPatient(FIRST),
  last_name: ofPatient(LAST),
  full_name: ofPatient(FULL),
  date_of_birth: ofPatient(BIRTH),
  container_label: numbered(CONTAINER, `${NUMBER}|${LABEL}`),
  container_description: [
    { pattern: new RegExp(`^(?:${DESCRIPTION})$`), score: 3 },
    {
      pattern: new RegExp(`^(?:${CONTAINER})${JOINT}(?:${DESCRIPTION}|${words("type typ art tipo")})$`),
      score: 3,
    },
    { pattern: new RegExp(`^(?:${words("type typ tipo")})${LINK}(?:${CONTAINER})$`), score: 3 },
  ],
};

/** How well a heading says that its column holds something: 3 very, 0 not at all. */
export function scoreOf(heading: string, meaning: Meaning): number {
  const plain = plainHeading(heading);
  return Math.max(0, ...RULES[meaning].map(({ pattern, score }) => (pattern.test(plain) ? score : 0)));
}

/** How many different things the headings of a line name: a line of values names hardly any. */
export function countMeanings(headings: readonly string[]): number {
  return MEANINGS.filter((meaning) => headings.some((heading) => scoreOf(heading, meaning) > 0)).length;
}

/** Whether some code or text of a message names a container, such as the OBX-3 code `VIAL` or `STRAW-ID`. */
export function namesContainer(text: string): boolean {
  return scoreOf(text, "container_label") > 0;
}

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

const NAME_BY_WORD = new Map<string, RowOperation>([
  ...ROW_OPERATIONS.map((name) => [plainHeading(name), name] as const),
  ...Object.entries(WORDS).flatMap(([name, words]) =>
    words.split(/\s+/).map((word) => [plainHeading(word), name as RowOperation] as const),
  ),
]);

/** The operation that a lab's word stands for; undefined where a person has to say. */
export function operationOf(text: string): RowOperation | undefined {
  return NAME_BY_WORD.get(plainHeading(text));
}

/**
 * The operation of a code with its text, as OBR-4 has them: `FRZ^Freeze semen`. The text counts by its first words, and only
 * when all of its words for an operation agree.
 */
export function operationOfCode(code: string, text: string | undefined): RowOperation | undefined {
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
