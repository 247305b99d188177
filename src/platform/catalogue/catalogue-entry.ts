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
    /** Where a key is made; absent when only the user knows. */
    setup_url: z.url().optional(),
    notes: z.array(connectionNote).default([]),
  })
  .superRefine((entry, context) => {
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
/** As it is written: what has a default may be left out. */
export type NewCatalogueEntry = z.input<typeof catalogueEntry>;
