// A platform before one provider, reached as `openai` through the connector `conn_1`, with a sprite that may call it.
import type { AccessPolicy } from '../../src/contract/access-policy.ts';
import { Secret } from '../../src/core/secret.ts';
import { openTestPlatform, type TestPlatformOptions } from './open-platform.ts';

export interface PlatformBefore {
  readonly url: string;
  /** The token of the sprite `dev-1`. */
  readonly token: Secret;
}

/** `origin` is that of the provider, of plain HTTP. */
export async function openPlatformBefore(
  origin: string,
  access_policy: AccessPolicy,
  options: TestPlatformOptions = {},
): Promise<PlatformBefore> {
  const { admin, url } = await openTestPlatform({
    ...options,
    catalogue: [
      {
        provider: 'openai',
        display_name: 'openai',
        description: 'of the test',
        address: { type: 'fixed', url: origin },
        injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
        allow_http: true,
        sample_path: '/',
      },
    ],
  });
  const organization = 'acme';
  await admin.createSprite({ organization, name: 'dev-1' });
  const connector = { organization, provider: 'openai', id: 'conn_1', api_key: new Secret('k'), access_policy };
  await admin.createConnector(connector);
  return { url, token: await admin.createToken({ organization, sprite: 'dev-1' }) };
}
