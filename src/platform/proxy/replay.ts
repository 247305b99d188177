// An answer that asks for its request to be sent to another machine of the app: it is, once, and that machine's answer takes its place.
import type { Dispatcher } from 'undici';
import { RemoraError } from '../../core/remora-error.ts';
import { toTexts } from '../../http/raw-headers.ts';
import { KEPT_MAX_BYTES, KeptBody } from './kept-body.ts';

type Dispatch = Pick<Dispatcher, 'dispatch'>;
type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Options = Dispatcher.DispatchOptions;
type Headers = Record<string, string | string[] | undefined>;

export interface ReplayOptions {
  /** Where the request goes first. */
  readonly first: Dispatch;
  /** The id of that machine. */
  readonly from: string;
  /** The way to a machine of the app. Throws what the caller is to read. */
  readonly find: (instance: string) => Promise<Dispatch>;
}

/** See `ExchangeUpstream.dispatcher`. */
export function withReplay(options: ReplayOptions): Dispatch {
  return {
    dispatch(call, handler) {
      const body = new KeptBody(call.body as ConstructorParameters<typeof KeptBody>[0]);
      const again = (instance: string) => sendAgain(options, call, handler, body, instance);
      return options.first.dispatch({ ...call, body: body.open() }, new ReplayHandler(handler, again));
    },
  };
}

async function sendAgain(
  { from, find }: ReplayOptions,
  call: Options,
  handler: Handler,
  body: KeptBody,
  instance: string,
): Promise<void> {
  if (!body.isKept) {
    const message = `a request with a body of more than ${KEPT_MAX_BYTES} bytes cannot be replayed at another machine`;
    throw new RemoraError('upstream_refused', message);
  }
  const dispatcher = await find(instance);
  const source = `instance=${from}`;
  const headers = [...(call.headers as string[]), 'remora-replay-src', source, 'fly-replay-src', source];
  dispatcher.dispatch({ ...call, headers, body: body.open() }, handler);
}

/** `instance=ID` among the fields of the header; undefined where it names no machine. */
export function readReplay(headers: Headers): string | undefined {
  const value = headers['remora-replay'] ?? headers['fly-replay'];
  if (typeof value !== 'string') return undefined;
  return /(?:^|;)\s*instance=([\w-]{1,64})\s*(?:;|$)/.exec(value)?.[1];
}

/** Those of the flat headers that may ask for a replay. */
function pickReplay(raw: readonly string[]): Headers {
  const picked: Record<string, string | string[]> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (name !== 'remora-replay' && name !== 'fly-replay') continue;
    const [before, value] = [picked[name], raw[index + 1] ?? ''];
    picked[name] = before === undefined ? value : [before, value].flat();
  }
  return picked;
}

class ReplayHandler implements Handler {
  readonly #handler: Handler;
  readonly #again: (instance: string) => Promise<void>;
  #isLeft = false;

  constructor(handler: Handler, again: (instance: string) => Promise<void>) {
    this.#handler = handler;
    this.#again = again;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onRequestUpgrade(...given: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.#handler.onRequestUpgrade?.(...given);
  }

  onResponseStarted(): void {
    (this.#handler as { onResponseStarted?(): void }).onResponseStarted?.();
  }

  onResponseStart(controller: Controller, ...[status, headers, text]: [number, Headers, string?]): void {
    const instance = status < 200 ? undefined : readReplay(pickReplay(toTexts(controller.rawHeaders)));
    if (instance === undefined) {
      this.#handler.onResponseStart?.(controller, status, headers, text);
      return;
    }
    this.#isLeft = true;
    controller.abort(new Error('it is replayed at another machine'));
    this.#again(instance).catch((error: Error) => this.#handler.onResponseError?.(controller, error));
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.#isLeft) this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: Headers): void {
    if (!this.#isLeft) this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (!this.#isLeft) this.#handler.onResponseError?.(controller, error);
  }
}
