// What the sample sells: two plans, and what holds for every store.
import { z } from 'zod';

export const kvPlan = z.enum(['free', 'large']);
export type KvPlan = z.infer<typeof kvPlan>;

export const planLimits: Readonly<Record<KvPlan, { readonly keys: number; readonly bytes: number }>> = {
  free: { keys: 100, bytes: 256 * 1024 },
  large: { keys: 1_000, bytes: 4 * 1024 * 1024 },
};
/** The price of a whole day, in the smallest units of `CURRENCY`. */
export const centsADay: Readonly<Record<KvPlan, number>> = { free: 0, large: 5 };
export const CURRENCY = 'EUR';

export const STORES_MAX = 100;
export const KEY_CHARS_MAX = 256;
export const VALUE_BYTES_MAX = 64 * 1024;
