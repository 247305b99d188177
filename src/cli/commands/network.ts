// `remora network`: enforces the network policy of this sprite, until a signal or until nothing is restricted.
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../agent/agent-log.ts';
import { takeInheritedSockets } from '../../http/inherited-sockets.ts';
import { isService } from '../../linux/systemd/open-link.ts';
import { openServiceManager } from '../../linux/systemd/service-manager.ts';
import { NetfilterError } from '../../network/netfilter.ts';
import { openNetwork } from '../../network/network.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { openLogDestination } from '../log-destination.ts';
import { openStopSignals } from '../stop-signals.ts';

const IDLE_MS = 60_000;
/** systemd starts it again at once: what cannot be enforced is not tried all the time. */
const AGAIN_MS = 5_000;

export async function run(invocation: Invocation): Promise<number> {
  const { env, text, out } = invocation;
  process.umask(0o077);
  using signals = openStopSignals(env);
  const inherited = takeInheritedSockets(env, process.pid);
  const log = createLog(text('log-level') ?? 'info', await openLogDestination(2, env));
  const socket = inherited.length > 0 ? '' : toPath(text('socket'), 'socket');
  const stateDir = toPath(text('state-dir') ?? env.REMORA_NETWORK_STATE_DIR, 'state-dir');
  const upstreams = (text('upstream') ?? '').split(',').filter((address) => address !== '');
  try {
    await using network = await openNetwork({
      ...{ socket, inherited, stateDir, upstreams, log },
      version: invocation.version,
      idle_ms: IDLE_MS,
    });
    log.info({ socket }, 'the network policy is served');
    // What systemd starts after this process finds the rules in place.
    const fault = await (await openServiceManager(env, process.pid))?.tell({ ready: true });
    if (fault !== undefined) log.warn({}, fault);
    await Promise.race([signals.stopped, network.over]);
    return exitCode.ok;
  } catch (error) {
    if (error instanceof NetfilterError)
      out.note(`error: a network policy cannot be enforced here: it needs ${error.message}`);
    else log.error({ err: error }, 'the network policy that held before cannot be enforced');
    if (isService(env)) await sleep(AGAIN_MS, undefined, { signal: signals.signal }).catch(() => undefined);
    return exitCode.failed;
  }
}

function toPath(given: string | undefined, flag: string): string {
  if (given === undefined || given === '') throw new UsageError(`remora network needs --${flag}`);
  return resolve(given);
}
