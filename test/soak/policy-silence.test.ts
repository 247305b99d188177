// A stream of policy changes whose other end has fallen silent without a word: no keep-alive for 45 s, and it is asked for again.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openGatewayAgent } from '../support/gateway-agent.ts';
import { soon } from '../support/soon.ts';
import { openStandInPlatform } from '../support/stand-in-platform.ts';

const KEEP_ALIVE_MS = 15_000;

it('a silent stream is dropped after three missed keep-alives, one that keeps alive is not', async () => {
  const platform = await openStandInPlatform();
  const asked_ms: number[] = [];
  /** The first reader gets nothing after the greeting; later ones get keep-alives. */
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/v1/gateway/changes') === true) {
      asked_ms.push(performance.now());
      response.write('{"type":"hello","version":"a"}\n');
      if (asked_ms.length === 1) return;
      const alive = setInterval(() => response.write('\n'), KEEP_ALIVE_MS);
      response.once('close', () => clearInterval(alive));
      return;
    }
    fetch(platform.url + request.url).then(async (answer) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await openGatewayAgent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await soon(() => expect(asked_ms).toHaveLength(2), 60_000);
  const [first_ms = 0, second_ms = 0] = asked_ms;
  expect(second_ms - first_ms).toBeGreaterThan(40_000);
  expect(second_ms - first_ms).toBeLessThan(50_000);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  expect(asked_ms).toHaveLength(2);
});
