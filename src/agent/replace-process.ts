// Replaces the process image after a resume that may have cloned the machine, and for an upgrade: does what can fail first, then ends the daemon
// without refusing a call, then starts the new image.
import { setTimeout as sleep } from 'node:timers/promises';
import { toErrorMessage } from '../core/error-message.ts';
import type { Log } from '../core/log.ts';
import type { ServiceLink } from '../linux/systemd/service-link.ts';
import type { RunningAgent } from './agent.ts';
import { type Descriptors, openDescriptors } from './hot-restart/descriptors.ts';
import { findProgram, type Program } from './hot-restart/program.ts';
import { reExec } from './hot-restart/re-exec.ts';
import type { ReplaceCause } from './hot-restart/replace-cause.ts';
import type { RestartSocket } from './hot-restart/restart-state.ts';

const ASK_AGAIN_MS = 500;

export interface ReplaceOptions {
  readonly agent: RunningAgent;
  readonly why: ReplaceCause;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  /** The token, when it did not come from a file that can be read again. */
  readonly token: string | undefined;
  /** Aborts when the daemon is to stop: then it is not replaced. */
  readonly signal: AbortSignal;
  /** To systemd, where it wants to be told. */
  readonly link?: ServiceLink | undefined;
}

/**
 * Does not return when it succeeds. Returns with the agent serving on when the image cannot be replaced, and with the agent
 * ended when `signal` was aborted meanwhile. Throws when nothing is left but to end the process.
 */
export async function replaceProcess({ agent, why, log, env, token, signal, link }: ReplaceOptions): Promise<void> {
  const ready = await prepare(agent, signal).catch((error: unknown) => {
    const reason = toErrorMessage(error);
    log.error({ err: error, why }, 'the process image cannot be replaced');
    agent.noteNotReplaced(reason, why);
  });
  if (ready === undefined) return;
  log.info({ why }, 'replacing the process image');
  const { descriptors, program, sockets } = ready;
  await link?.beginReplacing();
  const restartState = await agent.prepareRestart(sockets, descriptors.duplicate);
  const state = { ...restartState, ...(token === undefined ? {} : { token }) };
  if (!signal.aborted) reExec({ descriptors, program, state, env });
}

interface Ready {
  readonly program: Program;
  readonly descriptors: Descriptors;
  readonly sockets: readonly RestartSocket[];
}

/** Undefined when the daemon is to stop. Throws with the agent as it was. */
async function prepare(agent: RunningAgent, signal: AbortSignal): Promise<Ready | undefined> {
  const program = findProgram();
  const descriptors = await openDescriptors();
  while (!agent.mayRestart && !signal.aborted) await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  return signal.aborted ? undefined : { program, descriptors, sockets: agent.duplicateSockets(descriptors.duplicate) };
}
