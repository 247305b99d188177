// The home of the user of a sprite: where its programs start.
import { execFrame } from '../../../contract/processes.ts';
import { toExecTarget } from '../exec/exec-target.ts';
import type { SpriteDoor } from '../sprite-door.ts';

const QUESTION = {
  words: ['pwd', '-P'],
  terminal: undefined,
  workdir: undefined,
  env: [],
  hasInput: false,
  isKept: false,
};

/** Throws when it is not known. */
export async function readSpriteHome(door: SpriteDoor, signal: AbortSignal): Promise<string> {
  const socket = await door.openWebSocket(toExecTarget(QUESTION), signal);
  const parts: Buffer[] = [];
  socket.on('message', (data: Buffer) => {
    if (data[0] === execFrame.stdout) parts.push(data.subarray(1));
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  await closed;
  const home = Buffer.concat(parts).toString().replace(/\n$/, '');
  if (!home.startsWith('/')) throw new Error('the home of the user is not known; give a path that begins with a slash');
  return home;
}
