// The other platform processes on the database: to which one a call goes whose machine is connected there, and how it is passed on.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectTcp, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import { SERVICE_WAIT_MS } from '../../core/channel-limits.ts';
import { InnerHeaders } from '../../core/http/inner-headers.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { withoutBrackets } from '../../core/without-brackets.ts';
import { withoutQuery } from '../../core/without-query.ts';
import { execOverWebSocket } from '../../http/exec-over-websocket.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { TCP_KEEP_ALIVE_MS } from '../../http/tcp-keep-alive.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { Agent, request as callOut } from '../../http/undici.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import type { HostPasses } from '../hosts/host-passes.ts';
import type { HostStore } from '../hosts/host-store.ts';
import type { CallOwner, CallToOwner } from '../machines/access/machine-access.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { OPERATOR_TOKEN } from '../tokens/authenticate-operator.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import { dialPipe } from './dial-pipe.ts';
import { readPassedAnswer } from './read-passed-answer.ts';

export interface OtherPlatforms extends AsyncDisposable {
  /** Passes a whole call on, and its answer back. Throws, before anything is answered, `not_reachable` and `other_host`. */
  pass(host: string, call: CallToPass, response: ServerResponse): Promise<void>;
  /** Passes on a process over plain HTTP, whose chunks are frames, and resolves with its exit code as `execOverWebSocket` does. */
  exec(host: string, call: CallToPass, response: ServerResponse): Promise<number | undefined>;
  /** Has the process that has a machine answer a call about it. */
  readonly ask: CallOwner;
  /**
   * Has the process that has a machine connect this one to a target of it, after a start if need be, for a caller who was judged here. Throws
   * `not_reachable`, `other_host`, and the error that is answered; one of these means that the process has the machine no more, and is
   * `upstream_failed`.
   */
  openPipe(host: string, machine: MachineName, authority: string, signal?: AbortSignal): Promise<Duplex>;
  /** Has the process that runs the machine start it. Throws `not_reachable`, `other_host`, and what that process answers. */
  start(machine: MachineRow & { readonly host: string }, principal: Principal): Promise<void>;
}

type MachineName = Pick<MachineRow, 'id' | 'app' | 'organization_id'>;

export interface CallToPass {
  readonly request: IncomingMessage;
  readonly principal: Principal;
  readonly upgrade: Upgrade | undefined;
}

export interface OtherPlatformsDeps {
  readonly hosts: Pick<HostStore, 'find'>;
  readonly passes: Pick<HostPasses, 'make'>;
  /** The ids of the vault keys of this process. */
  readonly keyIds: readonly string[];
}

const CONNECT_MS = 3_000;
/** Longer than the longest deadline of a start. */
const START_MS = 660_000;
const RETRY_MS = 1_000;
/** Longer than a start is waited for, and then a service. */
const PIPE_MS = 60_000 + SERVICE_WAIT_MS;
/** The process that gets the call has the limits. */
const NO_CAP = Number.MAX_SAFE_INTEGER;

