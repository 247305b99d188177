// The socket of the agent in a virtual machine, on this host: a program in the machine carries each connection.
import { createServer, type Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { execFrame } from '../../contract/processes.ts';
import { listenOnPath } from '../../http/listen-on-path.ts';
import { toExecTarget } from '../inside/exec/exec-target.ts';
import { SessionOutput } from '../inside/exec/session-output.ts';
import type { SpriteDoor } from '../inside/sprite-door.ts';
import { watchConnection } from '../inside/watch-connection.ts';

/** Perl is in every Debian, and begins many times sooner than Node under an emulated processor. */
const RELAY = `use Socket;
socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die $!;
connect($s, pack_sockaddr_un($ARGV[0])) or die $!;
sub carry { my ($from, $to) = @_; my $part;
  while (sysread($from, $part, 65536)) { my $at = 0; $at += syswrite($to, $part, length($part) - $at, $at) // exit while $at < length($part); } }
my $up = fork // die $!;
if (!$up) { carry(*STDIN, $s); shutdown($s, 1); exit }
carry($s, *STDOUT); kill 'TERM', $up;`;

const STDIN = Buffer.from([execFrame.stdin]);
const END_OF_STDIN = Buffer.from([execFrame.endOfStdin]);

export interface MachineSocketOptions {
  readonly path: string;
  /** That of the agent, in the machine. */
  readonly agentPath: string;
  readonly door: Pick<SpriteDoor, 'openWebSocket'>;
  /** Called when a connection could not be carried, which is closed then. */
  readonly onFailure: (error: unknown) => void;
}

/** Each connection wakes the machine. */
export async function openMachineSocket(options: MachineSocketOptions): Promise<AsyncDisposable> {
  const { path, door, onFailure } = options;
  const target = toRelayTarget(options.agentPath);
  const carried = new Map<Socket, Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, (local) => {
    local.on('error', () => undefined);
    const carrying = carry(local, (signal) => door.openWebSocket(target, signal))
      .catch(onFailure)
      .finally(() => {
        local.destroy();
        carried.delete(local);
      });
    carried.set(local, carrying);
  });
  const file = await listenOnPath(server, { path, mode: 0o600 });
  return {
    async [Symbol.asyncDispose]() {
      file[Symbol.dispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const local of carried.keys()) local.destroy();
      await Promise.all([closed, ...carried.values()]);
    },
  };
}

function toRelayTarget(agentPath: string): string {
  const words = ['perl', '-e', RELAY, agentPath];
  return toExecTarget({ words, terminal: undefined, workdir: undefined, env: [], hasInput: true, isKept: false });
}

/** Resolves when all that came was written to `local`. */
async function carry(local: Socket, openRelay: (signal: AbortSignal) => Promise<WebSocket>): Promise<void> {
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) => local.once('close', () => resolve()));
  local.once('close', () => gone.abort());
  try {
    const socket = await openRelay(gone.signal);
    const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    using _socket = { [Symbol.dispose]: () => socket.terminate() };
    const output = new SessionOutput(socket, { stdout: local, stderr: process.stderr });
    using _watched = watchConnection(
      socket,
      () => output.isBlocked,
      () => socket.terminate(),
    );
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary && output.take(data, false) !== undefined) socket.terminate();
    });
    socket.resume();
    void send(local, (frame) => new Promise((resolve) => socket.send(frame, () => resolve())));
    await Promise.race([over, closed]);
    const written = new Promise<void>((resolve) => local.end(resolve));
    await Promise.race([written, closed]);
  } catch (error) {
    // Who has hung up does not ask why it did not work.
    if (!gone.signal.aborted) throw error;
  }
}

async function send(local: Socket, sendFrame: (frame: Buffer) => Promise<void>): Promise<void> {
  try {
    for await (const part of local.iterator({ destroyOnReturn: false })) await sendFrame(Buffer.concat([STDIN, part]));
  } catch {
    // It broke off, which ends the program in the machine.
  }
  await sendFrame(END_OF_STDIN);
}
