import { expect, test } from "vitest";
import { alertPlaces } from "../../src/app/alert-places.ts";
import { alertsSchema } from "../../src/config/alerts-schema.ts";
import { systemClock } from "../../src/core/clock.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

test("certificates of a mail server that are no file are refused with their place and the reason", () =>
  withFolder(async (folder) => {
    const mail = { type: "email", host: "mail.example.org", from: "a@example.org", to: ["b@example.org"] };
    const alerts = alertsSchema.parse({ to: [{ ...mail, ca: folder }] });
    const parts = { version: "0", logger: silent, clock: systemClock, path: undefined };
    const open = () => alertPlaces({ alerts, console: { url: undefined } as never }, parts);
    expect(open).toThrow(`alerts.to email: ${folder}: this is a folder, not a file`);
  }));
