// The structured log of the agent: JSON lines on standard error, for systemd's journal and for people.
import { type DestinationStream, pino } from 'pino';
import type { Log } from '../core/log.ts';

/** Where lines go; `isTimed` when the reader notes the time of each by itself. */
export type LogStream = DestinationStream & { readonly isTimed?: boolean };

/** A log whose level can be changed while it is used. */
export type LeveledLog = Log & { level: string };

/** Writes to standard error when there is no `destination`. Fields of headers and tokens are removed; a Secret never prints itself. */
export function createLog(level: string, destination?: LogStream | undefined): LeveledLog {
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
  const timestamp = destination?.isTimed !== true;
  const options = { level, base: null, timestamp, redact: { paths, censor: '[secret]' } };
  return pino(options, destination ?? openStandardError());
}

function openStandardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true });
  // A log whose reader is gone must not end the agent.
  destination.on('error', () => undefined);
  return destination;
}
