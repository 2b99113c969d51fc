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
