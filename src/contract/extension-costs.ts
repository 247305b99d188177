// What extensions cost: the billing interface of a provider, which the platform asks at least once a day (Extensions API, What the
// service does).
import * as z from './lazy-zod.ts';
import { dateTime } from './time.ts';

/** The period: from its begin to before its end. */
export const costsRequest = z.object({ from: dateTime, to: dateTime });
export type CostsRequest = z.infer<typeof costsRequest>;

/** One line of a bill. `amount` is a whole number of the smallest units of `currency`; less than zero is a credit. */
export const costItem = z.object({
  /** The id of the extension at the provider. */
  extension_id: z.string().min(1),
  from: dateTime,
  to: dateTime,
  amount: z.int(),
  currency: z.string().regex(/^[A-Z]{3}$/, 'expected a code of ISO 4217, such as USD'),
  description: z.string(),
});
export type CostItem = z.infer<typeof costItem>;

/** What the platform takes of one answer. */
export const COSTS_ITEMS_MAX = 10_000;
export const COSTS_ANSWER_BYTES_MAX = 2 * 1024 * 1024;

export const costsAnswer = z.object({ items: z.array(costItem) });
export type CostsAnswer = z.infer<typeof costsAnswer>;
