// Ends a session and tells how it goes (Sandbox API, Process kill events).
import { setTimeout as sleep } from 'node:timers/promises';
import { parseDuration } from '../../contract/duration.ts';
import type { KillProcessRequest, ProcessKillEvent } from '../../contract/processes.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { parseSignalName } from '../services/signal-name.ts';
import type { Session } from './session.ts';

const TIMEOUT_MS = 10_000;
const TIMEOUT_MAX_MS = 300_000;

export interface Kill {
  readonly signal: NodeJS.Signals;
  readonly timeout_ms: number;
}

/** Throws `invalid_request`. */
export function readKill({ signal = 'SIGTERM', timeout }: KillProcessRequest): Kill {
  const name = parseSignalName(signal);
  if (name === undefined) throw refuseField('query.signal', `${signal} is no signal; use one such as SIGTERM`);
  const timeout_ms = timeout === undefined || timeout === '' ? TIMEOUT_MS : parseDuration(timeout);
  if (timeout_ms === undefined) throw refuseField('query.timeout', 'expected a duration such as 10s');
  return { signal: name, timeout_ms: Math.min(timeout_ms, TIMEOUT_MAX_MS) };
}

/** Throws `gone` before the first event for a process that has ended. What it has started ends too. */
export async function* killSession(session: Session, { signal, timeout_ms }: Kill): AsyncGenerator<ProcessKillEvent> {
  const program = await session.program;
  if (session.exit_code !== undefined) {
    throw new RemoraError('gone', `the process has ended already, with exit code ${session.exit_code}`);
  }
  const { pid } = program;
  program.signal(signal);
  yield { type: 'signal', message: `sent ${signal} to the process ${pid}`, signal, pid };
  const giveUp = new AbortController();
  const late = sleep(timeout_ms, 'late' as const, { signal: giveUp.signal }).catch(() => 'late' as const);
  const first = await Promise.race([program.exited, late]);
  giveUp.abort();
  if (first === 'late') {
    yield { type: 'timeout', message: `it has not ended within ${timeout_ms} ms` };
    await program.end(0);
    yield { type: 'killed', message: 'sent SIGKILL to all that it has started' };
  } else {
    await program.end(0);
    yield { type: 'exited', message: 'the process has ended' };
  }
  yield { type: 'complete', exit_code: await program.exited };
}
