// The sessions of this sprite: those that run, and for a minute those that have ended.

import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { type AppEnvironment, type AppVariables, toPlain } from '../environment/app-environment.ts';
import type { Restraints } from '../policy/restraints.ts';
import { createServiceMarks } from '../services/service-mark.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import { createFailedProgram } from './failed-program.ts';
import { startPipedProgram } from './piped-program.ts';
import { PortNotes } from './port-notes.ts';
import type { Program, ProgramTarget } from './program.ts';
import { type ProgramSetting, toProgramDir, toProgramSetting } from './program-setting.ts';
import type { Command } from './read-command.ts';
import { Session } from './session.ts';
import { SessionsMark } from './sessions-mark.ts';

const SESSIONS_MAX = 256;
const REMEMBERED_MS = 60_000;
/** How long the processes may take to end with the supervisor. */
const CLOSE_MS = 2_000;

export interface SessionsOptions extends Pick<SupervisorOptions, 'stateDir' | 'user' | 'baseEnv' | 'log'> {
  readonly environment: Pick<AppEnvironment, 'ready'>;
  readonly restraints: Pick<Restraints, 'current'>;
}

export class Sessions implements AsyncDisposable {
  readonly #options: SessionsOptions;
  readonly #running = new Map<string, Session>();
  readonly #ended = new Map<string, Session>();
  readonly #mark: SessionsMark;
  readonly #ports: PortNotes;
  /** What may print, also from the background after the end of its session: its pipes are read here. */
  readonly #open = new Set<Program>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#ports = new PortNotes(options.baseEnv.REMORA_SOCKET);
    this.#mark = new SessionsMark(options.stateDir, options.log);
    this.#mark.set(false);
  }

  get isEmpty(): boolean {
    return this.#running.size === 0 && this.#open.size === 0;
  }

  /** Throws `too_many_requests`. */
  checkRoom(): void {
    if (this.#running.size < SESSIONS_MAX) return;
    throw new RemoraError('too_many_requests', `${SESSIONS_MAX} processes run already; end one`);
  }

  /** Resolves when the secrets of the app are known to it. Throws `secrets_unavailable`. */
  async untilReady(): Promise<void> {
    await this.#options.environment.ready();
  }

  /** It waits for the secrets of the app, and without them ends like a program that cannot be started. */
  open(command: Command): Session {
    const id = randomHex(8);
    const { environment, restraints, log, stateDir } = this.#options;
    const mark = createServiceMarks(stateDir).toMark(`exec:${id}`);
    const toSetting = async (secrets: AppVariables) =>
      toProgramSetting(command, this.#options, toPlain(secrets), await restraints.current(), mark);
    const session = new Session({
      id,
      command,
      workdir: toProgramDir(command, this.#options.user),
      created: new Date(),
      start: async (target) =>
        this.#keep(await start(command, async () => toSetting(await environment.ready()), target, log)),
      followPorts: (listener) => this.#ports.follow(listener),
      onOver: () => this.#remember(session),
    });
    this.#running.set(id, session);
    this.#mark.set(true);
    return session;
  }

  /** The running ones. */
  list(): readonly Session[] {
    return [...this.#running.values()];
  }

  /** Throws `not_found`. */
  find(id: string): Session {
    const session = this.#running.get(id) ?? this.#ended.get(id);
    if (session === undefined) throw new RemoraError('not_found', 'there is no such process; list those that run');
    return session;
  }

  #keep(program: Program): Program {
    this.#open.add(program);
    void program.closed.then(() => this.#open.delete(program));
    return program;
  }

  #remember(session: Session): void {
    this.#running.delete(session.id);
    this.#mark.set(this.#running.size > 0);
    this.#ended.set(session.id, session);
    setTimeout(() => this.#ended.delete(session.id), REMEMBERED_MS).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.list().map((session) => session.end(CLOSE_MS)));
    // A pipe that is read keeps this process from ending.
    for (const program of this.#open) program.release();
  }
}

async function start(
  command: Command,
  toSetting: () => Promise<ProgramSetting>,
  target: ProgramTarget,
  log: Log,
): Promise<Program> {
  const kind = command.terminal === undefined ? 'stderr' : 'stdout';
  try {
    const setting = await toSetting();
    if (setting.fault !== undefined) return createFailedProgram(setting.fault, kind, target);
    if (command.terminal === undefined) return startPipedProgram(command, setting, target, log);
    // Most sprites never open a terminal: its library is loaded by the first one.
    const { startTerminalProgram } = await import('./terminal-program.ts');
    return startTerminalProgram(command, command.terminal, setting, target, log);
  } catch (error) {
    return createFailedProgram({ exit_code: 126, message: toErrorMessage(error) }, kind, target);
  }
}
