// The log of a platform: one JSON object a line, without credentials and tokens.
import { type DestinationStream, pino } from 'pino';
import type { Log } from '../../core/log.ts';

const SECRET_FIELDS = [
  'authorization',
  'api_key',
  'access_token',
  'refresh_token',
  'client_secret',
  'cookie',
  'headers',
  'body',
];

/** Where lines go; `isTimed` when the reader notes the time of each by itself. */
type LogStream = DestinationStream & { readonly isTimed?: boolean };

/** A log whose level can be changed while it is used. */
export type LeveledLog = Log & { level: string };

/** Removes fields with secret names at the top and one and two levels below; a `Secret` prints as `[secret]` at any depth. */
export function createPlatformLog(level: string, destination?: LogStream | undefined): LeveledLog {
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  return pino(
    {
      level,
      base: null,
      timestamp: destination?.isTimed === true ? false : pino.stdTimeFunctions.isoTime,
      redact: { paths, censor: '[secret]' },
      serializers: { err: toErrorFields },
    },
    destination,
  );
}

/** The message, code and stack of an error and of its causes. Other fields are left out, because they hold requests and answers. */
function toErrorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: typeof error };
  const code = 'code' in error && typeof error.code !== 'object' ? String(error.code) : undefined;
  const cause = error.cause === undefined ? undefined : toErrorFields(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
