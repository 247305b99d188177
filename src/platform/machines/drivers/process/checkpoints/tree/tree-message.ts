// What the platform and its process for trees send each other.

export type TreeJob =
  /** Writes what the file system of the path holds in memory. */
  { readonly type: 'sync'; readonly path: string } | CopyJob;

export interface CopyJob {
  readonly type: 'copy';
  readonly source: string;
  readonly target: string;
  readonly isLive: boolean;
  readonly indexOf: 'source' | 'target';
  readonly settledBefore_ms: number;
  /** An earlier copy, with the path of its index. */
  readonly base?: { readonly tree: string; readonly index: string } | undefined;
  /** Where to write the index of the copy. */
  readonly index: string;
}

export interface TreeCounts {
  readonly files: number;
  readonly copied_bytes: number;
  readonly left_out: number;
}

export type TreeMessage =
  | { readonly type: 'ready' }
  | ({ readonly type: 'progress' | 'done' } & TreeCounts)
  | { readonly type: 'failed'; readonly code: string; readonly relative: string | undefined; readonly message: string };
