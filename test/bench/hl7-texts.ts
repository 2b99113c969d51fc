/** Texts of an invented lab, of the sizes that labs send. All CR ended. */

const MSH = (type: string, number: string) =>
  `MSH|^~\\&|LIMS^2.16.840.1.113883.3.4711^ISO|NORTH^North Clinic^L|CRYOBRIDGE|STORE|20260301101500+0100||${type}|MSG-${number}|P|2.5.1|||AL|NE|DE|UNICODE UTF-8`;
const PID =
  "PID|1||S-4711^^^CLINIC&2.16.840.1.113883.3.1&ISO^MR~998877^^^STATE^NI||Example^Ada^Marie^^Dr.^^L||19900131|F|||Lange Straße 12^^Kiel^^24103^DE^H||^PRN^PH^^49^431^5550100|||M";
const PV1 = "PV1|1|O|IVF^2^7^NORTH||||1001^Muster^Eva^^^Dr.^^^CLINIC|||GYN|||||||||V-2026-00042";

/** An ORM^O01 of about 1,024 bytes. */
export function orderOfOneKilobyte(): string {
  return [
    MSH("ORM^O01^ORM_O01", "1"),
    PID,
    PV1,
    "ORC|NW|PO-2026-0001^LIMS||GRP-7^LIMS|||1^^^20260301103000^^R||20260301101400|mtest^Muster^Tom||1001^Muster^Eva^^^Dr.",
    "OBR|1|PO-2026-0001^LIMS||CRYO-STORE^Store in cryo storage^L|R||20260301095500||||||two straws \\T\\ one vial|20260301100500|OOC^Oocyte^L^^^^RT|1001^Muster^Eva^^^Dr.",
    "OBX|1|TX|LABEL^Container label^L||V-0001||||||F|||20260301100500",
    "OBX|2|TX|DESC^Description^L||oocytes, 2 of 5, vitrified, day 0||||||F|||20260301100500",
    "OBX|3|NM|TEMP^Temperature on arrival^L||-196|Cel|-200^-150|N|||F|||20260301100500|||T-7^Tank 7^L",
    "NTE|1|L|keep sealed\\.br\\call the ward before retrieval",
    "",
  ].join("\r");
}

/** An OML^O33 of about 3 KB: one specimen in ten containers. */
export function orderWithTenContainers(): string {
  const containers = Array.from({ length: 10 }, (_, n) => {
    const label = `V-${String(n + 1).padStart(4, "0")}`;
    return `SAC|ACC-4711^LIMS|ACC-4711-${n}^LIMS|${label}^LIMS^2.16.840.1.113883.3.4711^ISO|P-${label}^LIMS|SRC^source|20260301100500|I^IDENTIFIED^HL70370|STRAW^Straw^L|R-${n}^LIMS|${n + 1}|||||||||||0.5|0.3|mL|VITRI^Vitrification medium^L`;
  });
  return [
    MSH("OML^O33^OML_O33", "2"),
    PID,
    PV1,
    "SPM|1|SPEC-4711^LIMS&2.16.840.1.113883.3.4711&ISO||OOC^Oocyte^L|||||||P^Patient^HL70369|10||two straws \\T\\ eight vials|||20260301095500|20260301100500||Y||||||10",
    ...containers,
    "ORC|NW|PO-2026-0002^LIMS||GRP-8^LIMS|||1^^^20260301103000^^R||20260301101400|mtest^Muster^Tom||1001^Muster^Eva^^^Dr.",
    "OBR|1|PO-2026-0002^LIMS||CRYO-STORE^Store in cryo storage^L|||20260301095500",
    "NTE|1|L|keep sealed\\.br\\call the ward before retrieval",
    "",
  ].join("\r");
}

/** An ORU^R01 of a megabyte: many observations, as long reports come. */
export function largeResult(): string {
  const head = [
    MSH("ORU^R01^ORU_R01", "3"),
    PID,
    PV1,
    "ORC|RE|PO-2026-0003^LIMS|R-42^CRYOBRIDGE",
    "OBR|1|PO-2026-0003^LIMS|R-42^CRYOBRIDGE|CRYO-STORE^Store in cryo storage^L|||20260301095500",
  ];
  const lines: string[] = [];
  for (let n = 1, size = head.join("\r").length; size < 1_048_576; n += 1) {
    const line = `OBX|${n}|TX|TEMP^Temperature of the tank^L|${n}|-196.${n % 10} &c. measured \\T\\ noted|Cel|-200^-150|N|||F|||20260301100500`;
    lines.push(line);
    size += line.length + 1;
  }
  return [...head, ...lines, ""].join("\r");
}
