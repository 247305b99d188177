// A connector that asks once more between the connection and its TLS handshake. A connection that a machine has begun before it was
// copied may be made after that, and its handshake would show numbers that the copy draws as well.
import type { buildConnector } from 'undici';
import { ConnectionsReplaced } from './upstream-error.ts';

const TLS_PORT = '443';

/** `mayBegin` runs right before each handshake; one that may not begin fails as its connection does at a resume. */
export function checkHandshakes(connect: buildConnector.connector, mayBegin: () => boolean): buildConnector.connector {
  return (options, callback) => {
    if (options.protocol !== 'https:') return connect(options, callback);
    const plain = { ...options, protocol: 'http:', port: options.port === '' ? TLS_PORT : options.port };
    connect(plain, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      if (mayBegin()) return connect({ ...options, httpSocket: socket }, callback);
      socket.destroy();
      callback(new ConnectionsReplaced('the machine was resumed'), null);
    });
  };
}
