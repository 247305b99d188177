// The connections of one listener and what is being answered on each: so that a parse error never writes into an answer that has
// begun, and a shutdown closes what is idle, waits for what is due, and cuts what its deadline leaves.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface Connections {
  /** Counts one answer until its last byte is with the kernel, or its caller is gone. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** True while an answer is due on this connection. */
  isAnswering(socket: Duplex): boolean;
  /** Tells the callers of all answers that have not begun that their connection ends after it. */
  lastAnswers(): void;
  /** Ends every connection on which no answer is due and no request has begun. */
  closeIdle(): void;
  /** Ends every connection at once, upgraded ones as well. */
  cut(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly answers: Set<ServerResponse>;
  /** What had been read when the last answer was complete: more than that is the beginning of a request. */
  read_bytes: number;
}

/** Follows every connection that `server` accepts from now on. */
export function watchConnections(server: Server): Connections {
  const connections = new Map<Duplex, Connection>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { socket, answers: new Set(), read_bytes: 0 });
    socket.once('close', () => connections.delete(socket));
  });

  function closeIdle(): void {
    for (const { socket, answers, read_bytes } of connections.values())
      if (answers.size === 0 && socket.bytesRead === read_bytes) socket.destroy();
  }

  // node:http's own, which `close` calls, cuts answers that are written but not yet sent.
  server.closeIdleConnections = closeIdle;

  return {
    begin({ socket }, response) {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.answers.add(response);
      response.once('close', () => {
        connection.answers.delete(response);
        connection.read_bytes = socket.bytesRead;
      });
    },
    isAnswering: (socket) => (connections.get(socket)?.answers.size ?? 0) > 0,
    lastAnswers() {
      for (const { answers } of connections.values())
        for (const response of answers) if (!response.headersSent) response.setHeader('connection', 'close');
    },
    closeIdle,
    cut() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
