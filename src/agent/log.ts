// One structured log, on standard error as JSON lines, so that systemd's journal and people can read it.
import { type Logger, pino } from 'pino';

export type Log = Logger;

/** Header and token fields are removed wherever they would appear; secrets of ours cannot be printed in any case. */
export function createLog(level: string): Log {
  const paths = [
    'authorization',
    'token',
    'api_key',
    'headers',
    '*.authorization',
    '*.token',
    '*.api_key',
    '*.headers',
  ];
  return pino({ level, base: null, redact: { paths, censor: '[secret]' } }, pino.destination({ dest: 2, sync: true }));
}
