// A body of 1 GiB in each direction passes the gateway without being kept in memory: the agent alone, and agent and platform.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openGatewayAgent } from '../support/gateway-agent.ts';
import { openPlatformBefore } from '../support/platform-before.ts';
import { openStandInPlatform } from '../support/stand-in-platform.ts';

const TOTAL_BYTES = 1024 ** 3;
const CHUNK = Buffer.alloc(256 * 1024);
const GROWTH_MAX_BYTES = 150 * 1024 ** 2;
const access_policy = { allow_all: true };
const limits = { bodyCap_bytes: 2 * TOTAL_BYTES };

async function writeAll(stream: NodeJS.WritableStream): Promise<void> {
  for (let sent_bytes = 0; sent_bytes < TOTAL_BYTES; sent_bytes += CHUNK.length) {
    if (!stream.write(CHUNK)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
}

type Serve = (incoming: IncomingMessage, response: ServerResponse) => void;

async function openAlone(onGateway: Serve) {
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy }],
    onGateway,
  });
  return await openGatewayAgent(platform.url, limits);
}

async function openBoth(onProvider: Serve) {
  const server = createServer(onProvider);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const many = { perSecond: 1_000, inFlight: 100 };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const platform = await openPlatformBefore(origin, access_policy, {
    gatewayLimits: { connector: many, sprite: many, ...limits },
  });
  return await openGatewayAgent(platform.url, { ...limits, token: platform.token });
}

it.each([
  ['the agent', openAlone],
  ['agent and platform', openBoth],
])('a body of 1 GiB passes %s in both directions with flat memory', async (_name, open) => {
  let arrived_bytes = 0;
  const agent = await open((incoming, response) => {
    incoming.on('data', (chunk: Buffer) => {
      arrived_bytes += chunk.length;
    });
    incoming.once('end', () => void writeAll(response));
  });
  const before_bytes = process.memoryUsage.rss();
  let peak_bytes = 0;
  const sampler = setInterval(() => {
    peak_bytes = Math.max(peak_bytes, process.memoryUsage.rss());
  }, 20);
  onTestFinished(() => clearInterval(sampler));
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
  expect([arrived_bytes, received_bytes]).toEqual([TOTAL_BYTES, TOTAL_BYTES]);
  expect(peak_bytes - before_bytes).toBeLessThan(GROWTH_MAX_BYTES);
});
