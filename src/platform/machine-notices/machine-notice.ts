// The notice of an event of a machine, as the provider gets it whose app the machine is of. Pure.
import { type MachineNotice, NOTICE_TYPE } from '../../contract/extension-notices.ts';
import type { MachineEvent } from '../../contract/machine-events.ts';
import type { MachineStatus } from '../../contract/machines.ts';

export interface TypedNotice {
  /** The type of the CloudEvent. */
  readonly type: string;
  readonly body: MachineNotice;
}

/**
 * Undefined for an event that is no transition: nothing was started, stopped or ended by it. An instance that ended by itself with a code
 * other than 0, or by a signal, is a crash: its status is `failed`, whatever state the machine goes to.
 */
export function toMachineNotice(
  machine_id: string,
  event: Omit<MachineEvent, 'id'>,
  from: MachineStatus,
): TypedNotice | undefined {
  const { type: trigger, status: to } = event;
  if (from === to && trigger !== 'exit') return undefined;
  const error = toError(event);
  const status = error === undefined ? to : 'failed';
  const data = { Transition: { from, to, trigger }, ...(error === undefined ? {} : { Error: error }) };
  return { type: `${NOTICE_TYPE}.machine.${status}`, body: { machine_id, status, data } };
}

function toError({ type, exit, message }: Omit<MachineEvent, 'id'>): MachineNotice['data']['Error'] {
  if (type === 'fail') return { message: message ?? 'it could not be started', exit_code: null, signal: null };
  if (type !== 'exit' || exit === undefined || exit.requested || exit.exit_code === 0) return undefined;
  const { exit_code, signal } = exit;
  const how = exit.oom_killed === true ? 'the kernel ended it for want of memory' : toHow(exit_code, signal);
  return { message: how, exit_code, signal };
}

function toHow(exit_code: number | null, signal: string | null): string {
  if (signal !== null) return `it was ended by ${signal}`;
  return exit_code === null ? 'it ended, and nobody saw how' : `it ended with the code ${exit_code}`;
}
