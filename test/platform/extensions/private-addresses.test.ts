// Private addresses of extensions: who gets one, where it leads, and who reaches it. The machine of the customer is a network like that of a
// virtual machine, with its rules; the provider is an app with real agents.
import { isIPv6 } from 'node:net';
import { describe, expect, test } from 'vitest';
import { toPrivateAddress } from '../../../src/core/private-address.ts';
import type { MachineNetwork } from '../../../src/platform/machines/drivers/machine-driver.ts';
import { toMachineNetwork } from '../../../src/platform/machines/drivers/qemu/private-networks.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openFreePort } from '../../support/free-port.ts';
import { isWithoutNetworks, openGuestPlace } from '../../support/guest-place.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { openExtensions, QUICK, startProvisioner } from '../../support/provisioner.ts';
import { startTcp } from '../../support/proxied-machine.ts';
import { remoraPath } from '../../support/run-remora.ts';

const networkOf = (address: string) => address.split(':').slice(0, 4).join(':');

test('an address is that of its organization and of what has it, each time', () => {
  const of = (organization: string, owner: 'machine' | 'extension', id: string) =>
    toPrivateAddress(organization, owner, id);
  const all = [
    of('o1', 'machine', 'a'),
    of('o1', 'extension', 'a'),
    of('o1', 'machine', 'b'),
    of('o2', 'machine', 'a'),
  ];
  expect(new Set(all).size).toBe(4);
  expect(all.every((address) => isIPv6(address) && address.startsWith('fdaa:'))).toBe(true);
  expect(new Set(all.slice(0, 3).map(networkOf)).size).toBe(1);
  expect(networkOf(all[0] ?? '')).not.toBe(networkOf(all[3] ?? ''));
  expect(of('o1', 'machine', 'a')).toBe(all[0]);
});

test('where machines have no network of their own there is none: the provider is sent none, and one that is asked for is 501', async () => {
  const { provider, create } = await openExtensions();
  const asked = await create('my-kv', { private_address: true });
  expect([asked.status, asked.json.error, asked.json.details.missing]).toEqual([
    501,
    'not_implemented',
    expect.stringContaining('--qemu-network egress'),
  ]);
  const made = await create('my-kv');
  expect([made.status, made.json.ip_address]).toEqual([201, null]);
  expect(provider.of('POST').map(({ json }) => 'ip_address' in json)).toEqual([false]);
});

