// The variables from which the SDKs of providers take their address and their key. Pure.

interface SdkNames {
  readonly url: string;
  readonly key: string;
  /** The path that the SDK expects at the end of its base URL. */
  readonly suffix: string;
}

/** Providers whose SDKs do not read `NAME_BASE_URL`, with the address alone, and `NAME_API_KEY`. */
const known: Readonly<Record<string, SdkNames>> = {
  openai: { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', suffix: '/v1' },
  openrouter: { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', suffix: '/v1' },
  deepseek: { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', suffix: '/v1' },
  anthropic: { url: 'ANTHROPIC_BASE_URL', key: 'ANTHROPIC_API_KEY', suffix: '' },
  gemini: { url: 'GOOGLE_GEMINI_BASE_URL', key: 'GEMINI_API_KEY', suffix: '' },
};

export interface GatewayAccess {
  readonly provider: string;
  /** The URL of the connector at the loopback listener. */
  readonly base_url: string;
  readonly token: string;
}

/** Name and value of each variable. */
export function toSdkVariables({ provider, base_url, token }: GatewayAccess): Readonly<Record<string, string>> {
  const prefix = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  const names = Object.hasOwn(known, provider) ? known[provider] : undefined;
  const { url, key, suffix } = names ?? { url: `${prefix}_BASE_URL`, key: `${prefix}_API_KEY`, suffix: '' };
  return { [url]: base_url + suffix, [key]: token };
}
