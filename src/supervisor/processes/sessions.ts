// The sessions of this sprite: those that run, and for a minute those that have ended.

import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { createServiceMarks } from '../services/service-mark.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import { createFailedProgram } from './failed-program.ts';
import { startPipedProgram } from './piped-program.ts';
import { PortNotes } from './port-notes.ts';
import type { Program, ProgramTarget } from './program.ts';
import { type ProgramSetting, toProgramSetting } from './program-setting.ts';
import type { Command } from './read-command.ts';
import { Session } from './session.ts';
import { SessionsMark } from './sessions-mark.ts';

const SESSIONS_MAX = 256;
const REMEMBERED_MS = 60_000;
/** How long the processes may take to end with the supervisor. */
const CLOSE_MS = 2_000;

export type SessionsOptions = Pick<SupervisorOptions, 'stateDir' | 'user' | 'baseEnv' | 'log'>;

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

  open(command: Command): Session {
    const id = randomHex(8);
    const setting = toProgramSetting(
      command,
      this.#options,
      createServiceMarks(this.#options.stateDir).toMark(`exec:${id}`),
    );
    const session = new Session({
      id,
      command,
      workdir: setting.dir,
      created: new Date(),
      start: async (target) => this.#keep(await start(command, setting, target, this.#options.log)),
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

async function start(command: Command, setting: ProgramSetting, target: ProgramTarget, log: Log): Promise<Program> {
  const kind = command.terminal === undefined ? 'stderr' : 'stdout';
  if (setting.fault !== undefined) return createFailedProgram(setting.fault, kind, target);
  try {
    if (command.terminal === undefined) return startPipedProgram(command, setting, target, log);
    // Most sprites never open a terminal: its library is loaded by the first one.
    const { startTerminalProgram } = await import('./terminal-program.ts');
    return startTerminalProgram(command, command.terminal, setting, target, log);
  } catch (error) {
    return createFailedProgram({ exit_code: 126, message: toErrorMessage(error) }, kind, target);
  }
}
