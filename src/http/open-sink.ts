// The sink for one caller of a stream operation: a response, or a WebSocket where it asked for one.
import type { ServerResponse } from 'node:http';
import type { Operation } from '../contract/operation.ts';
import { type EventSinkOptions, ResponseSink } from './event-sink.ts';
import type { Call } from './handler.ts';
import type { WebSocketSink } from './websocket-sink.ts';

export type ServedSink = ResponseSink<unknown> | WebSocketSink<unknown>;

/**
 * The sink. `until` ends the stream with its reason. The library of a protocol is loaded for the first reader that needs it.
 */
export async function openSink(
  { request, upgrade }: Call<Operation, unknown>,
  response: ServerResponse,
  form: EventSinkOptions,
  until: AbortSignal | undefined,
): Promise<ServedSink> {
  let sink: ServedSink;
  if (upgrade === undefined) sink = new ResponseSink(request, response, form);
  else {
    const { WebSocketSink } = await import('./websocket-sink.ts');
    sink = new WebSocketSink(request, response, upgrade, form);
  }
  if (until === undefined) return sink;
  until.throwIfAborted();
  const onEnd = () => sink.failWith(until.reason);
  until.addEventListener('abort', onEnd);
  sink.onClose(() => until.removeEventListener('abort', onEnd));
  return sink;
}
