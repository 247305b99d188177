// What the methods of `@fly/sprites` are driven against: one sprite of a `remora dev`, and the client.
import { type Sprite, SpritesClient } from '@fly/sprites';
import type { DevProcess } from '../dev-process.ts';
import { eventually } from '../eventually.ts';
import { openFreePort } from '../free-port.ts';
import { tempDir } from '../temp-dir.ts';
import type { MachineMoves } from './machine-moves.ts';
import { openMachineMoves } from './machine-moves.ts';

/** The states in which a method finds the machine of its sprite. */
export const machineStates = ['running', 'suspended', 'stopped'] as const;
export type MachineState = (typeof machineStates)[number];

export interface SdkStack {
  readonly url: string;
  readonly token: string;
  readonly organization: string;
  readonly client: SpritesClient;
  readonly sprite: Sprite;
  readonly machine: MachineMoves;
  /** The state in which the method that is driven finds the machine. */
  readonly state: MachineState;
  /** A directory that the sprite may write. */
  readonly dir: string;
  /** A port in the machine that sends back what it gets, the same one after a cold start. */
  readonly echoPort: () => Promise<number>;
}

/** Drives one method; it throws when the method does not do what it is for. */
export type Drive = (stack: SdkStack) => Promise<void>;
/** `prepare` makes what the method needs while the machine is awake, so that the method itself is the first call of a machine that sleeps. */
export type Step = Drive | { readonly prepare: (stack: SdkStack) => Promise<Drive> };
export type Steps = Readonly<Record<string, Step>>;

const echo = `
const server = require('node:net').createServer((socket) => socket.pipe(socket));
server.listen(Number(process.env.ECHO_PORT), '127.0.0.1');`;

/** The sprite is made when there is none of this name. */
export async function openSdkStack({ record }: DevProcess, name: string, state: MachineState): Promise<SdkStack> {
  const { platform_url: url, token, app } = record;
  const client = new SpritesClient(token, { baseURL: url });
  const { sprites } = await client.listSprites({ prefix: name });
  if (!sprites.some((known) => known.name === name)) await client.createSprite(name);
  const sprite = client.sprite(name);
  const machine = await openMachineMoves({ url, token, app, sprite: name });
  return {
    url,
    token,
    organization: app,
    client,
    sprite,
    machine,
    state,
    dir: tempDir(),
    echoPort: echoPortOf(sprite),
  };
}

/** A service with an `http_port` is waited for by those who connect to that port. */
function echoPortOf(sprite: Sprite): () => Promise<number> {
  let port: number | undefined;
  return async () => {
    port ??= await defineEcho(sprite);
    return port;
  };
}

async function defineEcho(sprite: Sprite): Promise<number> {
  const port = await openFreePort();
  const config = { cmd: process.execPath, args: ['-e', echo], env: { ECHO_PORT: String(port) }, httpPort: port };
  await drain(await sprite.createService('echo', config, '0s'));
  await eventually(async () => (await sprite.getService('echo')).state?.status === 'running');
  return port;
}

/** All that a stream has. */
export async function drain<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
