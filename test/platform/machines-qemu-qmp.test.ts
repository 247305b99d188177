// The control protocol of an emulator, over a real socket whose other end plays the emulator.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openQmpClient } from '../../src/platform/machines/drivers/qemu/qmp/qmp-client.ts';
import { parseQmpMessage } from '../../src/platform/machines/drivers/qemu/qmp/qmp-message.ts';
import { sendState } from '../../src/platform/machines/drivers/qemu/qmp/run-state.ts';
import { soon } from '../support/soon.ts';
import { tempDir } from '../support/temp-dir.ts';

const GREETING = { QMP: { version: { qemu: { major: 7, minor: 2, micro: 22 }, package: '' }, capabilities: ['oob'] } };

interface Command {
  readonly execute: string;
  readonly arguments?: unknown;
  readonly id: number;
}

/** `answer` gets each command and writes what the emulator says to it. */
async function openEmulator(answer: (command: Command, socket: Socket) => void, greeting: object = GREETING) {
  const path = join(tempDir(), 'qmp.sock');
  const commands: Command[] = [];
  const server = createServer((socket) => {
    socket.write(`${JSON.stringify(greeting)}\r\n`);
    const lines = createInterface({ input: socket });
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      const command: Command = JSON.parse(line);
      commands.push(command);
      if (command.execute === 'qmp_capabilities') socket.write(`${JSON.stringify({ return: {}, id: command.id })}\r\n`);
      else answer(command, socket);
    });
    socket.on('error', () => undefined);
  });
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const socket = connect(path);
  onTestFinished(() => void socket.destroy());
  return { socket, commands };
}

const reply = (socket: Socket, { id }: Command, value: unknown = {}) =>
  socket.write(`${JSON.stringify({ return: value, id })}\r\n`);

describe('an emulator', () => {
  test('answers each command, whatever comes in between and in whatever order', async () => {
    const held: Command[] = [];
    const emulator = await openEmulator((command, socket) => {
      held.push(command);
      if (held.length < 2) return;
      socket.write(`{"event":"STOP","timestamp":{}}\r\n\r\n{"future":1}\r\n`);
      for (const each of held.toReversed()) reply(socket, each, { name: each.execute });
    });
    using qmp = await openQmpClient(emulator.socket);
    const events: string[] = [];
    qmp.onEvent(({ event }) => events.push(event));
    expect(await Promise.all([qmp.execute('one', { a: 1 }), qmp.execute('two')])).toEqual([
      { name: 'one' },
      { name: 'two' },
    ]);
    expect(events).toEqual(['STOP']);
    expect(emulator.commands.map(({ execute }) => execute)).toEqual(['qmp_capabilities', 'one', 'two']);
    expect(emulator.commands[1]?.arguments).toEqual({ a: 1 });
  });

  test('that refuses a command, is late with one, or ends, makes it fail; a late answer is nobody’s', async () => {
    let late: Command | undefined;
    const emulator = await openEmulator((command, socket) => {
      const error = { class: 'GenericError', desc: 'no such device' };
      if (command.execute === 'refused') socket.write(`${JSON.stringify({ error, id: command.id })}\r\n`);
      if (command.execute === 'late') late = command;
      if (command.execute === 'prompt') {
        if (late !== undefined) reply(socket, late);
        reply(socket, command, 7);
      }
      if (command.execute === 'over') socket.end();
    });
    using qmp = await openQmpClient(emulator.socket, 500);
    // A process that stands still takes what is prompt for late.
    await soon(() => expect(qmp.execute('refused')).rejects.toThrow('the emulator refuses: no such device'));
    await expect(qmp.execute('late')).rejects.toThrow('has not answered late');
    await soon(async () => expect(await qmp.execute('prompt')).toBe(7));
    await soon(() => expect(qmp.execute('over')).rejects.toThrow('has ended the control connection'));
    await qmp.closed;
    await expect(qmp.execute('prompt')).rejects.toThrow('has ended the control connection');
  });

  test('that does not greet, or never ends a line, is left', async () => {
    const silent = await openEmulator(() => undefined, { something: 'else' });
    await expect(openQmpClient(silent.socket, 40)).rejects.toThrow('has not answered greeting');
    const endless = await openEmulator((_, socket) => void socket.write('x'.repeat(300 * 1024)));
    using qmp = await openQmpClient(endless.socket);
    await expect(qmp.execute('anything')).rejects.toThrow('has ended the control connection');
  });

  test('that fails to save its state says why', async () => {
    const states = [{ status: 'setup' }, { status: 'active' }, { status: 'failed', 'error-desc': 'Unable to write' }];
    const emulator = await openEmulator((command, socket) =>
      reply(socket, command, command.execute === 'migrate' ? {} : states.shift()),
    );
    using qmp = await openQmpClient(emulator.socket);
    await expect(sendState(qmp, 'unix:state.sock')).rejects.toThrow('Unable to write');
    expect(states).toEqual([]);
  });
});

test.each([
  ['', undefined],
  ['null', undefined],
  ['{"QMP":{}}', undefined],
  ['{"return":{}}', undefined],
  ['{"return":{},"id":"x"}', undefined],
  ['{"return":{},"id":3}', { type: 'answer', id: 3, value: {} }],
  ['{"error":{"class":"GenericError","desc":"no"},"id":3}', { type: 'failure', id: 3, text: 'no' }],
  ['{"error":{"class":"GenericError","desc":"no"}}', undefined],
  [
    '{"event":"SHUTDOWN","data":{"guest":true,"reason":"guest-shutdown"},"timestamp":{}}',
    {
      type: 'event',
      event: 'SHUTDOWN',
      data: { guest: true, reason: 'guest-shutdown' },
    },
  ],
  ['{"event":"STOP"}', { type: 'event', event: 'STOP', data: {} }],
])('the line %s is read as %o', (line, message) => {
  expect(parseQmpMessage(line)).toEqual(message);
});
