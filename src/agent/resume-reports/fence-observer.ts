// Watches every call of this process to the platform, and notices when the platform refuses the incarnation that the call names.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ERROR_MARKER, errorStatus } from '../../contract/errors.ts';
import { fenceCode } from '../../contract/local/resume-reports.ts';

const ANSWERED = 'undici:request:headers';

/** Observes until disposed. A provider's own 409 does not count: the platform removes the error header from providers' answers. */
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

/** `headers` are names and values in turn, as bytes. */
function isFenced(headers: unknown): boolean {
  if (!Array.isArray(headers)) return false;
  const at = headers.findIndex((name, index) => index % 2 === 0 && String(name).toLowerCase() === ERROR_MARKER);
  return at >= 0 && fenceCode.safeParse(String(headers[at + 1])).success;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
