// How many lanes there are and were, over all channels of this platform process.

export interface LaneCount {
  /** Now. */
  open: number;
  /** Those that were opened since the start, also those that are over. */
  opened: number;
  /** How often a machine opened none that it was asked for. */
  failed: number;
}

export type LaneCounts = Readonly<Record<'files' | 'ports', LaneCount>>;

export function createLaneCounts(): LaneCounts {
  return { files: { open: 0, opened: 0, failed: 0 }, ports: { open: 0, opened: 0, failed: 0 } };
}
