// Runs in a process of its own, started by talker-process.ts: connects to ports and sends bytes as it is told over IPC.
import { flushCompileCache } from 'node:module';
import { connect, type Socket } from 'node:net';

export type TalkerCommand =
  | { readonly do: 'connect'; readonly port: number; readonly host: string }
  | { readonly do: 'send'; readonly id: number; readonly bytes: number }
  | { readonly do: 'close'; readonly id: number };

/** The number of the connection; `ended` when the far end or the kernel has ended it. */
export type TalkerMessage =
  | { readonly answer: number; readonly value: number }
  | { readonly ended: number; readonly code: string | null };

const sockets = new Map<number, Socket>();

function open(id: number, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, resolve);
    let code: string | null = null;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? error.message;
      reject(error);
    });
    socket.on('close', () => process.send?.({ ended: id, code } satisfies TalkerMessage));
    socket.resume();
    sockets.set(id, socket);
  });
}

async function run(number: number, command: TalkerCommand): Promise<number> {
  switch (command.do) {
    case 'connect':
      await open(number, command.port, command.host);
      return number;
    case 'send':
      return await new Promise((resolve) => {
        sockets.get(command.id)?.write(Buffer.alloc(command.bytes), () => resolve(command.id));
      });
    case 'close':
      sockets.get(command.id)?.end();
      return command.id;
  }
}

process.on('message', (message: TalkerCommand & { number: number }) => {
  run(message.number, message).then((value) =>
    process.send?.({ answer: message.number, value } satisfies TalkerMessage),
  );
});
process.on('disconnect', () => process.exit(0));
// It is killed, and would compile all of this at each start.
flushCompileCache();
