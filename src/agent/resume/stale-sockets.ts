// Ends connections of the workload that the resume has made stale, for chosen ports and cgroups (resume.md, section 4, step 3).
// Its programs would else wait for an answer that cannot come. What cannot be done is the reason of the step, and nothing more.
import { type StaleChoice, selectStale } from '../../core/connections/stale-connections.ts';
import { toConnectionKey } from '../../core/connections/tcp-connection.ts';
import { readConnectionTable, readOwnSockets } from '../connections/connection-table.ts';
import { createSs, type Ss } from '../connections/ss.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Step } from './run-step.ts';

export const STALE_SOCKETS_DEADLINE_MS = 2_000;
/** Connections that the event names one by one. */
const NAMED_MAX = 20;
const NO_DESTROY = 'the kernel may be built without CONFIG_INET_DIAG_DESTROY';

export interface StaleSocketsOptions {
  readonly choice: StaleChoice;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly ss?: Ss;
  readonly procRoot?: string;
}

export interface StaleSockets {
  /** A resume was noticed: what is connected now is older than it, and nothing else will be ended. */
  onWake(): void;
  /** None when no port and no cgroup was chosen. */
  readonly steps: readonly Step[];
}

export function createStaleSockets(options: StaleSocketsOptions): StaleSockets {
  const { choice, hub, procRoot } = options;
  const ss = options.ss ?? createSs({ deadline_ms: STALE_SOCKETS_DEADLINE_MS });
  const isOff = choice.ports.length === 0 && choice.cgroups.length === 0;
  let older: ReadonlySet<string> = new Set();
  let unseen: string | undefined;

  function takeList(): void {
    try {
      older = new Set(readConnectionTable(procRoot).map(toConnectionKey));
      unseen = undefined;
    } catch (error) {
      older = new Set();
      unseen = `the connections older than the resume are not known: ${error instanceof Error ? error.message : String(error)}`;
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
    onWake() {
      if (!isOff) takeList();
    },
    steps: isOff ? [] : [{ name: 'stale_sockets', deadline_ms: STALE_SOCKETS_DEADLINE_MS, run }],
  };
}
