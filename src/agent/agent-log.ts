// The structured log of the agent: JSON lines on standard error, for systemd's journal and for people.
import { type DestinationStream, pino } from 'pino';
import type { Log } from '../core/log.ts';

/** Writes to standard error when there is no `destination`. Fields of headers and tokens are removed; a Secret never prints itself. */
export function createLog(level: string, destination?: DestinationStream | undefined): Log {
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
  const options = { level, base: null, redact: { paths, censor: '[secret]' } };
  return pino(options, destination ?? openStandardError());
}

function openStandardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true });
  // A log whose reader is gone must not end the agent.
  destination.on('error', () => undefined);
  return destination;
}
