// Which platform process holds the channel of a machine, for the others on the database.
import type { Log } from '../../core/log.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Storage } from '../storage/storage.ts';
import type { ChannelSession } from './channel-session.ts';

export interface ChannelRecords extends AsyncDisposable {
  /** The process that holds it by the record; undefined when none does. A process that was killed is still in the record. */
  holderOf(machine_id: string): Promise<string | undefined>;
  /** Both write later, one after the other; a failure is logged. */
  opened(channel: ChannelSession): void;
  closed(channel: ChannelSession): void;
}

/** Forgets first what an earlier process of this host has left. */
export async function openChannelRecords(
  storage: Pick<Storage, 'run' | 'one'>,
  host: string,
  log: Pick<Log, 'warn'>,
): Promise<ChannelRecords> {
  await storage.run('DELETE FROM channels WHERE host = $1', [host]);
  const openings = new WeakMap<ChannelSession, { readonly id: string; readonly written: Promise<void> }>();
  const writing = new Set<Promise<void>>();

  function write(work: () => Promise<unknown>): Promise<void> {
    const writes = (async () => {
      try {
        await work();
      } catch (err) {
        log.warn({ err }, 'the holder of a channel could not be recorded');
      }
    })();
    writing.add(writes);
    void writes.then(() => writing.delete(writes));
    return writes;
  }

  return {
    async holderOf(machine_id) {
      const text = 'SELECT host FROM channels WHERE machine_id = $1';
      return (await storage.one<{ readonly host: string }>(text, [machine_id]))?.host;
    },
    opened(channel) {
      const id = randomHex(8);
      const values = [channel.machine_id, host, id, channel.incarnation.generation];
      const written = write(() =>
        storage.run(
          `INSERT INTO channels (machine_id, host, id, generation) VALUES ($1, $2, $3, $4)
           ON CONFLICT (machine_id) DO UPDATE SET host = excluded.host, id = excluded.id, generation = excluded.generation`,
          values,
        ),
      );
      openings.set(channel, { id, written });
    },
    closed(channel) {
      const opening = openings.get(channel);
      if (opening === undefined) return;
      void write(async () => {
        await opening.written;
        await storage.run('DELETE FROM channels WHERE machine_id = $1 AND id = $2', [channel.machine_id, opening.id]);
      });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(writing);
    },
  };
}
