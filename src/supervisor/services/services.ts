// The module of the services: programs that people define, which run until they are stopped, are started again when they crash, and in the
// order of what they need when the machine boots.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { localServiceOperations } from '../../contract/local/inside.ts';
import type { ProcessFamily } from '../../linux/processes/process-family.ts';
import { readMarkedProcesses } from '../../linux/processes/process-table.ts';
import { type AppEnvironment, type AppVariables, isStale, toPlain } from '../environment/app-environment.ts';
import type { SupervisorModule } from '../lazy-module.ts';
import type { Restraints } from '../policy/restraints.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import { FamilyEnd } from './family-end.ts';
import { LogFile } from './log-file.ts';
import { toPipeDirectory } from './output-pipes.ts';
import { RunNotes } from './run-note.ts';
import { ServiceBook } from './service-book.ts';
import { createServiceHandlers } from './service-handlers.ts';
import { ServiceKeeper } from './service-keeper.ts';
import { createServiceMarks, SERVICE_VARIABLE } from './service-mark.ts';
import { startProcess } from './service-process.ts';
import { createServiceStore } from './service-store.ts';
import { type ServiceTiming, serviceTiming } from './service-timing.ts';

interface ServiceOptions extends Pick<SupervisorOptions, 'stateDir' | 'user' | 'baseEnv' | 'log'> {
  readonly environment: Pick<AppEnvironment, 'ready' | 'variables' | 'onChange'>;
  readonly restraints: Pick<Restraints, 'current'>;
}

/** Ends what a supervisor that was killed has left, and starts what was not stopped by hand. Throws `internal` when the definitions cannot be read. */
export async function openServices(
  options: ServiceOptions,
  timing: ServiceTiming = serviceTiming,
): Promise<SupervisorModule<typeof localServiceOperations>> {
  const { stateDir, user, environment, restraints, log } = options;
  const notes = new RunNotes(stateDir);
  const marks = createServiceMarks(stateDir);
  const wall_ms = () => Date.now();
  const gid = process.geteuid?.() === 0 ? user.gid : undefined;
  // A supervisor that was killed may have left some.
  rmSync(toPipeDirectory(stateDir), { recursive: true, force: true });
  const left = await findLeft(notes, marks.toName);
  const strays = new Set<Promise<void>>();
  const startedWith = new Map<string, AppVariables>();
  let turn: Promise<unknown> = Promise.resolve();

  async function endLeft(name: string, run: Omit<ProcessFamily, 'mark'>, grace_ms: number): Promise<void> {
    const onHung = (pids: readonly number[]) => log.error({ service: name, pids }, 'processes of a service do not end');
    await new FamilyEnd({ mark: marks.toMark(name), ...run }, grace_ms, onHung).done;
    notes.remove(name);
  }

  function createKeeper(name: string, request: ServiceKeeper['request']): ServiceKeeper {
    const run = left.get(name);
    left.delete(name);
    return new ServiceKeeper({
      name,
      request,
      log: new LogFile({ path: join(stateDir, 'logs', 'services', `${name}.log`), gid, wall_ms }),
      timing,
      wall_ms,
      async untilNeedsRun({ needs }, signal) {
        await environment.ready(signal);
        await book.untilRunning(needs, timing.needs_ms, signal);
      },
      isStale({ env }) {
        const [had, now] = [startedWith.get(name), environment.variables];
        return had !== undefined && now !== undefined && isStale(had, now, env);
      },
      async start(current, target) {
        // Many services that start at once leave turns for everything else.
        turn = turn.then(() => nextTurn());
        await turn;
        const variables = await environment.ready();
        startedWith.set(name, variables);
        const own = { secrets: toPlain(variables), restraint: await restraints.current(), notes, marks };
        return await startProcess(name, current, { ...options, ...own }, target);
      },
      endLeft: run === undefined ? undefined : (grace_ms) => endLeft(name, run, grace_ms),
    });
  }

  const book = new ServiceBook({ store: createServiceStore(stateDir), close_ms: timing.close_ms, createKeeper });
  await book.open();
  environment.onChange(() => {
    for (const keeper of book.list()) keeper.onEnvironmentChange();
  });
  for (const [name, run] of left) {
    const stray = endLeft(name, run, timing.stop_ms).finally(() => strays.delete(stray));
    strays.add(stray);
  }
  return {
    handlers: createServiceHandlers({ book, stop_ms: timing.stop_ms, wall_ms }),
    get isBusy() {
      return !book.isEmpty || strays.size > 0;
    },
    async [Symbol.asyncDispose]() {
      await book[Symbol.asyncDispose]();
      await Promise.all(strays);
    },
  };
}

/** What runs of each service, by its note and by the mark of its processes. */
async function findLeft(
  notes: RunNotes,
  toName: (mark: string | undefined) => string | undefined,
): Promise<Map<string, Omit<ProcessFamily, 'mark'>>> {
  const left = new Map<string, Omit<ProcessFamily, 'mark'>>(notes.list());
  for (const { mark } of await readMarkedProcesses(SERVICE_VARIABLE)) {
    const name = toName(mark);
    if (name !== undefined && !left.has(name)) left.set(name, { leader: undefined, cgroup: undefined });
  }
  return left;
}
