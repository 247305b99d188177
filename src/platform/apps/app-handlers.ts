// The operations of apps.
import type { App, appOperations } from '../../contract/apps.ts';
import { toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Organization } from '../organizations/organization-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { AppService } from './app-service.ts';
import type { AppRow } from './app-store.ts';

export function createAppHandlers(apps: AppService): Handlers<typeof appOperations, Principal> {
  return {
    async createApp({ principal, body }) {
      const organization = organizationOf(principal);
      if (body.organization !== undefined && body.organization !== organization.slug) {
        throw new RemoraError('forbidden', `this token makes apps of the organization ${organization.slug} only`);
      }
      return toRecord(await apps.create(organization, body.name), organization);
    },
    async listApps({ principal }) {
      const organization = organizationOf(principal);
      return { apps: (await apps.list(organization)).map((row) => toRecord(row, organization)) };
    },
    async readApp({ principal, params }) {
      const organization = organizationOf(principal);
      return toRecord(await apps.find(organization, params.app_name), organization);
    },
    deleteApp: ({ principal, params }) => apps.delete(organizationOf(principal), params.app_name),
  };
}

function toRecord({ name, machines, created_at }: AppRow, organization: Organization): App {
  return { name, organization: organization.slug, machines, created_at: toDateTime(created_at) };
}
