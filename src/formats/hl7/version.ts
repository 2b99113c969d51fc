/** Whether a version (MSH-12.1, such as `2.5.1`) is major.minor or later; false when it is not written as a version. */
export function isVersionFrom(version: string, major: number, minor: number): boolean {
  const match = /^(\d{1,3})\.(\d{1,3})(?:\.|$)/.exec(version);
  if (!match) return false;
  const [foundMajor, foundMinor] = [Number(match[1]), Number(match[2])];
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}
