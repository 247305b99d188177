// The process beside the agent that enforces the network policy: called, looked at while something is restricted, and of the version of this agent.
// What reaches it is loaded by the first call.
import { type RefusalWords, toRefusal } from '../../client/to-refusal.ts';
import type { Log } from '../../core/log.ts';
import type { Part } from '../parts.ts';
import type { NetworkLink } from './network-link.ts';
import type { ResolverWatch } from './resolver-watch.ts';

export interface NetworkProcessOptions {
  readonly config: { readonly stateDir: string; readonly logLevel: string; readonly networkPolicy: boolean };
  /** The path of its socket. */
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  /** The version of the agent. */
  readonly version: string;
  readonly log: Log;
  readonly part: Part;
  /** Whether something is restricted. */
  readonly isNeeded: () => boolean;
}

export interface NetworkProcess extends AsyncDisposable {
  /** Throws `not_supported` with what is missing, and why the process does not answer. */
  ask<T>(call: (client: NetworkLink['client']) => Promise<T>): Promise<T>;
  /**
   * Sees to it that it runs where it is needed, once `ready` has resolved. Never rejects: what fails is in the log, once. Does nothing
   * while another look is under way.
   */
  look(ready: () => Promise<void>): Promise<void>;
  /** While something is restricted it is started again as soon as it ends, and names are refused until it is there. Never rejects. */
  watch(): Promise<void>;
}

const words: RefusalWords = {
  passedOn: ['invalid_request', 'not_supported'],
  failed: 'what enforces the network policy does not answer as it should',
};

export function createNetworkProcess(options: NetworkProcessOptions): NetworkProcess {
  const { config, path, env, version, log, part, isNeeded } = options;
  let link: Promise<NetworkLink> | undefined;
  let watch: Promise<ResolverWatch> | undefined;
  let renewed: Promise<void> | undefined;
  let isSilent = false;
  let isLooking = false;

  async function open(): Promise<NetworkLink> {
    link ??= import('./network-link.ts').then(({ openNetworkLink }) =>
      openNetworkLink({
        ...{ path, env },
        mayStart: config.networkPolicy,
        stateDir: config.stateDir,
        logLevel: config.logLevel,
        onDialled: (failure) => (failure === undefined ? part.set('ok') : part.set('degraded', failure.message)),
        onStart: noteEnd,
      }),
    );
    return await link;
  }

  function noteEnd(): void {
    if (!isNeeded()) return;
    const message = 'what enforces the network policy had ended and is started again; names are refused meanwhile';
    log.warn({}, message);
    part.set('degraded', message);
  }

  function openWatch(): Promise<ResolverWatch> {
    watch ??= Promise.all([open(), import('./resolver-watch.ts')]).then(([{ client }, { createResolverWatch }]) =>
      createResolverWatch({ client, isNeeded, log }),
    );
    return watch;
  }

  async function renew(opened: NetworkLink): Promise<void> {
    const { renewNetwork } = await import('./renew-network.ts');
    const port = await renewNetwork(opened, version, log);
    if (port !== undefined) (await openWatch()).beginWithout(port);
  }

  /** The first call of this agent sees to it that the process is of its version. */
  async function openRenewed(): Promise<NetworkLink> {
    const opened = await open();
    renewed ??= renew(opened);
    await renewed;
    return opened;
  }

  return {
    async ask(call) {
      try {
        return await call((await openRenewed()).client);
      } catch (error) {
        throw toRefusal(error, words);
      }
    },
    async look(ready) {
      if (isLooking) return;
      isLooking = true;
      try {
        await ready();
        if (isNeeded()) await (await open()).open();
        isSilent = false;
      } catch (err) {
        if (!isSilent) log.warn({ err }, 'the process that enforces the network policy does not answer');
        isSilent = true;
      } finally {
        isLooking = false;
      }
    },
    async watch() {
      (await openWatch()).begin();
    },
    async [Symbol.asyncDispose]() {
      await (await watch)?.[Symbol.asyncDispose]();
      await (await link)?.[Symbol.asyncDispose]();
    },
  };
}
