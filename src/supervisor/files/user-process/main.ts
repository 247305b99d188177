// A process that serves file operations with the rights of the user alone. It is forked by root, makes its socket, gives up root for good,
// and ends when the supervisor lets go of it. All that it needs is loaded before: the user may not be able to read it.
import { flushCompileCache } from 'node:module';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { Log } from '../../../core/log.ts';
import { createEdge } from '../../../http/edge.ts';
import { listenOnPath } from '../../../http/listen-on-path.ts';
import { mapFileError } from '../file-error.ts';
import { createFileHandlers } from '../file-handlers.ts';
import { rawFileOperations } from '../raw-file-operations.ts';
import { ownRights } from '../tree/rights.ts';
import { giveUpRoot } from './give-up-root.ts';
import type { UserProcessMessage, UserProcessOptions } from './user-process-message.ts';

/** Only root may open the socket. */
const EARLY_UMASK = 0o077;

async function main(): Promise<void> {
  process.umask(EARLY_UMASK);
  const { socket, user } = JSON.parse(process.argv[2] ?? '') as UserProcessOptions;
  const edge = createEdge({
    operations: rawFileOperations,
    handlers: createFileHandlers(ownRights),
    // Only the supervisor can open the socket.
    authenticate: () => undefined,
    mapError: mapFileError,
    log: createParentLog(),
  });
  await listenOnPath(edge.createServer('supervisor'), { path: socket, mode: 0o600 });
  // It is killed in the end, and its user may not write there.
  flushCompileCache();
  giveUpRoot(user);
  process.chdir('/');
  send({ type: 'ready' });
}

/** What goes wrong inside is for the log of the supervisor. */
function createParentLog(): Log {
  const pass = (fields: object, message: string) => {
    const cause = 'err' in fields ? `: ${toErrorMessage(fields.err)}` : '';
    send({ type: 'log', message: message + cause });
  };
  return { debug: () => undefined, info: () => undefined, warn: pass, error: pass, fatal: pass };
}

function send(message: UserProcessMessage): void {
  // A supervisor that is gone would be an error of this process if no function took the outcome.
  if (process.connected) process.send?.(message, () => undefined);
}

process.once('disconnect', () => process.exit());
main().catch((error: unknown) => {
  send({ type: 'failed', message: toErrorMessage(error) });
  process.exitCode = 1;
  process.disconnect?.();
});
