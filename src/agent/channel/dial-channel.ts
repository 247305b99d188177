// Asks the platform for the channel of this machine: one HTTP/1.1 request, and after its 101 a connection of bytes.
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { CHANNEL_PROTOCOL } from '../../contract/channel.ts';
import { ERROR_MARKER, errorStatus } from '../../contract/errors.ts';
import { withoutBrackets } from '../../core/without-brackets.ts';
import { createDial } from '../../http/dial.ts';
import { nodeHttp } from '../../http/node-http.ts';
import { ChannelRefused } from './channel-refused.ts';

export interface ChannelAddress {
  readonly baseUrl: string;
  readonly app: string;
  readonly machine: string;
}

export interface DialOptions extends ChannelAddress {
  readonly headers: Readonly<Record<string, string>>;
  readonly deadline_ms: number;
  /** Ends the dialling; a connection that is there stays. */
  readonly signal: AbortSignal;
  /** Runs right before a TLS handshake, which fails where it answers false. */
  readonly mayHandshake: () => boolean;
  /** Asks for this lane of the open channel in place of a channel. */
  readonly lane_id?: string;
}

/** Resolves with the connection once the platform has switched it. Rejects with ChannelRefused. */
export function dialChannel(options: DialOptions): Promise<Duplex> {
  const url = new URL(toUrl(options));
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.deadline_ms)]);
  // TLS is loaded only for a platform that has it.
  const [{ request: send }, connection] =
    url.protocol === 'https:'
      ? [process.getBuiltinModule('node:https'), { createConnection: toSecureConnection(url, options) }]
      : [nodeHttp, { agent: false } as const];
  return new Promise((resolve, reject) => {
    const request = send(url, {
      ...connection,
      headers: { ...options.headers, connection: 'Upgrade', upgrade: CHANNEL_PROTOCOL },
      signal,
    });
    request.once('upgrade', (response, socket, head) => {
      if (response.headers.upgrade?.toLowerCase() !== CHANNEL_PROTOCOL) {
        socket.destroy();
        reject(new ChannelRefused(`the platform switched to ${response.headers.upgrade}, not to ${CHANNEL_PROTOCOL}`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.once('response', (response) => {
      response.resume();
      reject(toRefusal(response.statusCode ?? 0, response.headers));
    });
    request.once('error', (error) => reject(new ChannelRefused(error.message)));
    request.end();
  });
}

/** The error for an answer that is no switch. */
function toRefusal(status: number, headers: IncomingHttpHeaders): ChannelRefused {
  const marker = headers[ERROR_MARKER];
  const seconds = Number(headers['retry-after']);
  const retryAfter_ms = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  if (typeof marker !== 'string') {
    return new ChannelRefused(`the answer ${status} does not come from the platform`, { status, retryAfter_ms });
  }
  const said = `the platform answered ${status} ${marker}`;
  if (status !== errorStatus.upgrade_required) {
    const isFinal = status === errorStatus.forbidden || status === errorStatus.not_found;
    return new ChannelRefused(said, { status, retryAfter_ms, isFinal });
  }
  // A platform that wants what was sent has not got it.
  const isLost = headers.upgrade === undefined || headers.upgrade === CHANNEL_PROTOCOL;
  const why = isLost
    ? 'something before it, such as a proxy, takes the header Upgrade away'
    : `it has ${headers.upgrade}`;
  return new ChannelRefused(`${said}: ${why}`, { status, retryAfter_ms, isFinal: !isLost });
}

/**
 * A connection that is asked for before the machine is copied may be made after that, and its handshake would show numbers that the copy draws
 * as well: the dialling asks once more between the two.
 */
function toSecureConnection({ hostname, protocol, port }: URL, { deadline_ms, mayHandshake, signal }: DialOptions) {
  const dial = createDial({ timeout_ms: deadline_ms, mayHandshake, signal });
  const place = { hostname: withoutBrackets(hostname), protocol, port };
  return (_options: unknown, done: (error: Error | null, socket: Duplex) => void): undefined => {
    // Node takes no socket where there is an error.
    dial(place, (error, socket) => done(error, socket as Duplex));
  };
}

function toUrl({ baseUrl, app, machine, lane_id }: DialOptions): string {
  const place = lane_id === undefined ? 'channel' : `lanes/${lane_id}`;
  return `${baseUrl}/v1/apps/${encodeURIComponent(app)}/machines/${encodeURIComponent(machine)}/${place}`;
}
