/** How long work keeps a processor, ms. Unlike the time on the clock it doesn't grow with what else the machine does. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
