// Drives the replacement of the process image after a resume that may have cloned the machine: everything that can fail first, then
// the end of the daemon without a refusal, then the new image.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningAgent } from '../agent.ts';
import type { Log } from '../log.ts';
import { type Descriptors, openDescriptors } from './descriptors.ts';
import type { HandedSocket } from './parcel.ts';
import { checkProgram, reExec } from './re-exec.ts';

const ASK_AGAIN_MS = 500;

export interface ReplaceOptions {
  readonly agent: RunningAgent;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  /** Where it did not come from a file that can be read again. */
  readonly token: string | undefined;
  /** The daemon is to stop: then it is not replaced. */
  readonly signal: AbortSignal;
}

/**
 * Does not return when it succeeds. Returns with the agent serving on when the image cannot be replaced, and with the agent
 * ended when `signal` was aborted meanwhile. Throws when nothing is left but to end the process.
 */
export async function replaceImage({ agent, log, env, token, signal }: ReplaceOptions): Promise<void> {
  const ready = await prepare(agent, signal).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    log.error({ err: error }, 'the process image cannot be replaced; its randomness may be that of another machine');
    agent.tellKept(reason);
  });
  if (ready === undefined) return;
  log.info('replacing the process image');
  const parcel = await agent.handOver(ready.sockets);
  if (!signal.aborted) reExec(ready.descriptors, { ...parcel, ...(token === undefined ? {} : { token }) }, env);
}

interface Ready {
  readonly descriptors: Descriptors;
  readonly sockets: readonly HandedSocket[];
}

/** Undefined when the daemon is to stop. Throws with the agent as it was. */
async function prepare(agent: RunningAgent, signal: AbortSignal): Promise<Ready | undefined> {
  checkProgram();
  const descriptors = await openDescriptors();
  while (!agent.mayHandOver && !signal.aborted) await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  return signal.aborted ? undefined : { descriptors, sockets: agent.duplicateSockets(descriptors.duplicate) };
}
