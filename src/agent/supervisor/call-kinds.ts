// Which calls into this machine are work while they are open. Pure.
import type { insideOperations } from '../../contract/local/inside.ts';
import type { Caller } from '../access/authenticator.ts';

/**
 * `work`: when it comes over the channel; a program of this machine that asks its own agent is no work. `run`: a process with its caller,
 * by whichever listener. `watch`: looking on is no work, and neither is a control connection, whose processes are seen by themselves.
 */
type CallKind = 'work' | 'run' | 'watch';

const kinds: Readonly<Record<keyof typeof insideOperations, CallKind>> = {
  listServices: 'watch',
  readService: 'watch',
  putService: 'work',
  deleteService: 'work',
  startService: 'work',
  stopService: 'work',
  restartService: 'work',
  followServiceLogs: 'watch',
  signalService: 'work',
  readFile: 'work',
  writeFile: 'work',
  listFiles: 'work',
  deleteFiles: 'work',
  renameFile: 'work',
  copyFiles: 'work',
  changeFileMode: 'work',
  changeFileOwner: 'work',
  watchFiles: 'watch',
  exec: 'run',
  execOverHttp: 'run',
  control: 'watch',
  attachProcess: 'run',
  listProcesses: 'watch',
  killProcess: 'work',
};

/** These start programs, which may need the secrets of the app. */
const starts: ReadonlySet<string> = new Set<keyof typeof insideOperations>([
  'putService',
  'startService',
  'restartService',
  'exec',
  'execOverHttp',
  'control',
]);

export function mayStart(operation: keyof typeof insideOperations): boolean {
  return starts.has(operation);
}

/** Whether a call that is cut off has not done what it was for, by whichever listener it came. */
export function isHurtByCut(operation: keyof typeof insideOperations): boolean {
  return kinds[operation] !== 'watch';
}

export function isWork(operation: keyof typeof insideOperations, { listener }: Pick<Caller, 'listener'>): boolean {
  const kind = kinds[operation];
  return kind === 'run' || (kind === 'work' && listener === 'channel');
}
