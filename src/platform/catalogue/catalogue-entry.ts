// What the platform knows about one provider: where it is, how a credential is put into a call, and what to tell its users.
import { z } from 'zod';
import { connectionNote } from '../../contract/connectors.ts';

const headerName = z.string().regex(/^[a-z0-9-]+$/);

/**
 * Where the credential goes. `header`: `prefix` before it, with its space. `query`: a parameter. `path`: `prefix` and the
 * credential as the first segment.
 */
export const injection = z.discriminatedUnion('in', [
  z.strictObject({ in: z.literal('header'), name: headerName, prefix: z.string() }),
  z.strictObject({ in: z.literal('query'), name: z.string().regex(/^[A-Za-z0-9_-]+$/) }),
  z.strictObject({ in: z.literal('path'), prefix: z.string().regex(/^[A-Za-z0-9._-]*$/) }),
]);
export type Injection = z.infer<typeof injection>;

/** `fixed`: one address for all connectors. `own`: each connector brings one, https, at a host that `hosts` allows. */
export const providerAddress = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('fixed'), url: z.url() }),
  z.strictObject({
    type: z.literal('own'),
    /** Exact names, or `*.` and a domain; absent = any. */
    hosts: z.array(z.string().regex(/^(\*\.)?[a-z0-9.-]+$/)).optional(),
  }),
]);
export type ProviderAddress = z.infer<typeof providerAddress>;

/** A field of a JSON answer, as names with dots between them. */
const fieldPath = z.string().regex(/^[a-z_]+(\.[a-z_]+)*$/i);

/** How the account behind a credential is found out: asked for at the provider, or read from its token answer. */
export const accountSource = z.discriminatedUnion('from', [
  z.strictObject({
    from: z.literal('api'),
    path: z.string().startsWith('/'),
    id: fieldPath,
    name: fieldPath.optional(),
  }),
  z.strictObject({ from: z.literal('token_answer'), id: fieldPath, name: fieldPath.optional() }),
]);
export type AccountSource = z.infer<typeof accountSource>;

/** `rfc7009`: POST with the token. `github`: DELETE with the client's credential. `bearer`: POST with the token as credential. */
export const revocation = z.strictObject({ style: z.enum(['rfc7009', 'github', 'bearer']), url: z.url() });

export const oauthSettings = z.strictObject({
  authorize_url: z.url(),
  token_url: z.url(),
  revocation: revocation.optional(),
  /** Asked for when the caller names none. */
  scopes: z.array(z.string()).default([]),
  scope_separator: z.enum([' ', ',']).default(' '),
  scope_parameter: z.enum(['scope', 'user_scope']).default('scope'),
  /** S256; off only for providers that refuse it. */
  pkce: z.boolean().default(true),
  client_auth: z.enum(['body', 'basic']).default('body'),
  /** Where the token is: at the top, or in `authed_user` for a token that stands for a person. */
  token_in: z.enum(['answer', 'authed_user']).default('answer'),
  /** More parameters of the authorization URL. */
  parameters: z.record(z.string(), z.string()).default({}),
  /** Where an OAuth token goes, which may be elsewhere than an API key. */
  injection: injection.default({ in: 'header', name: 'authorization', prefix: 'Bearer ' }),
  account: accountSource.optional(),
});
export type OAuthSettings = z.infer<typeof oauthSettings>;

export const catalogueEntry = z
  .strictObject({
    provider: z.string().regex(/^[a-z][a-z0-9_]{0,62}$/),
    display_name: z.string().min(1),
    description: z.string().min(1),
    address: providerAddress,
    injection,
    /** Query parameters of the caller that would carry another credential. */
    strip_query: z.array(z.string()).default([]),
    /** Sent when the caller does not send them itself. */
    default_headers: z.record(headerName, z.string()).default({}),
    /** Plain http and private addresses, for a provider on the same machine. */
    allow_http: z.boolean().default(false),
    /** A path that shows something, for the usage snippet. */
    sample_path: z.string().startsWith('/'),
    /** Where its interface is described. */
    docs_url: z.url().optional(),
    /** Where a key is made; absent when only the user knows. */
    setup_url: z.url().optional(),
    notes: z.array(connectionNote).default([]),
    /** Whether a connector can be made from a key that a user brings. */
    api_key: z.boolean().default(true),
    /** What a key of this provider looks like, and how to say so. */
    key_format: z.strictObject({ pattern: z.string().refine(isPattern), hint: z.string().min(1) }).optional(),
    /** A GET that answers 401 or 403 to a key that is not good. */
    verify_path: z.string().startsWith('/').optional(),
    /** Absent = no connector by OAuth. */
    oauth: oauthSettings.optional(),
  })
  .superRefine((entry, context) => {
    const { authorize_url, token_url, revocation: revoke } = entry.oauth ?? {};
    for (const url of [authorize_url, token_url, revoke?.url]) {
      if (url === undefined || entry.allow_http || new URL(url).protocol === 'https:') continue;
      context.addIssue({ code: 'custom', message: `${url} must be https`, path: ['oauth'] });
    }
    if (entry.address.type !== 'fixed') return;
    const { protocol, search, hash, username } = new URL(entry.address.url);
    const isAllowed = protocol === 'https:' || (protocol === 'http:' && entry.allow_http);
    if (!isAllowed)
      context.addIssue({ code: 'custom', message: 'the address must be https', path: ['address', 'url'] });
    if (search !== '' || hash !== '' || username !== '') {
      context.addIssue({
        code: 'custom',
        message: 'the address is an origin and a path only',
        path: ['address', 'url'],
      });
    }
  });
export type CatalogueEntry = z.infer<typeof catalogueEntry>;
/** An entry as an operator writes it: a field that has a default may be left out. */
export type NewCatalogueEntry = z.input<typeof catalogueEntry>;

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}
