// What `Sprite` does with processes, and what their commands and control connections do.
import { randomUUID } from 'node:crypto';
import { type SessionKillStream, type Sprite, SpriteCommand, SpritesClient } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import { drain, type SdkStack, type Step, type Steps } from '../sdk-stack.ts';

function textOf(command: SpriteCommand): () => string {
  const parts: Buffer[] = [];
  command.stdout.on('data', (part: Buffer) => parts.push(part));
  return () => Buffer.concat(parts).toString();
}

const spawned = (command: SpriteCommand) => new Promise<void>((resolve) => command.once('spawn', resolve));

/** The id of a process whose caller loses its connection when the machine sleeps. */
async function sleeping(sprite: Sprite): Promise<string> {
  // One that was killed just now may still be listed.
  const name = randomUUID();
  const command = sprite.spawn('sh', ['-c', 'echo up; exec sleep 600', name], { detachable: true });
  command.on('error', () => undefined);
  const text = textOf(command);
  await eventually(() => text() !== '');
  const session = (await sprite.listSessions()).find((one) => one.command.includes(name));
  if (session === undefined) throw new Error('the session is not listed');
  return session.id;
}

const kill = async (sprite: Sprite, id: string) => await sprite.killSession(id, 'SIGKILL', '5s');

/** Kills a process that was there before the machine slept, unless it ended with the machine. */
function killing(run: (stream: SessionKillStream) => Promise<void>): Step {
  return {
    prepare: async ({ sprite }) => {
      const id = await sleeping(sprite);
      return async ({ state }) => {
        if (state === 'stopped') await expect(kill(sprite, id)).rejects.toMatchObject({ statusCode: 404 });
        await run(await kill(sprite, state === 'stopped' ? await sleeping(sprite) : id));
      };
    },
  };
}

async function withControl(stack: SdkStack, run: (sprite: Sprite) => Promise<void>): Promise<void> {
  const { token, url } = stack;
  const sprite = new SpritesClient(token, { baseURL: url, controlMode: true }).sprite(stack.sprite.name);
  await run(sprite);
  sprite.closeControlConnection();
}

export const processSteps: Steps = {
  'Sprite.spawn': async ({ sprite }) => {
    const cat = sprite.spawn('cat');
    const text = textOf(cat);
    await spawned(cat);
    cat.stdin.end('over the wire');
    expect(await cat.wait()).toBe(0);
    await eventually(() => text() === 'over the wire');
  },
  'Sprite.exec': async ({ sprite }) => expect(await sprite.exec('echo hello')).toMatchObject({ stdout: 'hello\n' }),
  'Sprite.execFile': async ({ sprite }) => {
    const failing = sprite.execFile('sh', ['-c', 'echo "$A"; exit 7'], { env: { A: 'x=y' }, cwd: '/usr' });
    await expect(failing).rejects.toMatchObject({ exitCode: 7, stdout: 'x=y\n' });
  },
  'Sprite.execFileHTTP': async ({ sprite }) => {
    expect(await sprite.execFileHTTP('cat', [], { input: 'in' })).toEqual({ stdout: 'in', stderr: '', exitCode: 0 });
  },
  'Sprite.createSession': async ({ sprite }) => {
    const shell = sprite.createSession('sh', ['-i'], { rows: 30, cols: 100 });
    const text = textOf(shell);
    await spawned(shell);
    shell.stdin.write('stty size; exit 0\n');
    expect(await shell.wait()).toBe(0);
    await eventually(() => text().includes('30 100'));
  },
  'Sprite.attachSession': {
    prepare: async ({ sprite }) => {
      const id = await sleeping(sprite);
      return async ({ state }) => {
        const second = sprite.attachSession(id);
        if (state === 'stopped') {
          await new Promise((resolve) => second.on('error', resolve));
          return;
        }
        await spawned(second);
        await drain(await kill(sprite, id));
        expect(await second.wait()).toBe(137);
      };
    },
  },
  'Sprite.listSessions': {
    prepare: async ({ sprite }) => {
      const id = await sleeping(sprite);
      return async ({ state }) => {
        const sessions = await sprite.listSessions();
        const isThere = expect.objectContaining({ id, isActive: true, tty: false });
        expect(sessions).toEqual(state === 'stopped' ? [] : [isThere]);
        if (state !== 'stopped') await drain(await kill(sprite, id));
      };
    },
  },
  'Sprite.killSession': killing(async (stream) => {
    expect((await drain(stream)).at(-1)).toMatchObject({ type: 'complete', exitCode: 137 });
  }),
  'SessionKillStream.next': killing(async (stream) => {
    expect(await stream.next()).toMatchObject({ type: 'signal' });
    await drain(stream);
  }),
  'SessionKillStream.processAll': killing(async (stream) => {
    const types: string[] = [];
    await stream.processAll(({ type }) => void types.push(type));
    expect(types.at(-1)).toBe('complete');
  }),
  'SessionKillStream.close': killing(async (stream) => {
    stream.close();
    expect(await stream.next()).toBeNull();
  }),
  'SessionKillStream.@@asyncIterator': killing(async (stream) => {
    expect((await drain(stream)).map(({ type }) => type)).toContain('exited');
  }),
  'SpriteCommand.start': async ({ sprite }) => {
    const command = new SpriteCommand(sprite, 'true', [], {});
    await command.start();
    expect(await command.wait()).toBe(0);
  },
  'SpriteCommand.wait': async ({ sprite }) => expect(await sprite.spawn('false').wait()).toBe(1),
  'SpriteCommand.kill': async ({ sprite }) => {
    const command = sprite.spawn('sleep', ['600']);
    await spawned(command);
    command.kill();
    expect(await command.wait()).toBe(143);
  },
  'SpriteCommand.signal': async ({ sprite }) => {
    const command = sprite.spawn('sleep', ['600']);
    await spawned(command);
    command.signal('INT');
    expect(await command.wait()).toBe(130);
  },
  'SpriteCommand.resize': async ({ sprite }) => {
    const shell = sprite.spawn('sh', ['-i'], { tty: true, rows: 30, cols: 100 });
    const text = textOf(shell);
    await spawned(shell);
    shell.resize(90, 25);
    await eventually(() => {
      shell.stdin.write('stty size\n');
      return text().includes('25 90');
    });
    shell.stdin.write('exit 0\n');
    expect(await shell.wait()).toBe(0);
  },
  'SpriteCommand.exitCode': async ({ sprite }) => {
    const command = sprite.spawn('sh', ['-c', 'exit 4']);
    expect(command.exitCode()).toBe(-1);
    await command.wait();
    expect(command.exitCode()).toBe(4);
  },
  'Sprite.useControlMode': async (stack) => {
    expect(stack.sprite.useControlMode()).toBe(false);
    await withControl(stack, async (sprite) => expect((await sprite.exec('echo one')).stdout).toBe('one\n'));
  },
  'Sprite.getControlConnection': (stack) =>
    withControl(stack, async (sprite) => expect((await sprite.getControlConnection()).isClosed()).toBe(false)),
  'Sprite.hasControlConnection': (stack) =>
    withControl(stack, async (sprite) => {
      expect(sprite.hasControlConnection()).toBe(false);
      await sprite.getControlConnection();
      expect(sprite.hasControlConnection()).toBe(true);
    }),
  'Sprite.closeControlConnection': (stack) =>
    withControl(stack, async (sprite) => {
      const connection = await sprite.getControlConnection();
      sprite.closeControlConnection();
      expect(connection.isClosed()).toBe(true);
    }),
};
