// A line that a service has printed, as a terminal may show it. Pure.

const ESCAPE = '\u001b';
const KEPT = new RegExp(`(${ESCAPE}\\[[\\d;]*m|\\t)`);

/** Colours stay; every other control character but a tab is escaped, because it could move the cursor or worse. */
export function toLogText(line: string): string {
  return line
    .split(KEPT)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/\p{Cc}/gu, toEscape)))
    .join('');
}

function toEscape(control: string): string {
  return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
