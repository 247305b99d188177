// The connections of every listener and what is being answered on each: so that a caller who leaves ends all of its requests,
// a parse error never writes into an answer that has begun, and a shutdown can cut what its deadline leaves.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Connections {
  /** Follows every connection that `server` accepts from now on. */
  watch(server: Server): void;
  /** Counts one answer until it is finished or its caller is gone. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** True while an answer is due on this connection. */
  isAnswering(socket: Duplex): boolean;
  /** Tells the callers of all answers that have not begun that their connection ends after it. */
  lastAnswers(): void;
  /** Ends every connection at once, upgraded ones as well. */
  cut(): void;
}

export function createConnections(): Connections {
  const answers = new Map<Duplex, Set<ServerResponse>>();

  return {
    watch(server) {
      server.on('connection', (socket: Duplex) => {
        const here = new Set<ServerResponse>();
        answers.set(socket, here);
        socket.once('close', () => {
          answers.delete(socket);
          for (const response of here) closeQueued(response);
        });
      });
    },
    begin(request, response) {
      const here = answers.get(request.socket);
      here?.add(response);
      response.once('close', () => here?.delete(response));
    },
    isAnswering: (socket) => (answers.get(socket)?.size ?? 0) > 0,
    lastAnswers() {
      for (const here of answers.values())
        for (const response of here) if (!response.headersSent) response.setHeader('connection', 'close');
    },
    cut() {
      for (const socket of answers.keys()) socket.destroy();
    },
  };
}

/** A pipelined request waits for its turn without a socket, and node:http never tells such a one that its caller is gone. */
function closeQueued(response: ServerResponse): void {
  if (response.socket !== null || response.writableFinished) return;
  response.destroy();
  response.emit('close');
}
