// Turns the JSON line of a log, which is for programs, into a line for people at a terminal. Pure.
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

const levels: Readonly<Record<number, readonly [word: string, style: Style]>> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO ', 'green'],
  40: ['WARN ', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
};

/** Fields that have a fixed place in the line. */
const PLACED = ['level', 'time', 'msg', 'err', 'stack'];

/**
 * `14:03:07.120 INFO  serving url=http://127.0.0.1:4180`, then the stack of an error, indented. A text that is no line of a log
 * comes back unchanged. The result ends with a line break.
 */
export function toLogLine(json: string, colours: boolean): string {
  const entry = parse(json);
  if (entry === undefined) return json.endsWith('\n') ? json : `${json}\n`;
  const [word, style] = levels[Number(entry.level)] ?? ['     ', 'reset'];
  const paint = (how: Style, text: string) => (colours ? styleText(how, text, { validateStream: false }) : text);
  const fields = Object.entries(entry)
    .filter(([name]) => !PLACED.includes(name))
    .map(([name, value]) => `${paint('dim', `${name}=`)}${toText(value)}`);
  const { err } = entry;
  const [message, stack] = isObject(err) ? toError(err) : [undefined, undefined];
  const text = [entry.msg, message].filter((part) => typeof part === 'string').map((part) => clean(String(part)));
  const first = [paint('dim', toTime(entry.time)), paint(style, word), text.join(': '), ...fields].join(' ').trimEnd();
  return `${[first, ...(stack ?? [])].join('\n')}\n`;
}

function toError(err: Readonly<Record<string, unknown>>): [string, string[]] {
  const { message, code, stack, cause } = err;
  const said = `${String(message)}${code === undefined ? '' : ` (${String(code)})`}`;
  const lines = typeof stack === 'string' ? stack.split('\n').filter((line) => line.startsWith('    at ')) : [];
  const below = isObject(cause) ? toError(cause) : undefined;
  return [below === undefined ? said : `${said}; because ${below[0]}`, lines.map(clean)];
}

/** The time of day in the time zone of this machine. */
function toTime(time: unknown): string {
  const date = new Date(typeof time === 'number' || typeof time === 'string' ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return '--:--:--.---';
  const two = (value: number) => String(value).padStart(2, '0');
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function toText(value: unknown): string {
  return clean(typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : (JSON.stringify(value) ?? ''));
}

/** Log lines hold texts of other servers, and a terminal would obey their control characters. */
function clean(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function parse(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
