// Serves the operations that answer with a stream of events: it gives each reader a place and a sink, and can end all of them.
import type { ServerResponse } from 'node:http';
import type { Operation } from '../contract/operation.ts';
import type { MapError } from './error-answer.ts';
import { clampKeepAlive } from './event-sink.ts';
import type { Call } from './handler.ts';
import { openSink, type ServedSink } from './open-sink.ts';
import { readQuery } from './parse-pairs.ts';
import { StreamCap, type StreamLimits } from './stream-cap.ts';

export interface StreamCall {
  readonly call: Call<Operation, unknown>;
  readonly response: ServerResponse;
  readonly answer: Extract<Operation['answer'], { kind: 'stream' }>;
  readonly listener: string;
  /** Equal for streams of one caller; undefined where callers cannot be distinguished. */
  readonly caller: unknown;
  /** Ends the stream with its reason. */
  readonly until: AbortSignal | undefined;
  readonly handler: (call: Call<Operation, unknown>, sink: ServedSink) => unknown;
  /** Gets the sink before the handler does. */
  readonly onSink: (sink: ServedSink) => void;
  /** Gets the errors that occur once the answer has begun. */
  readonly report: (error: unknown) => void;
}

export class StreamServer {
  readonly #sinks = new Set<ServedSink>();
  readonly #cap: StreamCap;
  readonly #mapError: MapError | undefined;
  #isEnding = false;

  constructor(limits: StreamLimits, mapError?: MapError) {
    this.#cap = new StreamCap(limits);
    this.#mapError = mapError;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#sinks.size;
  }

  /** Throws `too_many_requests`, and any error of the handler before the answer has begun. */
  async serve(stream: StreamCall): Promise<void> {
    const { call, response, answer, report } = stream;
    const { keepalive } = readQuery(call.request.url ?? '');
    const isQuiet = answer.quiet === true && keepalive === undefined;
    const keepAlive_ms = isQuiet ? Number.POSITIVE_INFINITY : clampKeepAlive(keepalive);
    const type = answer.type === undefined ? {} : { type: answer.type };
    const form = { keepAlive_ms, onError: report, mapError: this.#mapError, ...type };
    const leave = this.#cap.open(stream.listener, stream.caller);
    let sink: ServedSink;
    try {
      sink = await openSink(call, response, form, stream.until);
    } catch (error) {
      leave();
      throw error;
    }
    this.#sinks.add(sink);
    stream.onSink(sink);
    sink.onClose(() => {
      leave();
      this.#sinks.delete(sink);
    });
    try {
      await stream.handler(call, sink);
      if (this.#isEnding) sink.end();
    } catch (error) {
      if (!response.headersSent) throw error;
      report(error);
      sink.failWith(error);
    }
  }

  /** Ends all open streams; a later one ends as soon as it has begun. */
  end(): void {
    this.#isEnding = true;
    for (const sink of this.#sinks) sink.end();
  }
}
