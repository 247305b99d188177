// Tells the agents that follow it when what they may call has changed: versions made of what a sprite sees, compared whenever
// something was written.
import type { GatewayChange } from '../../contract/gateway.ts';
import type { EventSink } from '../../http/event-sink.ts';
import { StorageFailure } from '../storage/storage.ts';
import { inBatches } from './in-batches.ts';

/** Of one sprite. A copy of its machine, or an agent that forgets to hang up, must not take every connection. */
const READERS_PER_SPRITE = 4;

export interface ChangeFeed {
  /** Sends the version of now, and from then on each other one. */
  follow(sprite_id: string, since: string | undefined, sink: EventSink<GatewayChange>): Promise<void>;
  /** Something was written: looks at every reader soon, and once for all that is written until then. */
  check(): void;
}

interface Reader {
  readonly sprite_id: string;
  readonly sink: EventSink<GatewayChange>;
  /** Undefined until it was told one. */
  version: string | undefined;
}

/** Undefined for a sprite that is gone, whose readers are ended. */
export type VersionOf = (sprite_id: string) => Promise<string | undefined>;

/** `look`: called for each look at all of the readers, which may share what it reads. */
export function createChangeFeed(look: () => VersionOf): ChangeFeed {
  const readers = new Set<Reader>();
  let isComparing = false;
  let isWanted = false;

  async function compare(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      const greeted = [...readers].filter((reader) => reader.version !== undefined);
      const ids = [...new Set(greeted.map((reader) => reader.sprite_id))];
      const versionOf = look();
      const versions = new Map(await inBatches(ids, async (id) => [id, await tryVersion(versionOf, id)] as const));
      for (const reader of greeted) tell(reader, versions.get(reader.sprite_id));
    }
    isComparing = false;
  }

  function tell(reader: Reader, version: string | undefined | 'unknown'): void {
    if (version === 'unknown' || version === reader.version) return;
    if (version === undefined) {
      reader.sink.end();
      return;
    }
    reader.version = version;
    reader.sink.send({ type: 'changed', version });
  }

  /** A reader that is ended asks again, and then hears what is wrong. That the database cannot be asked changes nothing. */
  async function tryVersion(versionOf: VersionOf, sprite_id: string): Promise<string | undefined> {
    try {
      return await versionOf(sprite_id);
    } catch (error) {
      return error instanceof StorageFailure ? 'unknown' : undefined;
    }
  }

  function check(): void {
    isWanted = true;
    if (isComparing) return;
    isComparing = true;
    setImmediate(compare);
  }

  return {
    async follow(sprite_id, since, sink) {
      const own = [...readers].filter((other) => other.sprite_id === sprite_id);
      if (own.length >= READERS_PER_SPRITE) own[0]?.sink.end();
      const reader: Reader = { sprite_id, sink, version: undefined };
      readers.add(reader);
      sink.onClose(() => readers.delete(reader));
      const version = await look()(sprite_id);
      if (version === undefined) {
        sink.end();
        return;
      }
      reader.version = version;
      sink.send({ type: 'hello', version });
      if (since !== undefined && since !== version) sink.send({ type: 'changed', version });
      // What was written while the version was asked for passed this reader by.
      check();
    },
    check,
  };
}
