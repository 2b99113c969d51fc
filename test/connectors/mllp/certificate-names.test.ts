import { describe, expect, test } from "vitest";
import { certificateNames, shown } from "../../../src/connectors/mllp/listener.ts";

const subject = (CN?: unknown) => ({ subject: { CN } }) as never;

describe("the names of a certificate", () => {
  test("are the CN and the DNS names, and nothing else of the SAN", () => {
    expect(
      certificateNames({
        ...(subject("Clinic East") as object),
        subjectaltname:
          "DNS:lims.example.org, IP Address:10.1.2.3, DNS:b.example.org, URI:DNS:no.example.org",
      }),
    ).toEqual(["Clinic East", "lims.example.org", "b.example.org"]);
  });

  test("are all of several CNs", () => {
    expect(certificateNames(subject(["a", "b"]))).toEqual(["a", "b"]);
  });

  test("are none where there is neither", () => {
    expect(certificateNames({})).toEqual([]);
    expect(certificateNames({ subjectaltname: "" })).toEqual([]);
  });

  test.each([
    'DNS:"a.example.org, DNS:lims.example.org"',
    'URI:"http://x/, DNS:lims.example.org"',
    'DNS:"a\\", DNS:lims.example.org"',
    'othername:"x, DNS:lims.example.org", DNS:b.example.org',
  ])("are not what is hidden within another one: %s", (subjectaltname) => {
    expect(certificateNames({ subjectaltname })).not.toContain("lims.example.org");
  });
});

test("a name is shown in one line and cut", () => {
  expect(shown(`a\n${"b".repeat(300)}`)).toBe(`a ${"b".repeat(198)}`);
});
