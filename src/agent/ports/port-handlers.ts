// The operations of the ports.
import type {
  OpenPortListener,
  PortCondition,
  PortListener,
  PortWatchLine,
  portOperations,
} from '../../contract/local/ports.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { IGNORE_NONE, type PortClass, toPortClass } from '../../core/ports/port-class.ts';
import type { OpenPort, PortTable } from '../../core/ports/port-table.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Caller } from '../access/authenticator.ts';
import type { PortFeed } from './port-feed.ts';
import { waitForPort } from './port-wait.ts';
import type { PortWatcher } from './port-watcher.ts';

const UNMET = {
  listen: 'did not listen',
  http: 'did not answer over HTTP',
  closed: 'was not closed',
} as const satisfies Record<PortCondition, string>;

export interface PortHandlerOptions {
  readonly clock: Clock;
  readonly feed: PortFeed;
  /** Throws `not_ready` until the part is started. */
  readonly watcher: () => PortWatcher;
  readonly toAddress: (open: OpenPort) => string;
  readonly sprite: string | undefined;
}

export function createPortHandlers(options: PortHandlerOptions): Handlers<typeof portOperations, Caller | undefined> {
  const { clock, feed } = options;

  function toListener(open: OpenPort): PortListener {
    const { port, pid, command, start_ticks, uid, addresses } = open;
    const seen = {
      ...(command === undefined ? {} : { command }),
      ...(start_ticks === undefined ? {} : { start_ticks }),
    };
    return { port, address: options.toAddress(open), pid, ...seen, uid, addresses: [...addresses] };
  }

  function toListeners<C extends PortClass>(ports: PortTable, classOf: (open: OpenPort) => C) {
    const sorted = [...ports.values()].sort((a, b) => a.port - b.port);
    return sorted.map((open) => ({ ...toListener(open), class: classOf(open) }));
  }

  function toOpenListeners(ports: PortTable): OpenPortListener[] {
    return toListeners(ports, (open) => (toPortClass(open, IGNORE_NONE) === 'system' ? 'system' : 'app'));
  }

  async function watch(sink: EventSink<PortWatchLine>): Promise<void> {
    const watcher = options.watcher();
    await watcher.freshen();
    feed.attach(sink, toOpenListeners(watcher.view.tracked.announced));
  }

  return {
    async listPorts() {
      const watcher = options.watcher();
      await watcher.freshen();
      const { problem, leftOut } = watcher.view;
      const report = {
        ports: toOpenListeners(watcher.view.tracked.announced),
        left_out: [
          ...toListeners(leftOut.own, () => 'own' as const),
          ...toListeners(leftOut.ignored, () => 'ignored' as const),
        ],
        scanned_at: toDateTime(watcher.view.scannedAt_ms),
      };
      return problem === undefined ? report : { ...report, problem };
    },
    watchPorts: (_call, sink) => watch(sink),
    async watchSpritePorts({ params }, sink) {
      if (params.name !== options.sprite) {
        throw new RemoraError('not_found', `this machine is not the sprite ${params.name}; it answers for itself only`);
      }
      await watch(sink);
    },
    async waitForPort({ params: { port }, query: { until, timeout }, signal, principal }) {
      // This wait makes the agent call the port, which is more than reading, and this caller may not be able to reach the port itself.
      if (until === 'http' && (principal?.listener ?? 'socket') !== 'socket') {
        throw new RemoraError('read_only', 'until=http calls the port; use the main socket, or until=listen');
      }
      const watcher = options.watcher();
      const start_ms = clock.mono_ms();
      const met = await waitForPort(watcher, { port, until, timeout_ms: timeout, signal });
      if (!met) throw new RemoraError('timeout', `port ${port} ${UNMET[until]} within ${timeout} ms`);
      const open = watcher.view.find(port);
      const waited_ms = Math.round(clock.mono_ms() - start_ms);
      return { ok: true, until, waited_ms, listener: open === undefined ? null : toListener(open) };
    },
  };
}
