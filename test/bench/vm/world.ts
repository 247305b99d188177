// What the agent of a machine that is measured talks to: a platform with one connector, and the provider behind it.
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../../src/core/secret.ts';
import { openPlatform, type Platform } from '../../../src/platform/platform.ts';
import { openFreePort } from '../../support/free-port.ts';

export interface World extends AsyncDisposable {
  /** What the agent of the machine is given. */
  readonly token: Secret;
  readonly environment: Readonly<Record<string, string>>;
  /** A call that the agent's gateway passes on to the provider, and the provider as the machine reaches it without the agent. */
  readonly gatewayPath: string;
  readonly providerUrl: string;
  /** Keeps the platform's records as they are now. */
  keep(): Promise<void>;
  /** The platform goes on with the records that were kept: to it each restore is the first. */
  renew(): Promise<void>;
}

/** The address of this machine in a guest's network. */
const HOST = '10.77.0.1';
const KEY = new Secret('ab'.repeat(32));
const ORGANIZATION = 'acme';
const SPRITE = 'web';
const CONNECTOR = 'conn_1';

export async function openWorld(dir: string): Promise<World> {
  const provider = createServer((_call, answer) => answer.end('ok'));
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const providerPort = (provider.address() as AddressInfo).port;
  const port = await openFreePort();
  const kept = join(dir, 'kept');
  let records = join(dir, 'records');
  let renewals = 0;
  const open = () => openBenchPlatform({ dir: records, port, providerPort });
  let platform = await open();
  const { token, machine } = await createRecords(platform);
  return {
    token,
    environment: {
      REMORA_BASE_URL: `http://${HOST}:${port}`,
      REMORA_SPRITE: SPRITE,
      REMORA_APP: ORGANIZATION,
      REMORA_MACHINE: machine,
    },
    gatewayPath: `/v1/gateway/sample/${CONNECTOR}/`,
    providerUrl: `http://${HOST}:${providerPort}/`,
    async keep() {
      await platform[Symbol.asyncDispose]();
      cpSync(records, kept, { recursive: true });
    },
    async renew() {
      await platform[Symbol.asyncDispose]();
      renewals += 1;
      records = join(dir, `records-${renewals}`);
      cpSync(kept, records, { recursive: true });
      platform = await open();
    },
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      provider.close();
    },
  };
}

interface Records {
  readonly dir: string;
  readonly port: number;
  readonly providerPort: number;
}

async function openBenchPlatform({ dir, port, providerPort }: Records): Promise<Platform> {
  return await openPlatform({
    dir,
    keys: [KEY],
    listen: { host: '127.0.0.1', port },
    catalogue: [
      {
        provider: 'sample',
        display_name: 'sample',
        description: 'answers at once',
        address: { type: 'fixed', url: `http://127.0.0.1:${providerPort}` },
        injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
        allow_http: true,
        sample_path: '/',
      },
    ],
    version: '0.0.0',
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore },
  });
}

function ignore(): void {}

const machines = z.array(z.object({ id: z.string() })).min(1);

async function createRecords({ admin, url }: Platform): Promise<{ readonly token: Secret; readonly machine: string }> {
  await admin.createOrganization(ORGANIZATION);
  await admin.createSprite({ organization: ORGANIZATION, name: SPRITE, external: true });
  const access_policy = { allow_all: true };
  const connector = {
    organization: ORGANIZATION,
    provider: 'sample',
    id: CONNECTOR,
    api_key: new Secret('key'),
    access_policy,
  };
  await admin.createConnector(connector);
  const token = await admin.createToken({ organization: ORGANIZATION, sprite: SPRITE, name: 'agent' });
  const full = await admin.createToken({ organization: ORGANIZATION });
  const headers = { authorization: `Bearer ${full.reveal()}` };
  const answer = await fetch(`${url}/v1/apps/${ORGANIZATION}/machines`, { headers });
  return { token, machine: machines.parse(await answer.json())[0]?.id ?? '' };
}
