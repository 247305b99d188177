// Tells systemd something through the small program that comes with it, where this Node cannot send to a Unix datagram socket by
// itself. The unit must allow that with NotifyAccess=all.
import { execFile } from 'node:child_process';

const DEADLINE_MS = 5_000;

/** Resolves with the fault, or with `undefined` when the words were sent. Never rejects. */
export function runNotifyCommand(
  socket: string,
  words: readonly string[],
  path: string | undefined,
): Promise<string | undefined> {
  const options = { env: { PATH: path ?? '/usr/bin:/bin', NOTIFY_SOCKET: socket }, timeout: DEADLINE_MS };
  return new Promise((resolve) => {
    execFile('systemd-notify', words, options, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trim() || error.message);
    });
  });
}