export function createOtherPlatforms({ hosts, passes, keyIds }: OtherPlatformsDeps): OtherPlatforms {
  // A connection for each call: one that is kept may just be closed, and a proof is good once.
  const dispatcher = new Agent({
    pipelining: 0,
    connect: { timeout: CONNECT_MS },
    headersTimeout: START_MS,
    bodyTimeout: 0,
  });

  /** Sends a call whose body is JSON. Throws `not_reachable`, `other_host`, and the error that is answered. */
  async function ask(host: string, { method, target, headers, body }: CallToOwner, principal: Principal) {
    const { url, toProof } = await prepare(host, principal);
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const all = { ...headers, 'content-type': 'application/json', [PASSED_HEADER]: toProof(method, target) };
    const sent = callOut(`${url.origin}${target}`, { method, headers: all, ...given, dispatcher });
    const answer = await sent.catch(() => {
      throw toAway(host);
    });
    return await readPassedAnswer(answer, () => toAway(host));
  }

  async function prepare(host: string, principal: Principal) {
    if (!isCaller(principal)) throw new RemoraError('unauthorized', 'send Authorization: Bearer and a token');
    return await prepareFor(host, { token: principal.token.id, organization: principal.organization.id });
  }

  async function prepareFor(host: string, caller: { readonly token: string; readonly organization: string }) {
    const { address, key_ids } = await hosts.find(host);
    // One that has ended well has taken its keys out of the record.
    if (key_ids.length === 0) throw toAway(host);
    const key_id = keyIds.find((id) => key_ids.includes(id));
    if (address === null || key_id === undefined) throw toOtherHost(host);
    const call = { to: host, ...caller };
    const toProof = (method: string, target: string) => passes.make(key_id, call, { method, target });
    return { url: new URL(address), toProof };
  }

  return {
    ask,
    async pass(host, { request, principal, upgrade }, response) {
      const { method = 'GET', url = '' } = request;
      const tunnel = toTunnel(request, upgrade, 0);
      const { url: address, toProof } = await prepare(host, principal);
      try {
        await streamExchange(request, response, {
          dispatcher: () => dispatcher,
          origin: address.origin,
          path: url,
          headers: new InnerHeaders([PASSED_HEADER, toProof(method, url)]),
          from: 'machine',
          asksNotToHold: true,
          bodyCap_bytes: NO_CAP,
          ...(tunnel === undefined ? {} : { tunnel }),
        });
      } catch (error) {
        throw error instanceof RemoraError && error.code === 'upstream_failed' ? toAway(host) : error;
      }
    },
    async exec(host, { request, principal }, response) {
      const { url, toProof } = await prepare(host, principal);
      return await execOverWebSocket(request, response, {
        connect: () => connectTo(url, host),
        path: withoutQuery(request.url ?? ''),
        toHeaders: (target) => ({ host: url.host, [PASSED_HEADER]: toProof('GET', target) }),
        from: 'machine',
      });
    },
    async openPipe(host, { id, app, organization_id }, authority, signal) {
      const path = `/v1/apps/${encodeURIComponent(app)}/machines/${encodeURIComponent(id)}/pipe`;
      const target = `${path}?to=${encodeURIComponent(authority)}`;
      const { url, toProof } = await prepareFor(host, { token: OPERATOR_TOKEN.id, organization: organization_id });
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(toAway(host)), PIPE_MS);
      try {
        return await dialPipe({
          socket: await connectTo(url, host),
          target,
          headers: { host: url.host, [PASSED_HEADER]: toProof('GET', target) },
          signal: signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]),
          toAway: () => toAway(host),
        });
      } catch (error) {
        if (!(error instanceof RemoraError) || error.code !== 'other_host') throw error;
        throw new RemoraError('upstream_failed', 'the machine is at that platform process no more', { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    async start({ host, app, id }, principal) {
      const path = `/v1/apps/${encodeURIComponent(app)}/machines/${encodeURIComponent(id)}/start`;
      const { url, toProof } = await prepare(host, principal);
      const headers = { [PASSED_HEADER]: toProof('POST', path) };
      const answer = await callOut(`${url.origin}${path}`, { method: 'POST', headers, dispatcher }).catch(() => {
        throw toAway(host);
      });
      await answer.body.dump();
      if (answer.statusCode === 200) return;
      const message = `the platform process that runs this machine answered ${answer.statusCode} to its start; ask for the start itself`;
      throw new RemoraError('not_reachable', message, { details: { host }, retryAfter_ms: RETRY_MS });
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
    },
  };
}

/** Throws `not_reachable`. */
async function connectTo({ protocol, hostname, port }: URL, host: string): Promise<Duplex> {
  const isTls = protocol === 'https:';
  const name = withoutBrackets(hostname);
  const at = { host: name, port: Number(port) || (isTls ? 443 : 80), allowHalfOpen: true, noDelay: true };
  const socket = isTls ? connectTls({ ...at, ...(isIP(name) === 0 ? { servername: name } : {}) }) : connectTcp(at);
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
  } catch {
    socket.on('error', () => undefined).destroy();
    throw toAway(host);
  }
  return socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
}

function toAway(host: string): RemoraError {
  const message =
    'the platform process to which the machine is connected does not answer; try again when the machine has found another';
  return new RemoraError('not_reachable', message, { details: { host }, retryAfter_ms: RETRY_MS });
}

function toOtherHost(host: string): RemoraError {
  const message =
    'the machine is connected to another platform process, which has no --host-address or no vault key in common; call that one';
  return new RemoraError('other_host', message, { details: { host } });
}
