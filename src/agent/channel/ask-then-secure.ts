// A TLS connection that asks once more between its TCP connection and its handshake. A connection that a machine has begun before it
// was copied may be made after that, and its handshake would show numbers that the copy draws as well.
import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';

const TLS_PORT = 443;

/** A `createConnection` for a request of node:https. `mayBegin` runs right before the handshake; where it answers false the request fails. */
export function askThenSecure({ hostname, port }: URL, mayBegin: () => boolean, signal: AbortSignal) {
  // An IPv6 address stands in brackets in a URL only.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const name = isIP(host) === 0 ? { servername: host } : {};
  return (_options: unknown, done: (error: Error | null, socket: Duplex) => void): undefined => {
    const socket = connect({ host, port: port === '' ? TLS_PORT : Number(port), signal });
    const fail = (error: Error) => done(error, socket);
    socket.once('error', fail);
    socket.once('connect', () => {
      if (!mayBegin()) {
        socket.destroy(new Error('the machine was resumed'));
        return;
      }
      socket.off('error', fail);
      const tls = process.getBuiltinModule('node:tls');
      done(null, tls.connect({ socket, host, ALPNProtocols: ['http/1.1'], ...name }));
    });
  };
}
