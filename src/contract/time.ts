// The three encodings of time in the specifications: date-time text, Unix milliseconds, Unix seconds (as a number or as text).
import * as z from './lazy-zod.ts';

/** ISO 8601 date-time with a zone (Sandbox API; Suspend and Replication). The fraction may have any length or be absent. */
export const dateTime = z.iso.datetime({ offset: true });

/** Integer Unix milliseconds (Sandbox API, Service log events). */
export const unixMilliseconds = z.int().nonnegative();

/** Integer Unix seconds (Extensions API, Provisioning request and Token response). */
export const unixSeconds = z.int().nonnegative();

/** Unix seconds written as text, as the examples of the Extensions API show for webhooks. */
export const unixSecondsText = z.string().regex(/^\d{1,15}$/);
