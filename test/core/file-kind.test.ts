import { expect, test } from "vitest";
import { kindOf } from "../../src/core/file-name.ts";

test.each([
  ["rclone", "orders.csv.a1b2c3d4.partial"],
  ["WinSCP", "orders.csv.filepart"],
  ["rsync", ".orders.csv.a1B2c3"],
  ["lftp", ".in.orders.csv"],
  ["lftp", "orders.csv.lftp-pget-status"],
  ["Syncthing", ".syncthing.orders.csv.tmp"],
  ["Syncthing on Windows", "~syncthing~orders.csv.tmp"],
  ["ownCloud", "orders.csv.ocTransferId1234567.part"],
  ["Chromium", "orders.csv.crdownload"],
  ["Firefox", "orders.csv.part"],
  ["Safari", "orders.csv.download"],
  ["Opera", "orders.csv.opdownload"],
  ["aria2", "orders.csv.aria2"],
  ["Resilio Sync", "orders.csv.!sync"],
  ["a torrent client", "orders.csv.!ut"],
  ["Office", "~$orders.xlsx"],
  ["Excel", "5C2F1E00.tmp"],
  ["LibreOffice", ".~lock.orders.csv#"],
  ["vim", ".orders.csv.swp"],
  ["Emacs", "#orders.csv#"],
  ["an editor", "orders.csv~"],
  ["an uploader", "orders.csv.uploading"],
  ["an uploader", "orders.csv.upload"],
  ["an uploader", "ORDERS.CSV.UPLOAD"],
  ["a script", "orders.csv.tmp"],
  ["a script", "orders.csv.tmp123"],
  ["a script", "orders.csv.tmp.4711"],
  ["a script", "orders.hl7.TEMP"],
  ["a script", "orders.hl7.inprogress"],
  ["a script", "orders.hl7.in_progress"],
  ["a script", "orders.hl7.incomplete"],
  ["a script", "orders.hl7.lock"],
])("%s is not done with %s", (_writer, name) => {
  expect(kindOf(name)).toBe("unfinished");
});

test.each([
  ...["Thumbs.db", "THUMBS.DB", "desktop.ini", ".DS_Store", "._orders.csv", "@eaDir", "$RECYCLE.BIN"],
  ...["orders.csv:Zone.Identifier", ".nfs000000000010a2b300000001", "System Volume Information", "Icon\r"],
])("%s is put there by a system", (name) => {
  expect(kindOf(name)).toBe("litter");
});

test.each([
  ...["orders.csv", "orders.hl7", "ORM_20261127.txt", "orders", "tmp", "temp.csv", "upload.hl7", "part.csv"],
  ...["orders.template", "Export 1.csv", "a.b.c", "order.17", "lab.partners.csv", "17", "Teil.1", "a~b.csv"],
])("%s may be a lab's file", (name) => {
  expect(kindOf(name)).toBe("dropped");
});
