// The URLs that the proxy serves, which are known when it listens.
import { hasPortNames } from './parse-host.ts';
import { DEFAULT_PROXY_DOMAIN, type ProxyOptions } from './proxy-options.ts';

export interface ProxyAddresses {
  readonly domain: string;
  /** The URL of a sprite; `{sprite}` and `{organization}` stand for the names. Undefined until the proxy listens. */
  readonly urlTemplate: string | undefined;
  /** The URLs of the ports of a sprite, with `{port}`; null where its name is too long for them. Undefined until the proxy listens. */
  toPortTemplate(organization: string, sprite: string): string | null | undefined;
  /** The origin of a name that is served, as browsers write it. */
  toOrigin(name: string): string;
  readonly isSecure: boolean;
  listening(port: number): void;
}

const defaultPorts = { 'http:': 80, 'https:': 443 } as const;

export function createProxyAddresses(options: ProxyOptions): ProxyAddresses {
  const { domain = DEFAULT_PROXY_DOMAIN, origin, tls } = options;
  const protocol = origin?.protocol ?? (tls === undefined ? 'http:' : 'https:');
  let port = origin?.port;
  let isOpen = false;

  function toOrigin(name: string): string {
    const suffix = port === undefined || port === defaultPorts[protocol] ? '' : `:${port}`;
    return `${protocol}//${name}${suffix}`;
  }

  return {
    domain,
    get urlTemplate() {
      return isOpen ? toOrigin(`{sprite}.{organization}.${domain}`) : undefined;
    },
    toPortTemplate(organization, sprite) {
      if (!isOpen) return undefined;
      return hasPortNames(sprite) ? toOrigin(`{port}--${sprite}.${organization}.${domain}`) : null;
    },
    toOrigin,
    isSecure: protocol === 'https:',
    listening(listened) {
      port ??= listened;
      isOpen = true;
    },
  };
}
