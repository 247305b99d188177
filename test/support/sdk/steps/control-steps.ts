// What `ControlConnection` and its operations do.
import { ControlConnection, type OpConn } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import type { Drive, SdkStack, Steps } from '../sdk-stack.ts';

async function connected({ sprite }: SdkStack, run: (connection: ControlConnection) => Promise<void>): Promise<void> {
  const connection = new ControlConnection(sprite);
  await connection.connect();
  await run(connection);
  connection.close();
}

/** Runs a program over a connection of its own, until `run` has waited for its end. */
function operating(cmd: readonly string[], run: (op: OpConn, text: () => string) => Promise<void>, tty = false): Drive {
  return (stack) =>
    connected(stack, async (connection) => {
      const op = await connection.startOp('exec', { cmd: [...cmd], stdin: true, ...(tty ? { tty } : {}) });
      const parts: Buffer[] = [];
      op.on('stdout', (part: Buffer) => parts.push(part));
      await run(op, () => Buffer.concat(parts).toString());
    });
}

const echoed = operating(['cat'], async (op, text) => {
  op.write(Buffer.from('words'));
  op.sendEOF();
  expect(await op.wait()).toBe(0);
  expect(text()).toBe('words');
});

export const controlSteps: Steps = {
  'ControlConnection.connect': (stack) =>
    connected(stack, async (connection) => {
      await expect(connection.connect()).rejects.toThrow('Already connected');
    }),
  'ControlConnection.startOp': (stack) =>
    connected(stack, async (connection) => {
      for (const code of [0, 3]) {
        const op = await connection.startOp('exec', { cmd: ['sh', '-c', `exit ${code}`] });
        expect(await op.wait()).toBe(code);
      }
    }),
  'ControlConnection.sendControl': (stack) =>
    connected(stack, async (connection) => {
      const op = await connection.startOp('exec', { cmd: [] });
      const failure = new Promise<Error>((resolve) => op.once('error', resolve));
      expect((await failure).message).toContain('cmd');
    }),
  'ControlConnection.sendData': echoed,
  'ControlConnection.setActive': (stack) => connected(stack, async (connection) => connection.setActive(true)),
  'ControlConnection.isActive': (stack) =>
    connected(stack, async (connection) => {
      connection.setActive(true);
      expect(connection.isActive()).toBe(true);
    }),
  'ControlConnection.clearOpConn': (stack) =>
    connected(stack, async (connection) => {
      await (await connection.startOp('exec', { cmd: ['true'] })).wait();
      connection.clearOpConn();
      expect(await (await connection.startOp('exec', { cmd: ['false'] })).wait()).toBe(1);
    }),
  'ControlConnection.close': (stack) =>
    connected(stack, async (connection) => {
      const closed = new Promise<void>((resolve) => connection.once('close', resolve));
      connection.close();
      await closed;
    }),
  'ControlConnection.isClosed': (stack) =>
    connected(stack, async (connection) => {
      expect(connection.isClosed()).toBe(false);
      connection.close();
      expect(connection.isClosed()).toBe(true);
    }),
  'OpConn.write': echoed,
  'OpConn.sendEOF': echoed,
  'OpConn.wait': operating(['true'], async (op) => expect(await op.wait()).toBe(0)),
  'OpConn.signal': operating(['sleep', '600'], async (op) => {
    op.signal('KILL');
    expect(await op.wait()).toBe(137);
  }),
  'OpConn.resize': operating(
    ['sh', '-i'],
    async (op, text) => {
      op.resize(90, 25);
      await eventually(() => {
        op.write(Buffer.from('stty size\n'));
        return text().includes('25 90');
      });
      op.write(Buffer.from('exit 0\n'));
      expect(await op.wait()).toBe(0);
    },
    true,
  ),
  'OpConn.handleData': echoed,
  'OpConn.handleText': operating(
    ['sh', '-c', 'exit 0'],
    async (op) => {
      expect(await op.wait()).toBe(0);
    },
    true,
  ),
  'OpConn.complete': operating(['true'], async (op) => {
    await op.wait();
    expect(op.isClosed()).toBe(true);
  }),
  'OpConn.close': operating(['sleep', '600'], async (op) => {
    op.close();
    expect(() => op.write(Buffer.from('x'))).toThrow('Operation closed');
  }),
  'OpConn.isClosed': operating(['true'], async (op) => {
    expect(op.isClosed()).toBe(false);
    await op.wait();
    expect(op.isClosed()).toBe(true);
  }),
  'OpConn.getExitCode': operating(['sh', '-c', 'exit 4'], async (op) => {
    expect(op.getExitCode()).toBe(-1);
    await op.wait();
    expect(op.getExitCode()).toBe(4);
  }),
};
