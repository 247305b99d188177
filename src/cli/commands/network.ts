// `remora network`: enforces the network policy of this sprite, until a signal or until nothing is restricted.
import { resolve } from 'node:path';
import { createLog } from '../../agent/agent-log.ts';
import { takeInheritedSockets } from '../../http/inherited-sockets.ts';
import { openServiceManager } from '../../linux/systemd/service-manager.ts';
import { NetfilterError } from '../../network/netfilter.ts';
import { openNetwork } from '../../network/network.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { openLogDestination } from '../log-destination.ts';
import { openStopSignals } from '../stop-signals.ts';

const IDLE_MS = 60_000;

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
    if (!(error instanceof NetfilterError)) throw error;
    out.note(`error: a network policy cannot be enforced here: it needs ${error.message}`);
    return exitCode.failed;
  }
}

function toPath(given: string | undefined, flag: string): string {
  if (given === undefined || given === '') throw new UsageError(`remora network needs --${flag}`);
  return resolve(given);
}
