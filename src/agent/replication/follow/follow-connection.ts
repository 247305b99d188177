// One connection to the node, from the request to its end. It passes what it reads to a listener, in order.
import type { InitEvent, ReplicationEvent } from '../../../contract/replication.ts';
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { toLineSlices } from '../../../core/line-slices.ts';
import { createLineFramer, LineTooLongError } from '../../../core/ndjson.ts';
import { nextSlice } from '../../../core/next-slice.ts';
import type { Primary } from '../../../core/replication/primary-status.ts';
import type { Upstream } from '../../upstream.ts';
import { FollowFailure } from './follow-failure.ts';
import type { FollowerEvent } from './follower-states.ts';
import type { FollowerTiming } from './follower-timing.ts';
import { probeNode } from './node-probe.ts';
import { openNodeStream } from './node-stream.ts';
import { createSilenceWatch } from './silence-watch.ts';
import { parseStreamLine } from './stream-line.ts';

/** How long lines are processed in one turn of the event loop. What is written to readers has a limit of its own. */
const SLICE_MS = 2;

export interface NodeIdentity {
  readonly nodeId: string | undefined;
  readonly clusterId: string | undefined;
}

/** Each `onConnected` is followed by exactly one `onDisconnected`. An attempt that does not connect causes one `onFailed`. */
export interface FollowerListener {
  onConnected(node: NodeIdentity, init: InitEvent, line: string): void;
  onEvent(event: ReplicationEvent, line: string): void;
  onUnknown(line: string): void;
  /** Called after the lines of one slice have been passed on. Reading waits for a promise that it returns. */
  onRead(): Promise<void> | undefined;
  /** A promise for which reading waits while recording lags behind; undefined = no need to wait. */
  drained(): Promise<void> | undefined;
  onInvalid(reason: string): void;
  /** Called when the connection ended inside a line. */
  onCut(): void;
  onDisconnected(failure: FollowFailure): void;
  onFailed(failure: FollowFailure): void;
  /** The primary that is known, for a probe to compare with. */
  primary(): Primary;
}

export interface FollowConnectionOptions {
  readonly node: URL;
  readonly clock: Clock;
  readonly dispatcher: () => Upstream['dispatcher'];
  readonly mayConnect: () => boolean;
  readonly listener: FollowerListener;
  readonly timing: FollowerTiming;
  readonly move: (event: FollowerEvent) => void;
  /** Ends the connection at once when it is aborted, with a FollowFailure as the reason. */
  readonly end: AbortController;
}

export interface ConnectionEnd {
  /** Why the connection ended. A clean end is a failure too, because it may hide a gap. */
  readonly failure: FollowFailure;
  /** True when `init` was read and the connection lasted, which shows that the node is healthy. */
  readonly stable: boolean;
}

export async function followConnection(options: FollowConnectionOptions): Promise<ConnectionEnd> {
  const { clock, end, listener, move, node, timing } = options;
  const framer = createLineFramer();
  let identity: NodeIdentity = { nodeId: undefined, clusterId: undefined };
  let connected_ms: number | undefined;
  let initDeadline: NodeJS.Timeout | undefined;

  const watch = createSilenceWatch({
    clock,
    silence_ms: timing.silence_ms,
    async probe(signal) {
      if (!options.mayConnect()) return;
      move('silent');
      const expected = { nodeId: identity.nodeId, primary: listener.primary() };
      const dispatcher = options.dispatcher();
      await probeNode({ node, dispatcher, ...expected, deadline_ms: timing.probe_ms, signal });
    },
    onAlive: () => move('probe_ok'),
    onDead(error) {
      move('probe_failed');
      end.abort(toFailure(error, node));
    },
  });

  function onLine(line: string): void {
    const parsed = parseStreamLine(line);
    switch (parsed.type) {
      case 'unknown':
        listener.onUnknown(line);
        break;
      case 'invalid':
        listener.onInvalid(parsed.reason);
        break;
      case 'event':
        if (connected_ms === undefined) onFirst(parsed.event, line);
        else listener.onEvent(parsed.event, line);
        break;
      default:
        parsed satisfies never;
    }
  }

  function onFirst(event: ReplicationEvent, line: string): void {
    if (event.type !== 'init') {
      throw new FollowFailure('no_init', `${node.origin} did not begin its stream with init`);
    }
    clearTimeout(initDeadline);
    connected_ms = clock.mono_ms();
    move('init');
    listener.onConnected(identity, event, line);
    watch.start();
  }

  /** Takes a last line without its newline only when it parses: a JSON object that was cut does not. */
  function onRest(rest: string): void {
    if (rest === '') return;
    if (connected_ms !== undefined && parseStreamLine(rest).type === 'event') onLine(rest);
    else listener.onCut();
  }

  try {
    const stream = await openNodeStream(node, options.dispatcher(), end.signal);
    identity = stream;
    move('answered');
    initDeadline = setTimeout(() => {
      end.abort(new FollowFailure('no_init', `${node.origin} answered, and no init came in ${timing.init_ms} ms`));
    }, timing.init_ms);
    let turn_ms = clock.mono_ms();
    for await (const chunk of stream.chunks) {
      watch.onBytes();
      for (const slice of toLineSlices(chunk)) {
        framer.push(slice, onLine);
        const written = listener.onRead();
        await written;
        await listener.drained();
        if (written === undefined && clock.mono_ms() - turn_ms < SLICE_MS) continue;
        await nextSlice();
        turn_ms = clock.mono_ms();
      }
    }
    throw new FollowFailure('node_ended', `${node.origin} ended the stream`);
  } catch (error) {
    const failure = toFailure(error, node);
    onRest(framer.end());
    void listener.onRead();
    if (connected_ms === undefined) listener.onFailed(failure);
    else listener.onDisconnected(failure);
    return { failure, stable: connected_ms !== undefined && clock.mono_ms() - connected_ms >= timing.stable_ms };
  } finally {
    clearTimeout(initDeadline);
    watch.stop();
    end.abort(new FollowFailure('stopped', 'the connection is over'));
  }
}

function toFailure(error: unknown, node: URL): FollowFailure {
  if (error instanceof FollowFailure) return error;
  if (error instanceof LineTooLongError) {
    return new FollowFailure('line_too_long', `${node.origin}: ${error.message}; the connection was dropped`);
  }
  const text = toErrorMessage(error);
  return new FollowFailure('node_broke_off', `following ${node.origin} failed (${text})`, { cause: error });
}
