// Ends connections of the workload that a resume has made stale, for the chosen ports and cgroups. Without it those programs would
// wait for an answer that cannot come. A connection that cannot be ended fails the step and has no other effect.
import { type StaleChoice, selectStale } from '../../core/connections/select-stale.ts';
import { toConnectionKey } from '../../core/connections/tcp-connection.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { readConnectionTable, readOwnSockets } from '../../linux/sockets/connection-table.ts';
import { createSs, type Ss } from '../../linux/sockets/ss.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Step } from './run-step.ts';

export const STALE_SOCKETS_DEADLINE_MS = 2_000;
/** How many connections the event names one by one. */
const NAMED_MAX = 20;
const NO_DESTROY = 'the kernel may be built without CONFIG_INET_DIAG_DESTROY';

export interface StaleSocketsOptions {
  readonly choice: StaleChoice;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly ss?: Ss;
  readonly procRoot?: string;
}

export interface StaleSockets {
  /** Notes the connections of the moment in which a resume is noticed. Later ones are not ended. */
  onResumed(): void;
  /** The step of the recovery; empty when no port and no cgroup was chosen. */
  readonly steps: readonly Step[];
}

export function createStaleSockets(options: StaleSocketsOptions): StaleSockets {
  const { choice, hub, procRoot } = options;
  const ss = options.ss ?? createSs({ deadline_ms: STALE_SOCKETS_DEADLINE_MS });
  const isOff = choice.ports.length === 0 && choice.cgroups.length === 0;
  let older: ReadonlySet<string> = new Set();
  let unseen: string | undefined;

  function readOlderConnections(): void {
    try {
      older = new Set(readConnectionTable(procRoot).map(toConnectionKey));
      unseen = undefined;
    } catch (error) {
      older = new Set();
      unseen = `the connections older than the resume are not known: ${toErrorMessage(error)}`;
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    if (unseen !== undefined) throw new Error(unseen);
    if (older.size === 0) return;
    const connections = await ss.list(signal);
    const noCgroups = choice.cgroups.length > 0 && connections.every(({ cgroup }) => cgroup === undefined);
    const facts = { older, ownInodes: readOwnSockets(procRoot) };
    const stale = selectStale(connections, choice, facts);
    const ended = await ss.kill(stale, signal);
    if (ended.length > 0) {
      const named = ended.slice(0, NAMED_MAX).map(({ filter }) => `${filter.src} ${filter.dst}`);
      hub.publish('stale_sockets_ended', { count: ended.length, connections: named });
    }
    if (ended.length < stale.length) {
      const left = selectStale(await ss.list(signal), choice, facts).length;
      if (left > 0) throw new Error(`${left} of ${stale.length} are still there; ${NO_DESTROY}`);
    }
    if (noCgroups && connections.length > 0) throw new Error('`ss` of this machine does not tell cgroups');
  }

  return {
    onResumed() {
      if (!isOff) readOlderConnections();
    },
    steps: isOff ? [] : [{ name: 'stale_sockets', deadline_ms: STALE_SOCKETS_DEADLINE_MS, run }],
  };
}
