// A machine of the process driver that runs the real agent, and what a test asks of both.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { Secret } from '../../src/core/secret.ts';
import { ask } from './ask.ts';
import { eventually } from './eventually.ts';
import { openFreePort } from './free-port.ts';
import { openTestPlatform, type TestPlatformOptions } from './open-platform.ts';
import { remoraPath } from './run-remora.ts';

const command = { command: process.execPath, args: [remoraPath, 'agent'] };

export interface ChannelReport {
  readonly state: string;
  readonly since: string | null;
  readonly streams: number;
  readonly opened: number;
}

/** A platform with a sprite `dev-1` whose machine runs. */
export async function openAgentMachine(options: TestPlatformOptions = {}) {
  const listen = { host: '127.0.0.1', port: await openFreePort() };
  let platform = await openTestPlatform({ agentCommand: command, listen, ...options });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const { id, dir } = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
  const socket = join(dir, 'agent.sock');
  const path = `/v1/apps/acme/machines/${id}`;
  const post = (action: string) => platform.call({ method: 'POST', path: `${path}/${action}` });
  const wait = (query: string) => platform.call({ path: `${path}/wait?${query}` });
  const status = async () => JSON.parse((await ask(socket, { target: '/v1/status' })).text);
  const started = await post('start');
  if (started.status !== 200) throw new Error(started.text);
  return {
    get platform() {
      return platform;
    },
    id,
    dir,
    socket,
    post,
    wait,
    status,
    /** The channel by the agent's status, once it is open for this time. */
    channel: (opened = 1): Promise<ChannelReport> =>
      eventually(async () => {
        // Nobody answers while it is started again.
        const channel = (await status().catch(() => undefined))?.details?.channel;
        return channel?.state === 'open' && channel.opened >= opened ? channel : undefined;
      }),
    async restart(): Promise<void> {
      const { port } = new URL(platform.url);
      const { dir: platformDir } = platform;
      await platform[Symbol.asyncDispose]();
      platform = await openTestPlatform({
        agentCommand: command,
        ...options,
        dir: platformDir,
        listen: { host: '127.0.0.1', port: Number(port) },
        endMachines: true,
      });
    },
    machineToken: () => new Secret(readFileSync(join(dir, 'token'), 'utf8').trim()),
    spriteToken: () => platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' }),
    /** The headers of the incarnation of the machine, without the nonce, which nobody but the agent has. */
    async identity(): Promise<Record<string, string>> {
      const { generation, incarnation } = await status();
      return { 'remora-generation': String(generation), 'remora-incarnation': incarnation };
    },
    /** Asks for the channel and resolves with the status. */
    dial: (token: Secret, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asking = request(`${platform.url}${path}/channel`, {
          headers: {
            authorization: `Bearer ${token.reveal()}`,
            connection: 'Upgrade',
            upgrade: CHANNEL_PROTOCOL,
            ...headers,
          },
        });
        asking.once('upgrade', (response, connection) => {
          connection.destroy();
          resolve(response.statusCode);
        });
        asking.once('response', (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asking.once('error', reject);
        asking.end();
      }),
  };
}
