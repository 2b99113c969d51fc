import { describe, expect, it } from "vitest";
import { createEcho } from "../../../src/formats/hl7/echo.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";

/** PID-5 as it is echoed. */
function echoed(name: string, characterSet = "8859/1", delimiters = "^~\\&"): string | undefined {
  const message = Hl7Message.parse(
    `MSH|${delimiters}|A|B|C|D|2026||ADT^A04|1|P|2.5||||||${characterSet}\rPID|1||||${name}\r`,
  );
  return createEcho(message).field(message.first("PID"), 5)?.text;
}

describe("a field that is echoed", () => {
  it("stands as the sender wrote it, escapes and all", () => {
    expect(echoed("A\\T\\B&C^D\\.br\\E~\\X41\\\\Z9\\\\H\\F")).toBe("A\\T\\B&C^D\\.br\\E~\\X41\\\\Z9\\\\H\\F");
  });

  it("has the letters that hexadecimal escapes stood for in the sender's character set, since ours is another", () => {
    expect(echoed("M\\XFC\\ller^\\X5AEB\\\\T\\a")).toBe("Müller^Zë\\T\\a");
    expect(echoed("\\XB1E8\\", "KS X 1001")).toBe("김");
  });

  it("keeps hexadecimal escapes whose meaning isn't known or is the same in ours", () => {
    expect(echoed("M\\XFC\\ller", "")).toBe("M\\XFC\\ller");
    expect(echoed("M\\XC3BC\\ller", "UNICODE UTF-8")).toBe("M\\XC3BC\\ller");
    expect(echoed("\\X8C8C\\", "KS X 1001")).toBe("\\X8C8C\\");
    expect(echoed("M\\XFC", "8859/1")).toBe("M\\XFC");
  });

  it("can end no frame by a control character, bare or from an escape", () => {
    expect(echoed("a\x1cb")).toBe("a\\X1C\\b");
    expect(echoed("a\\XFC1C\\b")).toBe("aü\\X1C\\b");
  });

  it("is written with the usual delimiters where the sender's are not all there", () => {
    expect(echoed("a&b^\\XFC\\", "8859/1", "^~\\")).toBe("a\\T\\b^ü");
    expect(echoed("a\\b&c", "8859/1", "^~")).toBe("a\\E\\b\\T\\c");
  });
});
