// Tells the agents that follow it when what they may call has changed: versions made of what a sprite sees, compared whenever
// something was written.
import type { GatewayChange } from '../../contract/gateway.ts';
import type { EventSink } from '../../http/event-sink.ts';

/** Of one sprite. A copy of its machine, or an agent that forgets to hang up, must not take every connection. */
const READERS_PER_SPRITE = 4;

export interface ChangeFeed {
  /** Sends the version of now, and from then on each other one. */
  follow(sprite_id: string, since: string | undefined, sink: EventSink<GatewayChange>): void;
  /** Something was written: looks at every reader soon, and once for all that is written until then. */
  check(): void;
}

interface Reader {
  readonly sprite_id: string;
  readonly sink: EventSink<GatewayChange>;
  version: string;
}

/** `versionOf`: undefined for a sprite that is gone, whose readers are ended. */
export function createChangeFeed(versionOf: (sprite_id: string) => string | undefined): ChangeFeed {
  const readers = new Set<Reader>();
  let _checking: NodeJS.Immediate | undefined;

  function compare(): void {
    _checking = undefined;
    const versions = new Map<string, string | undefined>();
    for (const reader of [...readers]) {
      const { sprite_id, sink } = reader;
      if (!versions.has(sprite_id)) versions.set(sprite_id, tryVersionOf(sprite_id));
      const version = versions.get(sprite_id);
      if (version === undefined) sink.end();
      else if (version !== reader.version) {
        reader.version = version;
        sink.send({ type: 'changed', version });
      }
    }
  }

  /** A reader that is ended asks again, and then hears what is wrong. */
  function tryVersionOf(sprite_id: string): string | undefined {
    try {
      return versionOf(sprite_id);
    } catch {
      return undefined;
    }
  }

  return {
    follow(sprite_id, since, sink) {
      const version = versionOf(sprite_id);
      if (version === undefined) {
        sink.end();
        return;
      }
      const own = [...readers].filter((other) => other.sprite_id === sprite_id);
      if (own.length >= READERS_PER_SPRITE) own[0]?.sink.end();
      const reader = { sprite_id, sink, version };
      readers.add(reader);
      sink.onClose(() => readers.delete(reader));
      sink.send({ type: 'hello', version });
      if (since !== undefined && since !== version) sink.send({ type: 'changed', version });
    },
    check() {
      _checking ??= setImmediate(compare);
    },
  };
}
