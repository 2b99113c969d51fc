/**
 * Why files lie in a drop folder and are not taken:
 * - `name`: a name that says "not done", such as one with a dot at its beginning or `.part` at its end; or none of those that
 *   the connector takes.
 * - `marker`: the marker that announces the file isn't there.
 * - `lone_marker`: a marker whose file isn't there.
 * - `changing`: it is written to again and again.
 * - `folder`: a folder, in which nobody looks, with a name that says "not done" or without a marker.
 */
const UNTAKEN_REASONS = ["name", "marker", "lone_marker", "changing", "folder"] as const;
export type UntakenReason = (typeof UNTAKEN_REASONS)[number];

/** Files that a drop folder does not take, for one reason, and for longer than the site lets pass. No names: they may be a patient's. */
export interface UntakenFiles {
  readonly reason: UntakenReason;
  /** How many; of very many, those that were looked at. */
  readonly count: number;
  /** Since when the oldest of them has been there. */
  readonly since: Date;
  /** The connector's setting, such as `.ok` or `{stem}.ok`; absent where files need no marker. */
  readonly marker?: string | undefined;
}
