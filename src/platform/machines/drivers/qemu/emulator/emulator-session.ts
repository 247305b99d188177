// A running emulator under control: its process and its control connection.

import { setTimeout as sleep } from 'node:timers/promises';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { isAlive, type ProcessIdentity } from '../../../../../linux/processes/process-identity.ts';
import { signalProcess } from '../../../../../linux/processes/signal-process.ts';
import { readLastLines } from '../../last-lines.ts';
import type { MachineProcess } from '../../machine-process.ts';
import { connectQmp } from '../qmp/connect-qmp.ts';
import type { QmpClient } from '../qmp/qmp-client.ts';
import { type RunState, readRunState } from '../qmp/run-state.ts';
import { STATE_DESCRIPTOR } from './emulator-arguments.ts';
import { type EmulatorSpawn, spawnEmulator } from './spawn-emulator.ts';

export interface EmulatorSession {
  readonly process: MachineProcess;
  readonly qmp: QmpClient;
}

const LINES_TOLD = 3;
const LOAD_MS = 60_000;
const LOOK_MS = 5;
const END_MS = 10_000;
/**
 * The file of the memory is the snapshot: only what the emulator knows besides is moved. The disks of a machine that is loaded are not
 * touched before it goes on.
 */
const capabilities = ['x-ignore-shared', 'late-block-activate'].map((capability) => ({ capability, state: true }));
/** The end of the process is seen a moment after that of its connections. */
const SAYING_MS = 100;

/** Resolves when the emulator answers. Throws `start_failed` with its last words when it ends, after which nothing of it is left. */
export async function openEmulator(options: EmulatorSpawn): Promise<EmulatorSession> {
  const process = await spawnEmulator(options);
  const over = new AbortController();
  const ended = process.ended.then(() => {
    over.abort();
    throw toStartFailed(options);
  });
  ended.catch(() => undefined);
  try {
    const qmp = await Promise.race([connectQmp(options.files.dir), ended]);
    await qmp.execute('migrate-set-capabilities', { capabilities });
    return { process, qmp };
  } catch (error) {
    await sleep(SAYING_MS);
    const hasEnded = over.signal.aborted;
    await endEmulator(process);
    throw hasEnded ? toStartFailed(options, error) : error;
  }
}

/** Loads the state that the emulator inherited; the machine then waits for `cont`. Throws `internal` when it cannot be loaded. */
export async function loadState({ process, qmp }: EmulatorSession): Promise<void> {
  await qmp.execute('migrate-incoming', { uri: `fd:${STATE_DESCRIPTOR}` });
  const end = performance.now() + LOAD_MS;
  const ended = process.ended.then(() => 'ended' as const);
  for (;;) {
    const state: RunState | 'ended' = await Promise.race([readRunState(qmp), ended]);
    if (state === 'ended') throw new RemoraError('internal', 'the emulator ended while it loaded the state');
    if (state !== 'inmigrate') return;
    if (performance.now() > end) throw new RemoraError('internal', 'the emulator does not load the state');
    await sleep(LOOK_MS);
  }
}

/** Kills an emulator. Throws `internal` when it stays. */
export async function endEmulator(identity: ProcessIdentity): Promise<void> {
  const end = performance.now() + END_MS;
  while (isAlive(identity)) {
    signalProcess(identity.pid, 'SIGKILL');
    if (performance.now() > end) throw new RemoraError('internal', 'the emulator of the machine does not end');
    await sleep(LOOK_MS);
  }
}

function toStartFailed({ files }: EmulatorSpawn, cause?: unknown): RemoraError {
  const log = readLastLines(files.emulatorLog);
  const words = log.length === 0 ? 'without a word' : `its last words: ${log.slice(-LINES_TOLD).join(' | ')}`;
  return new RemoraError('start_failed', `the emulator of the machine ended at once; ${words}`, {
    details: { log },
    cause,
  });
}
