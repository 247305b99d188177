// The flags of `remora platform` for the proxy in front, which serves the URLs of sprites and apps.
import { DEFAULT_PROXY_DOMAIN, type ProxyOptions } from '../../platform/proxy/proxy-options.ts';
import type { Flag, Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseListen } from './parse-listen.ts';

export const proxyFlags: Readonly<Record<string, Flag>> = {
  'proxy-listen': {
    type: 'string',
    value: 'HOST:PORT',
    summary: 'serve the URLs of sprites and apps there, in plain HTTP; without it nothing serves them',
  },
  'proxy-domain': {
    type: 'string',
    value: 'DOMAIN',
    summary: `the domain of these URLs (${DEFAULT_PROXY_DOMAIN}); https://DOMAIN or https://DOMAIN:PORT behind a server that ends TLS`,
  },
};

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Empty without `--proxy-listen`. Throws UsageError. */
export function readProxyFlags(text: Invocation['text']): { proxy?: ProxyOptions } {
  const [listen, domain] = [text('proxy-listen'), text('proxy-domain')];
  if (listen === undefined) {
    if (domain === undefined) return {};
    throw new UsageError('platform: --proxy-domain needs --proxy-listen');
  }
  return {
    proxy: { listen: parseListen('proxy-listen', listen), ...(domain === undefined ? {} : parseDomain(domain)) },
  };
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
