// A process and those who see it. Its output waits for its caller; of several callers one that takes nothing is dropped.
import { basename } from 'node:path';
import type { RunningSession } from '../../contract/local/session-work.ts';
import type { ExecSession, ExecSessionInfo } from '../../contract/processes.ts';
import { POLICY_VIOLATION } from '../../core/websocket/close-frame.ts';
import { parseSignalName } from '../services/signal-name.ts';
import { ByteRate } from './byte-rate.ts';
import type { Input } from './input-frame.ts';
import { type Output, OutputRing } from './output-ring.ts';
import type { OnPortNote } from './port-notes.ts';
import type { Program, ProgramTarget } from './program.ts';
import type { Command } from './read-command.ts';
import type { Viewer } from './viewer.ts';

/** How long one of several callers may take nothing. */
const STALL_MS = 2_000;
/** How long a process may take to end once its connection is gone. */
const GRACE_MS = 5_000;
const PROGRAM_NAME_MAX = 100;

export interface SessionOptions {
  readonly id: string;
  readonly command: Command;
  readonly workdir: string;
  readonly created: Date;
  readonly start: (target: ProgramTarget) => Promise<Program>;
  /** Tells of ports until the disposal. */
  readonly followPorts: (listener: OnPortNote) => Disposable;
  /** Runs once, when it has ended and everybody has been shown so. */
  readonly onOver: () => void;
}

