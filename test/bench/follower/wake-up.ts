// Measures the time from the moment a node writes a transaction to the answer of a caller that waits for it, in milliseconds. The node is
// in this process, so that both ends have one clock.
import { createServer, type ServerResponse } from 'node:http';
import type { Client } from 'undici';

const toHex = (n: number) => n.toString(16).padStart(16, '0');

export interface WakeUpNode extends Disposable {
  readonly url: string;
  /** Waits for `rounds` transactions, one after the other; the delays in rising order. */
  measure(client: Client, rounds: number): Promise<number[]>;
}

export async function openWakeUpNode(): Promise<WakeUpNode> {
  let follower: ServerResponse | undefined;
  let id = 0;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'litefs-id': '0123456789ABCDEF' });
    response.write('{"type":"init","data":{"isPrimary":true}}\n');
    follower = response;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  async function measureOne(client: Client): Promise<number> {
    id += 1;
    const data = {
      txID: toHex(id),
      postApplyChecksum: toHex(id),
      pageSize: 4096,
      commit: 1,
      timestamp: new Date().toISOString(),
    };
    const line = `${JSON.stringify({ type: 'tx', db: 'app.db', data })}\n`;
    const answer = client.request({ method: 'GET', path: `/v1/replication/app.db/wait?txid=${toHex(id)}&timeout=10` });
    // Time for the wait to be there.
    await new Promise((resolve) => setTimeout(resolve, 10));
    const begun_ms = performance.now();
    follower?.write(line);
    const { body, statusCode } = await answer;
    const took_ms = performance.now() - begun_ms;
    await body.dump();
    if (statusCode !== 200) throw new Error(`the wait was answered with ${statusCode}`);
    return took_ms;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    async measure(client, rounds) {
      const took_ms: number[] = [];
      for (let round = 0; round < rounds; round += 1) took_ms.push(await measureOne(client));
      return took_ms.sort((a, b) => a - b);
    },
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
