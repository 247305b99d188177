// Puts the ports part together: the watcher, its readers, the outbox to the platform, and the operations.
import type { portOperations } from '../../contract/local/ports.ts';
import type { PortNotification } from '../../contract/port-notices.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { toPortAddress } from '../../core/ports/port-address.ts';
import { IGNORE_NONE, type IgnoredPorts } from '../../core/ports/port-class.ts';
import type { PortChange } from '../../core/ports/port-diff.ts';
import type { OpenPort, PortTable } from '../../core/ports/port-table.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Handlers } from '../../http/handler.ts';
import { readBootId } from '../../linux/boot-id.ts';
import {
  type ClosedSocketWatch,
  type ClosedSocketWatchStatus,
  createClosedSocketWatch,
} from '../../linux/sockets/closed-socket-watch.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { Caller } from '../access/authenticator.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import type { NoticeSender } from './notice-sender.ts';
import { createOutbox, type Outbox, type OutboxStatus } from './outbox.ts';
import { createPortFeed } from './port-feed.ts';
import { createPortHandlers } from './port-handlers.ts';
import { openPortLedger, type PortLedger } from './port-ledger.ts';
import { createPortScanner } from './port-scanner.ts';
import { createPortWatcher, type PortWatcher, type PortWatcherStatus } from './port-watcher.ts';

export interface PortsConfig {
  /** `/proc` when absent; tests set another. */
  readonly procRoot?: string | undefined;
  /** The address that is announced: a template with `{port}` and `{sprite}`, or `bind`; when absent, the sprite's URL with the port. */
  readonly portAddress?: string | undefined;
  readonly sprite?: string | undefined;
  readonly spriteUrl?: (() => string | undefined) | undefined;
  /** What the platform serves of the ports, see `PortAddressSettings.served`. */
  readonly servedPorts?: (() => string | null | undefined) | undefined;
  readonly baseUrl?: string | undefined;
  readonly token?: Secret | undefined;
  /** Listeners that are not announced. */
  readonly portsIgnore?: IgnoredPorts | undefined;
  /** `ss`: run the program `ss` to learn of sockets that close before the next look. */
  readonly portsPush?: 'off' | 'ss' | undefined;
  /** A fixed period of the scan instead of one that follows its cost. */
  readonly period_ms?: number | undefined;
}

export interface PortsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly part: Part;
  readonly noticesPart: Part;
  readonly db: Sqlite;
  readonly upstream: Upstream;
  readonly log: Log;
  readonly config: PortsConfig;
  /** Headers that tell the platform which incarnation of the machine calls. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits for this machine's time in the spread after a resume, before notices are sent. */
  readonly mayGoOut?: (signal: AbortSignal) => Promise<void>;
}

export interface PortsStatus extends Partial<PortWatcherStatus> {
  readonly notices?: OutboxStatus;
  readonly push?: ClosedSocketWatchStatus;
}

export interface Ports extends AsyncDisposable {
  readonly handlers: Handlers<typeof portOperations, Caller | undefined>;
  /** Resolves when the ports are watched. */
  start(signal: AbortSignal): Promise<void>;
  /** Makes a full scan and lets the outbox try again at once. Throws when the scan failed. */
  recover(): Promise<void>;
  /** The open ports, announced or ignored, without the agent's own. */
  listening(): PortTable;
  /** Resolves when `listening` shows the ports that are open at this moment. Throws while the ports cannot be seen. */
  freshen(): Promise<void>;
  /** Looks more often until disposed, for a caller that waits for a port. */
  attend(): Disposable;
  /** Whether `listening` has it. */
  isOpen(port: number): boolean;
  status(): PortsStatus;
}

interface Running {
  readonly watcher: PortWatcher;
  readonly outbox: Outbox | undefined;
  readonly push: ClosedSocketWatch | undefined;
}

