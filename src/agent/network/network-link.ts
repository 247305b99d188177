// The calls of the agent to the process that enforces the network policy, which the first one starts where it does not run.

import { type Client, createClient } from '../../client/client.ts';
import { networkOperations } from '../../contract/local/network.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { createProcessLink, type ProcessLinkOptions } from '../process-link.ts';

export interface NetworkLink extends AsyncDisposable {
  readonly client: Client<typeof networkOperations>;
  /** Starts the process if it does not run. Throws `start_failed`. */
  open(): Promise<void>;
}

export type NetworkLinkOptions = Pick<ProcessLinkOptions, 'path' | 'onDialled'> & {
  /** Whether the agent may start the process. */
  readonly mayStart: boolean;
  /** Called before it does. */
  readonly onStart: () => void;
  readonly stateDir: string;
  readonly logLevel: string;
  readonly env: NodeJS.ProcessEnv;
};

/** A policy with many rules and names that have to be looked up takes its time. */
const LIMIT_MS = 30_000;

export function openNetworkLink(options: NetworkLinkOptions): NetworkLink {
  const { path, onDialled, mayStart } = options;
  const link = createProcessLink({
    name: 'process that enforces the network policy',
    logFile: 'network.log in the state directory',
    path,
    ...(onDialled === undefined ? {} : { onDialled }),
    async start() {
      if (!mayStart) throw notServed(path);
      options.onStart();
      const { startNetwork } = await import('./start-network.ts');
      startNetwork(options);
    },
  });
  const dispatcher = () => link.dispatcher;
  return {
    client: createClient(networkOperations, { origin: 'http://network', dispatcher, timeout_ms: LIMIT_MS }),
    open: () => link.open(),
    [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
  };
}

function notServed(path: string): RemoraError {
  const message = `nothing serves at ${path}; run \`systemctl enable --now remora-network.socket\``;
  return new RemoraError('start_failed', message);
}
