// A program that runs in a sprite, from here: its streams, signals and window, until it ends, is left, or the connection is lost.
import { constants } from 'node:os';
import { PassThrough } from 'node:stream';
import type { WebSocket } from 'ws';
import { type ExecSteering, execExit, execSessionInfo } from '../../../contract/processes.ts';
import { exitCode } from '../../exit-code.ts';
import { toPrintable } from '../../table.ts';
import { watchConnection } from '../watch-connection.ts';
import { startSessionInput } from './session-input.ts';
import { SessionOutput } from './session-output.ts';

export type SessionEnd =
  | { readonly type: 'exit'; readonly code: number }
  | { readonly type: 'left' }
  | { readonly type: 'lost'; readonly reason: string };

export interface SessionOptions {
  readonly socket: WebSocket;
  /** Undefined for one that is attached to: its first frame says it. */
  readonly isTerminal: boolean | undefined;
  readonly hasInput: boolean;
  /** Leaves as soon as the program has been started. */
  readonly leavesAtOnce: boolean;
  /** `listener` runs when nobody reads the output any more. */
  readonly onUnread: (listener: () => void) => void;
}

/** Signals that are for the program. */
const passedOn = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** Signals closer together than this count as one: under npm one Ctrl-C comes from the terminal and from npm. */
const SAME_MS = 500;
const HELD_BYTES = 16 * 1024 * 1024;

export class Session {
  readonly #options: SessionOptions;
  readonly #output: SessionOutput;
  readonly #end = Promise.withResolvers<SessionEnd>();
  readonly #open = new DisposableStack();
  /** What a program has printed that is left at once: shown when it has ended before that. */
  readonly #held = new PassThrough({ highWaterMark: HELD_BYTES });
  #isTerminal: boolean | undefined;
  #id: string | undefined;
  #asked_ms: number | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const held = this.#held;
    this.#output = new SessionOutput(options.socket, options.leavesAtOnce ? { stdout: held, stderr: held } : process);
  }

  /** The id by which it can be attached to; undefined for one that cannot. */
  get id(): string | undefined {
    return this.#id;
  }

  get isTerminal(): boolean {
    return this.#isTerminal === true;
  }

  /** Resolves at its end; the terminal is then as it was. */
  async run(): Promise<SessionEnd> {
    const { socket, isTerminal, onUnread, leavesAtOnce } = this.#options;
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#onMessage(data, isBinary));
    socket.once('close', (code, reason) => {
      const why = toPrintable(reason.toString()) || `it was closed with ${code}`;
      this.#end.resolve({ type: 'lost', reason: code === 1006 ? 'it broke off' : why });
    });
    onUnread(() => this.#end.resolve({ type: 'exit', code: exitCode.ok }));
    this.#open.use(
      watchConnection(
        socket,
        () => this.#output.isBlocked,
        () => this.#end.resolve({ type: 'lost', reason: 'nothing was heard for 45 s' }),
      ),
    );
    if (isTerminal !== undefined) this.#begin(isTerminal);
    // The far end answers once the program is started; one that could not be started has ended by then.
    if (leavesAtOnce) socket.once('pong', () => this.#end.resolve({ type: 'left' })).ping();
    socket.resume();
    try {
      const end = await this.#end.promise;
      if (end.type === 'exit') process.stderr.write(this.#held.read() ?? '');
      return end;
    } finally {
      this.#open.dispose();
      socket.terminate();
    }
  }

  #begin(isTerminal: boolean): void {
    this.#isTerminal = isTerminal;
    const { socket, hasInput } = this.#options;
    const { stdin, stdout } = process;
    for (const name of passedOn) this.#on(process, name, () => this.#onSignal(name));
    // The terminal is gone; what can be attached to runs on.
    this.#on(process, 'SIGHUP', () => this.#end.resolve(toSignalled('SIGHUP')));
    if (isTerminal && stdout.isTTY) {
      const resize = () => this.#steer({ type: 'resize', cols: stdout.columns, rows: stdout.rows });
      this.#on(stdout, 'resize', resize);
      if (this.#options.isTerminal === undefined) resize();
    }
    if (!hasInput) return;
    const onLeave = () => this.#end.resolve({ type: 'left' });
    this.#open.use(startSessionInput({ socket, input: stdin, isTerminal, onLeave }));
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      const code = this.#output.take(data, this.isTerminal);
      if (code !== undefined) this.#end.resolve({ type: 'exit', code });
      return;
    }
    const value = parse(data);
    const exit = execExit.safeParse(value).data;
    if (exit !== undefined) this.#end.resolve({ type: 'exit', code: exit.exit_code });
    const info = execSessionInfo.safeParse(value).data;
    if (info === undefined) return;
    this.#id = info.session_id;
    if (this.#isTerminal === undefined) this.#begin(info.tty);
  }

  /** The first one is for the program; with a second one this side ends. */
  #onSignal(name: (typeof passedOn)[number]): void {
    const now_ms = performance.now();
    const first_ms = this.#asked_ms;
    const isEnd = name === 'SIGINT' || name === 'SIGTERM' || name === 'SIGQUIT';
    if (isEnd && first_ms !== undefined && now_ms - first_ms > SAME_MS) this.#end.resolve(toSignalled(name));
    if (isEnd) this.#asked_ms ??= now_ms;
    this.#steer({ type: 'signal', signal: name });
  }

  #steer(steering: ExecSteering): void {
    this.#options.socket.send(JSON.stringify(steering), () => undefined);
  }

  #on(emitter: NodeJS.EventEmitter, event: string, listener: () => void): void {
    emitter.on(event, listener);
    this.#open.defer(() => emitter.off(event, listener));
  }
}

function toSignalled(name: NodeJS.Signals): SessionEnd {
  return { type: 'exit', code: 128 + constants.signals[name] };
}

function parse(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}