describe.skipIf(isWithoutNetworks())('in the network of a machine', () => {
  const opened = openOnce(async () => {
    const provider = await startProvisioner();
    const networks: MachineNetwork[] = [];
    const platform = await openTestPlatform({
      agentCommand: { command: process.execPath, args: [remoraPath, 'agent'] },
      trustMachines: true,
      extensionTimes: QUICK,
      privateNetworks: () => networks,
    });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const { id: machine_id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
    const { private_ip } = (await platform.call({ path: `/v1/apps/acme/machines/${machine_id}` })).json;
    const guest = await openGuestPlace(private_ip);
    networks.push(toMachineNetwork({ machine_id, pid: guest.pid, start_ticks: 1 }));

    await platform.admin.createOrganization('kvco');
    await platform.admin.createOrganization('other');
    const ofProvider = await platform.admin.createToken({ organization: 'kvco' });
    const callAsProvider = (method: string, path: string, body?: unknown) =>
      platform.call({ method, path, body, token: ofProvider });
    await callAsProvider('POST', '/v1/apps', { name: 'db', organization: 'kvco' });
    const registered = await platform.admin.registerExtensionProvider({
      name: 'kv',
      base_url: provider.base_url,
      app: 'db',
    });
    provider.secrets.push(registered.secrets.provisioning);
    provider.spoil(({ method, json }, response) => {
      if (method !== 'POST') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: `r-${json.id}`, config: {}, platform_app_name: 'db' }));
      provider.resources.set(`r-${json.id}`, { status: 'ready', plan: 'small' });
      return true;
    });
    const createFor = async (organization: string, name: string) => {
      const email = `${name}@example.com`;
      const { user } = await platform.admin.createUser({ email, name: 'Ada', organization, role: 'admin' });
      const token = await platform.admin.createToken({ organization, user_id: user.id });
      const body = { provider: 'kv', name, private_address: true };
      const made = await platform.call({ method: 'POST', path: '/v1/extensions', body, token });
      if (made.status !== 201) throw new Error(made.text);
      const remove = () => platform.call({ method: 'DELETE', path: `/v1/extensions/${name}`, token });
      return { record: made.json, remove };
    };
    const own = await createFor('acme', 'own');
    const foreign = await createFor('other', 'foreign');
    return { platform, provider, guest, private_ip, callAsProvider, own, foreign };
  });

  test('an extension of a provider that runs here has an address in the network of its organization, and the provider is told', () => {
    const { provider, private_ip, own, foreign } = opened();
    const told = provider.of('POST').map(({ json }) => json.ip_address);
    expect(told).toEqual([own.record.ip_address, foreign.record.ip_address]);
    expect(own.record).toMatchObject({ platform_app_name: 'db', state: 'ready' });
    expect(networkOf(own.record.ip_address)).toBe(networkOf(private_ip));
    expect(networkOf(foreign.record.ip_address)).not.toBe(networkOf(private_ip));
  });

  test('it leads to the services of the app that the provider has named, which learn who has connected, and nowhere before there are some', async () => {
    const { guest, callAsProvider, private_ip, own, foreign } = opened();
    const [v1, v2, inside] = [5_001, 5_002, await openFreePort()];
    const address = own.record.ip_address;
    // The machine makes sure first that its address is its own.
    await eventually(async () => (await guest.dial(address, v1)) === 'ECONNREFUSED');

    const handlers = ['proxy_proto'];
    const ports = [
      { port: v1, handlers },
      { port: v2, handlers, proxy_proto_options: { version: 'v2' } },
    ];
    const body = { config: { services: [{ internal_port: inside, ports }] } };
    const { id } = (await callAsProvider('POST', '/v1/apps/db/machines', body)).json;
    const platformAsProvider = {
      call: ({ method, path, body: given }: { method: string; path: string; body: unknown }) =>
        callAsProvider(method, path, given),
    };
    await eventually(() =>
      startTcp(platformAsProvider, id, { count: inside }).then(
        () => true,
        () => false,
      ),
    );
    const headAt = (at: number) =>
      eventually(async () => {
        const text = await guest.dial(address, at, 'hello');
        return text.startsWith('{') ? Buffer.from(JSON.parse(text).head, 'base64') : undefined;
      });
    const head = (await headAt(v1)).toString('latin1');
    expect(head).toMatch(/^PROXY TCP6 \S+ \S+ \d+ \d+\r\nhello$/);
    const [, , from = '', to = '', , port] = head.split(/[ \r]/);
    const same = (one: string, other: string) => new URL(`http://[${one}]`).host === new URL(`http://[${other}]`).host;
    expect([same(from, private_ip), same(to, address), port]).toEqual([true, true, String(v1)]);
    const second = await headAt(v2);
    expect([second.subarray(0, 4).toString('hex'), second.subarray(-5).toString()]).toEqual(['0d0a0d0a', 'hello']);

    // A port that no service has, an address of another organization, and an address that the machine was not given.
    await eventually(async () => (await guest.dial(address, inside)) === 'ECONNREFUSED');
    expect(await guest.dial(foreign.record.ip_address, v1)).toBe('SILENCE');
    const forged = 'fdaa:1:2:3:4:5:6:7';
    await guest.addAddress(forged);
    expect(await guest.dial(address, v1, 'hello', forged)).toBe('SILENCE');

    await own.remove();
    await eventually(async () => (await guest.dial(address, v1)) === 'ECONNREFUSED');
  });
});
