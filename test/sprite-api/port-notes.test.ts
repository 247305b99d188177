// Who looks at a terminal is told of the ports that open and close in the sprite.
import { type SpriteCommand, SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';

interface Note {
  readonly type: string;
  readonly port: number;
  readonly pid: number;
  readonly address: string;
}

function notesOf(command: SpriteCommand): Note[] {
  const notes: Note[] = [];
  command.on('message', (message: Note) => {
    if (message.type.startsWith('port_')) notes.push(message);
  });
  return notes;
}

/** One listener after the other, each for a while: the watch may begin after the first. */
const server = `setInterval(() => {
  const s = require("net").createServer();
  s.listen(0, () => console.log("port=" + s.address().port));
  setTimeout(() => s.close(), 4000);
}, 500)`;

test('a port that a program opens, to those who look at a terminal and to nobody else', async () => {
  const machine = await openAgentMachine({ trustMachines: true });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  const sprite = client.sprite('dev-1');
  const plain = sprite.spawn('sleep', ['60']);
  const terminal = sprite.createSession(process.execPath, ['-e', server]);
  const [ofPlain, ofTerminal] = [notesOf(plain), notesOf(terminal)];
  let shown = '';
  terminal.stdout.on('data', (part: Buffer) => {
    shown += part;
  });
  const isOwn = ({ port }: Note) => shown.includes(`port=${port}\r\n`);
  const opened = await eventually(() => ofTerminal.find((note) => note.type === 'port_opened' && isOwn(note)));
  const closed = await eventually(
    () => ofTerminal.find(({ type, port }) => type === 'port_closed' && port === opened.port),
    40_000,
  );
  expect(opened).toEqual({
    type: 'port_opened',
    port: expect.any(Number),
    pid: expect.any(Number),
    address: expect.stringContaining(`:${opened.port}`),
  });
  expect(closed).toEqual({ ...opened, type: 'port_closed' });
  expect(ofPlain).toEqual([]);
});
