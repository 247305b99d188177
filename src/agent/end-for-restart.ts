// Ends the agent to be started again, after a resume that may have cloned the machine, and for an upgrade: does what can fail first,
// then ends it without refusing a call, and leaves the restart state to the next process.
import { setTimeout as sleep } from 'node:timers/promises';
import { toErrorMessage } from '../core/error-message.ts';
import type { Log } from '../core/log.ts';
import type { ServiceLink } from '../linux/systemd/service-link.ts';
import type { RunningAgent } from './agent.ts';
import type { RestartCause } from './restart/restart-cause.ts';
import { checkRestartFile, leaveRestartState } from './restart/restart-file.ts';

const ASK_AGAIN_MS = 500;

export interface EndOptions {
  readonly agent: RunningAgent;
  readonly why: RestartCause;
  readonly stateDir: string;
  readonly log: Log;
  /** Aborts when the daemon is to stop: then it is not started again. */
  readonly signal: AbortSignal;
  /** The link to systemd, where it wants to be told. */
  readonly link?: ServiceLink | undefined;
}

/** Whether the agent has ended, and the process is to end with the code that has it started again. Otherwise it serves on. */
export async function endForRestart({ agent, why, stateDir, log, signal, link }: EndOptions): Promise<boolean> {
  while (!agent.mayRestart() && !signal.aborted)
    await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return false;
  try {
    checkRestartFile(stateDir);
  } catch (error) {
    log.error({ err: error, why }, 'the agent cannot be started again: what it knows cannot be written');
    agent.noteNotRestarted(toErrorMessage(error), why);
    return false;
  }
  log.info({ why }, 'ending to be started again');
  await link?.stop();
  const state = await agent.prepareRestart();
  try {
    leaveRestartState(stateDir, state);
  } catch (error) {
    // The database has the holds and the incarnation. A recovery that is under way becomes a start.
    log.error({ err: error }, 'what the next process needs could not be written');
  }
  return !signal.aborted;
}
