// What the thread that sums a file is asked, and what it answers.
import type { FileSums } from './sum-file.ts';

export interface SumJob {
  readonly path: string;
  readonly expected?: readonly number[] | undefined;
}

export type SumAnswer =
  | ({ readonly type: 'sums' } & FileSums)
  | { readonly type: 'failed'; readonly code: string | undefined; readonly message: string };
