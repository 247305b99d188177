// A body of 1 GiB in each direction passes the gateway without being kept in memory.
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openGatewayAgent } from '../support/gateway-agent.ts';
import { openStandInPlatform } from '../support/stand-in-platform.ts';

const TOTAL_BYTES = 1024 ** 3;
const CHUNK = Buffer.alloc(256 * 1024);
const GROWTH_MAX_BYTES = 150 * 1024 ** 2;

async function writeAll(stream: NodeJS.WritableStream): Promise<void> {
  for (let sent_bytes = 0; sent_bytes < TOTAL_BYTES; sent_bytes += CHUNK.length) {
    if (!stream.write(CHUNK)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
}

describe('a body of 1 GiB', () => {
  it('passes in both directions with flat memory', async () => {
    let arrived_bytes = 0;
    const platform = await openStandInPlatform({
      connectors: [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }],
      onGateway: (incoming, response) => {
        incoming.on('data', (chunk: Buffer) => {
          arrived_bytes += chunk.length;
        });
        incoming.once('end', () => void writeAll(response));
      },
    });
    const agent = await openGatewayAgent(platform.url, { bodyCap_bytes: 2 * TOTAL_BYTES });
    const before_bytes = process.memoryUsage.rss();
    let peak_bytes = 0;
    const sampler = setInterval(() => {
      peak_bytes = Math.max(peak_bytes, process.memoryUsage.rss());
    }, 20);
    const received_bytes = await new Promise<number>((resolve, reject) => {
      const call = request({ socketPath: agent.path, method: 'POST', path: '/v1/gateway/openai/conn_1/big' });
      call.once('error', reject);
      call.once('response', (response) => {
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
        });
        response.once('end', () => resolve(size));
        response.once('error', reject);
      });
      void writeAll(call);
    });
    clearInterval(sampler);
    expect([arrived_bytes, received_bytes]).toEqual([TOTAL_BYTES, TOTAL_BYTES]);
    expect(peak_bytes - before_bytes).toBeLessThan(GROWTH_MAX_BYTES);
  });
});
