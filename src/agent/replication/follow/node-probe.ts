// Probes a silent node: reads `init` on a second, short connection and compares it with what the followed stream said.
import { setImmediate } from 'node:timers/promises';
import { toLineSlices } from '../../../core/line-slices.ts';
import { createLineFramer } from '../../../core/ndjson.ts';
import { type Primary, samePrimary, toPrimary } from '../../../core/replication/primary-status.ts';
import type { Upstream } from '../../upstream.ts';
import { FollowFailure } from './follow-failure.ts';
import { openNodeStream } from './node-stream.ts';
import { parseStreamLine } from './stream-line.ts';

export interface ProbeOptions {
  readonly node: URL;
  readonly dispatcher: Upstream['dispatcher'];
  /** `Litefs-Id` of the followed stream. */
  readonly nodeId: string | undefined;
  readonly primary: Primary;
  readonly deadline_ms: number;
  readonly signal: AbortSignal;
}

/** Resolves when a new connection says the same. Throws `node_silent` or `node_changed` otherwise, within the deadline. */
export async function probeNode(options: ProbeOptions): Promise<void> {
  const { node } = options;
  const end = new AbortController();
  const silent = () => new FollowFailure('node_silent', `${node.origin} is silent and does not answer a probe`);
  const deadline = setTimeout(() => end.abort(silent()), options.deadline_ms);
  const stop = () => end.abort(new FollowFailure('stopped', 'the probe is over'));
  options.signal.addEventListener('abort', stop, { once: true });
  try {
    const stream = await openNodeStream(node, options.dispatcher, end.signal);
    if (stream.nodeId !== options.nodeId) throw changed(node, 'it has been restarted');
    const primary = await readInit(stream.chunks);
    if (primary === undefined) throw silent();
    if (!samePrimary(primary, options.primary)) throw changed(node, 'it has another primary than the stream told');
  } finally {
    clearTimeout(deadline);
    options.signal.removeEventListener('abort', stop);
    stop();
  }
}

async function readInit(chunks: AsyncIterable<Uint8Array>): Promise<Primary | undefined> {
  const framer = createLineFramer();
  let primary: Primary | undefined;
  for await (const chunk of chunks) {
    for (const slice of toLineSlices(chunk)) {
      framer.push(slice, (line) => {
        const parsed = primary === undefined ? parseStreamLine(line) : undefined;
        if (parsed?.type === 'event' && parsed.event.type === 'init') primary = toPrimary(parsed.event.data);
      });
      if (primary !== undefined) return primary;
      await setImmediate();
    }
  }
  return undefined;
}

function changed(node: URL, what: string): FollowFailure {
  return new FollowFailure('node_changed', `${node.origin} was silent, and a probe says that ${what}`);
}
