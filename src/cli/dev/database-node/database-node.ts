// A database node for development: a real SQLite file that changes every second, published like the event stream of a
// LiteFS node (Suspend and Replication, Event stream), and switchable between primary and replica.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { toErrorMessage } from '../../../core/error-message.ts';
import { openDatabaseFile } from './database-file.ts';
import { type NodeRole, toPrimaryChangeLine, toTransactionLine } from './node-event.ts';
import { type NodeServer, type NodeServerOptions, openNodeServer } from './node-server.ts';

export const DATABASE_NAME = 'app.db';
/** How often the file is checked for transactions of other programs. */
const POLL_MS = 50;

export interface DatabaseNodeOptions {
  /** The directory of `app.db`, which is made when it does not exist. */
  readonly dir: string;
  /** The port to listen on; 0 takes a free one. */
  readonly port: number;
  /** The time between two writes of the node itself; 0 = it writes nothing. */
  readonly interval_ms: number;
  /** The role at the start; primary when absent. */
  readonly role?: NodeRole;
  /** Called with messages for people: the file cannot be read or written, or was switched to WAL. */
  readonly log?: (message: string) => void;
}

export interface DatabaseNode extends AsyncDisposable {
  readonly url: string;
  readonly databasePath: string;
  /** The last transaction id. */
  readonly changeCounter: number;
  setRole(role: NodeRole): void;
}

/**
 * Opens the file and serves it. A replica goes on writing to its file, as if transactions of the primary arrived. A transaction id is the
 * change counter of the file, so ids go on after a restart; several transactions of other programs within 50 ms appear as one whose id
 * has jumped. `POST /restart {"down_ms"}` closes the port for that time. Rejects when the file cannot be opened or the port is taken.
 */
export async function openDatabaseNode(options: DatabaseNodeOptions): Promise<DatabaseNode> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const databasePath = join(options.dir, DATABASE_NAME);
  const log = options.log ?? (() => undefined);
  const logRead = logOnce(log);
  const logWrite = logOnce(log);
  let role: NodeRole = options.role ?? { role: 'primary' };
  let server: NodeServer | undefined;
  let reopening: NodeJS.Timeout | undefined;
  let disposed = false;
  let changeCounter = 0;
  let restarting = Promise.resolve();

  const file = openDatabaseFile(databasePath);
  const serverOptions: NodeServerOptions = {
    port: options.port,
    dir: options.dir,
    role: () => role,
    onRole: setRole,
    onRestart(down_ms) {
      restarting = restarting.then(() => goDown(down_ms));
    },
  };
  try {
    server = await openNodeServer(serverOptions);
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
  const { port } = server;

  function setRole(next: NodeRole): void {
    role = next;
    server?.publish(toPrimaryChangeLine(role));
  }

  async function goDown(down_ms: number): Promise<void> {
    const closing = server;
    server = undefined;
    await closing?.[Symbol.asyncDispose]();
    clearTimeout(reopening);
    reopening = setTimeout(() => {
      restarting = restarting.then(comeBack);
    }, down_ms);
  }

  async function comeBack(): Promise<void> {
    if (disposed || server !== undefined) return;
    try {
      server = await openNodeServer({ ...serverOptions, port });
    } catch (error) {
      log(`the node cannot come back on port ${port}: ${toErrorMessage(error)}`);
    }
  }

  function poll(): void {
    try {
      const transaction = file.readNewest(Date.now());
      if (transaction !== undefined) {
        changeCounter = transaction.changeCounter;
        server?.publish(toTransactionLine(DATABASE_NAME, transaction));
      }
      logRead(file.wal ? `${databasePath} was switched to WAL: transactions show only after a checkpoint` : undefined);
    } catch (error) {
      logRead(`no transactions are published: ${toErrorMessage(error)}`);
    }
  }

  function beat(): void {
    // Transactions of other programs are published first: they would otherwise be merged with this write.
    poll();
    try {
      if (file.beat(Date.now())) poll();
      logWrite(undefined);
    } catch (error) {
      logWrite(`nothing is written: ${toErrorMessage(error)}`);
    }
  }

  poll();
  const polling = setInterval(poll, POLL_MS);
  const beating = options.interval_ms > 0 ? setInterval(beat, options.interval_ms) : undefined;

  return {
    url: `http://127.0.0.1:${port}`,
    databasePath,
    get changeCounter() {
      return changeCounter;
    },
    setRole,
    async [Symbol.asyncDispose]() {
      disposed = true;
      clearInterval(polling);
      clearInterval(beating);
      clearTimeout(reopening);
      await restarting;
      clearTimeout(reopening);
      await server?.[Symbol.asyncDispose]();
      file[Symbol.dispose]();
    },
  };
}

/** Logs a message unless it is the same as the last one; `undefined` means that the problem is over. */
function logOnce(log: (message: string) => void): (message: string | undefined) => void {
  let last: string | undefined;
  return (message) => {
    if (message === last) return;
    last = message;
    if (message !== undefined) log(message);
  };
}
