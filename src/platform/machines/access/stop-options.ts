// How a machine is asked to end: what the caller says, else what its configuration says.
import { parseDuration } from '../../../contract/duration.ts';
import type { MachineConfig } from '../../../contract/machine-config.ts';
import type { StopMachineRequest } from '../../../contract/machines.ts';
import { refuseField } from '../../../core/refuse-field.ts';
import { type StopOptions, type StopSignal, stopSignals } from '../drivers/machine-driver.ts';

const STOP_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MAX_MS = 300_000;

/** Throws `invalid_request` naming the field. A timeout over five minutes is cut to five minutes. */
export function toStopOptions(asked: StopMachineRequest | undefined, config: MachineConfig): StopOptions {
  const { signal: name = config.stop_config?.signal ?? 'SIGTERM', timeout = config.stop_config?.timeout } = asked ?? {};
  const signal = toStopSignal(name, 'body.signal');
  const timeout_ms =
    typeof timeout === 'number' ? timeout * 1_000 : timeout === undefined ? STOP_TIMEOUT_MS : parseDuration(timeout);
  if (timeout_ms === undefined) throw refuseField('body.timeout', 'expected seconds, or text such as 30s');
  return { signal, timeout_ms: Math.min(timeout_ms, STOP_TIMEOUT_MAX_MS) };
}

/** Takes `TERM` for `SIGTERM`. Throws `invalid_request` naming the field. */
export function toStopSignal(name: string, field: string): StopSignal {
  const signal = stopSignals.find((known) => known === name || known === `SIG${name}`);
  if (signal === undefined) throw refuseField(field, `expected one of ${stopSignals.join(', ')}`);
  return signal;
}
