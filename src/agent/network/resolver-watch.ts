// Notices at once that the resolver of the network policy is gone, has names refused in its place, and makes way when it is there again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import type { DnsFront } from '../../dns/dns-front.ts';
import type { NetworkLink } from './network-link.ts';

export interface ResolverWatchOptions {
  /** Its calls start the process that resolves names where it does not run. */
  readonly client: NetworkLink['client'];
  /** Whether something is restricted. */
  readonly isNeeded: () => boolean;
  readonly log: Log;
}

export interface ResolverWatch extends AsyncDisposable {
  /** Watches from now on, for as long as something is restricted. */
  begin(): void;
  /** Does what `begin` does, for a resolver that has just left this port. */
  beginWithout(port: number): void;
}

const PAUSE_MS = 250;

export function createResolverWatch({ client, isNeeded, log }: ResolverWatchOptions): ResolverWatch {
  const ending = new AbortController();
  const { signal } = ending;
  let isFollowing = false;
  let following: Promise<void> | undefined;
  let place: { readonly opened: Promise<DnsFront | undefined>; readonly leaving: AbortController } | undefined;

  function standIn(port: number): void {
    if (port === 0 || place !== undefined || signal.aborted) return;
    const leaving = new AbortController();
    const opened = import('./stand-in.ts')
      .then(({ openStandIn }) => openStandIn(port, leaving.signal))
      .catch((err: unknown) => {
        if (!leaving.signal.aborted) log.warn({ err }, 'no name is refused by an answer while none is resolved');
        return undefined;
      });
    place = { opened, leaving };
  }

  async function makeWay(): Promise<void> {
    const left = place;
    place = undefined;
    left?.leaving.abort();
    await (await left?.opened)?.[Symbol.asyncDispose]();
  }

  /** Resolves with the port of a resolver that was there and is gone; undefined where none was. */
  async function seeOneOut(): Promise<number | undefined> {
    let port: number | undefined;
    try {
      for await (const { dns_port } of client.stream('watchResolver', { signal })) {
        port = dns_port;
        await makeWay();
      }
    } catch {
      // Who wants something of the process hears why it does not answer.
    }
    return port;
  }

  async function follow(): Promise<void> {
    isFollowing = true;
    while (!signal.aborted && (isNeeded() || place !== undefined)) {
      const port = await seeOneOut();
      if (port !== undefined && isNeeded()) standIn(port);
      else await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    isFollowing = false;
  }

  function begin(): void {
    if (!isFollowing) following = follow();
  }

  return {
    begin,
    beginWithout(port) {
      standIn(port);
      begin();
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
      await makeWay();
    },
  };
}
