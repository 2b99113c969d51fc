/** What the work gives, or undefined when it fails with this system code. */
export async function withoutCode<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === code) return undefined;
    throw error;
  }
}
