// Reads the request line and the framing headers of a gateway call, and refuses the shapes that no policy could judge. Nothing
// is decoded or repaired: a call that passes is forwarded byte for byte.

import { foldHeaderName } from '../http/header-name.ts';
import { rememberNames } from '../http/remember-names.ts';
import { holdsCapability } from './capability-text.ts';
import { toPathLayers } from './path-layers.ts';

export const gatewayMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type GatewayMethod = (typeof gatewayMethods)[number];

export const GATEWAY_PREFIX = '/v1/gateway/';
export const GATEWAY_TARGET_CAP_BYTES = 8 * 1024;

export type RejectCode =
  | 'invalid_target'
  | 'invalid_request'
  | 'method_not_allowed'
  | 'target_too_long'
  | 'not_found'
  | 'forbidden';

export type GatewayTarget =
  | {
      readonly type: 'target';
      readonly method: GatewayMethod;
      /** The provider and the connector are compared literally. */
      readonly provider: string;
      readonly connector_id: string;
      /** The provider's path with its query, as sent; `/` when the target has none. */
      readonly path: string;
    }
  /** `details` is for the caller; for `method_not_allowed` it is `{allow}`. */
  | { readonly type: 'reject'; readonly code: RejectCode; readonly message: string; readonly details?: unknown };

/** Platforms write these headers to say who a caller is; a caller that sends one is impersonating another. */
const identityHeaders = new Set(['fly-src', 'fly-src-signature', 'remora-sprite', 'remora-organization']);

/** The headers that frame a request or say who sends it; any other name is empty. */
const kindOf = rememberNames((name) => {
  const lower = name.toLowerCase();
  if (lower === 'host' || lower === 'content-length' || lower === 'transfer-encoding') return lower;
  return identityHeaders.has(foldHeaderName(name)) ? 'identity' : '';
});

const VISIBLE = /^[\x21\x22\x24-\x5b\x5d-\x7e]*$/;

/** `target` as Node delivers it in `request.url`, `rawHeaders` flat: name, value, name, value. Never throws. */
export function parseGatewayTarget(method: string, target: string, rawHeaders: readonly string[]): GatewayTarget {
  const known = gatewayMethods.find((candidate) => candidate === method);
  if (known === undefined) {
    const allow = gatewayMethods.join(', ');
    return reject('method_not_allowed', `${method} is not served by the gateway; use ${allow}`, { allow });
  }
  if (target.length > GATEWAY_TARGET_CAP_BYTES) {
    return reject('target_too_long', `the request target may have at most ${GATEWAY_TARGET_CAP_BYTES} bytes`);
  }
  if (!target.startsWith('/'))
    return reject('invalid_target', 'the request target must be a path that begins with "/"');
  if (!VISIBLE.test(target)) {
    return reject('invalid_target', 'the request target may hold visible ASCII only, and neither "#" nor "\\"');
  }
  if (!target.startsWith(GATEWAY_PREFIX)) return reject('not_found', `gateway paths begin with ${GATEWAY_PREFIX}`);
  const question = target.indexOf('?');
  const whole = question < 0 ? target : target.slice(0, question);
  if (holdsCapability(whole)) {
    return reject('invalid_target', 'the path holds a capability token; send it as `Authorization: Bearer …`');
  }
  const layers = toPathLayers(whole);
  if (layers.type === 'reject') return reject('invalid_target', layers.message);
  const problem = findHeaderProblem(rawHeaders);
  if (problem !== undefined) return problem;
  return split(known, target, question < 0 ? target.length : question);
}

function split(method: GatewayMethod, target: string, pathEnd: number): GatewayTarget {
  const slash = target.indexOf('/', GATEWAY_PREFIX.length);
  if (slash < 0 || slash >= pathEnd) {
    return reject('not_found', `a gateway path is ${GATEWAY_PREFIX}{provider}/{connector_id}/{path}`);
  }
  const provider = target.slice(GATEWAY_PREFIX.length, slash);
  const next = target.indexOf('/', slash + 1);
  const idEnd = next < 0 || next > pathEnd ? pathEnd : next;
  const connector_id = target.slice(slash + 1, idEnd);
  if (provider === '' || connector_id === '') {
    return reject('not_found', `a gateway path is ${GATEWAY_PREFIX}{provider}/{connector_id}/{path}`);
  }
  const rest = target.slice(idEnd);
  if (rest.startsWith('//')) return reject('invalid_target', 'the provider path begins with "//"');
  return { type: 'target', method, provider, connector_id, path: rest.startsWith('/') ? rest : `/${rest}` };
}

function findHeaderProblem(rawHeaders: readonly string[]): GatewayTarget | undefined {
  let hosts = 0;
  let lengths = 0;
  let encodings = 0;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    switch (kindOf(name)) {
      case 'host':
        hosts += 1;
        break;
      case 'content-length':
        lengths += 1;
        if (!/^\d{1,15}$/.test(value)) return reject('invalid_request', 'Content-Length is not a number');
        break;
      case 'transfer-encoding':
        encodings += 1;
        if (value.toLowerCase() !== 'chunked')
          return reject('invalid_request', 'Transfer-Encoding may only be chunked');
        break;
      case 'identity':
        return reject('forbidden', `a caller may not send ${name.toLowerCase()}`);
      default:
    }
  }
  if (hosts > 1) return reject('invalid_request', 'there is more than one Host');
  if (lengths > 1) return reject('invalid_request', 'there is more than one Content-Length');
  if (encodings > 1) return reject('invalid_request', 'there is more than one Transfer-Encoding');
  if (lengths + encodings > 1)
    return reject('invalid_request', 'Content-Length and Transfer-Encoding exclude each other');
  return undefined;
}

function reject(code: RejectCode, message: string, details?: unknown): GatewayTarget {
  return details === undefined ? { type: 'reject', code, message } : { type: 'reject', code, message, details };
}
