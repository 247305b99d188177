// A CloudEvent of the platform, in binary mode: by its type it goes to one of the provider's functions. What nobody wants is taken, so
// that the platform does not send it again.

import { z } from 'zod';
import { hostNotice, memberNotice } from '../contract/extension-notices.ts';
import { cloudEventHeaders, machineEvent } from '../contract/extension-webhooks.ts';
import { dateTime } from '../contract/time.ts';
import type { EventAttributes, ProviderFunctions } from './functions.ts';
import { parseSent } from './parse-sent.ts';
import type { ReceivedRequest } from './received-request.ts';

/** The headers of every type, also of one that is not known here. */
const headers = cloudEventHeaders.extend({ 'ce-type': z.string().min(1).max(256), 'ce-time': dateTime });

/** Throws `invalid_request` for what is not in the form of its type. */
export async function receiveEvent(
  functions: Pick<ProviderFunctions, 'machineEvent' | 'memberEvent' | 'hostEvent'>,
  request: ReceivedRequest,
  body: unknown,
): Promise<void> {
  const attributes = readAttributes(request);
  const [, , about] = attributes.type.split('.');
  if (about === 'machine') {
    await functions.machineEvent?.({ ...parseSent(machineEvent, body), ...attributes });
  } else if (about === 'organization') {
    await functions.memberEvent?.({ ...parseSent(memberNotice, body), ...attributes });
  } else if (about === 'host') {
    await functions.hostEvent?.({ ...parseSent(hostNotice, body), ...attributes });
  }
}

function readAttributes(request: ReceivedRequest): EventAttributes {
  const names = Object.keys(headers.shape);
  const given = parseSent(headers, Object.fromEntries(names.map((name) => [name, decodeValue(request.header(name))])));
  return { id: given['ce-id'], source: given['ce-source'], type: given['ce-type'], time: given['ce-time'] };
}

/** Values are percent-encoded in binary mode. */
function decodeValue(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return value;
  }
}
