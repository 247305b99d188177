// `remora cp`: copies files between here and a sprite.
import { posix } from 'node:path';
import { UpstreamError } from '../../../client/upstream-error.ts';
import { errorCode } from '../../../core/error-code.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, LostError, UsageError } from '../../exit-code.ts';
import { openStopSignals } from '../../stop-signals.ts';
import { askInside, type SpriteDoor } from '../sprite-door.ts';
import { copyIn, copyStreamIn } from './copy-in.ts';
import { createCopyJob } from './copy-job.ts';
import { type CopyOperand, parseCopyOperand } from './copy-operand.ts';
import { copyOut, copyStreamOut } from './copy-out.ts';
import { ProgressBar } from './progress-bar.ts';
import { SpriteFiles } from './sprite-files.ts';
import { readSpriteHome } from './sprite-home.ts';

const STOPPED = 130;
/** How a connection breaks off, by the system and by undici. */
const LOST = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_ABORTED', 'UND_ERR_DESTROYED'];

export async function run(invocation: Invocation): Promise<number> {
  const { operands, has, out } = invocation;
  const [from, to] = operands.map(parseCopyOperand) as [CopyOperand, CopyOperand];
  const sides = [from, to].filter(({ type }) => type === 'sprite').length;
  if (sides !== 1) {
    throw new UsageError(`cp: ${sides === 0 ? 'one' : 'only one'} of the two is in a sprite, as SPRITE:PATH or :PATH`);
  }
  const inside = from.type === 'sprite' ? from : to;
  const isRecursive = has('recursive');
  if (isRecursive && (from.type === 'stream' || to.type === 'stream')) {
    throw new UsageError('cp: -r copies a directory, and - is one stream');
  }
  using stop = openStopSignals({});
  const { signal } = stop;
  const work = async (door: SpriteDoor) => {
    const isShown = process.stderr.isTTY && !has('quiet') && to.type !== 'stream';
    using progress = new ProgressBar(isShown ? process.stderr : undefined);
    const job = createCopyJob({ files: new SpriteFiles(door, signal), progress, isRecursive, signal }, out);
    if (from.type === 'sprite') {
      const source = await toAbsolute(door, from.path, signal);
      if (to.type === 'here') await copyOut(job, source, to.path);
      else await copyStreamOut(job, source);
    } else if (to.type === 'sprite') {
      const dest = await toAbsolute(door, to.path, signal);
      if (from.type === 'here') await copyIn(job, from.path, dest);
      else await copyStreamIn(job, dest);
    }
    return job.leftOut === 0 ? exitCode.ok : exitCode.failed;
  };
  try {
    return await askInside(invocation, work, inside.type === 'sprite' ? inside.name : undefined);
  } catch (error) {
    if (isLost(error) && !signal.aborted) {
      throw new LostError(`the connection was lost; what was not whole is not there (${toErrorMessage(error)})`);
    }
    if (!signal.aborted) throw error;
    out.note('stopped; what was not whole is not there');
    return STOPPED;
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.code === 'connection_failed' && error.sent;
  return LOST.includes(errorCode(error) ?? '');
}

/** A slash at the end stays: it says that a directory is meant. */
async function toAbsolute(door: SpriteDoor, path: string, signal: AbortSignal): Promise<string> {
  const whole = path.startsWith('/') ? path : posix.join(await readSpriteHome(door, signal), path === '' ? './' : path);
  return posix.normalize(whole);
}
