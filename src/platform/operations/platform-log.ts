// The log of a platform: one JSON object a line, without anything that could open something.
import { type DestinationStream, type Logger, pino } from 'pino';

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

/** Fields of these names are removed at the top and one and two levels below; our own secrets print as `[secret]` anywhere. */
export function createPlatformLog(level: string, destination?: DestinationStream): Logger {
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths, censor: '[secret]' },
      serializers: { err: toErrorFields },
    },
    destination,
  );
}

/** What an error says and where it comes from, with its causes; no other field of it, because those hold requests and answers. */
function toErrorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: typeof error };
  const code = 'code' in error && typeof error.code !== 'object' ? String(error.code) : undefined;
  const cause = error.cause === undefined ? undefined : toErrorFields(error.cause);
  return { type: error.name, message: error.message, code, stack: error.stack, cause };
}
