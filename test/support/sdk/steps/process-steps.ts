// What `Sprite` does with processes, and what their commands and control connections do.
import { type Sprite, SpriteCommand, SpritesClient } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import { drain, type SdkStack, type Steps } from '../sdk-stack.ts';

function textOf(command: SpriteCommand): () => string {
  const parts: Buffer[] = [];
  command.stdout.on('data', (part: Buffer) => parts.push(part));
  return () => Buffer.concat(parts).toString();
}

const spawned = (command: SpriteCommand) => new Promise<void>((resolve) => command.once('spawn', resolve));

async function sleeping(sprite: Sprite): Promise<{ readonly command: SpriteCommand; readonly id: string }> {
  const command = sprite.spawn('sh', ['-c', 'echo up; exec sleep 600'], { detachable: true });
  const text = textOf(command);
  await eventually(() => text() !== '');
  const session = (await sprite.listSessions()).find((one) => one.command.includes('sleep 600'));
  if (session === undefined) throw new Error('the session is not listed');
  return { command, id: session.id };
}

const killed = async (sprite: Sprite) => await sprite.killSession((await sleeping(sprite)).id, 'SIGKILL', '5s');

async function withControl(stack: SdkStack, run: (sprite: Sprite) => Promise<void>): Promise<void> {
  const { token, url } = stack.machine.platform;
  const sprite = new SpritesClient(token.reveal(), { baseURL: url, controlMode: true }).sprite('dev-1');
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
  'Sprite.attachSession': async ({ sprite }) => {
    const { command, id } = await sleeping(sprite);
    const second = sprite.attachSession(id);
    await spawned(second);
    command.kill('SIGKILL');
    expect(await second.wait()).toBe(137);
  },
  'Sprite.listSessions': async ({ sprite }) => {
    const { command } = await sleeping(sprite);
    expect(await sprite.listSessions()).toEqual([expect.objectContaining({ isActive: true, tty: false })]);
    command.kill('SIGKILL');
    await command.wait();
  },
  'Sprite.killSession': async ({ sprite }) => {
    expect((await drain(await killed(sprite))).at(-1)).toMatchObject({ type: 'complete', exitCode: 137 });
  },
  'SessionKillStream.next': async ({ sprite }) => {
    const stream = await killed(sprite);
    expect(await stream.next()).toMatchObject({ type: 'signal' });
    await drain(stream);
  },
  'SessionKillStream.processAll': async ({ sprite }) => {
    const types: string[] = [];
    await (await killed(sprite)).processAll(({ type }) => void types.push(type));
    expect(types.at(-1)).toBe('complete');
  },
  'SessionKillStream.close': async ({ sprite }) => {
    const stream = await killed(sprite);
    stream.close();
    expect(await stream.next()).toBeNull();
  },
  'SessionKillStream.@@asyncIterator': async ({ sprite }) => {
    expect((await drain(await killed(sprite))).map(({ type }) => type)).toContain('exited');
  },
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
