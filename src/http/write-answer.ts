// Calls the handler of an operation and writes its answer in the form that the operation has.
import type { Operation } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { acceptsStreamOnly } from './accepts-event-stream.ts';
import type { AnyEdgeOptions, AnyHandler } from './edge-options.ts';
import type { Exchange } from './exchange.ts';
import { type Call, Reply } from './handler.ts';
import type { ServedSink } from './open-sink.ts';
import { sendJsonInTurns } from './send-json-in-turns.ts';
import type { StreamServer } from './stream-server.ts';

const NO_CONTENT = 204;

export interface WriteAnswerDeps extends Pick<AnyEdgeOptions, 'until' | 'callerOf' | 'checkAnswers'> {
  readonly streams: StreamServer;
  /** Throws `shutting_down`. */
  readonly checkOpen: () => void;
  /** Gets the errors that occur once a stream has begun. */
  readonly report: (error: unknown, exchange: Exchange) => void;
}

export interface ReadyCall {
  readonly exchange: Exchange;
  readonly operation: Operation;
  readonly call: Call<Operation, unknown>;
  readonly handler: AnyHandler;
  /** Runs before work goes on after a wait. */
  readonly onTurn: () => void;
}

/** Rejects with the error of the handler while nothing is answered. */
export type WriteAnswer = (ready: ReadyCall) => unknown;

export function createAnswerWriter(deps: WriteAnswerDeps): WriteAnswer {
  return (ready) => {
    const { exchange, operation, call, handler } = ready;
    const { answer } = operation;
    switch (answer.kind) {
      case 'raw':
        return handler(call, exchange.response);
      case 'stream': {
        deps.checkOpen();
        const { response, listener } = exchange;
        const caller = deps.callerOf?.(call.principal);
        const until = deps.until?.(call.principal);
        const onSink = (sink: ServedSink) => {
          exchange.cut = (reason) => sink.failWith(reason);
        };
        const report = (error: unknown) => deps.report(error, exchange);
        return deps.streams.serve({ call, response, answer, listener, caller, until, handler, onSink, report });
      }
      case 'json':
        return writeJson(ready, answer, deps.checkAnswers === true);
      case 'empty':
        return writeEmpty(ready, answer.status);
      case 'text':
        return writeText(ready, answer);
      default:
        return answer satisfies never;
    }
  };
}

type AnswerOf<K extends Operation['answer']['kind']> = Extract<Operation['answer'], { kind: K }>;

async function writeJson(ready: ReadyCall, answer: AnswerOf<'json'>, isChecked: boolean): Promise<void> {
  const { request, response } = ready.exchange;
  if (acceptsStreamOnly(request.headers.accept)) {
    throw new RemoraError(
      'not_acceptable',
      'there is no stream here: this is one JSON value; ask for application/json',
    );
  }
  const value = await ready.handler(ready.call);
  if (response.writableEnded) return;
  ready.onTurn();
  if (value === undefined && answer.noContent !== undefined) {
    response.writeHead(NO_CONTENT).end();
    return;
  }
  const reply = value instanceof Reply ? value : new Reply(answer.status, value);
  if (isChecked) answer.schema.parse(reply.body);
  await sendJsonInTurns(response, reply, ready.onTurn);
}

async function writeEmpty({ exchange, call, handler }: ReadyCall, status: number): Promise<void> {
  await handler(call);
  exchange.response.writeHead(status).end();
}

async function writeText({ exchange, call, handler }: ReadyCall, answer: AnswerOf<'text'>): Promise<void> {
  const text = String(await handler(call));
  exchange.response.writeHead(answer.status, { 'content-type': answer.type }).end(text);
}
