// The parameters of a provisioning request and of an update (Extensions API, Provisioning request), without those of the signature. Pure.
import type { ProvisioningRequest } from '../../contract/extensions.ts';
import type { UserRole } from '../../contract/sign-on.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { ExtensionRow } from './extension-row.ts';

export type ProvisioningParameters = Omit<ProvisioningRequest, 'url' | 'nonce' | 'timestamp'>;

export interface ParameterSources {
  readonly row: ExtensionRow;
  readonly provider: Pick<ExtensionProvider, 'region_aware' | 'app'>;
  readonly organization_name: string;
  /** The alias that reaches its admins. */
  readonly organization_email: string;
  readonly user_role: UserRole;
  /** Undefined for none. */
  readonly ip_address: string | undefined;
}

/** Regions go only to a provider that knows them, or runs on this platform. */
export function toParameters({
  row,
  provider,
  organization_name,
  organization_email,
  user_role,
  ip_address,
}: ParameterSources): ProvisioningParameters {
  const { primary_region, read_regions } = row;
  const hasRegions = provider.region_aware || provider.app !== null;
  return {
    name: row.name,
    id: row.id,
    organization_id: row.organization_id,
    organization_name,
    organization_email,
    user_id: row.user_id ?? '',
    user_email: row.user_email,
    user_role,
    ...(hasRegions && primary_region !== null ? { primary_region } : {}),
    ...(hasRegions && read_regions.length > 0 ? { read_regions: [...read_regions] } : {}),
    ...(ip_address === undefined ? {} : { ip_address }),
  };
}
