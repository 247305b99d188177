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
const secretFields: ReadonlySet<string> = new Set(SECRET_FIELDS);

/** Where lines go; `isTimed` when the reader notes the time of each by itself. */
type LogStream = DestinationStream & { readonly isTimed?: boolean };

/** A log whose level can be changed while it is used. */
export type LeveledLog = Log & { level: string };

/** Removes fields with secret names at the top and one and two levels below; a `Secret` prints as `[secret]` at any depth. */
export function createPlatformLog(level: string, destination?: LogStream | undefined): LeveledLog {
  const plain = pino(
    {
      level,
      base: null,
      timestamp: destination?.isTimed === true ? false : pino.stdTimeFunctions.isoTime,
      serializers: { err: toErrorFields },
    },
    destination,
  );
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  const redacting = plain.child({}, { redact: { paths, censor: '[secret]' } });
  const of = (fields: object): Log => (hasNothingToRedact(fields) ? plain : redacting);
  return {
    debug: (fields, message) => of(fields).debug(fields, message),
    info: (fields, message) => of(fields).info(fields, message),
    warn: (fields, message) => of(fields).warn(fields, message),
    error: (fields, message) => of(fields).error(fields, message),
    fatal: (fields, message) => of(fields).fatal(fields, message),
    get level() {
      return plain.level;
    },
    set level(next) {
      plain.level = next;
      redacting.level = next;
    },
  };
}

/**
 * Redaction reads every path for every field, which costs more than the rest of a line, and the line of a call has texts and numbers only.
 * Nothing lies below those, so that the names at the top are all that could be redacted.
 */
function hasNothingToRedact(fields: object): boolean {
  if (fields instanceof Error) return false;
  for (const [name, value] of Object.entries(fields)) {
    if ((typeof value === 'object' && value !== null) || secretFields.has(name)) return false;
  }
  return true;
}

/** The message, code and stack of an error and of its causes. Other fields are left out, because they hold requests and answers. */
function toErrorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: typeof error };
  const code = 'code' in error && typeof error.code !== 'object' ? String(error.code) : undefined;
  const cause = error.cause === undefined ? undefined : toErrorFields(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
