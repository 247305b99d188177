// A database node for development: a real SQLite file that changes every second, published like the event stream of a
// LiteFS node (document 3, Event stream; wire-facts.md, section 1), and switchable between primary and replica.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabaseFile } from './database-file.ts';
import { type NodeDoor, type NodeDoorOptions, openNodeDoor } from './node-door.ts';
import { type NodeRole, toPrimaryChangeLine, toTransactionLine } from './node-event.ts';

export const DATABASE_NAME = 'app.db';
/** How often the file is looked at for transactions of other programs. */
const POLL_MS = 50;

export interface DatabaseNodeOptions {
  /** Where `app.db` is, or is made. */
  readonly dir: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Between two writes of its own; 0 = it writes nothing. */
  readonly interval_ms: number;
  /** Primary when absent. */
  readonly role?: NodeRole;
  /** What a person should know: the file cannot be read or written, or was switched to WAL. */
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
 * As a replica its file goes on changing, as if transactions of the primary arrived. Transaction ids are the change counter
 * of the file, so they go on after a restart; several transactions of other programs within 50 ms show as one whose number
 * has jumped. `POST /restart {"down_ms"}` takes the node off its port for a while. Rejects when the file or the port cannot
 * be had.
 */
export async function openDatabaseNode(options: DatabaseNodeOptions): Promise<DatabaseNode> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const databasePath = join(options.dir, DATABASE_NAME);
  const log = options.log ?? (() => undefined);
  const tellRead = sayOnce(log);
  const tellWrite = sayOnce(log);
  let role: NodeRole = options.role ?? { role: 'primary' };
  let door: NodeDoor | undefined;
  let reopening: NodeJS.Timeout | undefined;
  let disposed = false;
  let changeCounter = 0;
  let restarting = Promise.resolve();

  const file = openDatabaseFile(databasePath);
  const doorOptions: NodeDoorOptions = {
    port: options.port,
    dir: options.dir,
    role: () => role,
    onRole: setRole,
    onRestart(down_ms) {
      restarting = restarting.then(() => goDown(down_ms));
    },
  };
  try {
    door = await openNodeDoor(doorOptions);
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
  const { port } = door;

  function setRole(next: NodeRole): void {
    role = next;
    door?.publish(toPrimaryChangeLine(role));
  }

  async function goDown(down_ms: number): Promise<void> {
    const closing = door;
    door = undefined;
    await closing?.[Symbol.asyncDispose]();
    clearTimeout(reopening);
    reopening = setTimeout(() => {
      restarting = restarting.then(comeBack);
    }, down_ms);
  }

  async function comeBack(): Promise<void> {
    if (disposed || door !== undefined) return;
    try {
      door = await openNodeDoor({ ...doorOptions, port });
    } catch (error) {
      log(`the node cannot come back on port ${port}: ${toText(error)}`);
    }
  }

  function poll(): void {
    try {
      const transaction = file.readNewest(Date.now());
      if (transaction !== undefined) {
        changeCounter = transaction.changeCounter;
        door?.publish(toTransactionLine(DATABASE_NAME, transaction));
      }
      tellRead(file.wal ? `${databasePath} was switched to WAL: transactions show only after a checkpoint` : undefined);
    } catch (error) {
      tellRead(`no transactions are published: ${toText(error)}`);
    }
  }

  function beat(): void {
    // What others wrote is published first, so that it does not hide behind this write.
    poll();
    try {
      if (file.beat(Date.now())) poll();
      tellWrite(undefined);
    } catch (error) {
      tellWrite(`nothing is written: ${toText(error)}`);
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
      await door?.[Symbol.asyncDispose]();
      file[Symbol.dispose]();
    },
  };
}

/** Passes a message on when it is not the one that came last; `undefined` = all is well again. */
function sayOnce(log: (message: string) => void): (message: string | undefined) => void {
  let last: string | undefined;
  return (message) => {
    if (message === last) return;
    last = message;
    if (message !== undefined) log(message);
  };
}

function toText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
