// Notices, at any call of this process to the platform, that it refuses the life the call came from.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { errorStatus } from '../../contract/errors.ts';
import { fenceCode } from '../../contract/local/report.ts';
import { ERROR_MARKER } from '../../core/header-hygiene.ts';

const ANSWERED = 'undici:request:headers';

/** Listens until disposed. A provider's own 409 carries no mark of ours: the platform takes it off. */
export function openFenceObserver(platformUrl: string, onRefused: () => void): Disposable {
  const { origin } = new URL(platformUrl);
  const onAnswer = (message: unknown) => {
    const response = field(message, 'response');
    if (field(response, 'statusCode') !== errorStatus.rewound) return;
    if (String(field(field(message, 'request'), 'origin')) !== origin) return;
    if (isFenced(field(response, 'headers'))) onRefused();
  };
  subscribe(ANSWERED, onAnswer);
  return {
    [Symbol.dispose]() {
      unsubscribe(ANSWERED, onAnswer);
    },
  };
}

/** Names and values alternate, as bytes. */
function isFenced(headers: unknown): boolean {
  if (!Array.isArray(headers)) return false;
  const at = headers.findIndex((name, index) => index % 2 === 0 && String(name).toLowerCase() === ERROR_MARKER);
  return at >= 0 && fenceCode.safeParse(String(headers[at + 1])).success;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
