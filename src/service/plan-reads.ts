/** Ids to be read by one walk of a list filtered to `from` … `to`. */
export interface IdRange {
  readonly from: number;
  readonly to: number;
  readonly ids: readonly number[];
}

/** How a batch of ids is best read. */
export interface ReadPlan {
  readonly ranges: readonly IdRange[];
  /** Ids that are cheaper to read one by one. */
  readonly singles: readonly number[];
}

/**
 * Clusters ids into ranges so that reading takes few requests. `pageSize` is what a page is expected to hold,
 * `density` the share of ids in a range that the facility's list will contain (1 when nothing is known: ids of
 * other facilities and of finished work lie in between). Neighbours whose gap fills less than a page share a range,
 * since a range of its own costs a page at least; a range is walked where its pages are fewer than its ids.
 * 300 ids in a row, pages of 100 -> one range, 3 requests. 2 ids a million apart -> 2 single reads.
 */
export function planReads(
  ids: readonly number[],
  known: { readonly pageSize: number; readonly density: number },
): ReadPlan {
  const sorted = [...new Set(ids)].sort((a, b) => a - b);
  const clusters: number[][] = [];
  for (const id of sorted) {
    const cluster = clusters.at(-1);
    const last = cluster?.at(-1);
    if (cluster && last !== undefined && (id - last) * known.density < known.pageSize) cluster.push(id);
    else clusters.push([id]);
  }
  const ranges: IdRange[] = [];
  const singles: number[] = [];
  for (const cluster of clusters) {
    const from = cluster[0];
    const to = cluster.at(-1);
    if (from === undefined || to === undefined) continue;
    const pages = Math.max(1, Math.ceil(((to - from + 1) * known.density) / known.pageSize));
    if (pages < cluster.length) ranges.push({ from, to, ids: cluster });
    else singles.push(...cluster);
  }
  return { ranges, singles };
}