export function createPorts(options: PortsOptions): Ports {
  const { clock, config, part, noticesPart } = options;
  const procRoot = config.procRoot ?? '/proc';
  let running: Running | undefined;

  const toAddress = (open: OpenPort): string => {
    const { portAddress, sprite, spriteUrl, servedPorts } = config;
    return toPortAddress(open, { portAddress, sprite, served: servedPorts?.(), spriteUrl: spriteUrl?.() });
  };
  const toNotification = ({ type, open }: PortChange): PortNotification => {
    return { type, port: open.port, address: toAddress(open), pid: open.pid };
  };
  const feed = createPortFeed(options.hub, toNotification);

  /** Undefined when the tables cannot be opened: the part still watches, but the platform gets no notices. */
  function openLedger(target: string): PortLedger | undefined {
    try {
      // Where the kernel shows no boot id, two boots cannot be distinguished.
      return openPortLedger(options.db, { boot: readBootId(procRoot) ?? '', target });
    } catch (error) {
      const reason = toErrorMessage(error);
      noticesPart.set('failed', `port notices cannot be kept: ${reason}`);
      options.log.warn({ err: error }, 'the tables of the ports cannot be opened');
      return undefined;
    }
  }

  function open(sender: NoticeSender | undefined): Running {
    const ledger = openLedger(sender?.target ?? '');
    const watcher = createPortWatcher({
      clock,
      scanner: createPortScanner({ clock, procRoot, ownPid: process.pid, ignore: config.portsIgnore ?? IGNORE_NONE }),
      part,
      announced: ledger?.announced ?? new Map(),
      period_ms: config.period_ms,
    });
    watcher.onScan((report) => feed.publish(report.changes));
    const push =
      config.portsPush === 'ss' ? createClosedSocketWatch({ onClosed: (port) => watcher.suspect(port) }) : undefined;
    if (ledger === undefined) return { watcher, push, outbox: undefined };
    const outbox = createOutbox({
      ledger,
      sender,
      part: noticesPart,
      random: options.random,
      toNotice: (change) => ({ id: randomHex(16), ...toNotification(change), time: toDateTime(clock.wall_ms()) }),
    });
    watcher.onScan((report) => outbox.reconcile(report.announced));
    return { watcher, push, outbox };
  }

  return {
    handlers: createPortHandlers({
      clock,
      feed,
      watcher() {
        if (running !== undefined) return running.watcher;
        throw new RemoraError('not_ready', 'the ports are not watched yet', { retryAfter_ms: 1_000 });
      },
      toAddress,
      sprite: config.sprite,
    }),
    async start(signal) {
      running = open(await openSender(options));
      running.outbox?.start(signal);
      running.watcher.start(signal);
      running.push?.start();
    },
    async recover() {
      running?.outbox?.recover();
      await running?.watcher.scanNow();
    },
    listening: () =>
      new Map([...(running?.watcher.view.leftOut.ignored ?? []), ...(running?.watcher.view.tracked.announced ?? [])]),
    async freshen() {
      await running?.watcher.freshen();
    },
    isOpen: (port) => running?.watcher.view.find(port) !== undefined,
    attend: () => running?.watcher.attend() ?? { [Symbol.dispose]: () => undefined },
    status() {
      if (running === undefined) return {};
      const { watcher, push, outbox } = running;
      const notices = outbox === undefined ? {} : { notices: outbox.status() };
      return { ...watcher.status(), push: push?.status() ?? { state: 'off' }, ...notices };
    },
    async [Symbol.asyncDispose]() {
      await running?.push?.[Symbol.asyncDispose]();
      await running?.watcher[Symbol.asyncDispose]();
      await running?.outbox?.[Symbol.asyncDispose]();
    },
  };
}

async function openSender({ config, upstream, identity, mayGoOut }: PortsOptions): Promise<NoticeSender | undefined> {
  const { baseUrl, sprite, token } = config;
  if (baseUrl === undefined || sprite === undefined || token === undefined) return undefined;
  const { createNoticeSender } = await import('./notice-sender.ts');
  return createNoticeSender({ baseUrl, sprite, token, upstream, identity, mayGoOut });
}