export class Session {
  readonly id: string;
  readonly isTerminal: boolean;
  readonly #options: SessionOptions;
  readonly #viewers = new Set<Viewer>();
  readonly #ring = new OutputRing();
  readonly #rate = new ByteRate();
  readonly #ready: Promise<Program>;
  /** What came before the process was started. */
  readonly #early: (() => void)[] = [];
  #program: Program | undefined;
  #exit_code: number | undefined;
  #isOver = false;
  #active: Date | undefined;
  #printed_ms: number | undefined;
  #isBlocked = false;
  #lingering: NodeJS.Timeout | undefined;
  /** Those who look at a terminal are told of ports. */
  #ports: Disposable | undefined;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.isTerminal = options.command.terminal !== undefined;
    this.#options = options;
    this.#ready = this.#start();
  }

  /** Undefined while the process runs. */
  get exit_code(): number | undefined {
    return this.#exit_code;
  }

  /** The process, once it is started. */
  get program(): Promise<Program> {
    return this.#ready;
  }

  describe(): ExecSession {
    const { command, workdir, created } = this.#options;
    return {
      id: this.id,
      command: command.words.join(' '),
      workdir,
      created: created.toISOString(),
      tty: this.isTerminal,
      is_active: this.#exit_code === undefined,
      bytes_per_second: this.#rate.read(performance.now()),
      ...(this.#active === undefined ? {} : { last_activity: this.#active.toISOString() }),
    };
  }

  /** What decides whether it keeps the machine awake. */
  toRunning(): RunningSession {
    const { command, created } = this.#options;
    return {
      id: this.id,
      program: basename(command.words[0]).slice(0, PROGRAM_NAME_MAX),
      created: created.toISOString(),
      callers: this.#viewers.size,
      quiet_ms: this.#printed_ms === undefined ? null : Math.round(performance.now() - this.#printed_ms),
    };
  }

  toInfo(isOwner: boolean): ExecSessionInfo {
    const { id, command, created, tty } = this.describe();
    return { type: 'session_info', session_id: id, command, created, tty, is_owner: isOwner };
  }

  /** Shows what was printed last, then what is printed from now on. */
  attach(viewer: Viewer): void {
    clearTimeout(this.#lingering);
    viewer.listen({
      onInput: (input) => this.#onInput(viewer, input),
      onGone: () => this.detach(viewer),
      onRoom: () => this.#balance(),
    });
    for (const output of this.#ring.read()) viewer.show(output);
    if (this.#isOver) {
      viewer.finish(this.#exit_code ?? 0);
      return;
    }
    this.#viewers.add(viewer);
    if (this.isTerminal) this.#ports ??= this.#options.followPorts((json) => this.#note(json));
    if (this.#program === undefined) viewer.connection.setReading(false);
    if (!viewer.connection.isOpen) this.detach(viewer);
    else this.#balance();
  }

  detach(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    if (this.#viewers.size === 0) this.#endPorts();
    this.#balance();
    const { lingers_ms } = this.#options.command;
    if (this.#viewers.size > 0 || this.#exit_code !== undefined || lingers_ms === Number.POSITIVE_INFINITY) return;
    this.#lingering = setTimeout(() => void this.end(GRACE_MS), Math.min(lingers_ms, TIMER_MAX_MS));
  }

  /** Hangs up, and ends the process with everything that it has started. */
  async end(grace_ms: number): Promise<void> {
    const program = await this.#ready;
    if (this.#exit_code === undefined) program.signal('SIGHUP');
    await program.end(grace_ms);
  }

  async #start(): Promise<Program> {
    const program = await this.#options.start({
      onOutput: (output) => this.#onOutput(output),
      onRoom: () => this.#setReading(true),
    });
    this.#program = program;
    for (const run of this.#early.splice(0)) run();
    this.#setReading(true);
    this.#balance();
    program.exited.then((code) => {
      this.#exit_code = code;
      clearTimeout(this.#lingering);
    });
    program.drained.then(async () => this.#finish(await program.exited));
    return program;
  }

  #onOutput(output: Output): void {
    this.#active = new Date();
    this.#printed_ms = performance.now();
    this.#rate.add(output.bytes.length, performance.now());
    this.#ring.push(output);
    for (const viewer of this.#viewers) viewer.show(output);
    this.#balance();
  }

  #note(json: string): void {
    for (const { connection } of this.#viewers) connection.note(json);
  }

  #endPorts(): void {
    this.#ports?.[Symbol.dispose]();
    this.#ports = undefined;
  }

  #onInput(viewer: Viewer, input: Input): void {
    const program = this.#program;
    if (program === undefined) this.#early.push(() => this.#onInput(viewer, input));
    if (program === undefined || this.#exit_code !== undefined) return;
    this.#active = new Date();
    switch (input.type) {
      case 'stdin':
        if (!program.write(input.bytes)) viewer.connection.setReading(false);
        return;
      case 'end_of_stdin':
        program.endInput();
        return;
      case 'resize':
        program.resize(input.cols, input.rows);
        return;
      case 'signal': {
        const name = parseSignalName(input.signal);
        if (name !== undefined) program.signal(name);
        return;
      }
      case 'unknown':
        return;
      default:
        input satisfies never;
    }
  }

  #setReading(isReading: boolean): void {
    for (const { connection } of this.#viewers) connection.setReading(isReading);
  }

  /** Holds the process back while somebody cannot take more. */
  #balance(): void {
    const isBlocked = [...this.#viewers].some(({ connection }) => connection.isBlocked);
    if (isBlocked === this.#isBlocked) return;
    this.#isBlocked = isBlocked;
    if (isBlocked) {
      this.#program?.pause();
      this.#watchStall();
    } else this.#program?.resume();
  }

  #watchStall(): void {
    setTimeout(() => {
      const several = this.#viewers.size > 1;
      const stalled = [...this.#viewers].filter(({ connection }) => connection.stalled_ms >= STALL_MS);
      for (const viewer of several ? stalled : []) {
        viewer.connection.close(POLICY_VIOLATION, 'slow_reader');
        this.detach(viewer);
      }
      if (this.#isBlocked) this.#watchStall();
    }, STALL_MS / 2).unref();
  }

  #finish(exit_code: number): void {
    this.#isOver = true;
    const viewers = [...this.#viewers];
    this.#viewers.clear();
    this.#endPorts();
    for (const viewer of viewers) {
      viewer.connection.setReading(true);
      viewer.finish(exit_code);
    }
    this.#options.onOver();
  }
}

/** The longest time that a timer takes. */
const TIMER_MAX_MS = 2_147_483_647;
