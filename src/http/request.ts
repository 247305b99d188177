// One call over whatever dispatches, as a promise of its answer: what the `request` of undici's dispatchers is, without undici.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { AnswerBody } from './answer-body.ts';
import { toPairs, toTexts } from './raw-headers.ts';

export interface RequestOptions {
  /** Scheme and host. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable | null;
  /** Gives the call up, also while its answer is read. */
  readonly signal?: AbortSignal | null;
  /** How long the head of the answer may take; 0 = no limit. Without it the limit of the connections counts. */
  readonly headersTimeout?: number;
  /** How long a pause within the body may take; 0 = no limit. Without it the limit of the connections counts. */
  readonly bodyTimeout?: number;
  /** The call has a connection of its own, which is closed after it. */
  readonly reset?: boolean;
}

export interface Answer {
  readonly statusCode: number;
  /** The names are in lower case; several values where the answer has the name more than once. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: AnswerBody;
}

/** Resolves for every status. Rejects with the error of the connection, or with the reason of `signal`. */
export function request(dispatcher: Pick<Dispatcher, 'dispatch'>, options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { headers = {}, body = null, signal, ...more } = options;
    const call = new RequestedCall(signal ?? undefined, resolve, reject);
    if (call.isOver) return;
    dispatcher.dispatch(
      {
        ...more,
        method: options.method as Dispatcher.HttpMethod,
        headers: Object.entries(headers).flat(),
        body: typeof body === 'string' ? Buffer.from(body) : body,
      },
      call,
    );
  });
}

class RequestedCall implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: AnswerBody | undefined;
  /** Nothing of it is awaited any more. */
  isOver = false;

  constructor(signal: AbortSignal | undefined, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    if (signal?.aborted === true) this.#giveUp();
    else signal?.addEventListener('abort', this.#giveUp);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.isOver) controller.abort(this.#signal?.reason);
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number): void {
    if (statusCode < 200 || this.isOver) return;
    const body = new AnswerBody(controller);
    this.#body = body;
    body.once('close', () => this.#finish());
    this.#resolve({ statusCode, headers: toRecord(toTexts(controller.rawHeaders)), body });
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#body?.pass(bytes);
  }

  onResponseEnd(): void {
    this.#body?.finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  readonly #giveUp = (): void => {
    const reason: unknown = this.#signal?.reason;
    const body = this.#body;
    this.#fail(reason);
    if (body === undefined) this.#controller?.abort(reason as Error);
  };

  #fail(error: unknown): void {
    if (this.isOver) return;
    this.#finish();
    if (this.#body === undefined) this.#reject(error);
    else this.#body.destroy(error as Error);
  }

  #finish(): void {
    this.isOver = true;
    this.#signal?.removeEventListener('abort', this.#giveUp);
  }
}

function toRecord(flat: readonly string[]): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = Object.create(null);
  for (const [given, value] of toPairs(flat)) {
    const name = given.toLowerCase();
    const known = found[name];
    if (known === undefined) found[name] = value;
    else if (typeof known === 'string') found[name] = [known, value];
    else known.push(value);
  }
  return found;
}
