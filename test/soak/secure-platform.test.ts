// A machine whose platform stands behind a server that ends TLS: what it holds open stays open for longer than anything may take to begin.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { SpritesClient } from '@fly/sprites';
import { expect, onTestFinished, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { openFreePort } from '../support/free-port.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hasNoOpenssl, makeTlsPair } from '../support/tls-pair.ts';

const LONG_S = 30;
const CHUNK_BYTES = 1_000_000;

/** Ends TLS for what listens on the port. */
async function endTls(port: number): Promise<{ readonly url: string; readonly certificate: string }> {
  const dir = tempDir();
  makeTlsPair(dir, 'localhost', ['DNS:localhost']);
  const certificate = join(dir, 'cert.pem');
  const pair = { key: readFileSync(join(dir, 'key.pem')), cert: readFileSync(certificate) };
  const server = createServer(pair, (secured) => {
    const plain = connect(port, '127.0.0.1');
    plain.pipe(secured).pipe(plain);
    for (const [one, other] of [
      [plain, secured],
      [secured, plain],
    ] as const) {
      one.on('error', () => undefined).once('close', () => other.destroy());
    }
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, certificate };
}

test.skipIf(hasNoOpenssl)('its channel, its lanes and what goes over them', async () => {
  const port = await openFreePort();
  const { url, certificate } = await endTls(port);
  const env = () => ({ REMORA_BASE_URL: url, REMORA_MACHINES_API: url, NODE_EXTRA_CA_CERTS: certificate });
  const machine = await openAgentMachine({
    trustMachines: true,
    listen: { host: '127.0.0.1', port },
    agentCommand: { command: process.execPath, args: [remoraPath, 'agent'], env },
  });
  const { since } = await machine.channel();
  const sprite = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url }).sprite('dev-1');
  const run = async (script: string) =>
    (await sprite.execFile('sh', ['-c', script], { maxBuffer: 2 * LONG_S * CHUNK_BYTES })).stdout;
  const each = (command: string) => `for i in $(seq ${LONG_S}); do ${command}; sleep 1; done`;
  const [quiet, ticks, bulk] = await Promise.all([
    run(`sleep ${LONG_S}; echo over`),
    run(each('echo $i')),
    run(each(`head -c ${CHUNK_BYTES} /dev/zero`)),
  ]);
  expect(quiet).toBe('over\n');
  expect(String(ticks).trim().split('\n')).toHaveLength(LONG_S);
  expect(bulk).toHaveLength(LONG_S * CHUNK_BYTES);
  expect(await machine.channel()).toMatchObject({ state: 'open', since, opened: 1 });
});
