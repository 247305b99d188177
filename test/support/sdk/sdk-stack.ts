// What the methods of `@fly/sprites` are driven against: a platform, a machine that runs the real agent, and the client.
import { type Sprite, SpritesClient } from '@fly/sprites';
import { openAgentMachine } from '../agent-machine.ts';
import { eventually } from '../eventually.ts';
import { tempDir } from '../temp-dir.ts';

export interface SdkStack {
  readonly machine: Awaited<ReturnType<typeof openAgentMachine>>;
  readonly client: SpritesClient;
  readonly sprite: Sprite;
  /** A directory that the sprite may write. */
  readonly dir: string;
  /** A port in the machine that sends back what it gets. */
  readonly echoPort: () => Promise<number>;
}

/** Drives one method; it throws when the method does not do what it is for. */
export type Step = (stack: SdkStack) => Promise<void>;
export type Steps = Readonly<Record<string, Step>>;

const echo = `
const server = require('node:net').createServer((socket) => socket.pipe(socket));
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`;

export async function openSdkStack(): Promise<SdkStack> {
  const machine = await openAgentMachine({ trustMachines: true });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  const sprite = client.sprite('dev-1');
  return { machine, client, sprite, dir: tempDir(), echoPort: createEchoPort(sprite) };
}

/** A service that runs already is asked for by its process: a restart of the machine gives it another port. */
function createEchoPort(sprite: Sprite): () => Promise<number> {
  let known: { readonly pid: number | undefined; readonly port: number } | undefined;
  return async () => {
    const running = (await sprite.listServices()).find(({ name }) => name === 'echo')?.state?.pid;
    if (known !== undefined && running === known.pid) return known.port;
    const port = await eventually(() => startEcho(sprite));
    known = { pid: (await sprite.getService('echo')).state?.pid, port };
    return port;
  };
}

async function startEcho(sprite: Sprite): Promise<number | undefined> {
  const events = await drain(await sprite.createService('echo', { cmd: process.execPath, args: ['-e', echo] }, '1s'));
  const ports = events.map(({ data = '' }) => /port (\d+)/.exec(data)?.[1]);
  const port = ports.findLast((found) => found !== undefined);
  return port === undefined ? undefined : Number(port);
}

/** All that a stream has. */
export async function drain<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
