// The name of an app.
import * as z from './lazy-zod.ts';

/** A label of DNS, so that an app can be a host (DECISIONS.md, "App"). */
export const appName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'expected 1 to 63 lower-case letters, digits and dashes, with no dash at either end',
  );
