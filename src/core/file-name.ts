import { createHash } from "node:crypto";

const DIGEST_CHARACTERS = 8;
const LONGEST_ENDING_BYTES = 20;

/** Control characters, what Windows forbids, and the marks that reverse the direction of text on a screen. */
const UNSAFE = /[\p{Cc}\p{Cs}\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffd/\\:*?"<>|]/gu;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * A name that is harmless as a path component on every system and on a screen, in at most `mostBytes` of UTF-8. Ordinary names
 * stay as they are; any other is made safe, cut before its ending, and gets a short digest of the original, so that two of
 * them never become one.
 */
export function safeFileName(name: string, mostBytes: number): string {
  let safe = name.replace(UNSAFE, "_").replace(/^[.\s]+|[.\s]+$/g, "_");
  if (WINDOWS_DEVICE.test(safe)) safe = `_${safe}`;
  if (safe === name && Buffer.byteLength(name) <= mostBytes && name !== "") return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, DIGEST_CHARACTERS);
  const { stem, extension } = splitExtension(safe);
  const kept = cutBytes(extension, LONGEST_ENDING_BYTES);
  return `${cutBytes(stem, mostBytes - DIGEST_CHARACTERS - 1 - Buffer.byteLength(kept))}~${digest}${kept}`;
}

/** `orders.csv` -> `orders` and `.csv`. A name without a dot, or with one only at its beginning, has no extension. */
export function splitExtension(name: string): { stem: string; extension: string } {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? { stem: name, extension: "" } : { stem: name.slice(0, dot), extension: name.slice(dot) };
}

/** The longest beginning of a text that fits into that many UTF-8 bytes, cut between characters. */
function cutBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/**
 * What a name in a drop folder says of the file:
 * - `dropped`: it may be one that the lab means.
 * - `unfinished`: somebody still writes to it, or it is hidden.
 * - `litter`: systems put it there by themselves, and nobody waits for it.
 */
type FileKind = "dropped" | "unfinished" | "litter";

/** What comes from a name, in any case; no name of either kind is ever taken. */
export function kindOf(name: string): FileKind {
  const lower = name.toLowerCase();
  if (LITTER.has(lower) || LITTER_FORMS.some((form) => form.test(lower))) return "litter";
  return UNFINISHED.some((form) => form.test(lower)) ? "unfinished" : "dropped";
}

/** Of Windows, macOS, Synology, NetApp and file systems; folders among them. */
const LITTER = new Set([
  ...["thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "$recycle.bin"],
  ...["system volume information", ".ds_store", ".apdisk", ".localized", ".fseventsd", "icon\r"],
  ...[".spotlight-v100", ".trashes", ".temporaryitems", ".documentrevisions-v100", "@eadir"],
  ...["#recycle", "~snapshot", ".snapshot", "lost+found"],
]);
const LITTER_FORMS = [
  // AppleDouble, and what NFS leaves of a file that was removed while it was open.
  /^\._/,
  /^\.nfs[0-9a-f]{16,}$/,
  // Streams of NTFS and macOS beside a file, as servers without streams show them.
  /:(zone\.identifier|afp_\w+|com\.apple\.[\w.]+)(:\$data)?$/,
];

const UNFINISHED = [
  // Hidden: rsync `.NAME.a1B2c3`, lftp `.in.NAME`, Syncthing `.syncthing.NAME.tmp`, vim `.NAME.swp`, LibreOffice `.~lock.NAME#`.
  /^\./,
  // Editors' copies, and Office's lock files; Syncthing on Windows; Emacs.
  /~$|^~\$|^~syncthing~|^#.*#$/,
  // The writer's own ending, perhaps with a number: rclone `NAME.a1b2c3d4.partial`, WinSCP `.filepart`, browsers and their managers
  // (`.crdownload`, `.download`, `.opdownload`, `.aria2`, `.xltd`), ownCloud `.ocTransferId123.part`, lftp, torrents `.!ut`, `.!sync`.
  /\.(te?mp|part|partial|filepart|crdownload|(op)?download|upload|uploading|uploadpart|in-?_?progress|incomplete|unfinished|writing|copying|transferring|swp|swo|swx|lock|lck|aria2|xltd|lftp-pget-status|octransferid\d*|![a-z]+\$?|bc!)[-_.]?\d*$/,
];
