// The private address of an extension, where there can be one (Extensions API, Provisioning request, ip_address). Pure.
import { toPrivateAddress } from '../../core/private-address.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { ExtensionRow } from './extension-row.ts';

/** Undefined where the provider does not run on this platform, or machines here have no network of their own. */
export type AddressOf = (
  row: Pick<ExtensionRow, 'id' | 'organization_id'>,
  provider: Pick<ExtensionProvider, 'app'> | undefined,
) => string | undefined;

export function createAddressOf(hasPrivateNetworks: boolean): AddressOf {
  return ({ organization_id, id }, provider) =>
    hasPrivateNetworks && provider !== undefined && provider.app !== null
      ? toPrivateAddress(organization_id, 'extension', id)
      : undefined;
}

export function noPrivateNetworks(): RemoraError {
  const missing = 'machines with a network of their own: --driver qemu with --qemu-network egress';
  const message = `no extension has a private address here, for want of ${missing}`;
  return new RemoraError('not_implemented', message, { details: { missing } });
}
