// What a small machine tells, and the word that it gets with its next tick.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../eventually.ts';

export interface SmallWorld extends AsyncDisposable {
  readonly url: string;
  /** The paths of what was told, the newest last. */
  readonly told: readonly string[];
  /** Resolves with the number of the next tick. */
  tick(): Promise<number>;
  /** Gives the machine a word, and resolves with what it then tells that begins so. */
  ask(word: string, answer: string): Promise<string>;
  /** Gives the machine a word whose effect is seen elsewhere. */
  order(word: string): void;
}

const LIMIT_MS = 120_000;

export async function openSmallWorld(): Promise<SmallWorld> {
  const told: string[] = [];
  let word = '';
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').slice(1));
    told.push(path);
    const isTick = path.startsWith('tick/');
    response.setHeader('connection', 'close');
    response.end(isTick ? word : 'ok');
    if (isTick) word = '';
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const next = (begin: string) => {
    const from = told.length;
    return eventually(() => told.slice(from).find((path) => path.startsWith(begin)), LIMIT_MS);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    told,
    tick: async () => Number((await next('tick/')).split('/')[1]),
    async ask(given, answer) {
      word = given;
      return (await next(answer)).slice(answer.length);
    },
    order(given) {
      word = given;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
