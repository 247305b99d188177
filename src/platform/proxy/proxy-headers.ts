// Which headers cross the proxy, and what it writes itself. Lists are flat, name and value in turn, as they were sent. Pure.
import { foldHeaderName } from '../../core/http/header-name.ts';
import { toNominated } from '../../core/http/nominated-headers.ts';
import { rememberNames } from '../../core/http/remember-names.ts';

/** What the proxy says of a caller. */
export interface CallerFacts {
  /** The addresses in `x-forwarded-for`. */
  readonly chain: string;
  readonly protocol: string;
  readonly host: string;
  readonly port: string;
  readonly request_id: string;
}

/** These belong to one connection (RFC 9110, section 7.6.1), or are written again for the next one. */
const ofConnection = [
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/** These say where a request came from, or that another server has judged it already. */
const ofProxies = [
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'proxy',
  'real-ip',
  'remote-user',
  'true-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-middleware-subrequest',
  'x-original-url',
  'x-real-ip',
  'x-remote-user',
  'x-request-id',
  'x-rewrite-url',
] as const;

const droppedFromRequest: ReadonlySet<string> = new Set([...ofConnection, ...ofProxies]);
/** `clear-site-data` and `alt-svc` reach beyond the host that answers. */
const droppedFromAnswer: ReadonlySet<string> = new Set([...ofConnection, 'alt-svc', 'clear-site-data']);

/** A token of this platform: it is for the proxy, and never for what runs in a machine. */
const OWN_TOKEN = /\bremora_/;
/** The cookies that the proxy sets on the names that it serves. */
const OWN_COOKIE = /^\s*=?(?:__Host-)?remora-/i;

/** What is made of a header of a request, by its name. */
const ofRequest = rememberNames((name) => {
  const key = foldHeaderName(name);
  return { key, rule: toRequestRule(name, key) };
});

function toRequestRule(name: string, key: string): 'dropped' | 'authorization' | 'cookie' | 'passed' {
  if (droppedFromRequest.has(key) || isOfFamily(key)) return 'dropped';
  if (key === 'authorization' || key === 'cookie') return key;
  if (key !== 'content-length' && key !== 'host') return 'passed';
  // Another spelling is another length to some server.
  return name.toLowerCase() === key ? 'passed' : 'dropped';
}

const ofAnswer = rememberNames((name) => {
  const key = foldHeaderName(name);
  return { key, rule: toAnswerRule(key) };
});

function toAnswerRule(key: string): 'dropped' | 'set-cookie' | 'passed' {
  const isOwn = key.startsWith('remora-') || key.startsWith('fly-replay') || key.startsWith('proxy-');
  if (isOwn || droppedFromAnswer.has(key)) return 'dropped';
  return key === 'set-cookie' ? key : 'passed';
}

/** A class, and no object of functions, because there is one for each request. */
export class ProxyHeaders {
  readonly #facts: CallerFacts;
  /** Flat; added to the headers of the request. */
  readonly #added: readonly string[];

  constructor(facts: CallerFacts, added: readonly string[] = []) {
    this.#facts = facts;
    this.#added = added;
  }

  request(headers: readonly string[]): string[] {
    const nominated = toNominated(headers);
    const kept: string[] = [];
    for (let index = 0; index + 1 < headers.length; index += 2) {
      const name = headers[index] ?? '';
      const { key, rule } = ofRequest(name);
      if (rule === 'dropped' || nominated.has(key)) continue;
      const value = headers[index + 1] ?? '';
      if (rule === 'authorization') {
        if (!OWN_TOKEN.test(value)) kept.push(name, value);
      } else if (rule === 'cookie') {
        const passed = withoutOwnCookies(value);
        if (passed !== '') kept.push(name, passed);
      } else kept.push(name, value);
    }
    const { chain, protocol, host, port, request_id } = this.#facts;
    kept.push('x-forwarded-for', chain, 'x-forwarded-proto', protocol, 'x-forwarded-host', host);
    kept.push('x-forwarded-port', port, 'x-request-id', request_id, ...this.#added);
    return kept;
  }

  /** Trailers say nothing of who calls, of framing, or of routing. */
  trailers(headers: readonly string[]): string[] {
    const kept: string[] = [];
    for (let index = 0; index + 1 < headers.length; index += 2) {
      const name = headers[index] ?? '';
      const key = foldHeaderName(name);
      const isHead = droppedFromRequest.has(key) || notInTrailers.has(key) || isOfFamily(key);
      if (!isHead) kept.push(name, headers[index + 1] ?? '');
    }
    return kept;
  }

  response(headers: readonly string[]): string[] {
    const nominated = toNominated(headers);
    const kept: string[] = [];
    for (let index = 0; index + 1 < headers.length; index += 2) {
      const name = headers[index] ?? '';
      const { key, rule } = ofAnswer(name);
      if (rule === 'dropped' || nominated.has(key)) continue;
      const value = headers[index + 1] ?? '';
      if (rule !== 'set-cookie') kept.push(name, value);
      else if (!OWN_COOKIE.test(value)) kept.push(name, withoutDomain(value));
    }
    return kept;
  }

  mayShow(): boolean {
    return true;
  }
}

const notInTrailers: ReadonlySet<string> = new Set(['authorization', 'content-length', 'cookie', 'host']);

function isOfFamily(key: string): boolean {
  return (
    key.startsWith('x-forwarded-') ||
    key.startsWith('remora-') ||
    key.startsWith('fly-replay') ||
    key.startsWith('proxy-')
  );
}

function withoutOwnCookies(value: string): string {
  if (!value.includes('remora-') && !/remora-/i.test(value)) return value;
  return value
    .split(';')
    .filter((pair) => !OWN_COOKIE.test(pair))
    .join(';')
    .trim();
}

/** A cookie is for the host that sets it: pages of other sprites are on the same site. */
function withoutDomain(value: string): string {
  if (!/domain/i.test(value)) return value;
  const [pair = '', ...attributes] = value.split(';');
  return [pair, ...attributes.filter((attribute) => !/^\s*domain\s*(?:=|$)/i.test(attribute))].join(';');
}
