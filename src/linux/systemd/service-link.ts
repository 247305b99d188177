// A daemon as a service of systemd: says when it serves, how it is and that it stops, is watched, and reads its settings again when it
// is asked to. Loaded only where systemd wants to be told.
import type { Log } from '../../core/log.ts';
import type { ServiceManager } from './service-manager.ts';
import { startWatchdog } from './watchdog.ts';

/** Changes of one moment are told as one. */
const STATUS_PAUSE_MS = 500;

/** What systemd is told about. */
export interface Watched {
  statusLine(): string;
  /** Settles when what the daemon stands on has answered. */
  answers(): Promise<unknown>;
}

export interface ServiceLink extends Disposable {
  /** Tells that `daemon` serves. From then on systemd watches it, and may ask for its settings to be read again. */
  serve(daemon: Watched): Promise<void>;
  /** The status line may be another one. */
  noteChange(): void;
  stop(): Promise<void>;
}

export interface ServiceLinkOptions {
  readonly manager: ServiceManager;
  /** Reads the settings again. Never throws. */
  readonly reload: () => void;
  readonly log: Log;
}

/** A signal that asks for the settings to be read again is kept until the daemon serves. */
export function openServiceLink({ manager, reload, log }: ServiceLinkOptions): ServiceLink {
  let daemon: Watched | undefined;
  let told: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let watchdog: Disposable | undefined;
  let isAsked = false;

  async function tell(notice: Parameters<ServiceManager['tell']>[0]): Promise<void> {
    const fault = await manager.tell(notice);
    if (fault !== undefined) log.warn({}, fault);
  }

  const now_us = () => process.hrtime.bigint() / 1_000n;

  function tellStatus(): void {
    timer = undefined;
    const line = daemon?.statusLine();
    if (line === undefined || line === told) return;
    told = line;
    void tell({ status: line });
  }

  function onHangUp(): void {
    isAsked = daemon === undefined;
    if (daemon === undefined) return;
    void tell({ reloading_us: now_us(), status: 'reading the settings again' });
    reload();
    told = daemon.statusLine();
    void tell({ ready: true, status: told });
  }

  function watch(watched: Watched, limit_ms: number): void {
    watchdog = startWatchdog({
      limit_ms,
      tell: () => void tell({ alive: true }),
      ask: () => watched.answers(),
      onSilence(isSilent) {
        if (isSilent)
          log.error({ limit_ms }, 'the store does not answer; systemd starts this process again unless it does soon');
        else log.warn({}, 'the store answers again');
      },
    });
  }

  function rest(): void {
    clearTimeout(timer);
    daemon = undefined;
  }

  process.on('SIGHUP', onHangUp);
  return {
    async serve(watched) {
      daemon = watched;
      told = watched.statusLine();
      await tell({ ready: true, status: told });
      if (manager.watchdog_ms !== undefined) watch(watched, manager.watchdog_ms);
      if (isAsked) onHangUp();
    },
    noteChange() {
      timer ??= setTimeout(tellStatus, STATUS_PAUSE_MS).unref();
    },
    async stop() {
      rest();
      await tell({ stopping: true, status: 'stopping; callers are still answered' });
    },
    [Symbol.dispose]() {
      rest();
      watchdog?.[Symbol.dispose]();
      process.off('SIGHUP', onHangUp);
    },
  };
}
