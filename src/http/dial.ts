// A connector for HTTP/1.1, as that of undici is, which is not loaded for it.
import { connect, isIP, type NetConnectOpts, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { errorCode } from '../core/error-code.ts';
import { AnswerFault } from '../core/http/answer-fault.ts';
import { ConnectionsReplaced } from './upstream-error.ts';

export interface DialOptions extends Pick<NetConnectOpts, 'onread'> {
  /** How long a connection may take, with its TLS handshake. */
  readonly timeout_ms: number;
  /** Where all connections go; without it they go to the host that is asked for. */
  readonly socketPath?: string | undefined;
  /** How long a connection may be silent before the kernel probes it. */
  readonly keepAlive_ms?: number | undefined;
  /** Certificate authorities as PEM text, in place of those of Node. */
  readonly ca?: string | undefined;
  /** Asked right before each TLS handshake, which fails with ConnectionsReplaced where it answers false. */
  readonly mayHandshake?: (() => boolean) | undefined;
  /** Ends what is being dialled; connections that are made stay. */
  readonly signal?: AbortSignal | undefined;
}

const KEEP_ALIVE_MS = 60_000;
const SESSIONS_MAX = 16;

/** What is too late fails with the code that undici has for it, `UND_ERR_CONNECT_TIMEOUT`. */
export function createDial(options: DialOptions): buildConnector.connector {
  const { timeout_ms, socketPath, keepAlive_ms = KEEP_ALIVE_MS, mayHandshake = () => true, signal } = options;
  const secure = createHandshakes(options.ca);

  return ({ hostname, protocol, port }, callback) => {
    const isSecure = protocol === 'https:';
    const place = { host: hostname, port: port === '' ? (isSecure ? 443 : 80) : Number(port) };
    const raw = connect({
      ...(socketPath === undefined ? place : { path: socketPath }),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAlive_ms,
      // TLS reads for itself.
      ...(options.onread === undefined || isSecure ? {} : { onread: options.onread }),
    });
    const where = socketPath ?? `${place.host}:${place.port}`;
    const late = (cause?: Error) =>
      new AnswerFault('UND_ERR_CONNECT_TIMEOUT', `no connection to ${where} within ${timeout_ms} ms`, { cause });
    let socket: Socket = raw;
    let isTold = false;
    const timer = setTimeout(() => socket.destroy(late()), timeout_ms);
    const onAbort = () => socket.destroy(signal?.reason);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort);
    const tell: typeof callback = (...result) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      if (isTold) return;
      isTold = true;
      callback(...result);
    };
    // Node gives each address of a host a time of its own. What breaks later is heard as well: nobody else may listen any more.
    const onError = (error: Error) => tell(errorCode(error) === 'ETIMEDOUT' ? late(error) : error, null);
    raw.on('error', onError);
    raw.once('connect', () => {
      if (!isSecure) tell(null, raw);
      else if (!mayHandshake()) raw.destroy(new ConnectionsReplaced('the machine was resumed'));
      else {
        const secured = secure(raw, hostname);
        socket = secured.on('error', onError).once('secureConnect', () => tell(null, secured));
      }
    });
  };
}

/** Begins a TLS handshake over a connection. A later one with the same host goes on with the session of an earlier one. */
function createHandshakes(ca: string | undefined): (raw: Socket, host: string) => TLSSocket {
  const sessions = new Map<string, Buffer>();
  return (raw, host) => {
    const known = sessions.get(host);
    // A module that a start without TLS does not need.
    const socket = process.getBuiltinModule('node:tls').connect({
      socket: raw,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ['http/1.1'],
      ...(known === undefined ? {} : { session: known }),
      ...(ca === undefined ? {} : { ca }),
    });
    return socket.on('session', (session) => {
      if (sessions.size >= SESSIONS_MAX) sessions.clear();
      sessions.set(host, session);
    });
  };
}
