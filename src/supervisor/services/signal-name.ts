// The name of a signal as people write it. Pure.
import { constants } from 'node:os';

/** `TERM`, `sigterm` and `SIGTERM` are the same. Undefined for a signal that this machine does not know. */
export function parseSignalName(text: string): NodeJS.Signals | undefined {
  const upper = text.toUpperCase();
  const name = upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return Object.hasOwn(constants.signals, name) ? (name as NodeJS.Signals) : undefined;
}
