// The three encodings of time in the documents: date-time text, Unix milliseconds, Unix seconds (as a number or as text).
import { z } from 'zod';

/** ISO 8601 date-time with a zone (documents 1 and 3). The fraction may have any length or be absent. */
export const dateTime = z.iso.datetime({ offset: true });

/** Integer Unix milliseconds (document 1, service log events). */
export const unixMilliseconds = z.int().nonnegative();

/** Integer Unix seconds (document 2, provisioning request and token response). */
export const unixSeconds = z.int().nonnegative();

/** Unix seconds written as text, as the examples of document 2 show for webhooks. */
export const unixSecondsText = z.string().regex(/^\d{1,15}$/);
