// The informational answers (1xx) of an upstream on their way to the caller: the next one is read only when the kernel has taken the
// one before it. The deadline of the answer goes on meanwhile.
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AnswerSource } from './answer-writer.ts';
import { informationalSources } from './informational-sources.ts';

export class InformationalWriter {
  readonly #response: ServerResponse;
  #paused: AnswerSource | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** `raw` are the headers as undici gave them, `headers` those for the caller, flat. */
  write(status: number, raw: Dispatcher.DispatchController['rawHeaders'], headers: string[]): void {
    this.#response.writeInformation(status, headers, this.#onTaken);
    if (this.#response.writableLength === 0 || !Array.isArray(raw)) return;
    this.#paused = informationalSources.get(raw);
    this.#paused?.pause();
  }

  readonly #onTaken = (): void => {
    this.#paused?.resume();
    this.#paused = undefined;
  };
}
