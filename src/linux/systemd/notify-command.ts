// Tells systemd that the daemon is ready, or stopping (sd_notify(3)). Node cannot send to a Unix datagram socket, so that the
// small program that comes with systemd does it; the unit allows that with NotifyAccess=all.
import { execFile } from 'node:child_process';

const DEADLINE_MS = 5_000;

export interface Notice {
  readonly ready?: boolean;
  readonly stopping?: boolean;
  /** One line, shown by `systemctl status`. */
  readonly status?: string;
}

/**
 * Sends a notice when NOTIFY_SOCKET is set. Resolves with the fault, for the log, or with `undefined`: a daemon that serves
 * must not end because its notice was lost.
 */
export function notifySystemd(env: NodeJS.ProcessEnv, notice: Notice): Promise<string | undefined> {
  const socket = env.NOTIFY_SOCKET;
  const words = toNotifyWords(notice);
  if (socket === undefined || socket === '' || words.length === 0) return Promise.resolve(undefined);
  const options = { env: { PATH: env.PATH ?? '/usr/bin:/bin', NOTIFY_SOCKET: socket }, timeout: DEADLINE_MS };
  return new Promise((resolve) => {
    execFile('systemd-notify', words, options, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : `systemd was not notified: ${stderr.trim() || error.message}`);
    });
  });
}

/**
 * The notice as variable assignments of the protocol, passed on unchanged, so that every release of the program takes them.
 * Pure.
 */
export function toNotifyWords(notice: Notice): string[] {
  const words: string[] = [];
  if (notice.ready === true) words.push('READY=1');
  if (notice.stopping === true) words.push('STOPPING=1');
  if (notice.status !== undefined) words.push(`STATUS=${notice.status.replaceAll(/\s+/g, ' ')}`);
  return words;
}
