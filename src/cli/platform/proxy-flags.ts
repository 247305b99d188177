// The flags of `remora platform` for the proxy in front, which serves the URLs of sprites and apps.
import { isIP, isIPv4 } from 'node:net';
import { DEFAULT_PROXY_DOMAIN, type ProxyOptions } from '../../platform/proxy/proxy-options.ts';
import type { Cidr } from '../../platform/proxy/trusted-peers.ts';
import type { Flag, Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseListen } from './parse-listen.ts';

export const proxyFlags: Readonly<Record<string, Flag>> = {
  'proxy-listen': {
    type: 'string',
    value: 'HOST:PORT',
    summary: 'serve the URLs of sprites and apps there; without it nothing serves them',
  },
  'proxy-domain': {
    type: 'string',
    value: 'DOMAIN',
    summary: `the domain of these URLs (${DEFAULT_PROXY_DOMAIN}); https://DOMAIN or https://DOMAIN:PORT behind a server that ends TLS`,
  },
  'proxy-trust': {
    type: 'string',
    value: 'CIDR',
    summary: 'networks whose x-forwarded-* are believed, with commas between them, such as 10.0.0.0/8 (none)',
  },
  'proxy-protocol': {
    type: 'boolean',
    summary: 'these begin each connection with the PROXY protocol, version 1 or 2, and nobody else may connect',
  },
  'proxy-tcp': {
    type: 'string',
    value: 'APP=ADDRESS',
    summary: 'listen at this address of the computer for the TCP services of an app; may be given several times',
    multiple: true,
  },
  'proxy-tls-cert': {
    type: 'string',
    value: 'FILE',
    summary: 'certificate with which the proxy speaks TLS, as PEM with those above it; read again when it changes',
  },
  'proxy-tls-key': { type: 'string', value: 'FILE', summary: 'its key; with --proxy-tls-cert' },
  'proxy-log': {
    type: 'string',
    value: 'SHARE',
    summary: 'of which share of requests a line is logged: 0.01 is one in a hundred, 1 is each (0)',
  },
};

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Empty without `--proxy-listen`. Throws UsageError. */
export function readProxyFlags({ text, texts, has }: Pick<Invocation, 'text' | 'texts' | 'has'>): {
  proxy?: ProxyOptions;
} {
  const listen = text('proxy-listen');
  const [domain, trust, share] = [text('proxy-domain'), text('proxy-trust'), text('proxy-log')];
  if (listen === undefined) {
    const given = Object.keys(proxyFlags).find((flag) => has(flag));
    if (given === undefined) return {};
    throw new UsageError(`platform: --${given} needs --proxy-listen`);
  }
  const [cert, key] = [text('proxy-tls-cert'), text('proxy-tls-key')];
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError('platform: --proxy-tls-cert and --proxy-tls-key belong together');
  }
  if (has('proxy-protocol') && trust === undefined) {
    throw new UsageError(
      'platform: --proxy-protocol needs --proxy-trust, the networks of those that may say who calls',
    );
  }
  return {
    proxy: {
      listen: parseListen('proxy-listen', listen),
      ...(domain === undefined ? {} : parseDomain(domain)),
      ...(trust === undefined ? {} : { trust: trust.split(',').map(parseCidr) }),
      ...(has('proxy-protocol') ? { proxyProtocol: true } : {}),
      ...(has('proxy-tcp') ? { tcp: parseTcp(texts('proxy-tcp')) } : {}),
      ...(cert === undefined || key === undefined ? {} : { tls: { cert, key } }),
      ...(share === undefined ? {} : { logShare: parseShare(share) }),
    },
  };
}

function parseCidr(text: string): Cidr {
  const [, address = '', digits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  const most = isIPv4(address) ? 32 : 128;
  const prefix = digits === undefined ? most : Number(digits);
  if (isIP(address) !== 0 && prefix <= most) return { address, prefix };
  throw new UsageError(`platform: --proxy-trust takes networks such as 10.0.0.0/8,fd00::/8, not ${text}`);
}

function parseTcp(texts: readonly string[]): NonNullable<ProxyOptions['tcp']> {
  const all = texts.map((text) => {
    const [, app = '', host = ''] = /^([a-z0-9][a-z0-9-]{0,62})=(.+)$/.exec(text) ?? [];
    if (isIP(host) !== 0) return { app, host };
    throw new UsageError(`platform: --proxy-tcp takes an app and an address such as shop=10.0.0.7, not ${text}`);
  });
  if (new Set(all.map(({ app }) => app)).size === all.length) return all;
  throw new UsageError('platform: --proxy-tcp takes one address for each app');
}

function parseShare(text: string): number {
  const share = /^\d(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (share <= 1) return share;
  throw new UsageError(`platform: --proxy-log takes a share from 0 to 1 such as 0.01, not ${text}`);
}

function parseDomain(text: string): Pick<ProxyOptions, 'domain' | 'origin'> {
  const [, scheme, domain = '', digits] = /^(?:(https?):\/\/)?([^:/]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? (scheme === 'https' ? 443 : 80) : Number(digits);
  const isGood = DOMAIN.test(domain) && domain.length <= 120 && !/^[\d.]+$/.test(domain);
  if (!isGood || port < 1 || port > 65_535 || (scheme === undefined && digits !== undefined)) {
    throw new UsageError(
      `platform: --proxy-domain takes a domain such as sprites.example, or https://sprites.example, not ${text}`,
    );
  }
  return scheme === undefined ? { domain } : { domain, origin: { protocol: `${scheme as 'http' | 'https'}:`, port } };
}
