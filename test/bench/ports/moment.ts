// What the processes of this benchmark say to each other. Moments are of the monotonic clock, which all processes share.
import { z } from 'zod';

export const moment = z.object({ port: z.int(), at_ms: z.number() });
export type Moment = z.infer<typeof moment>;

export function now_ms(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
