// The connections of one listener and the answers that are due on each. A parse error never writes into an answer that has
// begun; a shutdown closes idle connections, waits for answers that are due, and cuts what is left at its deadline.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Exchange } from './exchange.ts';
import { watchHandshakes } from './watch-handshakes.ts';

export interface Connections {
  /** Counts one answer until the kernel has its last byte, or its caller is gone; then `onEnd` runs. */
  begin(exchange: Exchange, onEnd: () => void): void;
  /** What is under way, with connections that were upgraded. */
  open(): Exchange[];
  /** True while an answer is due on this connection. */
  isAnswering(socket: Duplex): boolean;
  /** Marks every answer that has not begun as the last one of its connection. */
  lastAnswers(): void;
  /** Ends every connection on which no answer is due and no request has begun. `used`: only those that have had an answer. */
  closeIdle(which?: 'used'): void;
  /**
   * A closing server leaves idle connections alone after this call: they get the time to bring a request that is on its way.
   */
  bePatient(): void;
  /** Answers that have not begun, on connections that are open. */
  unanswered(): ServerResponse[];
  /** Ends every connection at once, upgraded ones as well. */
  cut(): void;
}

interface Connection {
  readonly socket: Socket;
  /** A few at most. In a Set, each would stay in memory for long: see `OpenList`. */
  readonly answers: Exchange[];
  /** The bytes read when the last answer was complete: any further byte is the beginning of a request. */
  read_bytes: number;
}

/**
 * Follows every connection that `server` accepts after this call; `event` is the one with which it does. One whose handshake is not over is idle.
 */
export function watchConnections(server: Server, event: 'connection' | 'secureConnection' = 'connection'): Connections {
  const connections = new Map<Duplex, Connection>();
  const handshakes = event === 'secureConnection' ? watchHandshakes(server) : undefined;
  let patient = false;

  server.on(event, (socket: Socket) => {
    connections.set(socket, { socket, answers: [], read_bytes: 0 });
    socket.once('close', () => connections.delete(socket));
  });

  function closeIdle(which?: 'used'): void {
    if (which === undefined) handshakes?.cut();
    for (const { socket, answers, read_bytes } of connections.values()) {
      const isIdle = answers.length === 0 && socket.bytesRead === read_bytes;
      if (isIdle && (which === undefined || read_bytes > 0)) socket.destroy();
    }
  }

  const open = () => [...connections.values()].flatMap(({ answers }) => answers);

  function unanswered(): ServerResponse[] {
    return open().flatMap(({ response }) => (response.headersSent ? [] : [response]));
  }

  // `close` calls this function of node:http, whose own version cuts answers that are written but not yet sent.
  server.closeIdleConnections = () => {
    if (!patient) closeIdle();
  };

  return {
    begin(exchange, onEnd) {
      const { response } = exchange;
      const { socket } = exchange.request;
      const connection = connections.get(socket);
      connection?.answers.push(exchange);
      response.on('close', () => {
        if (connection !== undefined) {
          const at = connection.answers.indexOf(exchange);
          if (at >= 0) connection.answers.splice(at, 1);
          connection.read_bytes = socket.bytesRead;
        }
        onEnd();
      });
    },
    open,
    isAnswering: (socket) => (connections.get(socket)?.answers.length ?? 0) > 0,
    lastAnswers() {
      for (const response of unanswered()) response.setHeader('connection', 'close');
    },
    closeIdle,
    bePatient() {
      patient = true;
    },
    unanswered,
    cut() {
      handshakes?.cut();
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
