// The life of a provider's resources: one call at a time for each extension, and one resource for each, however often it is asked for.

import { type ExtensionResource, extensionResource } from '../contract/extension-webhooks.ts';
import {
  type ExtensionUpdateResponse,
  extensionUpdateResponse,
  type ProvisioningResponse,
  provisioningResponse,
} from '../contract/extensions.ts';
import type { Clock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import { randomHex } from '../core/urandom.ts';
import { checkReturned } from './check-returned.ts';
import type { ProviderFunctions, Provisioning } from './functions.ts';
import { inTime, notReady } from './in-time.ts';
import type { Claim, Found, ResourceBook } from './store/resource-book.ts';

/** A call that has not renewed its claim for so long is taken for one whose process was killed. */
const LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;
const CLAIM_EVERY_MS = 50;
const GONE_KEPT_MS = 24 * 3_600_000;

export interface ResourceCallsOptions {
  readonly functions: Pick<ProviderFunctions, 'provision' | 'update' | 'read' | 'remove'>;
  readonly resources: ResourceBook;
  readonly clock: Clock;
  /** Called with the error of a call whose caller has been told to come again. */
  readonly onLateError: (error: unknown) => void;
  readonly limit_ms: number;
}

export interface ResourceCalls {
  /** The same answer each time for one extension; throws `gone` after its removal. */
  provision(request: Provisioning): Promise<ProvisioningResponse>;
  /** The ids may be those of the provider or of the platform. These throw `not_found`, and `not_ready` while another call has the extension. */
  update(id: string, request: Provisioning): Promise<ExtensionUpdateResponse>;
  read(id: string): Promise<ExtensionResource>;
  remove(id: string): Promise<void>;
}

export function createResourceCalls(options: ResourceCallsOptions): ResourceCalls {
  const { functions, resources, clock, onLateError, limit_ms } = options;

  /** Runs `step` when no other call has the extension. It goes on when it takes longer than its caller may wait. */
  async function alone<T>(extension_id: string, step: () => Promise<T>): Promise<T> {
    const end_ms = clock.mono_ms() + limit_ms;
    const holder = randomHex(8);
    const toClaim = () => {
      const now_ms = clock.wall_ms();
      return { extension_id, holder, now_ms, until_ms: now_ms + LEASE_MS };
    };
    while (!(await resources.claim(toClaim()))) {
      if (clock.mono_ms() >= end_ms) throw notReady('another call for this extension is under way');
      await new Promise((resolve) => setTimeout(resolve, CLAIM_EVERY_MS));
    }
    const left_ms = Math.max(1, end_ms - clock.mono_ms());
    return await inTime(left_ms, holding(toClaim, step), onLateError);
  }

  async function holding<T>(toClaim: () => Claim, step: () => Promise<T>): Promise<T> {
    const renewing = setInterval(() => void renew(toClaim()), RENEW_EVERY_MS);
    renewing.unref();
    try {
      return await step();
    } finally {
      clearInterval(renewing);
      await resources.release(toClaim());
    }
  }

  async function renew(claim: Claim): Promise<void> {
    try {
      await resources.claim(claim);
    } catch (error) {
      onLateError(error);
    }
  }

  async function idsOf(id: string): Promise<{ readonly resource_id: string; readonly extension_id: string }> {
    const found = await resources.find(id);
    if (found === 'gone') throw notFound();
    return found ?? { resource_id: id, extension_id: id };
  }

  /** What is not there any more is removed; every other refusal is thrown. */
  async function removeThere(id: string): Promise<RemoraError | undefined> {
    try {
      await functions.remove(id);
      return undefined;
    } catch (error) {
      if (error instanceof RemoraError && (error.code === 'not_found' || error.code === 'gone')) return error;
      throw error;
    }
  }

  return {
    async provision(request) {
      const answered = toAnswer(await resources.read(request.id));
      if (answered !== undefined) return answered;
      return await alone(request.id, async () => {
        const made = toAnswer(await resources.read(request.id));
        if (made !== undefined) return made;
        const answer = checkReturned('provision', provisioningResponse, await functions.provision(request));
        const { id: extension_id, organization_id } = request;
        await resources.write({ extension_id, resource_id: answer.id, organization_id, answer });
        return answer;
      });
    },
    async update(id, request) {
      const { extension_id } = await idsOf(id);
      return await alone(extension_id, async () => {
        const { resource_id } = await idsOf(id);
        const returned = (await functions.update(resource_id, request)) ?? {};
        const change = checkReturned('update', extensionUpdateResponse, returned);
        const known = await resources.find(id);
        if (known !== undefined && known !== 'gone') {
          const { id: resource_id = known.answer.id, config = known.answer.config } = change;
          const answer = { ...known.answer, ...change, id: resource_id, config };
          await resources.write({ ...known, resource_id, answer });
        }
        return change;
      });
    },
    async read(id) {
      const { resource_id } = await idsOf(id);
      const resource = await functions.read(resource_id);
      if (resource === undefined) throw notFound();
      return checkReturned('read', extensionResource, resource);
    },
    async remove(id) {
      const { extension_id } = await idsOf(id);
      await alone(extension_id, async () => {
        const { resource_id } = await idsOf(id);
        const refusal = await removeThere(resource_id);
        const now_ms = clock.wall_ms();
        await resources.end(extension_id, now_ms);
        await resources.forget(now_ms - GONE_KEPT_MS);
        if (refusal !== undefined) throw refusal;
      });
    },
  };
}

function toAnswer(found: Found): ProvisioningResponse | undefined {
  if (found === 'gone') throw new RemoraError('gone', 'this extension was removed; a new one needs an id of its own');
  return found?.answer;
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such extension');
}
