// systemd as the one that started this process: what it is told, and what it wants to hear.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Notice, toNotifyWords } from './notice.ts';
import { runNotifyCommand } from './notify-command.ts';
import { openNotifySocket } from './notify-socket.ts';

/** systemd takes a few hundred messages in advance, and is quick. */
const TRIES = 20;
const TRY_AGAIN_MS = 50;

export interface ServiceManager {
  /**
   * Resolves with the fault, for the log, or with `undefined`: a daemon that serves must not end because its notice was lost. What
   * is sent has been sent when this returns its promise, unless systemd was busy.
   */
  tell(notice: Notice): Promise<string | undefined>;
  /** How long it waits to hear that this process is well; undefined when it does not watch. */
  readonly watchdog_ms: number | undefined;
}

/** Undefined when nobody wants to be notified. */
export async function openServiceManager(env: NodeJS.ProcessEnv, pid: number): Promise<ServiceManager | undefined> {
  const path = env.NOTIFY_SOCKET;
  if (path === undefined || path === '') return undefined;
  const socket = await openNotifySocket(path);

  async function tell(notice: Notice): Promise<string | undefined> {
    const words = toNotifyWords(notice);
    if (words.length === 0) return undefined;
    const text = words.join('\n');
    for (let tries = 0; socket !== undefined && tries < TRIES; tries += 1) {
      if (socket.send(text)) return undefined;
      await sleep(TRY_AGAIN_MS, undefined, { ref: false });
    }
    const fault = await runNotifyCommand(path ?? '', words, env.PATH);
    return fault === undefined ? undefined : `systemd was not notified: ${fault}`;
  }

  return { tell, watchdog_ms: toWatchdog(env, pid) };
}

/** WATCHDOG_USEC, where it is meant for this process (sd_watchdog_enabled(3)). */
export function toWatchdog(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== pid) return undefined;
  const usec = Number(env.WATCHDOG_USEC);
  return Number.isSafeInteger(usec) && usec > 0 ? usec / 1_000 : undefined;
}
