// A call of a sprite on a connection of its own that is left in the middle: nothing more is sent or read until it is asked how it ended.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { atEnd } from '../at-end.ts';
import type { KillablePlatform } from '../killable-platform.ts';

export interface OpenCall {
  readonly request: ClientRequest;
  /** Resolves once so much of the answer was read that it fits, which is not read on. */
  until(pattern: RegExp): Promise<string>;
  /**
   * Reads on to the end. `whole` after 200 and all of the answer, `broken` when the connection breaks off, else status and code of the
   * refusal.
   */
  ending(): Promise<string>;
  /** The answer, as far as it was read. */
  text(): string;
}

export interface Asked {
  readonly method: string;
  /** The path below the sprite. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** More is to come after it with `stays`. */
  readonly body?: string | Buffer;
  readonly stays?: boolean;
}

export function openCall({ url, token }: KillablePlatform, asked: Asked): OpenCall {
  const { method, path, headers = {}, body, stays = false } = asked;
  const authorization = `Bearer ${token.reveal()}`;
  const call = request(`${url}/v1/sprites/dev-1${path}`, {
    method,
    headers: { authorization, ...headers },
    agent: false,
  });
  atEnd(() => call.destroy());
  const answered = new Promise<IncomingMessage | undefined>((resolve) => {
    call.once('response', (answer) => resolve(answer.setEncoding('latin1')));
    // Nobody waits for this one once there is an answer.
    call.on('error', () => resolve(undefined));
  });
  let text = '';
  if (body !== undefined) call.write(body);
  if (!stays) call.end();
  else call.flushHeaders();
  return {
    request: call,
    text: () => text,
    async until(pattern) {
      const answer = await answered;
      if (answer === undefined) throw new Error(`${method} ${path} was not answered`);
      while (!pattern.test(text)) {
        const piece: string | null = answer.read();
        if (piece === null && (answer.destroyed || answer.readableEnded)) throw new Error(`it ended after ${text}`);
        if (piece === null) await readable(answer);
        else text += piece;
      }
      return text;
    },
    async ending() {
      const answer = await answered;
      if (answer === undefined) return 'broken';
      try {
        for await (const piece of answer) text += piece;
      } catch {
        return 'broken';
      }
      return answer.statusCode === 200 ? 'whole' : `${answer.statusCode} ${JSON.parse(text).error}`;
    },
  };
}

function readable(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['readable', 'end', 'close']) answer.off(event, done);
      resolve();
    };
    for (const event of ['readable', 'end', 'close']) answer.on(event, done);
  });
}
