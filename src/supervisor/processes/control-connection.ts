// One connection that runs processes one after the other: a frame `control:` starts each, and another one says that it is over.
import { CONTROL_PREFIX, type ControlEnd, controlStart } from '../../contract/processes.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Connection } from './connection.ts';
import { sendExit } from './finish-connection.ts';
import { readControlCommand } from './read-command.ts';
import type { Sessions } from './sessions.ts';
import { Viewer } from './viewer.ts';

export class ControlConnection {
  readonly #connection: Connection;
  readonly #sessions: Sessions;

  constructor(connection: Connection, sessions: Sessions) {
    this.#connection = connection;
    this.#sessions = sessions;
  }

  /** Waits for the next start. */
  listen(): void {
    this.#connection.listen({
      onMessage: (data, isBinary) => {
        // Input of a process that has just ended is of no use any more.
        if (!isBinary) this.#onText(data.toString());
      },
      onGone: () => undefined,
      onRoom: () => undefined,
    });
  }

  #onText(text: string): void {
    if (!text.startsWith(CONTROL_PREFIX)) return;
    try {
      this.#start(parseStart(text.slice(CONTROL_PREFIX.length)));
    } catch (error) {
      if (!(error instanceof RemoraError)) throw error;
      this.#say({ type: 'op.error', args: { error: toErrorMessage(error) } });
    }
  }

  #start(args: unknown): void {
    const command = readControlCommand(args);
    this.#sessions.checkRoom();
    const session = this.#sessions.open(command);
    const { isTerminal } = session;
    const connection = this.#connection;
    const finish = (exitCode: number) => {
      sendExit(connection, isTerminal, exitCode);
      this.listen();
      this.#say({ type: 'op.complete', args: { exitCode } });
    };
    session.attach(new Viewer({ connection, isTerminal, isSteeredByBytes: true, finish }));
  }

  #say(end: ControlEnd): void {
    this.#connection.send(`${CONTROL_PREFIX}${JSON.stringify(end)}`);
  }
}

/** The arguments of the start. Throws `invalid_request`. */
function parseStart(json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // It is refused below.
  }
  const start = controlStart.safeParse(value).data;
  if (start === undefined) throw new RemoraError('invalid_request', 'expected control:{"type":"op.start","op":"exec"}');
  if (start.op !== 'exec') throw new RemoraError('invalid_request', `there is no operation ${start.op}; use exec`);
  return start.args;
}
