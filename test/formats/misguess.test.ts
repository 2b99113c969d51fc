import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../src/connectors/csv-drop/csv-drop.ts";
import { findMisguess, OTHER_ENCODINGS } from "../../src/formats/misguess.ts";
import { csvProfile, mapOne } from "../mapping/mapped.ts";

const NAMES =
  "Müller,Jürgens,Jörg,Jörgens,Schröder,Böhm,Köln,Groß,Weiß,Strauß,Jäger,Ärzte,Öztürk,Özdemir,Übel,MÜLLER,GÖTZ,François,René,André,Hélène,Zoë,Noël,Jérôme,Benoît,Muñoz,García,Martínez,López,Núñez,José,Ángel,Peña,Raúl,Sofía,Álvaro,Søren,Jørgensen,Kjær,Åse,Håkon,Østergård,Bjørn,Ægir,Łukasz,Paweł,Woźniak,Żaneta,Świątek,Wałęsa,Gołąb,Dąbrowski,Jagiełło,Dvořák,Novák,Černý,Růžička,Žižka,Jiří,Němec,Horáček,Příhoda,Nikolić".split(
    ",",
  );

const header =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_description,container_label";

/** What becomes of a file with one order for each last name: these as they were registered, or why the file was refused. */
async function read(names: readonly string[], encoding: string, set?: string) {
  const rows = names.map((name, i) => `A-${i},STORE,NORTH,S-${i},Anna,${name},1980-01-01,vial,V-${i}`);
  const bytes = iconv.encode(`${[header, ...rows].join("\r\n")}\r\n`, encoding);
  const profile = await csvProfile(set === undefined ? {} : { encoding: set });
  const { reading } = profile;
  const { problems, batches } = await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes);
  const read: (string | undefined)[] = [];
  for await (const batch of batches())
    for (const message of batch) read.push(mapOne(profile, message).orders[0]?.subject.lastName?.reveal());
  return { problems, read };
}

describe.each(OTHER_ENCODINGS)("a file in %s", (encoding) => {
  const known = NAMES.filter((name) => iconv.decode(iconv.encode(name, encoding), encoding) === name);
  const drawn = fc.uniqueArray(fc.constantFrom(...known), { minLength: 1, maxLength: 3 });

  test("is read as it was written where the profile says so, and refused with its name where not", () =>
    fc.assert(
      fc.asyncProperty(drawn, async (names) => {
        expect(await read(names, encoding, encoding)).toEqual({ problems: [], read: names });
        const guessed = await read(names, encoding);
        if (guessed.problems.length === 0) expect(guessed.read).toEqual(names);
        for (const { code, hint } of guessed.problems) {
          expect(code).toMatch(/^CSV_(ENCODING_DOUBTFUL|BYTES)$/);
          expect(hint).toContain(encoding);
        }
      }),
      { numRuns: 25 },
    ));
});

test("a file in Windows-1252 is read without anybody saying so", async () => {
  const names = NAMES.filter(
    (name) => iconv.decode(iconv.encode(name, "windows-1252"), "windows-1252") === name,
  );
  expect(await read(names, "windows-1252")).toEqual({ problems: [], read: names });
});

test.each([
  ..."„Müller“,„Müller” sagte,Müller–Lüdenscheidt,O’Hara,D’Angelo,l’été,aujourd’hui,5 € pro Röhrchen,50€,k€,100µl,5 m²,3cm³".split(
    ",",
  ),
  ..."n°5,nº 3,Tefal®,voilà … fin,“quoted text”,vial — cracked,vial—cracked lid,it’s broken,‘single’,«Élan»,½l,† 1999".split(
    ",",
  ),
  ..."• Röhrchen,Šimek,Žižka,Œuvre,cœur,SŒUR,Škoda,Lešek,20 °C,±5,5×10,¿Qué?,¡Hola!,Col·lecció,don’t,MÜLLER,Jean–Luc".split(
    ",",
  ),
  ..."Mašek,Tomáš,Šárka,Saarinen-Šmíd,‚einfach‘,Café „Zoë“,Röhrchen…,Blutprobe „A“ – gefroren…,100\u00a0ml,Hawai’i".split(
    ",",
  ),
  ..."Dell’Acqua,§ 5,Straßenname,Name®,Hans–Peter,Ærø,Þór,Guðrún,Sigurðsson,Ísak,Ólafur,Bjørk,Mäkelä,Õunapuu".split(
    ",",
  ),
])("%s is a text that people write in Windows-1252", (text) => {
  expect(findMisguess(text)).toBeUndefined();
});
