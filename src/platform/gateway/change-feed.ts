// Tells agents when what they may call has changed. A version stands for everything that a sprite sees of the gateway; versions are
// compared after each write.
import type { GatewayChange } from '../../contract/gateway.ts';
import { inBatches } from '../../core/in-batches.ts';
import type { EventSink } from '../../http/event-sink.ts';
import { StorageFailure } from '../storage/storage.ts';

/** The most readers of one sprite: copies of its machine, or an agent that leaves connections open, must not use up all connections. */
const READERS_PER_SPRITE = 4;

export interface ChangeFeed {
  /** Sends the current version, and then each new one. `recheck` throws when the reader may not go on. */
  follow(
    sprite_id: string,
    since: string | undefined,
    sink: EventSink<GatewayChange>,
    recheck: () => Promise<unknown>,
  ): Promise<void>;
  /** Ends the readers of a sprite that may not go on: they ask again and get the error then. Never throws. */
  recheck(sprite_id: string): Promise<void>;
  /** Call it after a write. All readers are compared soon, once for all the writes until then. */
  check(): void;
}

interface Reader {
  readonly sprite_id: string;
  readonly sink: EventSink<GatewayChange>;
  readonly recheck: () => Promise<unknown>;
  /** The version that was sent last; undefined before the first. */
  version: string | undefined;
}

/** Resolves with undefined for a sprite that is gone; its readers are ended. */
export type VersionOf = (sprite_id: string) => Promise<string | undefined>;

/** `look`: called for each look at all of the readers, which may share what it reads. */
export function createChangeFeed(readVersions: () => VersionOf): ChangeFeed {
  const readers = new Set<Reader>();
  let isComparing = false;
  let isWanted = false;
  /** A look that has begun, for readers that begin meanwhile. What is written after it has begun is found by the `check` of each. */
  let begun: VersionOf | undefined;

  /** Many agents begin at once after a restart: one look is enough for all. */
  async function firstVersion(sprite_id: string): Promise<string | undefined> {
    begun ??= readVersions();
    const versionOf = begun;
    try {
      return await versionOf(sprite_id);
    } finally {
      if (begun === versionOf) begun = undefined;
    }
  }

  async function compare(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      const greeted = [...readers].filter((reader) => reader.version !== undefined);
      const versionOf = readVersions();
      await inBatches([...Map.groupBy(greeted, (reader) => reader.sprite_id)], async ([id, own]) => {
        const version = await tryVersion(versionOf, id);
        for (const reader of own) sendVersion(reader, version);
      });
    }
    isComparing = false;
  }

  function sendVersion(reader: Reader, version: string | undefined | 'unknown'): void {
    if (version === 'unknown' || version === reader.version) return;
    if (version === undefined) {
      reader.sink.end();
      return;
    }
    reader.version = version;
    reader.sink.send({ type: 'changed', version });
  }

  /** Undefined ends the reader: it asks again and gets the error then. While the database cannot be asked, readers stay. */
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
    async recheck(sprite_id) {
      await inBatches(
        [...readers].filter((reader) => reader.sprite_id === sprite_id),
        async (reader) => {
          try {
            await reader.recheck();
          } catch (error) {
            if (!(error instanceof StorageFailure)) reader.sink.end();
          }
        },
      );
    },
    async follow(sprite_id, since, sink, recheck) {
      const own = [...readers].filter((other) => other.sprite_id === sprite_id);
      if (own.length >= READERS_PER_SPRITE) own[0]?.sink.end();
      const reader: Reader = { sprite_id, sink, recheck, version: undefined };
      readers.add(reader);
      sink.onClose(() => readers.delete(reader));
      const version = await firstVersion(sprite_id);
      if (version === undefined) {
        sink.end();
        return;
      }
      reader.version = version;
      sink.send({ type: 'hello', version });
      if (since !== undefined && since !== version) sink.send({ type: 'changed', version });
      // This reader had no version to compare during writes that came while its first one was read.
      check();
    },
    check,
  };
}
